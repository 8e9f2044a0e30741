internal import Crypto
internal import FoundationEssentials

/// What an object is, bound into its signature so that one kind can never pass for another. Source: BPP/1, section 9.
public enum SigningContext: String, Sendable, CaseIterable {
    case certificate = "BPP1-CERT"
    case request = "BPP1-REQ"
    case accept = "BPP1-ACC"
    case pass = "BPP1-PASS"
    case claim = "BPP1-CLM"
    case receipt = "BPP1-RCT"
}

/// Why a signed object is not accepted.
public enum COSEError: Error, Sendable, Equatable {
    case cbor(CBORError)
    /// Not the four parts of a COSE_Sign1, or headers that BPP/1 does not write.
    case malformed
    /// Signed with another algorithm than this kind of object and this key use.
    case wrongAlgorithm
    case invalidSignature
}

/// An untagged COSE_Sign1 with the one form of headers that BPP/1 writes. Source: RFC 9052, section 4.2; BPP/1, rule E4.
public struct COSESign1: Sendable, Hashable {
    public let algorithm: SigningAlgorithm
    /// Names the key. From outside: it finds a trusted key and proves nothing by itself.
    public let keyID: [UInt8]
    public let payload: [UInt8]
    public let signature: [UInt8]
    /// As it travels.
    public let encoded: [UInt8]

    private let protected: [UInt8]

    /// Reads an object. Its signature is not checked yet.
    public init(decoding bytes: [UInt8]) throws(COSEError) {
        guard case .array(let parts) = try Self.item(bytes), parts.count == 4,
            case .bytes(let protected) = parts[0], case .map(let unprotected) = parts[1],
            case .bytes(let payload) = parts[2], case .bytes(let signature) = parts[3],
            unprotected.members.isEmpty, signature.count == 64,
            case .map(let header) = try Self.item(protected), header.members.map(\.key) == [1, 4],
            let number = header[1]?.asInteger, case .bytes(let keyID)? = header[4], 1...32 ~= keyID.count
        else { throw .malformed }
        guard let algorithm = SigningAlgorithm(rawValue: number) else { throw .wrongAlgorithm }
        (self.algorithm, self.keyID, self.payload, self.signature) = (algorithm, keyID, payload, signature)
        (self.protected, encoded) = (protected, bytes)
    }

    /// Signs a payload.
    public init(
        signing payload: [UInt8],
        as context: SigningContext,
        with signer: some ObjectSigner
    ) throws(SigningFailure) {
        (algorithm, keyID, self.payload) = (signer.algorithm, signer.keyID, payload)
        protected = CBOR.map([1: .integer(signer.algorithm.rawValue), 4: .bytes(signer.keyID)]).encoded
        signature = try signer.signature(over: Self.message(protected, context, payload))
        encoded =
            CBOR.array([.bytes(protected), .map(CBORMap()), .bytes(payload), .bytes(signature)]).encoded
    }

    /// Passes when the holder of `key` signed this as `context`.
    public func verify(_ key: VerificationKey, as context: SigningContext) throws(COSEError) {
        guard key.algorithm == algorithm else { throw .wrongAlgorithm }
        guard key.isValid(signature: signature, for: Self.message(protected, context, payload)) else {
            throw .invalidSignature
        }
    }

    private static func item(_ bytes: [UInt8]) throws(COSEError) -> CBOR {
        do throws(CBORError) { return try CBOR(decoding: bytes) } catch { throw .cbor(error) }
    }

    /// What is signed. Source: RFC 9052, section 4.4, `Sig_structure`.
    private static func message(_ protected: [UInt8], _ context: SigningContext, _ payload: [UInt8]) -> [UInt8] {
        CBOR.array([
            .text("Signature1"), .bytes(protected), .bytes(Array(context.rawValue.utf8)), .bytes(payload),
        ]).encoded
    }
}

/// The SHA-256 of an object's bytes, signature included.
public struct ObjectHash: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    public init(of object: some Collection<UInt8>) { bytes = Array(SHA256.hash(data: Array(object))) }

    /// Nil unless there are 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    public var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

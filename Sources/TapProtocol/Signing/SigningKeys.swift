internal import Crypto
internal import FoundationEssentials

/// How an object is signed. Source: RFC 9053, section 2; BPP/1, section 8, rule E4.
public enum SigningAlgorithm: Int, Sendable, CaseIterable {
    /// ECDSA over P-256 with SHA-256: the device's key, which a secure element holds.
    case es256 = -7
    /// Ed25519: gateway and terminal.
    case edDSA = -8
}

/// A public key that signatures are checked with.
public enum VerificationKey: Sendable, Hashable {
    /// 32 bytes.
    case ed25519([UInt8])
    /// The point's coordinates, 32 bytes each.
    case p256(x: [UInt8], y: [UInt8])

    public var algorithm: SigningAlgorithm {
        switch self {
        case .ed25519: .edDSA
        case .p256: .es256
        }
    }

    /// The name that signatures call this key by unless its holder chose another: the first eight bytes of the SHA-256 of the
    /// public key, a point in its uncompressed form.
    public var keyID: [UInt8] {
        switch self {
        case .ed25519(let key): Array(SHA256.hash(data: key).prefix(8))
        case .p256(let x, let y): Array(SHA256.hash(data: [0x04] + x + y).prefix(8))
        }
    }

    /// False for a wrong signature, and for bytes that are no key or no signature.
    func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
        switch self {
        case .ed25519(let bytes):
            guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes) else { return false }
            return key.isValidSignature(signature, for: message)
        case .p256(let x, let y):
            guard x.count == 32, y.count == 32, let key = try? P256.Signing.PublicKey(rawRepresentation: x + y),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: message)
        }
    }
}

/// Holds a private key, or knows who does, and signs with it.
public protocol ObjectSigner: Sendable {
    var algorithm: SigningAlgorithm { get }
    /// 1 to 32 bytes.
    var keyID: [UInt8] { get }
    /// The 64 bytes of a signature over `message`.
    func signature(over message: [UInt8]) throws(SigningFailure) -> [UInt8]
}

/// The key's holder did not sign. Nothing was sent.
public struct SigningFailure: Error, Sendable, Equatable {
    /// For a log.
    public let reason: String

    public init(reason: String) { self.reason = reason }
}

/// Signs with an Ed25519 key in memory.
public struct Ed25519Signer: ObjectSigner, CustomStringConvertible, CustomDebugStringConvertible {
    private let key: Curve25519.Signing.PrivateKey
    public let keyID: [UInt8]

    /// - Parameters:
    ///   - seed: 32 bytes.
    ///   - keyID: Nil for the name that follows from the public key.
    /// - Throws: Where `seed` is no key.
    public init(seed: [UInt8], keyID: [UInt8]? = nil) throws(SigningFailure) {
        do {
            key = try Curve25519.Signing.PrivateKey(rawRepresentation: seed)
        } catch {
            throw SigningFailure(reason: "not an Ed25519 seed")
        }
        self.keyID = keyID ?? VerificationKey.ed25519(Array(key.publicKey.rawRepresentation)).keyID
    }

    public var algorithm: SigningAlgorithm { .edDSA }
    public var publicKey: VerificationKey { .ed25519(Array(key.publicKey.rawRepresentation)) }

    public func signature(over message: [UInt8]) throws(SigningFailure) -> [UInt8] {
        do {
            return Array(try key.signature(for: message))
        } catch {
            throw SigningFailure(reason: "\(error)")
        }
    }

    public var description: String { "Ed25519Signer(redacted)" }
    public var debugDescription: String { description }
}

/// Signs with a P-256 key in memory. A phone's key belongs into its secure element; this one is for terminals' tests and
/// simulators.
public struct ES256Signer: ObjectSigner, CustomStringConvertible, CustomDebugStringConvertible {
    private let key: P256.Signing.PrivateKey
    public let keyID: [UInt8]

    /// - Parameter scalar: 32 bytes.
    /// - Throws: Where `scalar` is no key.
    public init(scalar: [UInt8]) throws(SigningFailure) {
        do {
            key = try P256.Signing.PrivateKey(rawRepresentation: scalar)
        } catch {
            throw SigningFailure(reason: "not a P-256 key")
        }
        keyID = Self.verificationKey(of: key).keyID
    }

    private static func verificationKey(of key: P256.Signing.PrivateKey) -> VerificationKey {
        let point = Array(key.publicKey.rawRepresentation)
        return .p256(x: Array(point.prefix(32)), y: Array(point.suffix(32)))
    }

    public var algorithm: SigningAlgorithm { .es256 }
    public var publicKey: VerificationKey { Self.verificationKey(of: key) }

    public func signature(over message: [UInt8]) throws(SigningFailure) -> [UInt8] {
        do {
            return Array(try key.signature(for: message).rawRepresentation)
        } catch {
            throw SigningFailure(reason: "\(error)")
        }
    }

    public var description: String { "ES256Signer(redacted)" }
    public var debugDescription: String { description }
}

/// The gateways' public keys that this side trusts, by issuer and name of the key. Source: BPP/1, section 7.3.
public struct GatewayKeys: Sendable, Hashable {
    private var keys: [String: [[UInt8]: VerificationKey]] = [:]

    public init() {}

    /// Trusts an Ed25519 key of 32 bytes for what `issuer` issues.
    public mutating func add(issuer: String, keyID: [UInt8], ed25519 key: [UInt8]) {
        keys[issuer, default: [:]][keyID] = .ed25519(key)
    }

    /// Every key, to be kept.
    public var all: [(issuer: String, keyID: [UInt8], ed25519: [UInt8])] {
        keys.flatMap { issuer, known in
            known.compactMap { keyID, key in
                if case .ed25519(let bytes) = key { (issuer, keyID, bytes) } else { nil }
            }
        }
    }

    /// Nil for an issuer or a key that is not trusted.
    public func key(issuer: String, keyID: [UInt8]) -> VerificationKey? { keys[issuer]?[keyID] }
}

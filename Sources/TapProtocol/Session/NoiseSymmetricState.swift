internal import Crypto
internal import FoundationEssentials

/// The chaining key and the hash of everything said so far. Source: Noise Protocol Framework revision 34, section 5.2.
struct NoiseSymmetricState: Sendable {
    private var chainingKey: [UInt8]
    private(set) var hash: [UInt8]
    private var cipher: NoiseCipher?

    /// Exactly 32 bytes, so that it is the first hash as it stands.
    static let protocolName = "Noise_NX_25519_ChaChaPoly_SHA256"

    init(prologue: [UInt8]) {
        hash = Array(Self.protocolName.utf8)
        chainingKey = hash
        mixHash(prologue)
    }

    mutating func mixHash(_ bytes: [UInt8]) { hash = Array(SHA256.hash(data: hash + bytes)) }

    mutating func mixKey(_ material: [UInt8]) {
        let (first, second) = derive(material)
        chainingKey = first
        cipher = NoiseCipher(key: second)
    }

    mutating func encryptAndHash(_ plaintext: [UInt8]) throws(SessionError) -> [UInt8] {
        let result = try cipher?.seal(plaintext, associated: hash) ?? plaintext
        mixHash(result)
        return result
    }

    mutating func decryptAndHash(_ message: [UInt8]) throws(SessionError) -> [UInt8] {
        let result = try cipher?.open(message, associated: hash) ?? message
        mixHash(message)
        return result
    }

    /// The initiator's and the responder's cipher.
    func split() -> (initiator: NoiseCipher, responder: NoiseCipher) {
        let (first, second) = derive([])
        return (NoiseCipher(key: first), NoiseCipher(key: second))
    }

    /// Noise's HKDF with two outputs is the one of RFC 5869 without info. Source: Noise, section 4.3.
    private func derive(_ material: [UInt8]) -> ([UInt8], [UInt8]) {
        let output = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: material),
            salt: chainingKey,
            info: [UInt8](),
            outputByteCount: 64
        )
        let bytes = unsafe output.withUnsafeBytes { unsafe Array($0) }
        return (Array(bytes.prefix(32)), Array(bytes.suffix(32)))
    }
}

/// An X25519 key in memory.
public struct AgreementKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    private let key: Curve25519.KeyAgreement.PrivateKey

    /// A fresh key from the system's randomness.
    public init() { key = Curve25519.KeyAgreement.PrivateKey() }

    /// A kept key of 32 bytes.
    /// - Throws: Where the bytes are no key.
    public init(bytes: [UInt8]) throws(SigningFailure) {
        do {
            key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)
        } catch {
            throw SigningFailure(reason: "not an X25519 key")
        }
    }

    /// 32 bytes.
    public var publicKey: [UInt8] { Array(key.publicKey.rawRepresentation) }

    /// What both sides compute. A point of small order would make it a constant and is refused.
    func shared(with other: [UInt8]) throws(SessionError) -> [UInt8] {
        do {
            let other = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: other)
            let secret = try unsafe key.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { unsafe Array($0) }
            guard secret.contains(where: { $0 != 0 }) else { throw SessionError.handshakeFailed }
            return secret
        } catch {
            throw .handshakeFailed
        }
    }

    public var description: String { "AgreementKey(redacted)" }
    public var debugDescription: String { description }
}

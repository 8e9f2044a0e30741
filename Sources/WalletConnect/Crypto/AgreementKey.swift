internal import Crypto

/// One side's part of a key agreement: made for one proposal, dropped when it is settled. Prints without its secret.
///
/// Source: RFC 7748 (X25519); WalletConnect specifications, clients/core/crypto/crypto-keys.
struct AgreementKey: Sendable, Equatable {
    private let secret: SymmetricSecret
    let publicKey: PublicKey

    /// nil for any other count than 32.
    init?(bytes: [UInt8]) {
        guard let secret = SymmetricSecret(bytes: bytes),
            let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes),
            let publicKey = PublicKey(bytes: Array(key.publicKey.rawRepresentation))
        else { return nil }
        (self.secret, self.publicKey) = (secret, publicKey)
    }

    init(using random: any RandomSource) {
        // Any 32 bytes make a key: X25519 sets the bits that matter itself.
        guard let key = AgreementKey(bytes: random.bytes(32)) else { preconditionFailure("the random source is short") }
        self = key
    }

    /// What both sides get and nobody else; nil for a peer's key that leads to a value known to everyone.
    func sharedSecret(with peer: PublicKey) -> SymmetricSecret? {
        guard let own = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: secret.bytes),
            let their = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: peer.bytes),
            let shared = try? own.sharedSecretFromKeyAgreement(with: their),
            unsafe shared.withUnsafeBytes({ unsafe $0.contains { $0 != 0 } })
        else { return nil }
        return SymmetricSecret(
            key: shared.hkdfDerivedSymmetricKey(
                using: SHA256.self,
                salt: [UInt8](),
                sharedInfo: [UInt8](),
                outputByteCount: 32
            )
        )
    }

    static func == (lhs: AgreementKey, rhs: AgreementKey) -> Bool { lhs.publicKey == rhs.publicKey }
}

extension AgreementKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "AgreementKey(redacted)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey.text]) }
}

extension AgreementKey: Codable {
    init(from decoder: any Decoder) throws {
        let stored = try StoredSecret(from: decoder)
        guard let key = AgreementKey(bytes: stored.secret.bytes) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not a key"))
        }
        self = key
    }

    func encode(to encoder: any Encoder) throws { try StoredSecret(secret).encode(to: encoder) }
}

/// The part of a key agreement that everybody may see. Written as 64 lower-case digits.
public struct PublicKey: Sendable, Hashable, CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public let text: String

    /// Reads 64 hexadecimal digits in either case; nil for anything else.
    public init?(_ text: String) {
        guard let bytes = Hex.bytes(text) else { return nil }
        self.init(bytes: bytes)
    }

    init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        text = Hex.text(bytes)
    }

    // Made of 32 bytes, so its text reads back.
    var bytes: [UInt8] { Hex.bytes(text) ?? [] }

    /// Where the answer to this key's `wc_sessionAuthenticate` is left.
    var answerTopic: Topic { Topic(bytes: Array(SHA256.hash(data: bytes))) }

    public var description: String { text }
}

extension PublicKey: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let key = PublicKey(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a public key")
        }
        self = key
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// SHA-256 as 64 digits.
func sha256Hexadecimal(_ text: String) -> String { Hex.text(SHA256.hash(data: Array(text.utf8))) }

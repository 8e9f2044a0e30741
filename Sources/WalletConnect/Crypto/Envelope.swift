internal import Crypto

/// The sealed form of a message: a type byte and what that type needs.
///
/// Source: WalletConnect specifications, clients/core/crypto/crypto-envelopes.
enum Envelope: Sendable, Equatable {
    /// Type 0: both sides know the key.
    case sealed(SealedBytes)
    /// Type 1: the receiver derives the key from its own and the sender's public key.
    case sealedFrom(PublicKey, SealedBytes)
    /// Type 2: anybody could have written it. For links between two apps on one phone, never for a relay.
    case plain([UInt8])

    /// What ChaCha20-Poly1305 made: nonce, then ciphertext and tag.
    struct SealedBytes: Sendable, Equatable {
        let bytes: [UInt8]
    }

    /// Which rules for the text apply.
    enum Way: Sendable { case relay, link }

    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// Reads either base64 alphabet, padded or not. From a relay type 2 is refused.
    init(text: String, from way: Way) throws(MessageFault) {
        guard text.utf8.count <= RPCMessage.limitBytes else { throw .tooLarge }
        guard let bytes = Base64.decode(text) else { throw .notBase64 }
        try self.init(bytes: bytes)
        if case .plain = self, way == .relay { throw .plainText }
    }

    init(bytes: [UInt8]) throws(MessageFault) {
        switch bytes.first {
        case nil: throw .envelope("empty")
        case 0:
            guard bytes.count >= 1 + Self.nonceBytes + Self.tagBytes else { throw .envelope("too short") }
            self = .sealed(SealedBytes(bytes: Array(bytes[1...])))
        case 1:
            guard bytes.count >= 33 + Self.nonceBytes + Self.tagBytes,
                let sender = PublicKey(bytes: Array(bytes[1..<33]))
            else { throw .envelope("too short") }
            self = .sealedFrom(sender, SealedBytes(bytes: Array(bytes[33...])))
        case 2: self = .plain(Array(bytes[1...]))
        case let type?: throw .envelope("type \(type)")
        }
    }

    /// Seals under a key both sides know. `nonce` has 12 bytes and is never used twice with one key.
    static func seal(_ message: String, with secret: SymmetricSecret, nonce: [UInt8]) -> Envelope {
        .sealed(sealBytes(message, with: secret, nonce: nonce))
    }

    /// Seals for somebody who does not know the sender yet.
    static func seal(
        _ message: String,
        from sender: PublicKey,
        with secret: SymmetricSecret,
        nonce: [UInt8]
    ) -> Envelope {
        .sealedFrom(sender, sealBytes(message, with: secret, nonce: nonce))
    }

    private static func sealBytes(_ message: String, with secret: SymmetricSecret, nonce: [UInt8]) -> SealedBytes {
        // Sealing fails only for nonces and keys of another length, and these have theirs.
        guard let nonce = try? ChaChaPoly.Nonce(data: nonce),
            let box = try? ChaChaPoly.seal(Array(message.utf8), using: secret.key, nonce: nonce)
        else { preconditionFailure("a nonce has 12 bytes") }
        return SealedBytes(bytes: Array(box.combined))
    }

    var bytes: [UInt8] {
        switch self {
        case .sealed(let sealed): [0] + sealed.bytes
        case .sealedFrom(let sender, let sealed): [1] + sender.bytes + sealed.bytes
        case .plain(let bytes): [2] + bytes
        }
    }

    /// Padded base64 for a relay, URL-safe without padding for a link.
    func text(for way: Way) -> String { way == .relay ? Base64.padded(bytes) : Base64.urlSafe(bytes) }
}

extension Envelope.SealedBytes {
    /// - Throws: `notAuthentic` for another key and for a single changed bit.
    func open(with secret: SymmetricSecret) throws(MessageFault) -> [UInt8] {
        guard let box = try? ChaChaPoly.SealedBox(combined: bytes),
            let message = try? ChaChaPoly.open(box, using: secret.key)
        else { throw .notAuthentic }
        return Array(message)
    }
}

extension SymmetricSecret {
    /// What a relay would carry of this message, for measuring.
    package func envelope(of message: String, random: any RandomSource) -> String {
        Envelope.seal(message, with: self, nonce: random.bytes(12)).text(for: .relay)
    }

    /// The message in what a relay carried; nil for one that is not under this key. For measuring.
    package func message(inEnvelope text: String) -> String? {
        guard case .sealed(let sealed)? = try? Envelope(text: text, from: .relay),
            let bytes = try? sealed.open(with: self)
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

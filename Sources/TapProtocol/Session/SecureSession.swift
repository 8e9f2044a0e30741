internal import Crypto
internal import FoundationEssentials

/// The encrypted channel of one link, after the handshake. Source: BPP/1, section 7.2.
public struct SecureSession: Sendable {
    /// A link carries no more messages than this in each direction.
    public static let maximumMessages: UInt64 = 1 << 16
    /// A link lives no longer than this.
    public static let maximumLife = Duration.seconds(3600)

    private var sending: NoiseCipher
    private var receiving: NoiseCipher
    /// Both sides hold the same 32 bytes, and nobody between them can make it so.
    public let handshakeHash: [UInt8]

    init(sending: NoiseCipher, receiving: NoiseCipher, handshakeHash: [UInt8]) {
        (self.sending, self.receiving, self.handshakeHash) = (sending, receiving, handshakeHash)
    }

    /// Encrypts one message.
    /// - Throws: `exhausted` after the last one that a link may carry.
    public mutating func seal(_ message: [UInt8]) throws(SessionError) -> [UInt8] {
        guard sending.nonce < Self.maximumMessages else { throw .exhausted }
        return try sending.seal(message)
    }

    /// Decrypts the next message. Takes any bytes.
    /// - Throws: `notAuthentic` for anything but the other side's next message. Disconnect then.
    public mutating func open(_ message: [UInt8]) throws(SessionError) -> [UInt8] {
        guard message.count <= Framing.maximumMessageBytes else { throw .length }
        guard receiving.nonce < Self.maximumMessages else { throw .exhausted }
        return try receiving.open(message)
    }

    /// Four digits that both screens can show, to tell by eye who is connected. Source: BPP/1, section 7.5.
    public var shortCode: String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("BPP1-SAS".utf8),
            using: SymmetricKey(data: handshakeHash)
        )
        let number = code.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) } % 10_000
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// The keys, for the published vectors and nothing else.
    var keyBytes: (sending: [UInt8], receiving: [UInt8]) { (sending.keyBytes, receiving.keyBytes) }
}

internal import Crypto

/// 32 secret bytes that seal and open envelopes. Prints as "redacted"; its memory is overwritten when it goes.
public struct SymmetricSecret: Sendable {
    let key: SymmetricKey

    /// Reads 64 hexadecimal digits in either case; nil for anything else.
    public init?(hexadecimal text: String) {
        guard let bytes = Hex.bytes(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// nil for any other count than 32.
    init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        key = SymmetricKey(data: bytes)
    }

    init(key: SymmetricKey) { self.key = key }

    var bytes: [UInt8] { unsafe key.withUnsafeBytes { unsafe Array($0) } }

    /// The secret itself, as 64 digits: for a pairing URI and for storage, never for a log.
    public func reveal() -> String { Hex.text(bytes) }

    /// Where messages under this key are left: its SHA-256.
    public var topic: Topic { Topic(bytes: Array(SHA256.hash(data: bytes))) }
}

extension SymmetricSecret: Equatable {
    /// Takes the same time wherever two keys differ.
    public static func == (lhs: SymmetricSecret, rhs: SymmetricSecret) -> Bool { lhs.key == rhs.key }
}

extension SymmetricSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "redacted" }
    public var debugDescription: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// For storage alone, which keeps secrets.
struct StoredSecret: Sendable, Equatable, Codable {
    let secret: SymmetricSecret

    init(_ secret: SymmetricSecret) { self.secret = secret }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let secret = SymmetricSecret(hexadecimal: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a key")
        }
        self.secret = secret
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(secret.reveal())
    }
}

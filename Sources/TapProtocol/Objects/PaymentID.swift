/// The name of one payment: a UUIDv7. Source: RFC 9562, section 5.7; BPP/1, section 9.
public struct PaymentID: Sendable, Hashable, CustomStringConvertible {
    /// 16 bytes in the order of the RFC.
    public let bytes: [UInt8]

    /// Nil unless there are 16 bytes. Whether they are a UUIDv7 says `isVersion7`: a phone answers another one itself.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Nil unless `text` is a UUID in its form of 36 characters.
    public init?(_ text: String) {
        guard let bytes = UUIDText.bytes(of: text) else { return nil }
        self.bytes = bytes
    }

    public var isVersion7: Bool { bytes[6] >> 4 == 7 && bytes[8] >> 6 == 2 }

    /// When a UUIDv7 says that it was made, in milliseconds since 1970.
    public var madeAtMilliseconds: Int { bytes.prefix(6).reduce(0) { $0 << 8 | Int($1) } }

    public var description: String { UUIDText.text(of: bytes) }
}

/// The name of a GATT service or characteristic. Source: BPP/1, section 3.
public struct ServiceUUID: Sendable, Hashable, CustomStringConvertible {
    /// 16 bytes in the order in which the text is written.
    public let bytes: [UInt8]

    /// The service that phones advertise unless another is configured.
    public static let standard = ServiceUUID(fixed: [
        0x7D, 0x2B, 0x00, 0x01, 0x5C, 0x1E, 0x4F, 0x0A, 0x9B, 0x6D, 0x3A, 0x8E, 0x41, 0xF7, 0xC2, 0xD9,
    ])

    private init(fixed bytes: [UInt8]) { self.bytes = bytes }

    /// Nil unless there are 16 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Nil unless `text` is a UUID in its form of 36 characters.
    public init?(_ text: String) {
        guard let bytes = UUIDText.bytes(of: text) else { return nil }
        self.bytes = bytes
    }

    /// The characteristics of a service that names none: its own first 32 bits and 1, 2 and 3.
    public var write: ServiceUUID { following(1) }
    public var status: ServiceUUID { following(2) }
    public var read: ServiceUUID { following(3) }

    private func following(_ steps: UInt32) -> ServiceUUID {
        let first = bytes.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) } &+ steps
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: first >> UInt32($0)) }
        return ServiceUUID(fixed: head + bytes.dropFirst(4))
    }

    public var description: String { UUIDText.text(of: bytes) }

    /// What a phone advertises: flags, and this as the only complete list of 128-bit services. 21 bytes.
    public var advertisement: [UInt8] { [0x02, 0x01, 0x06, 0x11, 0x07] + bytes.reversed() }

    /// What a phone that can may add to its scan response: version, flags and two random bytes. A hint and no more.
    public func serviceData(flags: UInt8 = 0, roll: (UInt8, UInt8)) -> [UInt8] {
        [0x15, 0x21] + bytes.reversed() + [0x01, flags, roll.0, roll.1]
    }
}

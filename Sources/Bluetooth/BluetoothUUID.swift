/// A 128-bit UUID of a service or characteristic.
public struct BluetoothUUID: Sendable, Hashable, CustomStringConvertible {
    /// In the order in which it is written, which is the reverse of the order on the air.
    public let bytes: [UInt8]

    /// From `7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9`, in either case, or the short forms `180f` and `0000180f`.
    ///
    /// Source: Bluetooth Core 5.4, Vol 3, Part B, 2.5.1: short forms stand in the Bluetooth base UUID.
    public init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count)
        switch (digits.count, groups) {
        case (32, [8, 4, 4, 4, 12]): break
        case (4, [4]), (8, [8]):
            self.init(String(repeating: "0", count: 8 - digits.count) + text + "-0000-1000-8000-00805f9b34fb")
            return
        default: return nil
        }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(bytes: bytes)
    }

    /// From its two halves, in the order in which it is written.
    public init(_ first: UInt64, _ second: UInt64) {
        let shifts = stride(from: 56, through: 0, by: -8)
        self.init(
            bytes: [first, second].flatMap { half in shifts.map { UInt8(truncatingIfNeeded: half >> UInt64($0)) } }
        )
    }

    /// From its short form. Source: Bluetooth Core 5.4, Vol 3, Part B, 2.5.1.
    public init(short: UInt16) { self.init(UInt64(short) << 32 | 0x1000, 0x8000_0080_5F9B_34FB) }

    /// The UUID whose first 32 bits are `offset` more, wrapping around.
    public func offset(by offset: UInt32) -> BluetoothUUID {
        let first = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } &+ offset
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: first >> UInt32($0)) }
        return BluetoothUUID(bytes: head + bytes.dropFirst(4))
    }

    /// The UUID whose last byte, as it is written, is this one.
    public func ending(in byte: UInt8) -> BluetoothUUID { BluetoothUUID(bytes: bytes.dropLast() + [byte]) }

    /// Of 16 bytes.
    init(bytes: [UInt8]) { self.bytes = bytes }

    public var description: String {
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The address of a radio, such as `4F:12:00:AA:BB:CC`. A phone's changes every few minutes, so it names nobody.
public struct BluetoothAddress: Sendable, Hashable, CustomStringConvertible {
    /// In capitals.
    public let description: String

    public init?(_ text: String) {
        let groups = text.split(separator: ":", omittingEmptySubsequences: false)
        guard groups.count == 6, groups.allSatisfy({ $0.utf8.count == 2 && UInt8($0, radix: 16) != nil }),
            !text.contains("+")
        else { return nil }
        description = text.uppercased()
    }
}

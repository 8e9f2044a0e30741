/// The terminal's own name for one charge: a UUIDv7 in lower case, so that names sort by the time they were made.
public struct ChargeID: Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String

    /// Nil unless `rawValue` is a lower-case UUIDv7 in its 36-character form. Source: RFC 9562, section 5.7.
    public init?(_ rawValue: String) {
        let characters = Array(rawValue.utf8)
        guard characters.count == 36 else { return nil }
        for (index, byte) in characters.enumerated() {
            switch index {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            case 14: guard byte == UInt8(ascii: "7") else { return nil }
            case 19: guard "89ab".utf8.contains(byte) else { return nil }
            default: guard "0123456789abcdef".utf8.contains(byte) else { return nil }
            }
        }
        self.rawValue = rawValue
    }

    /// The name of 32 hexadecimal digits, as it stands in a reference; nil where they are no charge's.
    public static func of(compact: String) -> ChargeID? {
        guard compact.utf8.count == 32 else { return nil }
        var name = ""
        for (index, digit) in compact.enumerated() {
            if [8, 12, 16, 20].contains(index) { name.append("-") }
            name.append(digit)
        }
        return ChargeID(name)
    }

    /// A new name for a charge made at `time`.
    public init(at time: WallTime, using generator: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(bitPattern: time.millisecondsSince1970) & 0xFFFF_FFFF_FFFF
        let high = milliseconds << 16 | 0x7000 | UInt64.random(in: 0...0xFFF, using: &generator)
        let low = UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF, using: &generator) | 0x8000_0000_0000_0000
        let digits = Self.hexadecimal(high) + Self.hexadecimal(low)
        var name = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { name.append("-") }
            name.append(digit)
        }
        rawValue = name
    }

    public var description: String { rawValue }

    /// The 32 hexadecimal digits without dashes: fits the gateway's 35 characters for a reference.
    public var compact: String { rawValue.filter { $0 != "-" } }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ChargeID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(text)' is not a charge ID")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    private static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// What customer and cashier compare to know that they speak of the same charge: four characters, easy to say.
public struct ChargeCode: Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String

    /// Digits and capitals without those that look alike (0 O, 1 I L, 2 Z, 5 S, 8 B, U V).
    static let alphabet: [Character] = Array("34679ACDEFGHJKMNPQRTWXY")

    /// A code drawn at random. Two charges may get the same one; it tells charges of one hour apart, not of all time.
    public init(using generator: inout some RandomNumberGenerator) {
        rawValue = String(
            (0..<4).map { _ in Self.alphabet[Int.random(in: 0..<Self.alphabet.count, using: &generator)] }
        )
    }

    public var description: String { rawValue }

    public init(from decoder: any Decoder) throws { rawValue = try decoder.singleValueContainer().decode(String.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// A moment of the wall clock. For people and records only: deadlines run on the monotonic clock.
public struct WallTime: Sendable, Hashable, Codable, Comparable {
    public let millisecondsSince1970: Int64

    public init(millisecondsSince1970: Int64) { self.millisecondsSince1970 = millisecondsSince1970 }

    /// The first or last moment that can be counted where the seconds lie past it.
    public init(secondsSince1970 seconds: Int64) {
        let (milliseconds, isTooFar) = seconds.multipliedReportingOverflow(by: 1000)
        millisecondsSince1970 = isTooFar ? (seconds < 0 ? .min : .max) : milliseconds
    }

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.millisecondsSince1970 < rhs.millisecondsSince1970 }

    /// The last moment that can be counted where the sum lies past it: a gateway may send any number as a time.
    public func advanced(by duration: Duration) -> WallTime {
        let (seconds, attoseconds) = duration.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        let (part, isTooLongAfterAll) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        let (sum, isTooLate) = millisecondsSince1970.addingReportingOverflow(part)
        guard !isTooLong, !isTooLongAfterAll, !isTooLate else {
            return WallTime(millisecondsSince1970: seconds < 0 ? .min : .max)
        }
        return WallTime(millisecondsSince1970: sum)
    }

    /// Negative where `other` lies before this moment. The longest time that can be counted where it is longer.
    public func duration(to other: WallTime) -> Duration {
        let (difference, isTooLong) = other.millisecondsSince1970.subtractingReportingOverflow(millisecondsSince1970)
        return .milliseconds(isTooLong ? (other < self ? .min : .max) : difference)
    }

    public var secondsSince1970: Int64 { millisecondsSince1970 / 1000 }

    public init(from decoder: any Decoder) throws {
        millisecondsSince1970 = try decoder.singleValueContainer().decode(Int64.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(millisecondsSince1970)
    }
}

/// One of the three ways to pay.
public enum Rail: String, Sendable, Hashable, Codable, CaseIterable {
    /// The customer's wallet scans the gateway's link.
    case scan
    /// The customer's phone, over BLE.
    case tap
    /// A wallet paired over the relay.
    case connect
}

/// Who did something at the terminal, as the journal and the audit log name them.
public enum Actor: Sendable, Hashable, Codable {
    case staff(name: String)
    case till(token: String)
    case customer
    case terminal
    /// Whoever stands at the keypad beside the screen. It asks nobody who they are.
    case keypad
    /// Somebody who has not shown who they are.
    case stranger
}

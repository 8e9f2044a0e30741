/// What a network calls itself: 1 to 32 bytes that whoever runs it chose, so anything at all.
///
/// iwd leaves networks out whose name is no UTF-8. Source: IEEE 802.11-2020, 9.4.2.2; iwd 2.3, src/station.c.
public struct WiFiName: Sendable, Hashable {
    /// As the network says it. Not for people: see ``shown``.
    public let text: String

    /// Nil where it is empty, longer than 32 bytes, or holds a zero byte.
    public init?(_ text: String) {
        guard (1...32).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        self.text = text
    }

    // By its bytes: Swift takes two spellings of “é” for the same text, and a network does not.
    public static func == (left: WiFiName, right: WiFiName) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }

    /// For people: two names that differ look different. What cannot be seen is �, a space that nobody would see is ␣.
    public var shown: String {
        var result = String.UnicodeScalarView()
        let scalars = Array(text.unicodeScalars)
        for (place, scalar) in scalars.enumerated() {
            let properties = scalar.properties
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                result.append("\u{FFFD}")
            case .spaceSeparator:
                let isSeen =
                    scalar == " " && place > 0 && place < scalars.count - 1 && scalars[place - 1] != " "
                result.append(isSeen ? " " : "\u{2423}")
            default:
                result.append(properties.isDefaultIgnorableCodePoint ? "\u{FFFD}" : scalar)
            }
        }
        return String(result)
    }
}

/// How a network lets stations in.
public enum WiFiSecurity: String, Sendable, CaseIterable {
    /// By nothing: whoever is near reads along.
    case open
    /// By a passphrase that everybody of the network has: WPA2 and WPA3.
    case passphrase
    /// By a passphrase of old, which protects nothing.
    case wep
    /// By a user's name and password, as offices have it.
    case enterprise

    /// Whether the terminal can join such a network.
    public var isSupported: Bool { self == .open || self == .passphrase }

    /// Source: iwd 2.3, doc/network-api.txt, `Type`. Nil for `hotspot`, which nothing here can join.
    init?(iwd word: String) {
        switch word {
        case "open": self = .open
        case "psk": self = .passphrase
        case "wep": self = .wep
        case "8021x": self = .enterprise
        default: return nil
        }
    }
}

/// A network that can be heard.
public struct WiFiNetwork: Sendable, Equatable {
    /// Which network: another one may have the same name and let stations in by something else.
    public struct ID: Sendable, Hashable {
        public let name: WiFiName
        public let security: WiFiSecurity

        public init(_ name: WiFiName, _ security: WiFiSecurity) { (self.name, self.security) = (name, security) }

        /// Letters and digits that stand for it in an address: the name's bytes as hexadecimal digits, and its security.
        public var code: String {
            let digits = Array("0123456789abcdef")
            let name = String(name.text.utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
            return "\(name)-\(security.rawValue)"
        }

        /// Nil for whatever ``code`` never gives.
        public init?(code: String) {
            let parts = code.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].utf8.count.isMultiple(of: 2), parts[0].utf8.count <= 64,
                let security = WiFiSecurity(rawValue: String(parts[1]))
            else { return nil }
            var bytes: [UInt8] = []
            var rest = parts[0].utf8[...]
            while let high = Self.digit(rest.popFirst()), let low = Self.digit(rest.popFirst()) {
                bytes.append(high << 4 | low)
            }
            guard rest.isEmpty, bytes.count * 2 == parts[0].utf8.count,
                let text = String(validating: bytes, as: UTF8.self),
                let name = WiFiName(text)
            else { return nil }
            self.init(name, security)
        }

        private static func digit(_ byte: UInt8?) -> UInt8? {
            switch byte {
            case .some(0x30...0x39): byte.map { $0 - 0x30 }
            case .some(0x61...0x66): byte.map { $0 - 0x57 }
            default: nil
            }
        }
    }

    public let id: ID
    /// Of its strongest sender, dBm: -30 is beside it, -90 is hardly there.
    public let strengthDBm: Int
    /// Whether iwd keeps what is needed to join it.
    public let isKnown: Bool
    /// Whether the terminal is in it, or on its way in.
    public let isJoined: Bool

    public init(id: ID, strengthDBm: Int, isKnown: Bool, isJoined: Bool) {
        (self.id, self.strengthDBm, self.isKnown, self.isJoined) = (id, strengthDBm, isKnown, isJoined)
    }
}

/// A network whose passphrase iwd keeps, and that it joins by itself.
public struct KnownWiFiNetwork: Sendable, Equatable {
    public let id: WiFiNetwork.ID
    /// Whether it does not say its name.
    public let isHidden: Bool

    public init(id: WiFiNetwork.ID, isHidden: Bool) { (self.id, self.isHidden) = (id, isHidden) }
}

/// A network's passphrase, on its way to iwd. It is written nowhere.
public struct Passphrase: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    let text: String

    /// Nil unless it has 8 to 63 letters, digits and signs of ASCII: no network has another.
    ///
    /// Source: IEEE 802.11-2020, J.4.1; iwd 2.3, src/crypto.c, `crypto_passphrase_is_valid`.
    public init?(_ text: String) {
        guard (8...63).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    public var description: String { "redacted" }
    public var debugDescription: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

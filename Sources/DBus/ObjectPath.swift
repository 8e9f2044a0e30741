/// The address of an object within one service, such as `/org/bluez/hci0`. Always well formed.
public struct ObjectPath: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let text: String

    public static let root = ObjectPath(checked: "/")

    /// `nil` unless `text` starts with `/`, has no empty element, and holds only letters, digits and `_` between.
    ///
    /// Source: D-Bus specification 0.42, "Valid object paths".
    public init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/"), text.utf8.count <= 4_096 else { return nil }
        if text.utf8.count > 1 {
            for element in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
                guard !element.isEmpty, element.allSatisfy(Self.isAllowed) else { return nil }
            }
        }
        self.text = text
    }

    private init(checked text: String) { self.text = text }

    /// This path and one element more.
    ///
    /// - Returns: `nil` if `element` is empty or holds anything but letters, digits and `_`.
    public func appending(_ element: String) -> ObjectPath? {
        ObjectPath(self == .root ? "/" + element : text + "/" + element)
    }

    /// Whether this object is `other` or stands below it.
    public func isWithin(_ other: ObjectPath) -> Bool {
        self == other || other == .root || text.hasPrefix(other.text + "/")
    }

    public static func < (left: ObjectPath, right: ObjectPath) -> Bool { left.text < right.text }

    public var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// A text that must not be seen: it prints as "redacted" wherever it is printed.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let text: String

    public init(_ text: String) { self.text = text }

    /// The text itself. Every call of this is a place to look at when asking where secrets go.
    public func reveal() -> String { text }

    public var description: String { "redacted" }
    public var debugDescription: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable {
    /// Takes the same time wherever two texts of one length differ.
    public static func == (lhs: Secret, rhs: Secret) -> Bool {
        let (left, right) = (Array(lhs.text.utf8), Array(rhs.text.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// Where a conversation's messages are left: 32 bytes that only its two sides and the relay know.
///
/// It opens nothing, but whoever has it can fill the mailbox behind it: logs show its beginning.
public struct Topic: Sendable, Hashable {
    /// 64 lower-case hexadecimal digits.
    public let text: String

    /// Reads 64 hexadecimal digits in either case; nil for anything else.
    public init?(_ text: String) {
        guard let bytes = Hex.bytes(text), bytes.count == 32 else { return nil }
        self.text = Hex.text(bytes)
    }

    /// `bytes` are 32; anything else is a mistake of the caller.
    init(bytes: [UInt8]) {
        precondition(bytes.count == 32, "a topic has 32 bytes")
        text = Hex.text(bytes)
    }

    /// The first eight digits: enough to follow one conversation through a log.
    public var prefix: String { String(text.prefix(8)) }
}

extension Topic: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "\(prefix)…" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a fragment broke the rules. Send control 0x04, disconnect, and connect again. Source: BPP/1, section 6, rule F3.
public enum FramingError: Error, Sendable, Equatable {
    /// Empty, or longer than any attribute value may be.
    case fragmentLength(Int)
    /// One was lost, repeated or overtaken.
    case sequence(expected: UInt8, found: UInt8)
    /// The head of a first fragment or of a control fragment is cut short or contradicts itself.
    case malformedHead
    /// A fragment that brings a message no further: a stream of these would keep it open for ever.
    case noData
    /// A continuation, and no message is open.
    case nothingOpen
    /// A new message inside an open one.
    case messageOpen
    /// The message says more than this link takes.
    case messageTooLong(Int)
    /// More bytes than the message said.
    case moreThanSaid
    /// The last fragment came before all bytes did.
    case endsEarly
    /// All bytes are there and the fragment is not marked as the last.
    case lastNotMarked
    /// The next fragment took longer than the gap allows.
    case gap
}

/// The plain bytes that end a link. Nobody has signed them: they never change a payment. Source: BPP/1, rule F6.
public struct ControlCode: RawRepresentable, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Version or suite is not one of ours.
    public static let unsupported = ControlCode(rawValue: 0x01)
    /// The phone talks to another terminal.
    public static let busy = ControlCode(rawValue: 0x02)
    public static let handshakeFailed = ControlCode(rawValue: 0x03)
    public static let framingError = ControlCode(rawValue: 0x04)
    public static let closing = ControlCode(rawValue: 0x05)
}

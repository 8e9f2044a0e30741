/// Puts messages together from fragments: one for each direction of each session.
///
/// Takes any bytes. It holds what has arrived and never more than one message; after a throw it takes nothing any more.
public struct Reassembler: Sendable {
    /// What a fragment completed.
    public enum Arrival: Sendable, Equatable {
        case message([UInt8])
        /// The other side ends the link. Disconnect; the payment stays as it is.
        case control(ControlCode)
    }

    private struct Open {
        var content: [UInt8]
        let said: Int
        var lastFragmentAt: Duration
    }

    private var expected: UInt8 = 0
    private var open: Open?
    private var failure: FramingError?
    /// 2048 to 4096.
    public let messageBytes: Int
    private let fragmentGap: Duration

    /// A value outside the range of the profile becomes the nearest inside.
    /// - Parameter fragmentGap: The longest time between two fragments of a message.
    public init(
        messageBytes: Int = Framing.maximumMessageBytes,
        fragmentGap: Duration = Framing.fragmentGap
    ) {
        self.fragmentGap = fragmentGap
        self.messageBytes = min(max(messageBytes, Framing.minimumMessageBytes), Framing.maximumMessageBytes)
    }

    /// When the next fragment must have come, on the clock of `receive(_:at:)`; nil while no message is open.
    public var deadline: Duration? { open.map { $0.lastFragmentAt + fragmentGap } }

    /// Takes one attribute value.
    /// - Parameter now: The time since any fixed moment, on a clock that never steps back.
    /// - Returns: Nil while the message is not whole.
    /// - Throws: The rule that was broken, and the same again for every fragment after it.
    public mutating func receive(
        _ fragment: some Collection<UInt8>,
        at now: Duration
    ) throws(FramingError) -> Arrival? {
        if let failure { throw failure }
        do throws(FramingError) {
            return try accept(fragment, at: now)
        } catch {
            failure = error
            open = nil
            throw error
        }
    }

    private mutating func accept(
        _ fragment: some Collection<UInt8>,
        at now: Duration
    ) throws(FramingError) -> Arrival? {
        guard let head = fragment.first, fragment.count <= Framing.maximumFragmentBytes else {
            throw .fragmentLength(fragment.count)
        }
        if let deadline, now > deadline { throw .gap }
        let sequence = head & Framing.sequenceMask
        guard sequence == expected else { throw .sequence(expected: expected, found: sequence) }
        expected = (expected + 1) & Framing.sequenceMask
        let isLast = head & Framing.last != 0
        let rest = fragment.dropFirst()
        guard head & Framing.first != 0 else {
            guard let open else { throw .nothingOpen }
            return try add(rest, to: open, isLast: isLast, at: now)
        }
        guard open == nil else { throw .messageOpen }
        guard rest.count >= 2 else { throw .malformedHead }
        let said = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        let content = rest.dropFirst(2)
        if said == 0 {
            guard isLast, content.count == 1, let code = content.first else { throw .malformedHead }
            return .control(ControlCode(rawValue: code))
        }
        guard said <= messageBytes else { throw .messageTooLong(said) }
        return try add(content, to: Open(content: [], said: said, lastFragmentAt: now), isLast: isLast, at: now)
    }

    private mutating func add(
        _ content: some Collection<UInt8>,
        to message: Open,
        isLast: Bool,
        at now: Duration
    ) throws(FramingError) -> Arrival? {
        guard !content.isEmpty else { throw .noData }
        var message = message
        message.content += content
        message.lastFragmentAt = now
        guard message.content.count <= message.said else { throw .moreThanSaid }
        let isWhole = message.content.count == message.said
        guard isWhole == isLast else { throw isWhole ? .lastNotMarked : .endsEarly }
        open = isWhole ? nil : message
        return isWhole ? .message(message.content) : nil
    }
}

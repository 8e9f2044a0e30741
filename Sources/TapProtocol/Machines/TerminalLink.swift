/// One link to one phone, as the terminal drives it. Source: BPP/1, sections 12.2 and 13.
public struct TerminalLink: Sendable, Hashable {
    public enum State: Sendable, Hashable, CaseIterable {
        /// Advertises. → connecting
        case seen
        case connecting, resolving, hello
        /// The handshake is answered. → prompt
        case offered
        /// The phone shows the request. → winner, loser
        case prompt
        case winner, loser
        /// → seen, gone
        case closing
        /// Not to be tried again for this payment.
        case gone
    }

    public enum Event: Sendable, Hashable, CaseIterable {
        /// Near enough, and a link is free.
        case gate
        case connected
        /// Services and characteristics are there.
        case resolved
        /// READ was read and is of our version; the declined set does not hold its session.
        case firstMessage
        case received
        case claimed, held, reopened
        /// A time limit, a control code, a message that does not open, a broken fragment, or the link's end.
        case failed
        /// The payment is over, or the phone has declined.
        case finished
        case disconnected
    }

    public enum Action: Sendable, Hashable {
        case connect
        /// Wait for services and for the characteristics' objects.
        case resolve
        /// Read READ, subscribe to STATUS.
        case sayHello
        case offer
        case disconnect
        /// Try again after this long.
        case retry(after: Duration)
        /// Take the phone out of the radio's memory.
        case remove
    }

    public private(set) var state = State.seen
    /// Tries that have failed, 0 to 3.
    public private(set) var failures = 0
    private var isFinished = false

    /// How long to wait after the first, second and third failure.
    public static let backOff: [Duration] = [.milliseconds(300), .seconds(1), .seconds(2)]

    public init() {}

    /// How long this state may last; nil where something else limits it.
    public var timeLimit: Duration? {
        switch state {
        case .connecting, .resolving: .seconds(5)
        case .hello: .seconds(2)
        case .offered: .seconds(3)
        // KEEPALIVE comes every five seconds.
        case .prompt: .seconds(15)
        case .closing: .seconds(1)
        case .seen, .winner, .loser, .gone: nil
        }
    }

    public mutating func handle(_ event: Event) -> [Action] {
        switch (state, event) {
        case (.gone, _): return []
        case (.seen, .gate): return move(to: .connecting, .connect)
        case (.connecting, .connected): return move(to: .resolving, .resolve)
        case (.resolving, .resolved): return move(to: .hello, .sayHello)
        case (.hello, .firstMessage): return move(to: .offered, .offer)
        case (.offered, .received): return move(to: .prompt)
        // A phone that comes back with its accept out is the winner before it says anything else.
        case (.offered, .claimed), (.prompt, .claimed): return move(to: .winner)
        case (.offered, .held), (.prompt, .held): return move(to: .loser)
        case (.winner, .reopened), (.loser, .reopened): return move(to: .prompt)
        case (.seen, .finished):
            isFinished = true
            return move(to: .gone, .remove)
        case (.closing, .finished):
            isFinished = true
            return []
        case (_, .finished):
            isFinished = true
            return move(to: .closing, .disconnect)
        case (.closing, .disconnected), (.closing, .failed): return closed()
        case (.seen, _): return []
        case (_, .disconnected):
            state = .closing
            return closed()
        case (.closing, _): return []
        case (_, .failed): return move(to: .closing, .disconnect)
        default: return []
        }
    }

    private mutating func move(to next: State, _ actions: Action...) -> [Action] {
        state = next
        return actions
    }

    private mutating func closed() -> [Action] {
        guard !isFinished, Self.backOff.indices.contains(failures) else { return move(to: .gone, .remove) }
        let wait = Self.backOff[failures]
        failures += 1
        return move(to: .seen, .remove, .retry(after: wait))
    }
}

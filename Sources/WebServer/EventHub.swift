import Locks

/// One piece of news for many: each event is encoded once and copied to every listener, a few at a time, so that hundreds of
/// them hold no request up.
///
/// For news of which only the newest counts. A listener to whom an event is still owed when the next one comes gets that one
/// alone; nobody hears an older one after a newer one.
public final class EventHub: Sendable {
    /// Listeners that are written to at once. The server's thread looks at requests between them.
    static let atOnce = 4

    /// Who shall hear an event.
    public enum Audience: Sendable {
        case everybody
        /// Those who have heard nothing yet.
        case newcomers
    }

    private struct Listener {
        let taker: any EventTaker
        let isWelcome: @Sendable () -> Bool
        var isNew = true
        var owed: (number: Int, event: ServerSentEvent)?
    }

    private struct Turn {
        let taker: any EventTaker
        let number: Int
        let event: ServerSentEvent
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextName = 0
        /// To whom something is owed, in their turn.
        var line: [Int] = []
        var served = 0
        /// Woken and not yet at work.
        var underWay = 0

        /// Of the last event.
        var number = 0

        mutating func owe(_ event: ServerSentEvent, to name: Int) {
            if listeners[name]?.owed == nil { line.append(name) }
            listeners[name]?.owed = (number, event)
        }

        /// Those whose turn it is, each with what is owed to them.
        mutating func turns(atOnce: Int) -> [Turn] {
            var turns: [Turn] = []
            while underWay < atOnce, served < line.count {
                let name = line[served]
                served += 1
                // Who has left is owed nothing.
                guard let listener = listeners[name], let (number, event) = listener.owed else { continue }
                listeners[name]?.owed = nil
                underWay += 1
                turns.append(Turn(taker: listener.taker, number: number, event: event))
            }
            if served == line.count { (line, served) = ([], 0) }
            return turns
        }
    }

    private let state = Mutex(State())
    private let came: @Sendable () -> Void

    /// - Parameter came: Somebody has come and waits for their first event. On the server's thread: it must not wait.
    public init(came: @escaping @Sendable () -> Void = {}) { self.came = came }

    /// How many listen.
    public var count: Int { state.withLock { $0.listeners.count } }

    /// Says `event` to everybody or to newcomers. Does not wait for any of them.
    public func publish(_ event: ServerSentEvent, to audience: Audience = .everybody) {
        for listener in unwelcome() { listener.end() }
        state.withLock { state in
            state.number += 1
            for (name, listener) in state.listeners {
                if case .newcomers = audience, !listener.isNew { continue }
                state.owe(event, to: name)
                state.listeners[name]?.isNew = false
            }
        }
        serve()
    }

    /// Says to everybody who is owed nothing that the connection lives.
    public func keepAlive(_ event: ServerSentEvent) {
        for listener in unwelcome() { listener.end() }
        state.withLock { state in
            state.number += 1
            for (name, listener) in state.listeners where listener.owed == nil { state.owe(event, to: name) }
        }
        serve()
    }

    /// Ends what those hear who may hear nothing any more.
    public func endUnwelcome() { for listener in unwelcome() { listener.end() } }

    private func unwelcome() -> [any EventTaker] {
        // Whether somebody is welcome is asked without the lock: whoever knows may be just ending them.
        let listeners = state.withLock { $0.listeners }
        return listeners.values.filter { !$0.isWelcome() }.map(\.taker)
    }

    // MARK: - The server's side

    /// Takes a listener in, and returns the name under which it leaves.
    func join(_ taker: any EventTaker, while isWelcome: @escaping @Sendable () -> Bool) -> Int {
        let name = state.withLock { state in
            state.nextName += 1
            state.listeners[state.nextName] = Listener(taker: taker, isWelcome: isWelcome)
            return state.nextName
        }
        came()
        return name
    }

    /// Nothing is sent to this one any more.
    func leave(_ name: Int) { state.withLock { $0.listeners[name] = nil } }

    /// Who was woken is at work: the next one's turn.
    func isAtWork() {
        state.withLock { $0.underWay -= 1 }
        serve()
    }

    private func serve() {
        while true {
            let turns = state.withLock { $0.turns(atOnce: Self.atOnce) }
            guard !turns.isEmpty else { return }
            var idle = 0
            for turn in turns where !turn.taker.take(turn.event.bytes, number: turn.number) { idle += 1 }
            // Those who were at work already, or have left, will not come back for this.
            state.withLock { $0.underWay -= idle }
        }
    }
}

/// Somebody to whom a hub gives its events.
protocol EventTaker: Sendable {
    /// Takes an event's bytes without waiting, or drops them where it took those of a later number.
    /// - Returns: Whether it was asleep and calls ``EventHub/isAtWork()`` once it is not any more.
    func take(_ bytes: [UInt8], number: Int) -> Bool
    func end()
}

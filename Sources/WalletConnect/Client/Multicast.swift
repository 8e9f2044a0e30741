internal import Locks

/// One source, any number of listeners, each with its own stream. A listener that does not keep up loses the oldest values.
final class Multicast<Value: Sendable>: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<Value>.Continuation] = [:]
        var latest: Value?
        var next: UInt64 = 0
        var isFinished = false
    }

    private let state: Mutex<State>
    private let replays: Bool
    private let limit: Int

    /// With `initial`, every new listener begins with the latest value.
    init(initial: Value? = nil, limit: Int = 256) {
        state = Mutex(State(latest: initial))
        replays = initial != nil
        self.limit = initial == nil ? limit : 1
    }

    /// A new stream. It ends with the client.
    var stream: AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(limit))
        let (number, isFinished) = state.withLock { state in
            state.next += 1
            if replays, let latest = state.latest { continuation.yield(latest) }
            if !state.isFinished { state.listeners[state.next] = continuation }
            return (state.next, state.isFinished)
        }
        if isFinished { continuation.finish() }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: UInt64) { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }

    func send(_ value: Value) {
        let listeners = state.withLock { state in
            if replays { state.latest = value }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(value) }
    }

    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}

extension Multicast where Value: Equatable {
    /// Sends only what is new.
    func change(to value: Value) {
        let isNew = state.withLock { $0.latest != value }
        if isNew { send(value) }
    }
}

import Locks

/// One source and any number of streams of it. Who stops reading is forgotten at once, on whichever thread that is: no task
/// has to come by for it, and whoever closes thousands of connections leaves nothing behind.
final class Listeners<Value: Sendable>: Sendable {
    /// What becomes of a reader who is behind.
    enum Patience {
        /// They get the newest and miss the ones between.
        case newestOnly
        /// Their stream ends where they are more than so many behind.
        case upTo(Int)
    }

    private struct State {
        var streams: [Int: AsyncStream<Value>.Continuation] = [:]
        var last = 0
    }

    private let patience: Patience
    private let state = Mutex(State())

    init(_ patience: Patience) { self.patience = patience }

    /// A stream of each value from now on.
    /// - Parameter first: What it begins with.
    func join(beginningWith first: Value? = nil) -> AsyncStream<Value> { joinByNumber(beginningWith: first).1 }

    /// As ``join(beginningWith:)``, for who wants to be told something on their own.
    func joinByNumber(beginningWith first: Value? = nil) -> (Int, AsyncStream<Value>) {
        let policy: AsyncStream<Value>.Continuation.BufferingPolicy =
            switch patience {
            case .newestOnly: .bufferingNewest(1)
            case .upTo(let count): .bufferingOldest(count)
            }
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: policy)
        if let first { continuation.yield(first) }
        let number = state.withLock { state in
            state.last += 1
            state.streams[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in self?.leave(number) }
        return (number, stream)
    }

    func tell(_ value: Value, only number: Int) { state.withLock { $0.streams[number] }?.yield(value) }

    func tell(_ value: Value) {
        for (number, stream) in state.withLock({ $0.streams }) {
            if case .dropped = stream.yield(value), case .upTo = patience {
                leave(number)
                stream.finish()
            }
        }
    }

    var count: Int { state.withLock { $0.streams.count } }

    // The stream is let go of outside the lock: its end may ask for the lock itself.
    private func leave(_ number: Int) { _ = state.withLock { $0.streams.removeValue(forKey: number) } }
}

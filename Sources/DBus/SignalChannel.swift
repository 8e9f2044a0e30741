import Locks

/// A bounded queue between the thread of a connection and the one task that reads a stream of it.
///
/// The writer never waits. When the queue is full the oldest element goes, and the next one read says how many went.
final class SignalChannel: Sendable {
    private enum Answer: Sendable {
        case signal(BusSignal)
        case ended(BusError?)
    }

    private struct State {
        var queue: [BusSignal] = []
        var head = 0
        var dropped = 0
        var end: BusError??
        var reader: CheckedContinuation<Answer, Never>?

        var isEmpty: Bool { head == queue.count }

        mutating func next() -> Answer? {
            guard !isEmpty else { return end.map { .ended($0) } }
            var signal = queue[head]
            passOldest()
            (signal.droppedBefore, dropped) = (dropped, 0)
            return .signal(signal)
        }

        /// Goes on to the one after the oldest. What lies before it leaves memory once it is more than half of the queue.
        mutating func passOldest() {
            head += 1
            if head > 64, head * 2 > queue.count { (queue, head) = (Array(queue[head...]), 0) }
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = max(1, limit) }

    /// How many signals it keeps in memory, those included that nobody will read any more.
    var held: Int { state.withLock { $0.queue.count } }

    func yield(_ signal: BusSignal) {
        let reader = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            guard state.end == nil else { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if state.queue.count - state.head >= limit {
                state.passOldest()
                state.dropped += 1
            }
            state.queue.append(signal)
            return nil
        }
        reader?.resume(returning: .signal(signal))
    }

    /// What is queued can still be read. `nil` ends the stream without an error.
    func finish(_ error: BusError?) {
        let reader = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            if state.end == nil { state.end = .some(error) }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: .ended(error))
    }

    /// The next signal; `nil` at the end, and when the task was cancelled.
    func next(isolation: isolated (any Actor)?) async throws(BusError) -> BusSignal? {
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> Answer? in
                    if let next = state.next() { return next }
                    // A second reader, or a task cancelled before it came here, gets the end.
                    if state.reader != nil || Task.isCancelled { return .ended(nil) }
                    state.reader = continuation
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            let reader = state.withLock { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: .ended(nil))
        }
        switch answer {
        case .signal(let signal): return signal
        case .ended(let error?): throw error
        case .ended(nil): return nil
        }
    }
}

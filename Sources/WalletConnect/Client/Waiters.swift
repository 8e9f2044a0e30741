internal import Locks

/// Callers that wait for a value by its key. A value that comes before its caller is kept for a while.
final class Waiters<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var waiting: [Key: [UInt64: CheckedContinuation<Value?, Never>]] = [:]
        var known: [Key: Value] = [:]
        var order: [Key] = []
        var next: UInt64 = 0
        var isFinished = false
    }

    private let state = Mutex(State())
    private let limit: Int

    /// `limit` is how many values are kept for callers that come later.
    init(limit: Int) { self.limit = limit }

    /// The value; nil when the task is cancelled or the client has stopped.
    func value(for key: Key) async -> Value? {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Value?? = state.withLock { state in
                    if let known = state.known[key] { return .some(known) }
                    if state.isFinished || Task.isCancelled { return .some(nil) }
                    state.waiting[key, default: [:]][number] = continuation
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                let continuation = state.waiting[key]?.removeValue(forKey: number)
                if state.waiting[key]?.isEmpty == true { state.waiting[key] = nil }
                return continuation
            }
            continuation?.resume(returning: nil)
        }
    }

    /// The value, where it has come and is still kept.
    func known(_ key: Key) -> Value? { state.withLock { $0.known[key] } }

    /// All that are kept, oldest first.
    func known() -> [(key: Key, value: Value)] {
        state.withLock { state in state.order.compactMap { key in state.known[key].map { (key, $0) } } }
    }

    func resolve(_ key: Key, _ value: Value) {
        let waiting = state.withLock { state in
            if state.known.updateValue(value, forKey: key) == nil {
                state.order.append(key)
                if state.order.count > limit { state.known[state.order.removeFirst()] = nil }
            }
            return state.waiting.removeValue(forKey: key) ?? [:]
        }
        for continuation in waiting.values { continuation.resume(returning: value) }
    }

    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = [:] }
            return state.waiting.values.flatMap(\.values)
        }
        for continuation in waiting { continuation.resume(returning: nil) }
    }
}

import Locks

/// Holds tasks until a test opens it. It stays open then.
public final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var nextWaiter = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        /// Cancelled before they could be put to wait.
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Lets through whoever waits, and whoever comes.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.sorted { $0.key < $1.key }.map(\.value)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when the latch is open, or the task is cancelled.
    public func pass() async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let passes = state.withLock { state in
                    if state.isOpen || state.cancelled.remove(id) != nil { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if passes { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                if let waiting = state.waiting.removeValue(forKey: id) {
                    return waiting as CheckedContinuation<Void, Never>?
                }
                state.cancelled.insert(id)
                return nil
            }
            continuation?.resume()
        }
    }
}

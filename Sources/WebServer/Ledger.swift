import Locks

/// Counts what must be over before libmicrohttpd may be stopped: suspended connections, above all.
///
/// `MHD_stop_daemon` aborts the process when a connection is suspended. `seal` therefore forbids further suspensions,
/// and the server waits until none is left. Seen with 0.9.75.
final class Ledger: Sendable {
    private struct State {
        var parked = 0
        var isSealed = false
        var tasks = 0
        var watcher: AsyncStream<Void>.Continuation?
    }

    private let state = Mutex(State())

    /// Call before suspending a connection. False: do not suspend, the server is about to stop.
    func park() -> Bool {
        state.withLock { state in
            if state.isSealed { return false }
            state.parked += 1
            return true
        }
    }

    /// Call on the server's thread once libmicrohttpd itself has taken note that the connection was resumed.
    func unpark() {
        state.withLock { state in
            state.parked -= 1
            state.watcher?.yield()
        }
    }

    func taskStarted() { state.withLock { $0.tasks += 1 } }

    func taskEnded() {
        state.withLock { state in
            state.tasks -= 1
            state.watcher?.yield()
        }
    }

    func seal() { state.withLock { $0.isSealed = true } }

    var hasParked: Bool { state.withLock { $0.parked > 0 } }
    var hasTasks: Bool { state.withLock { $0.tasks > 0 } }

    /// Something outside this ledger changed that `wait` may be waiting for.
    func noteChange() { state.withLock { _ = $0.watcher?.yield() } }

    /// Waits until `condition` holds. One waiter at a time; not sensitive to cancellation when the calling task is not.
    /// - Returns: False when `limit` passed first.
    @discardableResult
    func wait(atMost limit: Duration? = nil, until condition: @Sendable () -> Bool) async -> Bool {
        let (changes, watcher) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.watcher = watcher }
        defer { state.withLock { $0.watcher = nil } }
        let timer = limit.map { limit in
            Task {
                try? await Task.sleep(for: limit)
                watcher.finish()
            }
        }
        watcher.yield()
        for await _ in changes where condition() { break }
        timer?.cancel()
        await timer?.value
        return condition()
    }
}

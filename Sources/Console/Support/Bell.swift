import Locks
import Terminal

/// Tells one task that there is news. What comes just before it waits counts too.
final class Bell: Sendable {
    private struct State {
        var rings = 0
        var waiter: AsyncStream<Never>.Continuation?
    }

    private let state = Mutex(State())

    /// How often it has rung. Taken before looking for news, it loses none.
    var rings: Int { state.withLock(\.rings) }

    func ring() {
        let waiter = state.withLock { state in
            state.rings += 1
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.finish()
    }

    /// Until it rings again, at once where it has rung since `rings`, and no longer than the limit where there is one.
    func wait(since rings: Int, atMost limit: Duration?, by clock: TerminalClock) async {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        let hasRung = state.withLock { state in
            if state.rings == rings { state.waiter = continuation }
            return state.rings != rings
        }
        guard !hasRung else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in stream {} }
            if let limit {
                // Ends early only where nobody waits any more.
                group.addTask { try? await clock.sleep(limit) }
            }
            await group.next()
            group.cancelAll()
        }
    }
}

import Locks
import Payments
import Terminal

/// Time that passes only when a test says so. Sleeps end when it has passed them.
final class ManualClock: Sendable {
    private struct State {
        var now = Duration.zero
        /// What somebody has set the wall clock forward by.
        var shift = Duration.zero
        var nextSleeper = 0
        var sleepers: [Int: (until: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        /// Cancelled before they could be put to sleep.
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())
    /// 2026-09-21, the wall clock's reading when the test began.
    private let start = WallTime(millisecondsSince1970: 1_790_000_000_000)

    var now: Duration { state.withLock { $0.now } }

    /// Whether a task waits for exactly this much time to pass.
    func hasSleeper(for duration: Duration) -> Bool {
        state.withLock { state in state.sleepers.values.contains { $0.until == state.now + duration } }
    }

    /// How many sleeps have begun.
    var sleeps: Int { state.withLock { $0.nextSleeper } }

    /// How long the first one to wake still sleeps.
    var shortestSleep: Duration? {
        state.withLock { state in state.sleepers.values.map(\.until).min().map { $0 - state.now } }
    }

    /// Lets time pass and wakes whoever waited for less.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for key in due.keys { state.sleepers[key] = nil }
            // Of those who wake at once, whoever slept first: always in the same order.
            return due.sorted { ($0.value.until, $0.key) < ($1.value.until, $1.key) }.map(\.value.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Sets the wall clock, as people and time servers do.
    func setWall(by shift: Duration) { state.withLock { $0.shift += shift } }

    var terminalClock: TerminalClock {
        TerminalClock(
            elapsed: { self.now },
            sleep: { try await self.sleep($0) },
            wallTime: { self.state.withLock { self.start.advanced(by: $0.now + $0.shift) } }
        )
    }

    private func sleep(_ duration: Duration) async throws {
        guard duration > .zero else {
            await Task.yield()
            return try Task.checkCancellation()
        }
        let id = state.withLock { state in
            state.nextSleeper += 1
            return state.nextSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return true }
                    state.sleepers[id] = (state.now + duration, continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    state.cancelled.insert(id)
                    return nil as CheckedContinuation<Void, any Error>?
                }
                return sleeper.continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
    }
}

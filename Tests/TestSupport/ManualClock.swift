import Locks
public import Payments

/// Time that passes only when a test says so. Sleeps end when it has passed them.
public final class ManualClock: Sendable {
    private struct State {
        var now = Duration.zero
        /// How far somebody has set the wall clock forward.
        var shift = Duration.zero
        var nextSleeper = 0
        var sleepers: [Int: (until: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        /// Cancelled before they could be put to sleep.
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())
    /// The wall clock's reading when the test began.
    private let start: WallTime

    /// - Parameter start: The wall clock's reading; 2026-09-21 where the test does not care.
    public init(at start: WallTime = WallTime(millisecondsSince1970: 1_790_000_000_000)) { self.start = start }

    /// How much time has passed since the test began.
    public var now: Duration { state.withLock { $0.now } }

    /// The wall clock's reading.
    public func wallTime() -> WallTime { state.withLock { start.advanced(by: $0.now + $0.shift) } }

    /// Whether a task waits for exactly this much time to pass.
    public func hasSleeper(for duration: Duration) -> Bool {
        state.withLock { state in state.sleepers.values.contains { $0.until == state.now + duration } }
    }

    /// How many sleeps have begun.
    public var sleeps: Int { state.withLock { $0.nextSleeper } }

    /// How many tasks sleep at the moment.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// How long the first one to wake still sleeps.
    public var shortestSleep: Duration? {
        state.withLock { state in state.sleepers.values.map(\.until).min().map { $0 - state.now } }
    }

    /// Lets time pass and wakes whoever waited for less.
    public func advance(by duration: Duration) {
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
    public func setWall(by shift: Duration) { state.withLock { $0.shift += shift } }

    /// Suspends until the test has let that much time pass. Throws only when the task is cancelled.
    public func sleep(for duration: Duration) async throws {
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

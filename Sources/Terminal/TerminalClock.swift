public import Payments

/// The three things the terminal asks of time, so that tests can hold it still.
///
/// Deadlines run on `elapsed`, which no one can set back; `wallTime` is for people and records.
public struct TerminalClock: Sendable {
    /// Monotonic time since a moment that stays the same while the program runs.
    public let elapsed: @Sendable () -> Duration
    /// Suspends for a duration. Throws only when the task is cancelled.
    public let sleep: @Sendable (Duration) async throws -> Void
    public let wallTime: @Sendable () -> WallTime

    public init(
        elapsed: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        wallTime: @escaping @Sendable () -> WallTime
    ) {
        (self.elapsed, self.sleep, self.wallTime) = (elapsed, sleep, wallTime)
    }
}

extension TerminalClock {
    /// The machine's own clocks. Time that the machine spends suspended counts.
    public static let system: TerminalClock = {
        let clock = ContinuousClock()
        let start = clock.now
        return TerminalClock(
            elapsed: { start.duration(to: clock.now) },
            sleep: { try await clock.sleep(for: $0) },
            wallTime: { .now }
        )
    }()
}

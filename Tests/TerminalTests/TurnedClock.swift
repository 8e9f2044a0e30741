import Terminal

/// The test's clock for clients that want one of Swift's.
struct TurnedClock: Clock {
    struct Instant: InstantProtocol {
        let elapsed: Duration

        func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
        func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
        static func < (one: Instant, other: Instant) -> Bool { one.elapsed < other.elapsed }
    }

    let clock: ManualClock

    var now: Instant { Instant(elapsed: clock.now) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await clock.terminalClock.sleep(deadline.elapsed - clock.now)
    }
}

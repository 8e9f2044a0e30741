/// A test's clock for clients that take one of Swift's.
public struct TurnedClock: Clock {
    public struct Instant: InstantProtocol {
        let elapsed: Duration

        public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
        public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
        public static func < (one: Instant, other: Instant) -> Bool { one.elapsed < other.elapsed }
    }

    private let clock: ManualClock

    public init(clock: ManualClock) { self.clock = clock }

    public var now: Instant { Instant(elapsed: clock.now) }
    public var minimumResolution: Duration { .zero }

    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await clock.sleep(for: deadline.elapsed - clock.now)
    }
}

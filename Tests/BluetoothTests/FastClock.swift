/// Runs ten times as fast as the wall's, so that a time limit of 5 s is met in half a second.
struct FastClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let start = ContinuousClock.now
    private let factor = 10

    var now: Instant { Instant(offset: start.duration(to: .now) * factor) }
    var minimumResolution: Duration { .milliseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await Task.sleep(until: start + deadline.offset / factor, clock: .continuous)
    }
}

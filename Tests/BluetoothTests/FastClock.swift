/// Runs faster than the wall's, so that a time limit of 5 s is met in half a second. With a speed of 1 it is the wall's,
/// for tests that must not meet a time limit on a busy machine.
struct FastClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let start = ContinuousClock.now
    private let factor: Int

    init(speed: Int = 1) { factor = speed }

    var now: Instant { Instant(offset: start.duration(to: .now) * factor) }
    var minimumResolution: Duration { .milliseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await Task.sleep(until: start + deadline.offset / factor, clock: .continuous)
    }
}

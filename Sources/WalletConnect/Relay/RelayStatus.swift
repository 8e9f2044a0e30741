/// Where the connection to the relay stands, for lights.
public enum RelayLink: Sendable, Equatable {
    /// Not started, or ended.
    case idle
    case connecting
    /// Open, and every subscription is made.
    case connected
    case waiting(RelayTrouble, retryIn: Duration)
    /// Refused: someone has to change something. Tried again all the same after ``RelayClientSettings/refusedPause``, when
    /// the wall clock is set, and by ``RelayClient/restart()``: relays refuse by mistake, too.
    case stopped(RelayTrouble)
}

/// What has happened since the start, for metrics.
public struct RelayCounts: Sendable, Equatable {
    public var connections = 0
    public var failedConnections = 0
    /// Publications that the relay confirmed.
    public var published = 0
    /// Attempts after the first one of the same publication.
    public var republished = 0
    public var received = 0
    public var duplicates = 0
    public var acknowledged = 0
    /// Not acknowledged because storage did not take them. They come again.
    public var unstored = 0
    /// Not taken because too much waited already. They come again.
    public var overflowed = 0
    /// Frames that made no sense.
    public var malformed = 0
    public var timeouts = 0

    public init() {}
}

/// The connection and what went over it.
public struct RelayStatus: Sendable, Equatable {
    public var link: RelayLink
    public var counts: RelayCounts
    public var subscriptions: Int
    /// Requests that the relay has not answered yet.
    public var outstanding: Int
    /// Messages that were handed on and are not stored yet.
    public var unstored: Int
}

/// Time, chance and limits of a ``RelayClient``.
public struct RelayClientSettings: Sendable {
    /// `wss://host[:port]`, or `ws://` on one machine. A path is kept, a query is refused.
    public var url: String
    /// 32 hexadecimal digits that the relay's operator gave; nil where it asks for none.
    public var projectID: String?
    /// `wc-2/NAME-VERSION/SYSTEM`.
    public var userAgent = "wc-2/till-1.0.0/linux"
    /// For connecting, and for each request's answer.
    public var deadline = Duration.seconds(10)
    /// After so long without a sign of life, a ping asks for one.
    public var heartbeat = Duration.seconds(15)
    /// After so long without one, the connection is given up.
    public var silence = Duration.seconds(30)
    /// Pauses before the second, third … attempt; the last one is repeated. Each is shortened by up to half, by chance.
    public var pauses: [Duration] = [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(5)]
    /// The pause when the relay asks for one.
    public var longPause = Duration.seconds(30)
    /// The longest pause where the relay refuses the key, the project or the address.
    public var refusedPause = Duration.seconds(300)
    /// The longest message that is sent or taken, in bytes of its frame.
    public var frameLimitBytes = 1_310_720
    /// Requests without an answer at a time; further ones wait for their turn.
    public var outstandingLimit = 64
    /// Messages handed on and not yet acknowledged, at a time.
    public var unstoredLimit = 256
    /// Bytes of them.
    public var unstoredLimitBytes = 16 * 1_048_576
    /// Topics that may be subscribed.
    public var subscriptionLimit = 10_000

    public init(url: String, projectID: String?) { (self.url, self.projectID) = (url, projectID) }
}

/// Where a ``RelayClient`` has time and chance from.
public struct RelayClock: Sendable {
    /// Time that only goes forward, from any start.
    public var elapsed: @Sendable () -> Duration
    /// Milliseconds since 1970.
    public var wallMilliseconds: @Sendable () -> Int64
    /// Throws only when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// 64 random bits.
    public var random: @Sendable () -> UInt64

    public init(
        elapsed: @escaping @Sendable () -> Duration,
        wallMilliseconds: @escaping @Sendable () -> Int64,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> UInt64
    ) {
        (self.elapsed, self.wallMilliseconds, self.sleep, self.random) = (elapsed, wallMilliseconds, sleep, random)
    }

    /// Returns once somebody has set the wall clock by more than a minute, or when the task is cancelled.
    func waitUntilSet() async {
        func offset() -> Int64 {
            let time = elapsed().components
            return wallMilliseconds() - time.seconds * 1000 - time.attoseconds / 1_000_000_000_000_000
        }
        let start = offset()
        while abs(offset() - start) < 60_000 { do { try await sleep(.seconds(10)) } catch { return } }
    }

    /// The machine's own.
    /// - Parameter wallMilliseconds: Milliseconds since 1970.
    public static func system(wallMilliseconds: @escaping @Sendable () -> Int64) -> RelayClock {
        let clock = ContinuousClock()
        let start = clock.now
        return RelayClock(
            elapsed: { start.duration(to: clock.now) },
            wallMilliseconds: wallMilliseconds,
            sleep: { try await clock.sleep(for: $0) },
            random: { UInt64.random(in: .min ... .max) }
        )
    }
}

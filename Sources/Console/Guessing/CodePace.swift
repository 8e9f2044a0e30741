/// Rate limit for guesses at a code that the terminal's screen shows. A value; time comes from outside.
///
/// A code has 40 bits and lives 15 minutes, so that a pace is enough: nobody's wrong guesses end a code or close the way for
/// the one who reads it. Held in memory, for a code lives no longer than the program. Source: OWASP ASVS 5.0, 6.4.1.
struct CodePace: Sendable {
    /// Fills by itself.
    private struct Bucket {
        let burst: Double
        let perSecond: Double
        var left: Double
        var at: Duration

        init(_ burst: Double, _ perSecond: Double, at now: Duration) {
            (self.burst, self.perSecond, left, at) = (burst, perSecond, burst, now)
        }

        mutating func fill(at now: Duration) {
            left = min(burst, left + max(0, (now - at) / .seconds(1)) * perSecond)
            at = now
        }

        /// Until there is room for one more.
        var wait: Duration { left >= 1 ? .zero : .seconds((1 - left) / perSecond) }
    }

    static let burst = 5.0
    static let perSecond = 0.1
    static let burstOfNetwork = 50.0
    static let networkPerSecond = 1.0
    static let burstInAll = 100.0
    static let inAllPerSecond = 10.0
    /// A place's first guesses do not depend on the pace in all, unless there are so many places that some were forgotten.
    static let freeOfAll = 3.0
    /// Places remembered. Where there are more, those with the most guesses left are forgotten.
    static let capacity = 1024

    private var places: [String: Bucket] = [:]
    private var all: Bucket?

    var remembered: Int { places.count }

    /// Takes one guess; nil where it may be looked at, else how long to wait.
    mutating func take(_ source: GuessSource, at now: Duration) -> Duration? {
        var own = places["source:" + source.name] ?? Bucket(Self.burst, Self.perSecond, at: now)
        var network = source.network.map { name in
            places["network:" + name] ?? Bucket(Self.burstOfNetwork, Self.networkPerSecond, at: now)
        }
        var all = all ?? Bucket(Self.burstInAll, Self.inAllPerSecond, at: now)
        own.fill(at: now)
        network?.fill(at: now)
        all.fill(at: now)
        let isFree = own.left > Self.burst - Self.freeOfAll && places.count < Self.capacity / 2
        let wait = max(own.wait, network?.wait ?? .zero, isFree ? .zero : all.wait)
        if wait == .zero {
            own.left -= 1
            network?.left -= 1
            all.left = max(0, all.left - 1)
        }
        if places.count >= Self.capacity { forgetSome(at: now) }
        places["source:" + source.name] = own
        if let name = source.network { places["network:" + name] = network }
        self.all = all
        return wait == .zero ? nil : wait
    }

    /// The half with the most guesses left: who guesses all the time stays known.
    private mutating func forgetSome(at now: Duration) {
        for key in places.keys { places[key]?.fill(at: now) }
        let byWait = places.sorted { $0.value.left / $0.value.burst < $1.value.left / $1.value.burst }
        places = Dictionary(uniqueKeysWithValues: byWait.prefix(Self.capacity / 2).map { ($0.key, $0.value) })
    }
}

/// Rate limits for guesses at a password or a PIN: a doubling pause for each source, and a pace for all sources together. A value.
///
/// A source's count is its own: no other source waits for it. The pace bounds an attacker with many sources. It refills, so that
/// it never closes for good, and a source that gave the right answer before does not depend on it.
/// The journal keeps it after each failure, so that a restart does not reset it. The longest pause is 15 minutes.
/// Source: OWASP ASVS 5.0, 6.3.1; ETSI EN 303 645, 5.1-5.
struct Throttle: Sendable, Equatable {
    static let freeTries = 3
    static let freeTriesOfSession = 10
    /// A network of 64 bits has more addresses than can be counted. Others in the same network wait with it.
    static let freeTriesOfNetwork = 30
    static let longestPause: Int64 = 15 * 60 * 1000
    /// Sources remembered. The oldest goes first; the account's own count stays.
    static let capacity = 256
    /// Familiar sources remembered. The oldest goes first.
    static let mostFamiliar = 64

    /// The rate limit of all sources together that gave no right guess before.
    struct Pace: Sendable, Equatable {
        /// Tries at once.
        var burst: Int
        /// Milliseconds until one more.
        var refill: Int64

        /// 200, then 4,320 a day. 12 addresses that guess as fast as they can come to 144 in the first ten minutes and to 48
        /// an hour after that.
        static let password = Pace(burst: 200, refill: 20_000)
        /// 30, then 144 a day: ten thousand PINs take more than two months, at a browser that was let in. One browser alone
        /// comes to 96 a day, which leaves room for others.
        static let pin = Pace(burst: 30, refill: 600_000)
    }

    struct Count: Sendable, Codable, Equatable {
        var failures: Int
        /// Milliseconds since 1970: it has to mean the same after a restart.
        var lastFailure: Int64
    }

    let pace: Pace
    private(set) var counts: [String: Count] = [:]
    /// The newest last.
    private(set) var familiar: [String] = []

    init(_ pace: Pace) { self.pace = pace }

    /// The wait before a guess may be made; zero where it may be made now.
    func pause(account: String, source: GuessSource, at now: Int64) -> Duration {
        let bySource = pause(counts["source:" + source.name], after: source.freeTries, at: now)
        guard countsForAll(source, account) else { return .milliseconds(bySource) }
        let byNetwork = source.network.map {
            pause(counts["network:" + $0], after: Self.freeTriesOfNetwork, at: now)
        }
        let byAccount = wait(for: counts["account:" + account], at: now)
        return .milliseconds(max(bySource, byNetwork ?? 0, byAccount))
    }

    /// Counts a guess before anybody looks at it: guesses at the same moment must not all see the same count.
    mutating func fail(account: String, source: GuessSource, at now: Int64) {
        var keys = ["source:" + source.name]
        if countsForAll(source, account) {
            if let network = source.network { keys.append("network:" + network) }
            let key = "account:" + account
            var count = drained(counts[key], at: now)
            count.failures = min(count.failures + 1, pace.burst)
            counts[key] = count
        }
        for key in keys {
            var count = counts[key] ?? Count(failures: 0, lastFailure: now)
            // An hour without a failure forgives the earlier ones.
            if now - count.lastFailure > 3_600_000 { count.failures = 0 }
            count.failures += 1
            count.lastFailure = now
            counts[key] = count
        }
        let places = counts.filter { !$0.key.hasPrefix("account:") }
        if places.count > Self.capacity,
            let oldest = places.min(by: { $0.value.lastFailure < $1.value.lastFailure })
        {
            counts[oldest.key] = nil
        }
    }

    /// The guess that was counted was right.
    mutating func succeed(account: String, source: GuessSource) {
        takeBack(account: account, source: source)
        counts["source:" + source.name] = nil
        remember(source, account)
    }

    /// The guess that was counted was not looked at.
    mutating func takeBack(account: String, source: GuessSource) {
        var keys = ["source:" + source.name]
        if countsForAll(source, account) {
            keys.append("account:" + account)
            if let network = source.network { keys.append("network:" + network) }
        }
        for key in keys {
            guard var count = counts[key] else { continue }
            count.failures = max(0, count.failures - 1)
            counts[key] = count.failures == 0 ? nil : count
        }
    }

    /// The place of a counted guess in a line: 0 for whoever is signed in or was right there before, else the failures of its
    /// source, this one with them.
    func rank(account: String, source: GuessSource) -> Int {
        countsForAll(source, account) ? max(1, counts["source:" + source.name]?.failures ?? 1) : 0
    }

    private mutating func remember(_ source: GuessSource, _ account: String) {
        guard source.becomesFamiliar else { return }
        let place = Self.place(source, account)
        familiar.removeAll { $0 == place }
        familiar.append(place)
        familiar.removeFirst(max(0, familiar.count - Self.mostFamiliar))
    }

    /// Clears a source whose person was identified by another way.
    mutating func forgive(account: String, source: GuessSource) {
        counts["source:" + source.name] = nil
        remember(source, account)
    }

    /// A wall clock that jumped back must not lengthen a pause: what lies ahead of it happened now.
    mutating func follow(clock now: Int64) {
        for (key, count) in counts where count.lastFailure > now { counts[key]?.lastFailure = now }
    }

    /// Forgets whatever goes by such a name.
    mutating func forget(where isOver: (String) -> Bool) { counts = counts.filter { !isOver($0.key) } }

    /// True where the source shares the pace of all.
    private func countsForAll(_ source: GuessSource, _ account: String) -> Bool {
        source.becomesFamiliar && !familiar.contains(Self.place(source, account))
    }

    private static func place(_ source: GuessSource, _ account: String) -> String { "\(account) \(source.name)" }

    private func pause(_ count: Count?, after free: Int, at now: Int64) -> Int64 {
        guard let count, count.failures >= free else { return 0 }
        let doublings = min(count.failures - free, 20)
        let pause = min(1000 << Int64(doublings), Self.longestPause)
        return min(pause, max(0, count.lastFailure + pause - now))
    }

    /// Until the pace in all has room for one more.
    private func wait(for count: Count?, at now: Int64) -> Int64 {
        let level = drained(count, at: now)
        guard level.failures >= pace.burst else { return 0 }
        return min(pace.refill, max(1, level.lastFailure + pace.refill - now))
    }

    /// The count after the refill up to `now`. `lastFailure` becomes the time of the last refill.
    private func drained(_ count: Count?, at now: Int64) -> Count {
        guard var count, count.failures > 0 else { return Count(failures: 0, lastFailure: now) }
        let steps = max(0, now - count.lastFailure) / pace.refill
        guard steps < Int64(count.failures) else { return Count(failures: 0, lastFailure: now) }
        count.failures -= Int(steps)
        count.lastFailure += steps * pace.refill
        return count
    }
}

extension Throttle {
    /// The form in which a throttle is written to the journal. The pace is not part of it.
    struct Kept: Sendable, Codable, Equatable {
        private var counts: [String: Count]
        /// Missing where an earlier version wrote it.
        private var familiar: [String]?

        init(_ throttle: Throttle) { (counts, familiar) = (throttle.counts, throttle.familiar) }

        func throttle(_ pace: Pace) -> Throttle {
            var throttle = Throttle(pace)
            throttle.counts = counts
            throttle.familiar = familiar ?? []
            return throttle
        }
    }

    var kept: Kept { Kept(self) }
}

/// Slows guessing down: by the account and by where the guess comes from, doubling with each failure. A value.
///
/// Written to the journal after each failure, so that a restart does not reset it. It never locks anybody out for good:
/// the longest pause is 15 minutes. Source: OWASP ASVS 5.0, 6.3.1; ETSI EN 303 645, 5.1-5.
struct Throttle: Sendable, Codable, Equatable {
    static let freeTries = 3
    static let longestPause: Int64 = 15 * 60 * 1000
    /// Sources remembered. The oldest goes first; the account's own count stays.
    static let capacity = 256

    struct Count: Sendable, Codable, Equatable {
        var failures: Int
        /// Milliseconds since 1970: it has to mean the same after a restart.
        var lastFailure: Int64
    }

    private(set) var counts: [String: Count] = [:]

    /// How long a guess has to wait; zero where it may be made.
    func pause(account: String, source: String, at now: Int64) -> Duration {
        // From one address a pause comes after three failures; for the account as a whole after ten times as many, so
        // that a stranger cannot keep the owner out.
        let bySource = pause(counts["source:" + source], after: Self.freeTries, at: now)
        let byAccount = pause(counts["account:" + account], after: Self.freeTries * 10, at: now)
        return .milliseconds(max(bySource, byAccount))
    }

    mutating func fail(account: String, source: String, at now: Int64) {
        for key in ["account:" + account, "source:" + source] {
            var count = counts[key] ?? Count(failures: 0, lastFailure: now)
            // An hour without a failure forgives the earlier ones.
            if now - count.lastFailure > 3_600_000 { count.failures = 0 }
            count.failures += 1
            count.lastFailure = now
            counts[key] = count
        }
        if counts.count > Self.capacity,
            let oldest = counts.filter({ $0.key.hasPrefix("source:") }).min(by: {
                $0.value.lastFailure < $1.value.lastFailure
            })
        {
            counts[oldest.key] = nil
        }
    }

    mutating func succeed(account: String, source: String) {
        counts["source:" + source] = nil
        counts["account:" + account] = nil
    }

    /// Forgets whatever goes by such a name.
    mutating func forget(where isOver: (String) -> Bool) { counts = counts.filter { !isOver($0.key) } }

    private func pause(_ count: Count?, after free: Int, at now: Int64) -> Int64 {
        guard let count, count.failures >= free else { return 0 }
        let doublings = min(count.failures - free, 20)
        let pause = min(1000 << Int64(doublings), Self.longestPause)
        // A wall clock that jumped back must not lengthen a pause.
        return min(pause, max(0, count.lastFailure + pause - now))
    }
}

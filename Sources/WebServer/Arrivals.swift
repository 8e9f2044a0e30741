/// How often one source may open a connection: a bucket for each, which fills by itself. A value.
///
/// A handshake costs the processor a millisecond, which no number of open connections bounds: whoever is cut comes again.
struct Arrivals {
    /// Of each source; `Int.max`: no limit.
    let perSecond: Int
    /// Seconds' worth at once: a browser that comes for the first time opens some ten.
    private static let burstSeconds = 8.0
    /// Sources remembered. Past it those who have been quiet are forgotten, and else all.
    private static let most = 1024

    private struct Bucket {
        var left: Double
        /// Monotonic nanoseconds.
        var filledAt: Int64
    }

    private var buckets: [String: Bucket] = [:]

    init(perSecond: Int) { self.perSecond = perSecond }

    /// Takes one connection of a source. False: it comes too soon.
    /// - Parameter now: Monotonic nanoseconds; never earlier than at the call before.
    mutating func take(_ source: String, at now: Int64) -> Bool {
        guard perSecond < .max else { return true }
        let burst = Double(max(1, perSecond)) * Self.burstSeconds
        if buckets.count >= Self.most, buckets[source] == nil {
            buckets = buckets.filter { filled($0.value, to: burst, at: now) < burst }
            if buckets.count >= Self.most { buckets = [:] }
        }
        var bucket = buckets[source] ?? Bucket(left: burst, filledAt: now)
        bucket.left = filled(bucket, to: burst, at: now)
        bucket.filledAt = now
        let isInTime = bucket.left >= 1
        if isInTime { bucket.left -= 1 }
        buckets[source] = bucket
        return isInTime
    }

    private func filled(_ bucket: Bucket, to burst: Double, at now: Int64) -> Double {
        // In range: both are the machine's own monotonic clock in nanoseconds, which lasts for 292 years.
        min(burst, bucket.left + Double(now - bucket.filledAt) / 1_000_000_000 * Double(max(1, perSecond)))
    }
}

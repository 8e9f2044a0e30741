/// How often somebody may ask for a page that everybody may ask for: a bucket for each name, which fills by itself. A value.
///
/// Held in memory: after a restart everybody starts with a full bucket, which costs nothing.
struct AddressPace: Sendable {
    /// Requests at once. A page asks every two seconds.
    static let burst = 60.0
    static let perSecond = 4.0
    /// Names remembered. Where there are more, those forgotten are the ones whose bucket is nearly full again.
    static let capacity = 512

    private struct Bucket {
        var left: Double
        var at: Duration
    }
    private var buckets: [String: Bucket] = [:]

    var remembered: Int { buckets.count }

    /// Takes one request; nil where it may be answered, else how long to wait.
    /// - Parameter name: An address, or a link and the address that asks for it.
    mutating func take(_ name: String, at now: Duration) -> Duration? {
        var bucket = buckets[name] ?? Bucket(left: Self.burst, at: now)
        bucket.left = Self.level(bucket, at: now)
        bucket.at = now
        let isAllowed = bucket.left >= 1
        if isAllowed { bucket.left -= 1 }
        if buckets[name] == nil, buckets.count >= Self.capacity { forgetSome(at: now) }
        buckets[name] = bucket
        return isAllowed ? nil : .seconds((1 - bucket.left) / Self.perSecond)
    }

    private static func level(_ bucket: Bucket, at now: Duration) -> Double {
        let (seconds, attoseconds) = (now - bucket.at).components
        return min(burst, bucket.left + (Double(seconds) + Double(attoseconds) / 1e18) * perSecond)
    }

    /// The fuller half: who asks all the time stays known.
    private mutating func forgetSome(at now: Duration) {
        let byLevel = buckets.sorted { Self.level($0.value, at: now) < Self.level($1.value, at: now) }
        buckets = Dictionary(uniqueKeysWithValues: byLevel.prefix(Self.capacity / 2).map { ($0.key, $0.value) })
    }
}

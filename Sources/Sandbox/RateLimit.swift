import Payments

/// How many calls one key may make in how long.
public struct RateLimit: Sendable, Equatable {
    public let calls: Int
    public let seconds: Int

    public init(calls: Int, seconds: Int) { (self.calls, self.seconds) = (max(1, calls), max(1, seconds)) }

    /// Reads `20/10`: twenty calls in ten seconds. Nil for anything else.
    public init?(parsing text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let calls = parts[0], let seconds = parts[1], (1...1_000_000).contains(calls),
            (1...86_400).contains(seconds)
        else { return nil }
        self.init(calls: calls, seconds: seconds)
    }
}

/// What each key has used of its limit: a window that opens with the first call and then starts anew.
///
/// Production's limits are not published; what clients are told is: 429 with `Retry-After` in whole seconds.
struct RateMeter: Sendable {
    private var windows: [String: (end: WallTime, calls: Int)] = [:]

    /// - Throws: 429, with the seconds until the key may call again.
    mutating func count(_ key: String, _ limit: RateLimit, at now: WallTime) throws(APIError) {
        var window = windows[key] ?? (now, 0)
        if window.end <= now { window = (now.advanced(by: .seconds(limit.seconds)), 0) }
        guard window.calls < limit.calls else {
            let left = now.duration(to: window.end)
            let seconds = left.components.seconds + (left.components.attoseconds > 0 ? 1 : 0)
            throw APIError(429, "rate_limited", "Too many requests", retryAfterSeconds: Int(seconds))
        }
        window.calls += 1
        windows[key] = window
    }
}

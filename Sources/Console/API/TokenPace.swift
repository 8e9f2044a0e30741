/// How often a program with a token may ask: a bucket that fills by itself. A value.
///
/// Generous: a till asks once a sale and follows events. What runs in a circle is slowed down before it costs the counter
/// anything. A token's own bucket, so that nobody is shut out by another's haste.
struct TokenPace: Sendable {
    /// Requests at once.
    static let burst = 100.0
    static let perSecond = 10.0

    private var left = burst
    private var filledAt: Duration

    init(at now: Duration) { filledAt = now }

    /// Takes one request; nil where it may be answered, else how long to wait.
    mutating func take(at now: Duration) -> Duration? {
        left = min(Self.burst, left + max(0, (now - filledAt) / .seconds(1)) * Self.perSecond)
        filledAt = now
        guard left >= 1 else { return .seconds((1 - left) / Self.perSecond) }
        left -= 1
        return nil
    }
}

/// What takes a connection for long.
enum TokenUse: Sendable, Hashable {
    /// A question that is answered when something changes.
    case wait
    /// A stream of events.
    case events

    /// By all tokens together: the page's own streams and questions always find room beside them.
    var most: Int {
        switch self {
        case .wait: 24
        case .events: 8
        }
    }

    var mostOfOne: Int {
        switch self {
        case .wait: 6
        case .events: 3
        }
    }
}

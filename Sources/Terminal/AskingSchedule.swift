import Payments

/// When which payment is asked about without anybody waiting for it. A value: it decides, and asks and waits for nothing.
///
/// | what is known of the charge | asked about |
/// |---|---|
/// | open, and the terminal has gone on | 15 s after that, then in doubling gaps, ten minutes at most, until it has ended |
/// | open, and a rail follows it for the screen | every ten minutes, should the rail have given up |
/// | ended without money, although somebody could have paid at the last moment | 1 min, 10 min, 1 h, 6 h and 24 h after |
/// | the same, and the last look got no answer | every ten minutes on that day, every hour for a week |
/// | any of these, and the last question got no answer | also when the gateway is back: 15 s after it, later each time |
///
/// Decided in docs/decisions/0005-asking-again.md.
struct AskingSchedule: Sendable, Equatable {
    /// Why a charge is asked about.
    enum Interest: Sendable, Equatable {
        /// It is open and the terminal does not wait for it.
        case open
        /// It is open and on the screen.
        case held
        /// It ended without money at this moment, on the clock that all of this runs on.
        case ended(at: Duration)
    }

    private struct Entry: Equatable {
        var interest: Interest
        var due: Duration
        var gap: Duration
        /// When it was last asked about without an answer; nil where it was answered, or not asked yet.
        var unansweredSince: Duration?
        /// How soon after a question without an answer it may be asked again at the earliest.
        var leastGap = AskingSchedule.firstGap
    }

    static let firstGap = Duration.seconds(15)
    static let longestGap = Duration.seconds(600)
    /// After the end of a charge that ended without money.
    static let lastLooks: [Duration] = [
        .seconds(60), .seconds(600), .seconds(3600), .seconds(21_600), .seconds(86_400),
    ]
    /// How long after its end a charge is asked about where there are answers.
    static let lastLook = Duration.seconds(86_400)
    /// How long where there are none, and how often then.
    static let lastTry = Duration.seconds(7 * 86_400)
    private static let triesGap = Duration.seconds(3600)

    private var entries: [ChargeID: Entry] = [:]

    /// When the next one is due; nil where nothing is to be asked.
    var next: Duration? { entries.values.map(\.due).min() }

    /// Whom to ask about now, the longest due first.
    func due(at now: Duration) -> [ChargeID] {
        entries.filter { $0.value.due <= now }
            .sorted { ($0.value.due, $0.key.rawValue) < ($1.value.due, $1.key.rawValue) }.map(\.key)
    }

    /// Takes what is known of a charge now. What has not changed keeps its time.
    /// - Parameter interest: Nil where nothing can come any more.
    mutating func plan(_ id: ChargeID, _ interest: Interest?, at now: Duration) {
        guard let interest else {
            entries[id] = nil
            return
        }
        switch (interest, entries[id]?.interest) {
        case (.open, .open?), (.held, .held?), (.ended, .ended?): return
        default: break
        }
        guard let due = Self.first(interest, after: now) else {
            entries[id] = nil
            return
        }
        entries[id] = Entry(interest: interest, due: due, gap: Self.firstGap, unansweredSince: nil)
    }

    /// Takes what became of a question.
    mutating func asked(_ id: ChargeID, wasAnswered: Bool, at now: Duration) {
        guard var entry = entries[id] else { return }
        entry.unansweredSince = wasAnswered ? nil : now
        if wasAnswered { entry.leastGap = Self.firstGap }
        switch entry.interest {
        case .open:
            entry.gap = min(entry.gap * 2, Self.longestGap)
            entry.due = now + entry.gap
        case .held: entry.due = now + Self.longestGap
        case .ended(let end):
            // Without an answer it is not looked after: once more, within the time in which it is asked at all.
            let next = Self.lastLooks.map { end + $0 }.first { $0 > now }
            let again = now + (now < end + Self.lastLook ? Self.longestGap : Self.triesGap)
            let due = wasAnswered ? next : min(next ?? again, again)
            guard let due, due <= end + Self.lastTry else {
                entries[id] = nil
                return
            }
            entry.due = due
        }
        entries[id] = entry
    }

    /// The gateway answers again: what it did not answer is due. What it goes on not answering is due later each time, so that
    /// one payment cannot keep asking while others are answered.
    mutating func silenceIsOver(at now: Duration) {
        for (id, entry) in entries {
            guard let since = entry.unansweredSince else { continue }
            entries[id]?.due = min(entry.due, max(now, since + entry.leastGap))
            entries[id]?.unansweredSince = nil
            entries[id]?.leastGap = min(entry.leastGap * 2, Self.longestGap)
        }
    }

    private static func first(_ interest: Interest, after now: Duration) -> Duration? {
        switch interest {
        case .open: now + firstGap
        case .held: now + longestGap
        case .ended(let end): lastLooks.map { end + $0 }.first { $0 > now }
        }
    }
}

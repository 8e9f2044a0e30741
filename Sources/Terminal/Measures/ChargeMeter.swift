public import Payments

/// Counts what happens to charges and how long each stage takes. A value; it holds no name and no amount.
///
/// Everything counts from the terminal's start: a payment that an earlier run left open is counted where it ends, and has no
/// times, since their beginning is not known.
public struct ChargeMeter: Sendable, Equatable {
    /// From one moment of a charge to the next, for the rail where it happened.
    public enum Stage: String, Sendable, CaseIterable {
        /// Opened, until the customer can pay on the rail.
        case offered
        /// Opened, until the screen read its own code back.
        case shown
        /// The customer could pay, until the customer agreed: the authority says "processing", or the phone accepted.
        case accepted
        /// Agreed, or the customer could pay where nobody said that it began, until the authority's last word.
        case settled
        /// Opened, until the authority's last word.
        case whole
    }

    /// A distribution with fixed bounds, cheap enough to keep for each stage.
    public struct Histogram: Sendable, Equatable {
        /// Upper bounds in seconds; one more bucket holds what is above.
        public static let bounds: [Double] = [
            0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
        ]
        /// How many fell into each bucket, not summed up; one more than there are bounds.
        public private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
        public private(set) var sumSeconds = 0.0

        public init() {}

        public var count: UInt64 { counts.reduce(0, +) }

        mutating func add(_ duration: Duration) {
            let (seconds, attoseconds) = max(.zero, duration).components
            let value = Double(seconds) + Double(attoseconds) / 1e18
            counts[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count] += 1
            sumSeconds += value
        }
    }

    public struct StageKey: Sendable, Hashable {
        public let stage: Stage
        public let rail: Rail
    }

    /// How an attempt ended, for counting.
    public enum EndingKind: String, Sendable, CaseIterable {
        case succeeded, failed, expired, cancelled, refused, notFound = "not_found", neverSent = "never_sent"
    }

    public private(set) var opened: UInt64 = 0
    /// Charges that came to an end, or to "not known yet".
    public private(set) var states: [Charge.State: UInt64] = [:]
    public private(set) var attempts: [Rail: UInt64] = [:]
    public private(set) var endings: [Rail: [EndingKind: UInt64]] = [:]
    /// Questions and requests that got no usable answer.
    public private(set) var silences: [Rail: UInt64] = [:]
    public private(set) var late: UInt64 = 0
    public private(set) var paidTwice: UInt64 = 0
    public private(set) var unreadableCodes: UInt64 = 0
    public private(set) var journalFaults: UInt64 = 0
    public private(set) var stages: [StageKey: Histogram] = [:]

    /// When what happened to the charges at the desk.
    private var times: [ChargeID: Times] = [:]
    private struct Times: Sendable, Equatable {
        var opened: Duration
        var isShown = false
        var offered: [Attempt.ID: Duration] = [:]
        var accepted: [Attempt.ID: Duration] = [:]
    }
    /// Charges whose times are kept. A charge that is never forgotten must not fill the memory.
    private static let limit = 256

    public init() {}

    /// How long a stage took on a rail; all zero where it never happened.
    public func histogram(_ stage: Stage, _ rail: Rail) -> Histogram {
        stages[StageKey(stage: stage, rail: rail)] ?? Histogram()
    }

    /// Charges whose times are kept.
    var remembered: Int { times.count }

    mutating func open(_ id: ChargeID, at now: Duration) {
        opened += 1
        if times.count >= Self.limit, let oldest = times.min(by: { $0.value.opened < $1.value.opened })?.key {
            times[oldest] = nil
        }
        times[id] = Times(opened: now)
    }

    /// The screen's word on a charge's code.
    mutating func show(_ charge: Charge, isReadable: Bool, at now: Duration) {
        guard isReadable else {
            unreadableCodes += 1
            return
        }
        guard let time = times[charge.id], !time.isShown else { return }
        times[charge.id]?.isShown = true
        add(now - time.opened, to: .shown, .scan)
    }

    mutating func noteJournalFault() { journalFaults += 1 }

    mutating func forget(_ id: ChargeID) { times[id] = nil }

    /// Takes one event, with the charge before and after it.
    mutating func note(_ event: Charge.Event, _ before: Charge, _ after: Charge, at now: Duration) {
        if case .silent(let id, _) = event, let rail = after.attempt(id)?.rail { silences[rail, default: 0] += 1 }
        for attempt in after.attempts { note(attempt, before.attempt(attempt.id), after.id, at: now) }
        if after.state != before.state, after.state.isFinal || after.state == .unknown {
            states[after.state, default: 0] += 1
        }
        if after.isLate, !before.isLate { late += 1 }
        if after.surplusAttempts.count > before.surplusAttempts.count { paidTwice += 1 }
    }

    private mutating func note(_ attempt: Attempt, _ before: Attempt?, _ charge: ChargeID, at now: Duration) {
        let (id, rail) = (attempt.id, attempt.rail)
        if before == nil { attempts[rail, default: 0] += 1 }
        if attempt.isOffered, before?.isOffered != true, let time = times[charge], time.offered[id] == nil {
            times[charge]?.offered[id] = now
            add(now - time.opened, to: .offered, rail)
        }
        if attempt.isAgreed, let offered = times[charge]?.offered[id], times[charge]?.accepted[id] == nil {
            times[charge]?.accepted[id] = now
            add(now - offered, to: .accepted, rail)
        }
        guard let kind = attempt.endingKind, before?.endingKind == nil else { return }
        endings[rail, default: [:]][kind, default: 0] += 1
        guard kind == .succeeded || kind == .failed, let time = times[charge] else { return }
        if let since = time.accepted[id] ?? time.offered[id] { add(now - since, to: .settled, rail) }
        add(now - time.opened, to: .whole, rail)
    }

    private mutating func add(_ duration: Duration, to stage: Stage, _ rail: Rail) {
        stages[StageKey(stage: stage, rail: rail), default: Histogram()].add(duration)
    }
}

extension Attempt {
    fileprivate var isOffered: Bool { if case .offered = phase { true } else { false } }

    /// The customer has agreed: money may be moving.
    fileprivate var isAgreed: Bool {
        if case .offered(_, let progress) = phase, progress.isProcessing { return true }
        return claim != nil
    }

    fileprivate var endingKind: ChargeMeter.EndingKind? {
        switch ending {
        case nil: nil
        case .succeeded: .succeeded
        case .failed: .failed
        case .expired: .expired
        case .cancelled: .cancelled
        case .refused: .refused
        case .notFound: .notFound
        case .neverSent: .neverSent
        }
    }
}

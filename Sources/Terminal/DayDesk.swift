import FoundationEssentials
public import Journal
public import Logging
public import Payments
import WalletConnectPay

/// Why a day is not compared on a wish.
public enum DayRefusal: Error, Sendable, Equatable {
    case hasNotBegun
    /// So many wait that no more are taken.
    case tooManyWait

    /// What happened, and what to do.
    public var reason: Reason {
        switch self {
        case .hasNotBegun:
            Reason(
                code: "day_in_the_future",
                message: "This day has not begun. There is nothing to compare.",
                action: "Choose today or a day before."
            )
        case .tooManyWait:
            Reason(
                code: "too_many_days_wait",
                message: "Other days wait to be compared already. This one was not added.",
                action: "Try again when one of them is done."
            )
        }
    }
}

/// Compares days: fetches the gateway's list, reads the journal, asks about what differs, and keeps what came of it.
///
/// The list is a hint. What it says is paid is booked only by the payment's own status, asked for in the ordinary way.
/// Decided in docs/decisions/0006-comparing-days.md.
public actor DayDesk {
    let journal: Journal
    let desk: ChargeDesk
    let settings: SettingsDesk
    let clock: TerminalClock
    private let logger: Logger
    /// What tells this terminal's charges from a neighbour's; nil where nobody has said it.
    let mark: ChargeMark?
    let policy: RetryPolicy
    private let turn = Turnstile()
    private let wishes = AsyncStream.makeStream(of: ShopDay.self, bufferingPolicy: .bufferingOldest(4))
    /// Days that somebody wants compared, and the one that is being compared.
    private var wanted: Set<ShopDay> = []
    /// When each day was last tried by itself, on the clock's `elapsed`.
    private var tried: [ShopDay: Duration] = [:]
    /// When a comparison last asked the gateway something, on the clock's `elapsed`.
    var lastCall: Duration?

    /// Around the day, on both sides: the longest time to pay, and clocks that differ.
    static let margin = Duration.seconds(2 * 3600)
    /// A charge younger than this may not be in the list yet.
    static let listingTime = Duration.seconds(60)
    static let mostListed = 40_000
    /// A gateway may give shorter pages than it is asked for, but not so short that this many do not hold that.
    static let mostPages = mostListed / 50
    /// Questions about differences in one comparison.
    static let mostQuestions = 200
    /// The longest that a page waits for a pause that the gateway asked for.
    static let patience = Duration.seconds(120)
    /// Between two calls of a comparison: what it asks in bulk must not use up what a customer's charge needs.
    static let spacing = Duration.milliseconds(250)
    /// The longest that a call waits for a charge to let the terminal go. One that nobody knows the end of may hold it for
    /// hours, and a call in a quarter of an hour is in nobody's way.
    static let longestSuspension = Duration.seconds(15 * 60)

    public init(
        journal: Journal,
        desk: ChargeDesk,
        settings: SettingsDesk,
        clock: TerminalClock,
        logger: Logger,
        mark: ChargeMark? = nil
    ) {
        self.mark = mark
        self.journal = journal
        self.desk = desk
        self.settings = settings
        self.clock = clock
        self.logger = logger
        policy = RetryPolicy(retries: 4, longestObedience: Self.patience)
    }

    // MARK: - What others ask

    /// The day that the shop has now, and the zone that says so.
    public func today() async -> (day: ShopDay, zone: String) {
        let zone = await zone
        // By the name that the owner chose: the same zone has several.
        let name = await settings.current?.settings.timeZone ?? zone.identifier
        return (ShopDay(of: clock.wallTime(), in: zone), name)
    }

    /// The last report of a day; nil where it was never compared.
    public func report(of day: ShopDay) async throws(JournalError) -> DayReport? {
        guard let stored = try await journal.document(Self.document(day)) else { return nil }
        // One that a newer version wrote is no reason to fail: the day can be compared again.
        return try? JSONDecoder().decode(DayReport.self, from: Data(stored.bytes))
    }

    /// Whether a day waits to be compared, or is being compared.
    func isComparing(_ day: ShopDay) -> Bool { wanted.contains(day) }

    /// Whether a day is being compared, or waits for it, and its last report.
    ///
    /// Asked in this order: where no comparison goes on, the report is the one of the last that did. The other way round, one that
    /// ends in between would leave a day that nobody has compared.
    /// - Throws: ``JournalError``: what there is cannot be read now. Ask again.
    public func standing(of day: ShopDay) async throws(JournalError) -> (isComparing: Bool, report: DayReport?) {
        let isComparing = isComparing(day)
        return (isComparing, try await report(of: day))
    }

    /// Has a day compared soon, by ``run()``; one that waits already, once.
    /// - Throws: ``DayRefusal``: it will not be compared because of this.
    public func request(_ day: ShopDay) async throws(DayRefusal) {
        guard day <= ShopDay(of: clock.wallTime(), in: await zone) else { throw .hasNotBegun }
        guard wanted.insert(day).inserted else { return }
        guard case .dropped = wishes.continuation.yield(day) else { return }
        wanted.remove(day)
        throw .tooManyWait
    }

    /// Compares each day after it is over, and any day that somebody wishes, until cancelled.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await day in self.wishes.stream { await self.compareLogging(day) }
            }
            group.addTask { await self.watchMidnight() }
        }
    }

    private func watchMidnight() async {
        while !Task.isCancelled {
            // Where the journal cannot say what there is, nothing is compared either.
            let plan = (try? await plan(at: clock.wallTime())) ?? nil
            if let plan, plan.due <= clock.wallTime(), await settings.connection != nil {
                tried[plan.day] = clock.elapsed()
                await compareLogging(plan.day)
            }
            // Looked at anew at least every ten minutes: the clock on the wall and the settings may change.
            let left = plan.map { clock.wallTime().duration(to: $0.due) } ?? .seconds(600)
            let wait = min(max(left, .seconds(60)), .seconds(600))
            do { try await clock.sleep(wait) } catch { return }  // The terminal stops.
        }
    }

    private func plan(at now: WallTime) async throws(JournalError) -> DayPlan? {
        let zone = await zone
        let days = DayPlan.days(at: now, in: zone)
        guard let oldest = days.first, let first = try await firstCharge(since: oldest.bounds(in: zone).lowerBound, now)
        else { return nil }
        var reports: [ShopDay: DayReport] = [:]
        for day in days { reports[day] = try await report(of: day) }
        let elapsed = clock.elapsed()
        tried = tried.filter { days.contains($0.key) }
        return DayPlan(at: now, in: zone, first: first, reports: reports, tried: tried.mapValues { elapsed - $0 })
    }

    /// When the first charge was opened, or `start` where that was before it.
    private func firstCharge(since start: WallTime, _ now: WallTime) async throws(JournalError) -> WallTime? {
        let distantPast = WallTime(millisecondsSince1970: .min)
        let before = try await journal.charges(openedFrom: distantPast, until: start, after: nil, limit: 1)
        guard before.isEmpty else { return start }
        return try await journal.charges(openedFrom: start, until: now, after: nil, limit: 1).first?.charge.terms
            .openedAt
    }

    private func compareLogging(_ day: ShopDay) async {
        do throws(JournalError) { _ = try await compare(day) } catch {
            logger.error("a day could not be compared", metadata: ["day": "\(day)", "error": "\(error)"])
        }
    }

    private var zone: TimeZone { get async { await settings.current?.settings.zone ?? .current } }

    private static func document(_ day: ShopDay) -> String { "day/\(day)" }

    // MARK: - One comparison

    /// Compares a day and keeps the report. One comparison at a time.
    /// - Throws: ``JournalError``: nothing is kept, and the report before it still stands.
    public func compare(_ day: ShopDay) async throws(JournalError) -> DayReport {
        wanted.insert(day)
        await turn.enter()
        defer {
            turn.leave()
            wanted.remove(day)
        }
        let bounds = day.bounds(in: await zone)
        var report = DayReport(
            day: day,
            from: bounds.lowerBound,
            until: bounds.upperBound,
            comparedAt: clock.wallTime(),
            gaps: [],
            charges: 0,
            listed: 0,
            differences: [],
            notOurs: [],
            more: 0,
            booked: []
        )
        if let (merchant, settings) = await settings.connection {
            try await compare(bounds, merchant, settings, &report)
        } else {
            report.gaps = [.notSetUp]
        }
        let earlier = try await self.report(of: day)
        if let earlier, earlier.isComplete, earlier.comparedAt >= earlier.until, !report.isNews(after: earlier) {
            logger.warning("a day's comparison came to nothing; the one before stands", metadata: ["day": "\(day)"])
            return try await keepEarlier(earlier, after: report)
        }
        // What a stop of the terminal broke off would say that the gateway did not answer.
        guard report.isComplete || !Task.isCancelled else { return report }
        try await keep(report)
        logger.log(
            level: report.allAgree ? .info : .warning,
            "a day was compared with the gateway",
            metadata: [
                "day": "\(day)", "result": "\(report.summary.code)", "differences": "\(report.differences.count)",
            ]
        )
        return report
    }

    /// The complete report stands, and says that a later comparison was not finished.
    private func keepEarlier(_ earlier: DayReport, after broken: DayReport) async throws(JournalError) -> DayReport {
        var kept = earlier
        kept.brokenSince = broken.comparedAt
        guard !Task.isCancelled else { return earlier }
        try await keep(kept)
        return kept
    }

    private func keep(_ report: DayReport) async throws(JournalError) {
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(report)) } catch {
            throw .unavailable(detail: "the report cannot be written: \(error)")
        }
        _ = try await journal.setDocument(
            Self.document(report.day),
            bytes,
            expecting: .any,
            by: .terminal,
            at: report.brokenSince ?? report.comparedAt
        )
    }
}

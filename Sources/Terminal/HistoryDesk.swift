package import FoundationEssentials
public import Journal
public import Payments

/// What somebody asks of the history, in the shop's own words: days, an amount as it is typed.
public struct HistoryQuery: Sendable, Hashable {
    public var place = ChargePlace.newest
    /// 1 to 100.
    public var limit = 25
    public var state: Charge.State?
    public var rail: Rail?
    public var currency: Currency?
    /// As ``Payments/Actor/name``: `staff:Ada`.
    public var openedBy: String?
    /// In minor units.
    public var total: ClosedRange<Int64>?
    /// The first and the last of the shop's days.
    public var from: ShopDay?
    public var to: ShopDay?
    /// The beginning of a reference, a short code or a name of a charge, payment or transaction; or an amount.
    public var search: String?
    /// Whether the search looks into notes: they are for staff only.
    public var readsNotes = true

    public init() {}
}

extension HistoryDesk {
    /// Everybody who ever opened a charge here, as ``Payments/Actor/name``, at most 200.
    /// - Throws: ``JournalError``.
    public func people() async throws(JournalError) -> [String] { try await journal.openers(limit: 200) }

    // MARK: - Shifts

    /// The shift that a person has open; nil where there is none.
    /// - Throws: ``JournalError``.
    public func currentShift(of person: Actor) async throws(JournalError) -> ShiftSums? {
        try await journal.currentShift(of: person)
    }

    /// The shift that a person has open, or a new one.
    /// - Throws: ``JournalError``.
    public func openShift(of person: Actor) async throws(JournalError) -> ShiftSums {
        try await journal.openShift(of: person, at: clock.wallTime())
    }

    /// - Throws: ``JournalError``.
    public func shift(_ number: Int64) async throws(JournalError) -> ShiftSums? { try await journal.shift(number) }

    /// Closes a shift and keeps what it came to. Nil where there is none of this number.
    /// - Throws: ``JournalError``.
    public func closeShift(_ number: Int64, by actor: Actor) async throws(JournalError) -> ShiftSums? {
        try await journal.closeShift(number, by: actor, at: clock.wallTime())
    }

    /// Shifts that were opened on these of the shop's days, newest first, at most 200; without days those of the last month.
    /// - Throws: ``TakingsRefusal``.
    public func shifts(from: ShopDay?, to: ShopDay?, person: String?) async throws(TakingsRefusal) -> [ShiftSums] {
        let zone = await settings.current?.settings.zone ?? .current
        let last = to ?? ShopDay(of: clock.wallTime(), in: zone)
        let first = from ?? Self.usualStart(.day, last)
        guard first <= last else { throw .endsBeforeItBegins }
        let range = first.bounds(in: zone).lowerBound..<last.bounds(in: zone).upperBound
        do throws(JournalError) {
            return try await journal.shifts(openedIn: range, person: person, limit: 200)
        } catch { throw .journal(error) }
    }
}

/// The sums of one day or month.
public struct TakingsPeriod: Sendable, Equatable {
    /// Its first day.
    public let first: ShopDay
    /// Its last day.
    public let last: ShopDay
    public let takings: [Takings]
}

/// How long each sum is over.
public enum TakingsSpan: String, Sendable, CaseIterable {
    case day, month

    /// So many are summed at once.
    public var most: Int { self == .day ? 92 : 36 }
}

/// Why no sums are given: the request names no usable time.
public enum TakingsRefusal: Error, Sendable, Equatable {
    case endsBeforeItBegins
    case tooLong(most: Int)
    case journal(JournalError)
}

/// Looks back for staff: lists, searches, sums and what happened to a charge. See docs/decisions/0009-history.md.
public struct HistoryDesk: Sendable {
    let journal: Journal
    let settings: SettingsDesk
    let clock: TerminalClock

    /// A part of the list of charges that fit, in the direction that was asked for.
    /// - Throws: ``JournalError``.
    public func charges(_ query: HistoryQuery) async throws(JournalError) -> ChargePage {
        try await journal.charges(await filter(query), from: query.place, limit: query.limit)
    }

    /// All charges and refunds that fit, a part at a time, without the whole ever being in memory.
    public func export(_ query: HistoryQuery) async -> HistoryExport {
        let zone = await settings.current?.settings.zone ?? .current
        return HistoryExport(journal: journal, filter: await filter(query), zone: zone)
    }

    private func filter(_ query: HistoryQuery) async -> ChargeFilter {
        let set = await settings.current?.settings
        let zone = set?.zone ?? .current
        var filter = ChargeFilter()
        (filter.state, filter.rail, filter.currency) = (query.state, query.rail, query.currency)
        (filter.openedBy, filter.total) = (query.openedBy, query.total)
        filter.from = query.from?.bounds(in: zone).lowerBound
        filter.until = query.to?.bounds(in: zone).upperBound
        if let text = query.search {
            let amount = set.flatMap { try? Money.parse(typed: text, currency: $0.currency, format: $0.format) }
            filter.search = ChargeSearch(text: text, total: amount, readsNotes: query.readsNotes)
        }
        return filter
    }

    // MARK: - Sums

    /// The sums of each day or month from one day to another, both included; without them of the last month or year.
    /// - Throws: ``TakingsRefusal``.
    public func takings(
        by span: TakingsSpan,
        from: ShopDay?,
        to: ShopDay?
    ) async throws(TakingsRefusal) -> (periods: [TakingsPeriod], zone: String) {
        let set = await settings.current?.settings
        let zone = set?.zone ?? .current
        let last = to ?? ShopDay(of: clock.wallTime(), in: zone)
        let first = from ?? Self.usualStart(span, last)
        guard first <= last else { throw .endsBeforeItBegins }
        var periods: [(first: ShopDay, last: ShopDay)] = []
        var day = span == .day ? first : first.monthStart
        while day <= last {
            guard periods.count < span.most else { throw .tooLong(most: span.most) }
            let end = span == .day ? day : day.monthEnd
            periods.append((day, end))
            guard end.next > end else { break }  // The calendar's last day.
            day = end.next
        }
        let ranges = periods.map { period in
            let from = period.first.bounds(in: zone).lowerBound
            return from..<max(from, period.last.bounds(in: zone).upperBound)
        }
        do throws(JournalError) {
            let sums = try await journal.takings(in: ranges)
            let all = zip(periods, sums).map { TakingsPeriod(first: $0.first, last: $0.last, takings: $1) }
            return (all, set?.timeZone ?? zone.identifier)
        } catch { throw .journal(error) }
    }

    fileprivate static func usualStart(_ span: TakingsSpan, _ last: ShopDay) -> ShopDay {
        var day = last
        switch span {
        case .day: for _ in 0..<30 { day = day.previous }
        case .month: for _ in 0..<11 { day = day.monthStart.previous }
        }
        return day
    }
}

extension DayDesk {
    /// What looks back over the same journal, in the same days.
    public nonisolated var history: HistoryDesk { HistoryDesk(journal: journal, settings: settings, clock: clock) }
}

/// All charges of a filter by when they were opened, oldest first, then all refunds of it by when they were booked; a part
/// at a time. Of a shop's day they add up to that day's sums.
public actor HistoryExport {
    /// Some of them. Never empty.
    public enum Part: Sendable {
        case charges([ChargeSummary])
        case refunds([RefundSummary])
    }

    private static let partCharges = 500

    private let journal: Journal
    private let filter: ChargeFilter
    /// Where the shop's days begin and end.
    package nonisolated let zone: TimeZone
    private var place: ChargePlace? = .oldest
    /// Where the refunds go on; nil before the first.
    private var refundPlace: Int64?
    /// How many refunds are still to be found; nil before somebody has counted.
    private var refundsLeft: Int64?

    package init(journal: Journal, filter: ChargeFilter, zone: TimeZone) {
        (self.journal, self.filter, self.zone) = (journal, filter, zone)
    }

    /// The next part; nil after the last one.
    /// - Throws: ``JournalError``: what was given so far is not all.
    public func next() async throws(JournalError) -> Part? {
        while let place {
            let page = try await journal.charges(filter, from: place, limit: Self.partCharges)
            self.place = page.next.map(ChargePlace.after)
            if !page.charges.isEmpty { return .charges(page.charges) }
        }
        if refundsLeft == nil { refundsLeft = try await countRefunds() }
        while let left = refundsLeft, left > 0 {
            let page = try await journal.refunds(filter, before: refundPlace)
            refundPlace = page.next
            // One that is booked meanwhile is found too: no more are looked for than there were.
            refundsLeft = page.next == nil ? 0 : left - Int64(page.booked)
            if !page.refunds.isEmpty { return .refunds(page.refunds) }
        }
        return nil
    }

    /// How many refunds were booked within the time.
    private func countRefunds() async throws(JournalError) -> Int64 {
        let from = filter.from ?? WallTime(millisecondsSince1970: .min)
        let until = filter.until ?? WallTime(millisecondsSince1970: .max)
        guard from < until else { return 0 }
        let takings = try await journal.takings(in: [from..<until])
        return takings.joined().reduce(0) { $0 + $1.refunds }
    }
}

extension ShopDay {
    /// The day after; of the last day there is, that day.
    public var next: ShopDay {
        bounds(in: .gmt).upperBound < Self.end ? ShopDay(of: bounds(in: .gmt).upperBound, in: .gmt) : self
    }

    private static let end = WallTime(millisecondsSince1970: 7_258_118_400_000)  // 2200-01-01.

    var monthStart: ShopDay { ShopDay(String(text.prefix(8)) + "01") ?? self }

    var monthEnd: ShopDay {
        ["31", "30", "29", "28"].lazy.compactMap { ShopDay(String(text.prefix(8)) + $0) }.first ?? self
    }
}

import Foundation
import GRDB
public import Payments

// MARK: - Lists

extension Journal {
    /// A part of the list of charges that fit. Without any filter it goes by the order in which they were opened, else by the
    /// time of opening; of a clock that was never set back these are the same.
    ///
    /// Takes about as long however many charges there are: it looks at 10 000 at most and says where to go on.
    /// - Parameter limit: At most this many, 1 to 1000.
    /// - Throws: ``JournalError``.
    public func charges(
        _ filter: ChargeFilter,
        from place: ChargePlace,
        limit: Int
    ) async throws(JournalError) -> ChargePage {
        try await reading { db in
            try ChargeListing(filter: filter, place: place, limit: min(max(limit, 1), 1000)).page(db)
        }
    }

    /// Everybody who ever opened a charge, as ``Payments/Actor/name``, in the order of their names.
    /// - Parameter limit: At most this many, 0 to 1000.
    /// - Throws: ``JournalError``.
    public func openers(limit: Int) async throws(JournalError) -> [String] {
        try await reading { db in
            // From one name to the next along the index: as quick however many charges there are.
            let next = try db.cachedStatement(
                sql: "SELECT min(opened_by) FROM charge INDEXED BY charge_opener WHERE opened_by > ?"
            )
            var names: [String] = []
            while names.count < min(max(limit, 0), 1000),
                let name = try String.fetchOne(next, arguments: [names.last ?? ""])
            { names.append(name) }
            return names
        }
    }

    /// What was taken within each of some times, by currency, state and rail; charges that are still open included.
    /// - Parameter ranges: Beginning and ending at whole quarters of an hour, as days of every time zone do; at most 400.
    /// - Throws: ``JournalError``.
    public func takings(in ranges: [Range<WallTime>]) async throws(JournalError) -> [[Takings]] {
        try await reading { db in try TakingsQuery.sums(db, ranges.prefix(400)) }
    }
}

/// One question for a part of the list.
struct ChargeListing {
    /// How many charges one answer looks at.
    static let mostLookedAt = 10_000
    /// Up to so many finds are sorted; of more, charges are looked through in their order.
    static let mostSorted = 5000

    let filter: ChargeFilter
    let place: ChargePlace
    let limit: Int

    func page(_ db: Database) throws -> ChargePage {
        guard let start = try start(db) else { return ChargePage(charges: [], next: nil) }
        if filter.isEmpty { return try wholePage(db, start) }
        if let finds = try finds(db) { return try sortedPage(db, start, finds) }
        return try walkedPage(db, start)
    }

    /// The charge at which the list goes on; nil where there is none of that name.
    private func start(_ db: Database) throws -> (milliseconds: Int64, sequence: Int64)? {
        switch place {
        case .newest: return (.max, .max)
        case .oldest: return (.min, .min)
        case .before(let id), .after(let id):
            return try ChargeRow.fetch(db, id.rawValue).map { ($0.row.openedMilliseconds, $0.opened) }
        }
    }

    private var order: String { place.isForward ? "ASC" : "DESC" }
    private var beyond: String { place.isForward ? ">" : "<" }

    // MARK: - Three ways to find them

    private func wholePage(_ db: Database, _ start: (milliseconds: Int64, sequence: Int64)) throws -> ChargePage {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(ChargeRow.columns) FROM charge WHERE opened_seq \(beyond) ?
                    ORDER BY opened_seq \(order) LIMIT ?
                    """
            ),
            arguments: [start.sequence, limit + 1]
        )
        return try page(db, rows, lastLookedAt: nil)
    }

    /// Of a few charges that may fit, wherever they are.
    private func sortedPage(
        _ db: Database,
        _ start: (milliseconds: Int64, sequence: Int64),
        _ finds: Set<Int64>
    ) throws -> ChargePage {
        let (conditions, values) = conditions(besideSearch: true)
        var arguments: StatementArguments = ["[" + finds.map(String.init).joined(separator: ",") + "]"]
        arguments += values
        arguments += [start.milliseconds, start.sequence, limit + 1]
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT \(ChargeRow.columns) FROM (SELECT value AS found FROM json_each(?)) CROSS JOIN charge
                WHERE opened_seq = found AND \(conditions) AND (opened_ms, opened_seq) \(beyond) (?, ?)
                ORDER BY opened_ms \(order), opened_seq \(order) LIMIT ?
                """,
            arguments: arguments
        )
        return try page(db, rows, lastLookedAt: nil)
    }

    /// Along the index that fits best, a bounded number of charges.
    private func walkedPage(_ db: Database, _ start: (milliseconds: Int64, sequence: Int64)) throws -> ChargePage {
        let (index, condition, value) = walk
        var walked: StatementArguments = []
        if let value { walked += [value] }
        let bounds = bounds(from: start.milliseconds)
        walked += [bounds.lowest, bounds.highest, start.milliseconds, start.sequence, Self.mostLookedAt]
        let source = """
            FROM charge INDEXED BY \(index)
            WHERE \(condition)opened_ms BETWEEN ? AND ? AND (opened_ms, opened_seq) \(beyond) (?, ?)
            ORDER BY opened_ms \(order), opened_seq \(order) LIMIT ?
            """
        let (conditions, values) = conditions(besideSearch: false)
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT * FROM (SELECT \(ChargeRow.columns) \(source)) AS charge WHERE \(conditions) LIMIT ?",
            arguments: walked + values + [limit + 1]
        )
        guard rows.count <= limit else { return try page(db, rows, lastLookedAt: nil) }
        let looked = try Int64.fetchAll(db, sql: "SELECT opened_seq \(source)", arguments: walked)
        return try page(db, rows, lastLookedAt: looked.count < Self.mostLookedAt ? nil : looked.last)
    }

    private func page(_ db: Database, _ rows: [Row], lastLookedAt last: Int64?) throws -> ChargePage {
        let found = try rows.prefix(limit).map(ChargeRow.init(checked:))
        let charges = try found.filter { try isFoundWithoutItsNote(db, $0) }
            .map { try ChargeSummary($0, wasRefused: Self.wasRefused(db, $0)) }
        if rows.count > limit { return ChargePage(charges: charges, next: found.last.flatMap { ChargeID($0.id) }) }
        guard let last else { return ChargePage(charges: charges, next: nil) }
        let id = try String.fetchOne(db, sql: "SELECT id FROM charge WHERE opened_seq = ?", arguments: [last])
        return ChargePage(charges: charges, next: id.flatMap { ChargeID($0) })
    }

    /// False where only its note fits the search and notes do not count.
    private func isFoundWithoutItsNote(_ db: Database, _ row: ChargeRow) throws -> Bool {
        guard let search = filter.search, !search.readsNotes, row.note != nil else { return true }
        let text = ChargeWords.folded(search.text)
        if row.id.hasPrefix(text) { return true }
        if let total = search.total, total.minorUnits == row.totalMinorUnits, total.currency.code == row.currency {
            return true
        }
        guard let charge = try Replay(db, row.id)?.charge else { return false }
        return ChargeWords.of(charge, withNote: false).contains { $0.hasPrefix(text) }
    }

    /// Whether an authority refused to make a payment. The row does not say so, the entries do: they are read of the few
    /// charges that were not paid, and replayed where one names a refusal, because one after a silence ends nothing.
    private static func wasRefused(_ db: Database, _ row: ChargeRow) throws -> Bool {
        guard row.state == Charge.State.failed.rawValue else { return false }
        let named = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM event WHERE charge = ? AND kind = 'refused')"
        )
        guard try Bool.fetchOne(named, arguments: [row.id]) == true else { return false }
        return try Replay(db, row.id)?.charge.wasRefused == true
    }

    // MARK: - Parts of the question

    /// The times that are left from where the list goes on. One bound at each end: SQLite goes straight to it, and would
    /// walk there from the newest charge where it had to choose between two.
    private func bounds(from start: Int64) -> (lowest: Int64, highest: Int64) {
        let lowest = filter.from?.millisecondsSince1970 ?? .min
        let highest = filter.until.map { max($0.millisecondsSince1970, .min + 1) - 1 } ?? .max
        return place.isForward ? (max(lowest, start), highest) : (lowest, min(highest, start))
    }

    /// The index to go along, and what of the filter it answers.
    private var walk: (index: String, condition: String, value: String?) {
        if let openedBy = filter.openedBy { return ("charge_opener", "opened_by = ? AND ", openedBy) }
        if let state = filter.state { return ("charge_state", "state = ? AND ", state.rawValue) }
        if let rail = filter.rail { return ("charge_rail", "rail = ? AND ", rail.rawValue) }
        if let currency = filter.currency { return ("charge_currency", "currency = ? AND ", currency.code) }
        return ("charge_opened", "", nil)
    }

    /// What a row has to fulfil.
    func conditions(besideSearch: Bool) -> (sql: String, values: StatementArguments) {
        var parts = ["opened_ms >= ?", "opened_ms < ?"]
        var values: StatementArguments = [
            filter.from?.millisecondsSince1970 ?? .min, filter.until?.millisecondsSince1970 ?? .max,
        ]
        let equal = [
            ("state", filter.state?.rawValue), ("rail", filter.rail?.rawValue), ("currency", filter.currency?.code),
            ("opened_by", filter.openedBy),
        ]
        for case (let column, let value?) in equal {
            parts.append("\(column) = ?")
            values += [value]
        }
        if let total = filter.total {
            parts.append("total_minor_units BETWEEN ? AND ?")
            values += [total.lowerBound, total.upperBound]
        }
        if !besideSearch, let search = filter.search {
            let word = ChargeWords.folded(search.text)
            parts.append(
                """
                (EXISTS (SELECT 1 FROM charge_word WHERE charge_word.opened_seq = charge.opened_seq
                    AND word >= ? AND word < ?) OR id >= ? AND id < ? OR total_minor_units = ? AND currency = ?)
                """
            )
            let end = ChargeWords.end(of: word)
            values += [word, end, word, end, search.total?.minorUnits, search.total?.currency.code]
        }
        return (parts.joined(separator: " AND "), values)
    }

    /// The charges that may fit, where the search or the amounts leave only a few; nil where they leave many, or where
    /// there is neither.
    private func finds(_ db: Database) throws -> Set<Int64>? {
        if let search = filter.search {
            let word = ChargeWords.folded(search.text)
            guard !word.isEmpty else { return [] }
            let end = ChargeWords.end(of: word)
            var found = Set<Int64>()
            let questions: [(String, StatementArguments)] = [
                ("charge_word INDEXED BY charge_word_word WHERE word >= ? AND word < ?", [word, end]),
                ("charge WHERE id >= ? AND id < ?", [word, end]),
                (
                    "charge INDEXED BY charge_total WHERE total_minor_units = ? AND currency = ?",
                    [search.total?.minorUnits, search.total?.currency.code]
                ),
            ]
            for (source, arguments) in questions {
                guard let some = try few(db, source, arguments) else { return nil }
                found.formUnion(some)
            }
            return found
        }
        guard let total = filter.total else { return nil }
        return try few(
            db,
            "charge INDEXED BY charge_total WHERE total_minor_units BETWEEN ? AND ?",
            [total.lowerBound, total.upperBound]
        )
    }

    /// What a source holds; nil where that is much.
    private func few(_ db: Database, _ source: String, _ arguments: StatementArguments) throws -> Set<Int64>? {
        let found = try Int64.fetchAll(
            db,
            sql: "SELECT opened_seq FROM \(source) LIMIT \(Self.mostSorted + 1)",
            arguments: arguments
        )
        return found.count > Self.mostSorted ? nil : Set(found)
    }
}

extension ChargeSummary {
    init(_ row: ChargeRow, wasRefused: Bool) throws {
        guard let id = ChargeID(row.id), let state = Charge.State(rawValue: row.state),
            let currency = Currency(code: row.currency)
        else {
            throw JournalError.fromNewerVersion(detail: "charge \(row.id) has a state or currency not known here")
        }
        func money(_ minorUnits: Int64) -> Money { Money(minorUnits: minorUnits, currency: currency) }
        self.init(
            id: id,
            code: row.code,
            state: state,
            isOpen: row.isOpen,
            wasRefused: wasRefused,
            isLate: row.isLate,
            isPromised: row.isPromised,
            isGivenBack: row.isGivenBack,
            amount: money(row.minorUnits),
            total: money(row.totalMinorUnits),
            tip: row.tipMinorUnits.map(money),
            surplus: money(row.surplusMinorUnits),
            refunded: money(row.refundedMinorUnits),
            rail: row.rail.flatMap(Rail.init(rawValue:)),
            openedBy: row.openedBy,
            reference: row.reference,
            note: row.note,
            shift: row.shift,
            paymentID: row.payment,
            transactionID: row.transaction,
            openedAt: WallTime(millisecondsSince1970: row.openedMilliseconds),
            updatedAt: WallTime(millisecondsSince1970: row.updatedMilliseconds)
        )
    }
}

// MARK: - Sums

/// Sums of the table `takings` over times of any length: whole days of Greenwich, and quarters of an hour at their edges.
enum TakingsQuery {
    static func sums(_ db: Database, _ ranges: some Sequence<Range<WallTime>>) throws -> [[Takings]] {
        let open = try Row.fetchAll(db, sql: "SELECT \(ChargeRow.columns) FROM charge WHERE open = 1")
            .map(ChargeRow.init(checked:))
        return try ranges.map { range in
            let (from, until) = TakingsDelta.held(range)
            var sums: [TakingsKey: TakingsDelta.Sums] = [:]
            for part in parts(from, until) { try add(db, part, to: &sums) }
            // What was added with a whole day and taken away again.
            sums = sums.filter { $0.value != TakingsDelta.Sums() }
            for row in open where (from..<until).contains(row.openedMilliseconds) {
                sums[TakingsKey(row), default: TakingsDelta.Sums()] += TakingsDelta.sums(of: row)
            }
            return try sums.sorted { $0.key < $1.key }.map { try Takings($0.key, $0.value) }
        }
    }

    /// Spans to be added, or taken away again.
    private struct Part {
        let span: Int64
        let range: Range<Int64>
        var isTakenAway = false
    }

    /// A shop's day is most of one of Greenwich and a bit of another: the whole day without its rest is read sooner than the
    /// many quarters of the most.
    private static func parts(_ from: Int64, _ until: Int64) -> [Part] {
        let (day, quarter) = (TakingsDelta.day, TakingsDelta.quarter)
        var parts: [Part] = []
        var next = from
        while next < until {
            let midnight = TakingsDelta.start(of: next, day)
            // From one midnight to another, as many days as there are.
            let end =
                next == midnight && until - next >= day
                ? TakingsDelta.start(of: until, day) : min(until, midnight + day)
            if end - next >= day {
                parts.append(Part(span: day, range: next..<end))
            } else if end - next <= day / 2 {
                parts.append(Part(span: quarter, range: next..<end))
            } else {
                parts.append(Part(span: day, range: midnight..<midnight + day))
                for rest in [midnight..<next, end..<midnight + day] where !rest.isEmpty {
                    parts.append(Part(span: quarter, range: rest, isTakenAway: true))
                }
            }
            next = end
        }
        return parts
    }

    private static func add(
        _ db: Database,
        _ part: Part,
        to sums: inout [TakingsKey: TakingsDelta.Sums]
    ) throws {
        let statement = try db.cachedStatement(
            sql: """
                SELECT 0, 0, currency, state, rail, sum(charges), sum(total_minor_units), sum(tip_minor_units),
                    sum(surplus_minor_units), sum(refunds), sum(refunded_minor_units)
                FROM takings WHERE span_ms = ? AND start_ms >= ? AND start_ms < ? GROUP BY currency, state, rail
                """
        )
        let rows = try Row.fetchCursor(statement, arguments: [part.span, part.range.lowerBound, part.range.upperBound])
        while let row = try rows.next() {
            let found = try TakingsDelta.Sums(row)
            sums[try TakingsKey(row), default: TakingsDelta.Sums()] += part.isTakenAway ? -found : found
        }
    }
}

/// What sums are kept apart by.
struct TakingsKey: Hashable, Comparable {
    var currency: String
    var state: String
    /// Empty where none was taken.
    var rail: String

    static func < (one: TakingsKey, other: TakingsKey) -> Bool {
        (one.currency, one.state, one.rail) < (other.currency, other.state, other.rail)
    }
}

extension TakingsKey {
    init(_ row: ChargeRow) { self.init(currency: row.currency, state: row.state, rail: row.rail ?? "") }

    /// Of the columns 2 to 4 of a row.
    init(_ row: Row) throws {
        self.init(
            currency: try row.decode(atIndex: 2),
            state: try row.decode(atIndex: 3),
            rail: try row.decode(atIndex: 4)
        )
    }
}

extension Takings {
    init(_ key: TakingsKey, _ sums: TakingsDelta.Sums) throws {
        guard let currency = Currency(code: key.currency), let state = Charge.State(rawValue: key.state) else {
            throw JournalError.fromNewerVersion(detail: "sums have a state or currency not known here")
        }
        self.init(
            currency: currency,
            state: state,
            rail: Rail(rawValue: key.rail),
            charges: sums.charges,
            totalMinorUnits: sums.total,
            tipMinorUnits: sums.tip,
            surplusMinorUnits: sums.surplus,
            refunds: sums.refunds,
            refundedMinorUnits: sums.refunded
        )
    }
}

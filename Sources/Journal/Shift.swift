import Foundation
import GRDB
public import Payments

/// The time in which one person charges: from their first charge, or from when they say so, until it is closed.
public struct Shift: Sendable, Hashable, Identifiable {
    /// Counts from 1.
    public let id: Int64
    /// As ``Payments/Actor/name``: `staff:Ada`.
    public let person: String
    public let openedAt: WallTime
    public let closing: Closing?

    /// How it was closed.
    public struct Closing: Sendable, Hashable {
        public let at: WallTime
        /// As ``Payments/Actor/name``.
        public let by: String
        /// What it came to at that moment. Later refunds, and payments that were still open, are in ``ShiftSums`` only.
        public let report: [Takings]
        /// How many of its charges had not ended then.
        public let openCharges: Int
    }

    public init(id: Int64, person: String, openedAt: WallTime, closing: Closing?) {
        (self.id, self.person, self.openedAt, self.closing) = (id, person, openedAt, closing)
    }
}

/// A shift with what its charges come to now, those that have not ended included. Refunds count with the charge they are for.
public struct ShiftSums: Sendable, Hashable {
    public let shift: Shift
    public let takings: [Takings]
    /// Its charges that have not ended, newest first, at most 50.
    public let open: [ChargeSummary]
    /// How many there are.
    public let openCount: Int
}

extension Journal {
    /// The shift that a person has open; a new one where there is none.
    /// - Throws: ``JournalError``.
    public func openShift(of person: Actor, at time: WallTime) async throws(JournalError) -> ShiftSums {
        try await writing { db in
            let number = try ShiftRow.number(db, takenUpBy: person, at: time)
            guard let row = try ShiftRow.fetch(db, number) else {
                throw JournalError.unavailable(detail: "the shift was not kept")
            }
            return try ShiftQuery.sums(db, row)
        }
    }

    /// The shift that a person has open; nil where there is none.
    /// - Throws: ``JournalError``.
    public func currentShift(of person: Actor) async throws(JournalError) -> ShiftSums? {
        try await reading { db in try ShiftRow.open(db, person.name).map { try ShiftQuery.sums(db, $0) } }
    }

    /// - Throws: ``JournalError``.
    public func shift(_ number: Int64) async throws(JournalError) -> ShiftSums? {
        try await reading { db in try ShiftRow.fetch(db, number).map { try ShiftQuery.sums(db, $0) } }
    }

    /// Shifts that were opened within a time, newest first.
    /// - Parameters:
    ///   - person: Of this person only.
    ///   - limit: At most this many, 0 to 400.
    /// - Throws: ``JournalError``.
    public func shifts(
        openedIn range: Range<WallTime>,
        person: String?,
        limit: Int
    ) async throws(JournalError) -> [ShiftSums] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT \(ShiftRow.columns) FROM shift WHERE opened_ms >= ? AND opened_ms < ?
                        AND (?3 IS NULL OR person = ?3) ORDER BY number DESC LIMIT ?4
                    """,
                arguments: [
                    range.lowerBound.millisecondsSince1970, range.upperBound.millisecondsSince1970, person,
                    min(max(limit, 0), 400),
                ]
            )
            .map { try ShiftQuery.sums(db, ShiftRow(checked: $0), naming: false) }
        }
    }

    /// Closes a shift and keeps what it came to. One that was closed before stays as it was.
    /// - Returns: Nil where there is none of this number.
    /// - Throws: ``JournalError``.
    public func closeShift(_ number: Int64, by actor: Actor, at time: WallTime) async throws(JournalError) -> ShiftSums?
    {
        try await writing { db in
            guard var row = try ShiftRow.fetch(db, number) else { return nil }
            if row.closedMilliseconds == nil {
                let sums = try ShiftQuery.sums(db, row)
                // A clock that was set back must not close it before it was opened.
                row.closedMilliseconds = max(time.millisecondsSince1970, row.openedMilliseconds)
                row.closedBy = actor.name
                row.report = try StoredJSON.encode(ShiftReport(sums))
                try row.update(db)
            }
            return try ShiftQuery.sums(db, row)
        }
    }
}

/// What a shift came to when it was closed, as it is kept.
struct ShiftReport: Codable {
    struct Line: Codable {
        var currency, state: String
        var rail: String?
        var charges, total, tip, surplus, refunds, refunded: Int64
    }
    var lines: [Line]
    var openCharges: Int

    init(_ sums: ShiftSums) {
        lines = sums.takings.map { one in
            Line(
                currency: one.currency.code,
                state: one.state.rawValue,
                rail: one.rail?.rawValue,
                charges: one.charges,
                total: one.totalMinorUnits,
                tip: one.tipMinorUnits,
                surplus: one.surplusMinorUnits,
                refunds: one.refunds,
                refunded: one.refundedMinorUnits
            )
        }
        openCharges = sums.openCount
    }

    func takings() throws -> [Takings] {
        try lines.map { line in
            let sums = TakingsDelta.Sums(
                charges: line.charges,
                total: line.total,
                tip: line.tip,
                surplus: line.surplus,
                refunds: line.refunds,
                refunded: line.refunded
            )
            return try Takings(TakingsKey(currency: line.currency, state: line.state, rail: line.rail ?? ""), sums)
        }
    }
}

/// One row of the table `shift`.
struct ShiftRow: Equatable {
    static let columns = "number, person, opened_ms, closed_ms, closed_by, report, digest"

    var number: Int64
    var person: String
    var openedMilliseconds: Int64
    var closedMilliseconds: Int64?
    var closedBy: String?
    var report: Data?

    private var digest: Data {
        var digest = RowDigest("till shift 1")
        digest.add(number)
        digest.add(person)
        digest.add(openedMilliseconds)
        digest.add(closedMilliseconds)
        digest.add(closedBy)
        digest.add(report ?? Data())
        return digest.value
    }

    init(number: Int64, person: String, openedMilliseconds: Int64) {
        (self.number, self.person, self.openedMilliseconds) = (number, person, openedMilliseconds)
    }

    init(checked row: Row) throws {
        number = try row.decode(atIndex: 0)
        person = try row.decode(atIndex: 1)
        openedMilliseconds = try row.decode(atIndex: 2)
        closedMilliseconds = try row.decode(atIndex: 3)
        closedBy = try row.decode(atIndex: 4)
        report = try row.decode(atIndex: 5)
        guard digest == (try row.decode(Data.self, atIndex: 6)) else {
            throw JournalError.corrupt(detail: "shift \(number) was changed")
        }
    }

    static func fetch(_ db: Database, _ number: Int64) throws -> ShiftRow? {
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM shift WHERE number = ?")
        return try Row.fetchOne(statement, arguments: [number]).map(ShiftRow.init(checked:))
    }

    /// The one that a person has open.
    static func open(_ db: Database, _ person: String) throws -> ShiftRow? {
        let statement = try db.cachedStatement(
            sql: "SELECT \(columns) FROM shift WHERE person = ? AND closed_ms IS NULL"
        )
        return try Row.fetchOne(statement, arguments: [person]).map(ShiftRow.init(checked:))
    }

    /// The number of the shift that a person has open; of a new one where there is none.
    static func number(_ db: Database, takenUpBy person: Actor, at time: WallTime) throws -> Int64 {
        if let open = try open(db, person.name) { return open.number }
        let last = try Int64.fetchOne(db, sql: "SELECT max(number) FROM shift") ?? 0
        let row = ShiftRow(number: last + 1, person: person.name, openedMilliseconds: time.millisecondsSince1970)
        try row.insert(db)
        return row.number
    }

    /// Of a shift that is open.
    func insert(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO shift (\(Self.columns)) VALUES (?, ?, ?, NULL, NULL, NULL, ?)",
            arguments: [number, person, openedMilliseconds, digest]
        )
    }

    func update(_ db: Database) throws {
        try db.execute(
            sql: "UPDATE shift SET closed_ms = ?, closed_by = ?, report = ?, digest = ? WHERE number = ?",
            arguments: [closedMilliseconds, closedBy, report, digest, number]
        )
    }

    var shift: Shift {
        get throws {
            var closing: Shift.Closing?
            if let closedMilliseconds, let closedBy, let report {
                let kept: ShiftReport = try StoredJSON.decode(report)
                closing = Shift.Closing(
                    at: WallTime(millisecondsSince1970: closedMilliseconds),
                    by: closedBy,
                    report: try kept.takings(),
                    openCharges: kept.openCharges
                )
            }
            let openedAt = WallTime(millisecondsSince1970: openedMilliseconds)
            return Shift(id: number, person: person, openedAt: openedAt, closing: closing)
        }
    }
}

/// What ended charges add to the sums of their shifts.
struct ShiftDelta: Equatable {
    struct Place: Hashable {
        var shift: Int64
        var key: TakingsKey
    }

    private(set) var sums: [Place: TakingsDelta.Sums] = [:]

    mutating func add(_ row: ChargeRow) { add(row, \.self) }

    mutating func remove(_ row: ChargeRow) { add(row, { -$0 }) }

    private mutating func add(_ row: ChargeRow, _ sign: (TakingsDelta.Sums) -> TakingsDelta.Sums) {
        guard !row.isOpen, let shift = row.shift else { return }
        sums[Place(shift: shift, key: TakingsKey(row)), default: TakingsDelta.Sums()] += sign(Self.sums(of: row))
    }

    /// What a charge counts for, with what went back of it whenever that was.
    static func sums(of row: ChargeRow) -> TakingsDelta.Sums {
        var sums = TakingsDelta.sums(of: row)
        sums.refunds = row.refundedMinorUnits > 0 ? 1 : 0
        sums.refunded = min(row.refundedMinorUnits, TakingsDelta.most)
        return sums
    }

    mutating func merge(_ other: ShiftDelta) {
        for (place, part) in other.sums { sums[place, default: TakingsDelta.Sums()] += part }
    }

    /// Without what cancelled itself out.
    var changes: [Place: TakingsDelta.Sums] { sums.filter { $0.value != TakingsDelta.Sums() } }

    func apply(_ db: Database) throws {
        for (place, part) in changes {
            try db.cachedStatement(
                sql: "INSERT INTO shift_takings VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING"
            ).execute(arguments: [place.shift, place.key.currency, place.key.state, place.key.rail])
            try db.cachedStatement(
                sql: """
                    UPDATE shift_takings SET charges = charges + ?, total_minor_units = total_minor_units + ?,
                        tip_minor_units = tip_minor_units + ?, surplus_minor_units = surplus_minor_units + ?,
                        refunds = refunds + ?, refunded_minor_units = refunded_minor_units + ?
                    WHERE shift = ? AND currency = ? AND state = ? AND rail = ?
                    """
            ).execute(arguments: [
                part.charges, part.total, part.tip, part.surplus, part.refunds, part.refunded, place.shift,
                place.key.currency, place.key.state, place.key.rail,
            ])
            guard part.charges < 0 else { continue }
            try db.cachedStatement(
                sql: """
                    DELETE FROM shift_takings WHERE shift = ? AND currency = ? AND state = ? AND rail = ? AND charges = 0
                    """
            ).execute(arguments: [place.shift, place.key.currency, place.key.state, place.key.rail])
        }
    }

    /// What the table says.
    static func fetch(_ db: Database) throws -> [Place: TakingsDelta.Sums] {
        var sums: [Place: TakingsDelta.Sums] = [:]
        let rows = try Row.fetchCursor(db, sql: "SELECT 0, \(columns) FROM shift_takings")
        while let row = try rows.next() {
            let place = Place(shift: try row.decode(atIndex: 1), key: try TakingsKey(row))
            sums[place] = try TakingsDelta.Sums(row)
        }
        return sums
    }

    /// As ``TakingsKey`` and the sums read them, after one more.
    static let columns = """
        shift, currency, state, rail, charges, total_minor_units, tip_minor_units, surplus_minor_units, refunds, \
        refunded_minor_units
        """
}

/// Sums of shifts with what is still open.
enum ShiftQuery {
    private static let mostNamed = 50

    /// - Parameter naming: Also names the charges that are open.
    static func sums(_ db: Database, _ row: ShiftRow, naming: Bool = true) throws -> ShiftSums {
        var sums: [TakingsKey: TakingsDelta.Sums] = [:]
        let statement = try db.cachedStatement(
            sql: "SELECT 0, \(ShiftDelta.columns) FROM shift_takings WHERE shift = ?"
        )
        let rows = try Row.fetchCursor(statement, arguments: [row.number])
        while let one = try rows.next() { sums[try TakingsKey(one)] = try TakingsDelta.Sums(one) }
        let open = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(ChargeRow.columns) FROM charge INDEXED BY charge_shift_open
                    WHERE open = 1 AND shift = ? ORDER BY opened_seq DESC
                    """
            ),
            arguments: [row.number]
        )
        .map(ChargeRow.init(checked:))
        for charge in open {
            sums[TakingsKey(charge), default: TakingsDelta.Sums()] += ShiftDelta.sums(of: charge)
        }
        return ShiftSums(
            shift: try row.shift,
            takings: try sums.sorted { $0.key < $1.key }.map { try Takings($0.key, $0.value) },
            // A charge that is open has not failed.
            open: naming ? try open.prefix(mostNamed).map { try ChargeSummary($0, wasRefused: false) } : [],
            openCount: open.count
        )
    }
}

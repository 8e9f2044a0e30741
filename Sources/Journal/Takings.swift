import GRDB
import Payments

/// What ended charges add to the sums: to each of two spans of time, by currency, state and rail.
///
/// Spans begin at whole quarters of an hour and whole days of Greenwich: every time zone's days are made of them. A charge
/// counts where it was opened, a refund where it happened. Charges that are still open count when they are asked for.
struct TakingsDelta: Equatable {
    struct Place: Hashable {
        var span: Int64
        var start: Int64
        var currency: String
        var state: String
        var rail: String
    }

    struct Sums: Hashable {
        var charges: Int64 = 0
        var total: Int64 = 0
        var tip: Int64 = 0
        var surplus: Int64 = 0
        var refunds: Int64 = 0
        var refunded: Int64 = 0

        static func += (sums: inout Sums, other: Sums) {
            sums.charges += other.charges
            sums.total += other.total
            sums.tip += other.tip
            sums.surplus += other.surplus
            sums.refunds += other.refunds
            sums.refunded += other.refunded
        }

        static prefix func - (sums: Sums) -> Sums {
            Sums(
                charges: -sums.charges,
                total: -sums.total,
                tip: -sums.tip,
                surplus: -sums.surplus,
                refunds: -sums.refunds,
                refunded: -sums.refunded
            )
        }
    }

    static let quarter: Int64 = 900_000
    static let day: Int64 = 86_400_000
    /// An amount above this counts as this, so that millions of the largest amounts can be added. No charge with its tip is larger.
    static let most: Int64 = 2 * ChargeLimits.mostMinorUnits

    private(set) var sums: [Place: Sums] = [:]

    /// Adds what the row of a charge counts for; nothing while it is open.
    mutating func add(_ row: ChargeRow) { add(row, \.self) }

    mutating func remove(_ row: ChargeRow) { add(row, { -$0 }) }

    private mutating func add(_ row: ChargeRow, _ sign: (Sums) -> Sums) {
        guard !row.isOpen else { return }
        add(sign(Self.sums(of: row)), at: row.openedMilliseconds, row)
    }

    static func sums(of row: ChargeRow) -> Sums {
        Sums(
            charges: 1,
            total: min(row.totalMinorUnits, most),
            tip: min(row.tipMinorUnits ?? 0, most),
            surplus: min(row.surplusMinorUnits, most)
        )
    }

    /// Adds what went back to the customer by one event.
    mutating func add(refundFrom before: Int64, to row: ChargeRow, at milliseconds: Int64) {
        guard row.refundedMinorUnits > before else { return }
        let sums = Sums(refunds: 1, refunded: min(row.refundedMinorUnits - before, Self.most))
        add(sums, at: milliseconds, row)
    }

    private mutating func add(_ part: Sums, at milliseconds: Int64, _ row: ChargeRow) {
        for span in [Self.quarter, Self.day] {
            let place = Place(
                span: span,
                start: Self.start(of: milliseconds, span),
                currency: row.currency,
                state: row.state,
                rail: row.rail ?? ""
            )
            sums[place, default: Sums()] += part
        }
    }

    mutating func merge(_ other: TakingsDelta) {
        for (place, part) in other.sums { sums[place, default: Sums()] += part }
    }

    /// The beginning of the span that holds a moment; clocks that are far off count as their century's end.
    static func start(of milliseconds: Int64, _ span: Int64) -> Int64 {
        let time = held(milliseconds)
        return time - ((time % span) + span) % span
    }

    /// The same limits for a time that is asked for.
    static func held(_ range: Range<WallTime>) -> (from: Int64, until: Int64) {
        (held(range.lowerBound.millisecondsSince1970), held(range.upperBound.millisecondsSince1970))
    }

    private static func held(_ milliseconds: Int64) -> Int64 {
        min(max(milliseconds, -8_640_000_000_000), 8_640_000_000_000)
    }

    /// Without what cancelled itself out.
    var changes: [Place: Sums] { sums.filter { $0.value != Sums() } }

    func apply(_ db: Database) throws {
        for (place, part) in changes {
            try db.cachedStatement(
                sql: """
                    INSERT INTO takings VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING
                    """
            ).execute(arguments: [place.span, place.start, place.currency, place.state, place.rail])
            try db.cachedStatement(
                sql: """
                    UPDATE takings SET charges = charges + ?, total_minor_units = total_minor_units + ?,
                        tip_minor_units = tip_minor_units + ?, surplus_minor_units = surplus_minor_units + ?,
                        refunds = refunds + ?, refunded_minor_units = refunded_minor_units + ?
                    WHERE span_ms = ? AND start_ms = ? AND currency = ? AND state = ? AND rail = ?
                    """
            ).execute(arguments: [
                part.charges, part.total, part.tip, part.surplus, part.refunds, part.refunded, place.span, place.start,
                place.currency, place.state, place.rail,
            ])
            guard part.charges < 0 else { continue }
            try db.cachedStatement(
                sql: """
                    DELETE FROM takings WHERE span_ms = ? AND start_ms = ? AND currency = ? AND state = ? AND rail = ?
                        AND charges = 0 AND refunds = 0
                    """
            ).execute(arguments: [place.span, place.start, place.currency, place.state, place.rail])
        }
    }

    /// What the table says.
    static func fetch(_ db: Database) throws -> [Place: Sums] {
        var sums: [Place: Sums] = [:]
        let rows = try Row.fetchCursor(db, sql: "SELECT * FROM takings")
        while let row = try rows.next() {
            let place = Place(
                span: try row.decode(atIndex: 0),
                start: try row.decode(atIndex: 1),
                currency: try row.decode(atIndex: 2),
                state: try row.decode(atIndex: 3),
                rail: try row.decode(atIndex: 4)
            )
            sums[place] = try Sums(row)
        }
        return sums
    }
}

extension TakingsDelta.Sums {
    /// Of the columns 5 to 10 of a row.
    init(_ row: Row) throws {
        charges = try row.decode(atIndex: 5)
        total = try row.decode(atIndex: 6)
        tip = try row.decode(atIndex: 7)
        surplus = try row.decode(atIndex: 8)
        refunds = try row.decode(atIndex: 9)
        refunded = try row.decode(atIndex: 10)
    }
}

import Foundation
import GRDB
public import Payments

/// Money that went back to a customer by one step, as the files of charges list it.
public struct RefundSummary: Sendable, Hashable {
    /// The charge it was paid for, as it stands now.
    public let charge: ChargeSummary
    /// More than 0.
    public let amount: Money
    /// When it was booked.
    public let at: WallTime
    /// Staff's own words; nil where its authority gave the money back.
    public let reason: String?
    /// As ``Payments/Actor/name``: `staff:Ada`; nil where its authority gave the money back.
    public let by: String?
    public let mark: Refund.Mark?
}

/// A part of the list of refunds: those of the newest charges first, of one charge in their order.
public struct RefundPage: Sendable, Hashable {
    public let refunds: [RefundSummary]
    /// How many were booked within the time, whatever else the filter says.
    public let booked: Int
    /// Where it goes on; nil at the end. There may be more although these are none.
    public let next: Int64?
}

extension Journal {
    /// Refunds that were booked within the filter's time, whenever their charges were opened. What else the filter says is
    /// said of the charge.
    ///
    /// Goes through all charges by the order of opening, some at a time: no index names the refunded ones. Whoever wants those of
    /// a few days stops at the number that ``takings(in:)`` has of them.
    /// - Parameter place: ``RefundPage/next`` of the page before; nil: from the newest charge back.
    /// - Throws: ``JournalError``.
    public func refunds(_ filter: ChargeFilter, before place: Int64?) async throws(JournalError) -> RefundPage {
        try await reading { db in try RefundListing(filter: filter, place: place ?? .max).page(db) }
    }
}

/// One question for a part of the list.
private struct RefundListing {
    /// So many entries' worth of charges are looked through in one answer.
    static let mostEntries: Int64 = 50_000
    /// So many charges are replayed in one answer.
    static let mostReplayed = 200

    let filter: ChargeFilter
    let place: Int64

    func page(_ db: Database) throws -> RefundPage {
        guard let newest = try Self.newest(db, before: place) else {
            return RefundPage(refunds: [], booked: 0, next: nil)
        }
        let oldest = max(newest - Self.mostEntries, 0)
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(ChargeRow.columns) FROM charge
                    WHERE opened_seq <= ? AND opened_seq > ? AND refunded_minor_units > 0 ORDER BY opened_seq DESC LIMIT ?
                    """
            ),
            arguments: [newest, oldest, Self.mostReplayed]
        )
        var refunds: [RefundSummary] = []
        var booked = 0
        for row in rows {
            let opened: Int64 = try row.decode(atIndex: 0)
            let row = try ChargeRow(checked: row)
            let parts = (try Replay(db, row.id)?.refunds ?? []).filter { isInTime($0.at) }
            booked += parts.count
            guard !parts.isEmpty, try fits(db, opened) else { continue }
            let charge = try ChargeSummary(row, wasRefused: false)
            refunds += parts.map { part in
                RefundSummary(
                    charge: charge,
                    amount: Money(minorUnits: part.minorUnits, currency: charge.total.currency),
                    at: part.at,
                    reason: part.refund?.reason,
                    by: part.refund?.by.name,
                    mark: part.mark
                )
            }
        }
        var last = oldest + 1
        if rows.count == Self.mostReplayed, let row = rows.last { last = try row.decode(atIndex: 0) }
        return RefundPage(refunds: refunds, booked: booked, next: try Self.newest(db, before: last) == nil ? nil : last)
    }

    private static func newest(_ db: Database, before place: Int64) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT max(opened_seq) FROM charge WHERE opened_seq < ?", arguments: [place])
    }

    private func isInTime(_ time: WallTime) -> Bool {
        let time = time.millisecondsSince1970
        return time >= filter.from?.millisecondsSince1970 ?? .min && time < filter.until?.millisecondsSince1970 ?? .max
    }

    /// Whether the charge is what the filter asks for, apart from when it was opened.
    private func fits(_ db: Database, _ opened: Int64) throws -> Bool {
        var charges = filter
        (charges.from, charges.until) = (nil, nil)
        let listing = ChargeListing(filter: charges, place: .newest, limit: 1)
        let (conditions, values) = listing.conditions(besideSearch: false)
        var arguments: StatementArguments = [opened]
        arguments += values
        return try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM charge WHERE opened_seq = ? AND \(conditions))",
            arguments: arguments
        ) == true
    }
}

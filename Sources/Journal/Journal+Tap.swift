import Foundation
import GRDB
public import Payments

/// Something that happened to a payment over BLE. The journal keeps it as bytes and never changes it.
public struct TapEntry: Sendable, Hashable {
    /// The payment's name, a UUID as text.
    public let payment: String
    public let charge: ChargeID
    public let attempt: Attempt.ID
    /// What happened, in lower case.
    public let kind: String
    public let body: [UInt8]
    public let at: WallTime

    public init(payment: String, charge: ChargeID, attempt: Attempt.ID, kind: String, body: [UInt8], at: WallTime) {
        (self.payment, self.charge, self.attempt) = (payment, charge, attempt)
        (self.kind, self.body, self.at) = (kind, body, at)
    }
}

/// What is known of one voucher: changes with each of its spends.
public struct TapVoucher: Sendable, Hashable {
    /// The pass's 16 bytes in hexadecimal.
    public let pass: String
    public let body: [UInt8]

    public init(pass: String, body: [UInt8]) { (self.pass, self.body) = (pass, body) }
}

/// What is noted of payments over BLE in one step.
public struct TapNotes: Sendable {
    public var entries: [TapEntry]
    public var vouchers: [TapVoucher]

    public init(_ entries: [TapEntry] = [], vouchers: [TapVoucher] = []) {
        (self.entries, self.vouchers) = (entries, vouchers)
    }

    func insert(_ db: Database) throws {
        for entry in entries { try TapRow(entry).insert(db) }
        for voucher in vouchers { try TapVoucherRow(voucher, at: entries.last?.at).store(db) }
    }
}

extension Journal {
    /// Appends what happened over BLE, all of it or nothing. Returns once it survives a power cut.
    /// - Throws: ``JournalError``. It counts as not recorded: do not act on it.
    public func append(
        _ entries: [TapEntry],
        vouchers: [TapVoucher] = []
    ) async throws(JournalError) {
        let notes = TapNotes(entries, vouchers: vouchers)
        try await writing { db in try notes.insert(db) }
    }

    /// Everything that happened over BLE to an attempt, in its order; over several payments where there were several.
    public func tapEntries(
        of charge: ChargeID,
        attempt: Attempt.ID
    ) async throws(JournalError) -> [TapEntry] {
        try await reading { db in
            try TapRow.fetch(db, "charge = ? AND attempt = ?", [charge.rawValue, attempt])
        }
    }

    /// Everything that happened to a payment, in its order.
    public func tapEntries(ofPayment payment: String) async throws(JournalError) -> [TapEntry] {
        try await reading { db in try TapRow.fetch(db, "payment = ?", [payment]) }
    }

    /// Payments with an entry of one kind and none of another that came after it, oldest first.
    public func tapPayments(with kind: String, without other: String) async throws(JournalError) -> [String] {
        try await reading { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT payment FROM tap AS one WHERE kind = ?
                        AND NOT EXISTS (SELECT 1 FROM tap AS other WHERE other.payment = one.payment AND other.kind = ?
                            AND other.seq > one.seq)
                    GROUP BY payment ORDER BY min(seq)
                    """,
                arguments: [kind, other]
            )
        }
    }

    /// What is known of every voucher that was taken here and is not forgotten.
    public func tapVouchers() async throws(JournalError) -> [TapVoucher] {
        try await reading { db in
            try Row.fetchAll(db, sql: "SELECT pass, body, changed_ms, digest FROM tap_voucher")
                .map { try TapVoucherRow(checked: $0).voucher }
        }
    }
}

extension Journal {
    /// Forgets what is known of vouchers, all of it or nothing. Only for those that nobody can pay with any more: one that is
    /// forgotten too early could be spent twice.
    /// - Parameter passes: Names as in ``TapVoucher/pass``; those that are not known do no harm.
    public func forget(vouchers passes: [String]) async throws(JournalError) {
        try await writing { db in
            for pass in passes { try db.execute(sql: "DELETE FROM tap_voucher WHERE pass = ?", arguments: [pass]) }
        }
    }
}

/// One row of the table `tap`.
private struct TapRow {
    static let columns = "payment, charge, attempt, kind, body, wall_ms, digest"
    let entry: TapEntry

    init(_ entry: TapEntry) { self.entry = entry }

    static func fetch(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [TapEntry] {
        try Row.fetchAll(db, sql: "SELECT \(columns) FROM tap WHERE \(condition) ORDER BY seq", arguments: arguments)
            .map { try TapRow(checked: $0).entry }
    }

    init(checked row: Row) throws {
        let charge = try row.decode(String.self, atIndex: 1)
        guard let id = ChargeID(charge) else { throw JournalError.corrupt(detail: "“\(charge)” is not a charge") }
        entry = TapEntry(
            payment: try row.decode(atIndex: 0),
            charge: id,
            attempt: try row.decode(atIndex: 2),
            kind: try row.decode(atIndex: 3),
            body: Array(try row.decode(Data.self, atIndex: 4)),
            at: WallTime(millisecondsSince1970: try row.decode(Int64.self, atIndex: 5))
        )
        guard digest == (try row.decode(Data.self, atIndex: 6)) else {
            throw JournalError.corrupt(detail: "an entry of payment \(entry.payment) was changed outside the terminal")
        }
    }

    func insert(_ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO tap (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)").execute(
            arguments: [
                entry.payment, entry.charge.rawValue, entry.attempt, entry.kind, Data(entry.body),
                entry.at.millisecondsSince1970, digest,
            ])
    }

    private var digest: Data {
        var digest = RowDigest("till tap 1")
        digest.add(entry.payment)
        digest.add(entry.charge.rawValue)
        digest.add(Int64(entry.attempt))
        digest.add(entry.kind)
        digest.add(Data(entry.body))
        digest.add(entry.at.millisecondsSince1970)
        return digest.value
    }
}

/// One row of the table `tap_voucher`.
private struct TapVoucherRow {
    let voucher: TapVoucher
    let changed: Int64

    init(_ voucher: TapVoucher, at time: WallTime?) {
        (self.voucher, changed) = (voucher, time?.millisecondsSince1970 ?? 0)
    }

    init(checked row: Row) throws {
        voucher = TapVoucher(
            pass: try row.decode(atIndex: 0),
            body: Array(try row.decode(Data.self, atIndex: 1))
        )
        changed = try row.decode(atIndex: 2)
        guard digest == (try row.decode(Data.self, atIndex: 3)) else {
            throw JournalError.corrupt(detail: "the voucher \(voucher.pass) was changed outside the terminal")
        }
    }

    func store(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO tap_voucher (pass, body, changed_ms, digest) VALUES (?, ?, ?, ?)
                ON CONFLICT (pass) DO UPDATE SET body = excluded.body, changed_ms = excluded.changed_ms,
                    digest = excluded.digest
                """,
            arguments: [voucher.pass, Data(voucher.body), changed, digest]
        )
    }

    private var digest: Data {
        var digest = RowDigest("till tap voucher 1")
        digest.add(voucher.pass)
        digest.add(Data(voucher.body))
        digest.add(changed)
        return digest.value
    }
}

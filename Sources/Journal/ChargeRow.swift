import Foundation
import GRDB
public import Payments

/// One row of the table `charge`: what is known of a charge now, made from its entries.
struct ChargeRow: Equatable {
    static let columns = """
        opened_seq, id, code, state, open, released, late, promised, given_back, currency, minor_units, \
        total_minor_units, tip_minor_units, surplus_minor_units, refunded_minor_units, rail, opened_by, reference, \
        payment, transaction_id, opened_ms, updated_ms, last_seq, unseen, digest, note, shift, refund_asked
        """

    var id: String
    var code: String
    var state: String
    /// The authority has not ended every attempt.
    var isOpen: Bool
    var isReleased: Bool
    var isLate: Bool
    var isPromised: Bool
    var isGivenBack: Bool
    var currency: String
    /// What staff asked for.
    var minorUnits: Int64
    /// What the customer pays in all.
    var totalMinorUnits: Int64
    /// Of the total, wherever it was added; nil where nobody was asked.
    var tipMinorUnits: Int64?
    /// What was paid beyond the total, by further payments for the same charge, given back or not.
    var surplusMinorUnits: Int64
    /// What went back to the customer.
    var refundedMinorUnits: Int64
    /// The way it was paid, or the only one that was offered; nil where several were and none was taken.
    var rail: String?
    var openedBy: String
    var reference: String?
    /// The payment that counts, or the first that was made.
    var payment: String?
    var transaction: String?
    var openedMilliseconds: Int64
    var updatedMilliseconds: Int64
    var lastSequence: Int64
    /// What staff have not seen yet.
    var unseen: String?
    /// For staff only.
    var note: String?
    /// The opener's shift; nil of charges from before there were shifts.
    var shift: Int64?
    /// A refund waits for the gateway's word.
    var isRefundAsked: Bool

    init(_ charge: Charge, shift: Int64?, last sequence: Int64, at time: WallTime) {
        let terms = charge.terms
        id = charge.id.rawValue
        code = StoredText.bounded(terms.code.rawValue)
        state = charge.state.rawValue
        isOpen = !charge.state.isFinal || charge.attempts.contains(where: \.isOpen)
        isReleased = charge.isReleased
        isLate = charge.isLate
        isPromised = charge.isPromised
        isGivenBack = charge.isGivenBack
        currency = terms.amount.currency.code
        minorUnits = terms.amount.minorUnits
        totalMinorUnits = charge.total.minorUnits
        let added = charge.total.minorUnits - terms.amount.minorUnits
        let asked = min(max(terms.tip?.minorUnits ?? 0, 0), terms.amount.minorUnits)
        tipMinorUnits = terms.tip == nil && added == 0 ? nil : asked + added
        surplusMinorUnits = charge.paidMinorUnits { $0.id != charge.paidAttempt }
        refundedMinorUnits = charge.refundedMinorUnits
        rail = charge.railOfRecord?.rawValue
        openedBy = terms.openedBy.name
        reference = terms.reference
        payment = (charge.evidence?.paymentID ?? charge.attempts.lazy.compactMap(\.offer?.paymentID).first)
            .map(StoredText.bounded)
        transaction = charge.evidence?.transactionID.map(StoredText.bounded)
        openedMilliseconds = terms.openedAt.millisecondsSince1970
        updatedMilliseconds = time.millisecondsSince1970
        lastSequence = sequence
        unseen = charge.unseen?.rawValue
        note = terms.note
        self.shift = shift
        isRefundAsked = charge.hasAskedRefund
    }

    private var digest: Data {
        // Rows from before v6 have nothing of what came with it, and keep their digest.
        let hasMore = note != nil || shift != nil || isRefundAsked
        var digest = RowDigest(hasMore ? "till charge 4" : "till charge 3")
        for text in [id, code, state, currency, openedBy] { digest.add(text) }
        for flag in [isOpen, isReleased, isLate, isPromised, isGivenBack] { digest.add(flag ? 1 : 0) }
        for number in [minorUnits, totalMinorUnits, surplusMinorUnits, refundedMinorUnits] { digest.add(number) }
        digest.add(tipMinorUnits)
        for text in [rail, reference, payment, transaction, unseen] { digest.add(text) }
        for number in [openedMilliseconds, updatedMilliseconds, lastSequence] { digest.add(number) }
        if hasMore {
            digest.add(note)
            digest.add(shift)
            digest.add(isRefundAsked ? 1 : 0)
        }
        return digest.value
    }

    func insert(_ db: Database, opened sequence: Int64) throws {
        try db.cachedStatement(sql: Self.insertion).execute(arguments: [
            sequence, id, code, state, isOpen, isReleased, isLate, isPromised, isGivenBack, currency, minorUnits,
            totalMinorUnits, tipMinorUnits, surplusMinorUnits, refundedMinorUnits, rail, openedBy, reference, payment,
            transaction, openedMilliseconds, updatedMilliseconds, lastSequence, unseen, digest, note,
            shift, isRefundAsked,
        ])
    }

    private static let insertion =
        "INSERT INTO charge (\(columns)) VALUES (\(Array(repeating: "?", count: 28).joined(separator: ", ")))"

    /// Writes what an event has changed. What stays is not named: SQLite writes every index of a named column anew.
    func update(_ db: Database, from before: ChargeRow) throws {
        var columns: [String] = []
        var values: [(any DatabaseValueConvertible)?] = []
        for (now, then) in zip(changing, before.changing) where now.value != then.value {
            columns.append(now.column + " = ?")
            values.append(now.value)
        }
        columns.append("digest = ?")
        values += [digest, id]
        try db.cachedStatement(sql: "UPDATE charge SET \(columns.joined(separator: ", ")) WHERE id = ?")
            .execute(arguments: StatementArguments(values))
    }

    /// What an event can change.
    private var changing: [(column: String, value: DatabaseValue)] {
        [
            ("state", state.databaseValue), ("open", isOpen.databaseValue), ("released", isReleased.databaseValue),
            ("late", isLate.databaseValue), ("promised", isPromised.databaseValue),
            ("given_back", isGivenBack.databaseValue), ("total_minor_units", totalMinorUnits.databaseValue),
            ("tip_minor_units", tipMinorUnits.databaseValue), ("surplus_minor_units", surplusMinorUnits.databaseValue),
            ("refunded_minor_units", refundedMinorUnits.databaseValue), ("rail", rail.databaseValue),
            ("payment", payment.databaseValue), ("transaction_id", transaction.databaseValue),
            ("updated_ms", updatedMilliseconds.databaseValue), ("last_seq", lastSequence.databaseValue),
            ("refund_asked", isRefundAsked.databaseValue), ("unseen", unseen.databaseValue),
        ]
    }

    /// The row of a charge and its place in the order of opening; nil where there is none.
    static func fetch(_ db: Database, _ id: String) throws -> (row: ChargeRow, opened: Int64)? {
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM charge WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id]).map { row in
            (try ChargeRow(checked: row), try row.decode(atIndex: 0))
        }
    }

    /// Reads a row of `columns` and makes sure that it is as it was written.
    init(checked row: Row) throws {
        id = try row.decode(atIndex: 1)
        code = try row.decode(atIndex: 2)
        state = try row.decode(atIndex: 3)
        isOpen = try row.decode(atIndex: 4)
        isReleased = try row.decode(atIndex: 5)
        isLate = try row.decode(atIndex: 6)
        isPromised = try row.decode(atIndex: 7)
        isGivenBack = try row.decode(atIndex: 8)
        currency = try row.decode(atIndex: 9)
        minorUnits = try row.decode(atIndex: 10)
        totalMinorUnits = try row.decode(atIndex: 11)
        tipMinorUnits = try row.decode(atIndex: 12)
        surplusMinorUnits = try row.decode(atIndex: 13)
        refundedMinorUnits = try row.decode(atIndex: 14)
        rail = try row.decode(atIndex: 15)
        openedBy = try row.decode(atIndex: 16)
        reference = try row.decode(atIndex: 17)
        payment = try row.decode(atIndex: 18)
        transaction = try row.decode(atIndex: 19)
        openedMilliseconds = try row.decode(atIndex: 20)
        updatedMilliseconds = try row.decode(atIndex: 21)
        lastSequence = try row.decode(atIndex: 22)
        unseen = try row.decode(atIndex: 23)
        note = try row.decode(atIndex: 25)
        shift = try row.decode(atIndex: 26)
        isRefundAsked = try row.decode(atIndex: 27)
        guard digest == (try row.decode(Data.self, atIndex: 24)) else {
            throw JournalError.corrupt(detail: "the table of charges was changed at \(id)")
        }
    }
}

/// Texts from outside as the tables of current states keep them.
enum StoredText {
    /// A text that is longer keeps as many characters.
    static let mostBytes = 200

    /// Without zero bytes, at which SQLite would end it, and no longer than anybody reads.
    static func bounded(_ text: String) -> String {
        if text.utf8.count <= mostBytes, !text.utf8.contains(0) { return text }
        let kept = text.unicodeScalars.lazy.filter { $0 != "\0" }.prefix(mostBytes)
        return String(String.UnicodeScalarView(kept))
    }
}

extension Actor {
    /// Who it is, as tables, queries and exports name them: `staff:Ada`, `till:7`, `customer`.
    public var name: String {
        switch self {
        case .staff(let name): StoredText.bounded("staff:" + name)
        case .till(let token): StoredText.bounded("till:" + token)
        case .customer: "customer"
        case .terminal: "terminal"
        case .keypad: "keypad"
        case .stranger: "stranger"
        }
    }
}

extension Charge {
    /// What came in on the attempts that fit, in minor units of the charge's currency; the most that can be counted where
    /// there was more.
    func paidMinorUnits(_ fits: (Attempt) -> Bool) -> Int64 {
        attempts.filter(fits).reduce(0) { sum, attempt in
            let (next, overflow) = sum.addingReportingOverflow(paidMinorUnits(on: attempt))
            return overflow ? .max : next
        }
    }

    /// The rail that counts for lists and sums.
    fileprivate var railOfRecord: Rail? {
        if let rail = paidAttempt.flatMap(attempt)?.rail { return rail }
        if let rail = attempts.first(where: \.hasMadeClaim)?.rail { return rail }
        let rails = Set(attempts.map(\.rail))
        return rails.count == 1 ? rails.first : nil
    }
}

extension Attempt {
    fileprivate var hasMadeClaim: Bool {
        guard isOpen, case .made? = claim else { return false }
        return true
    }
}

/// One row of the table `idempotency`: the charge that was opened under a caller's key.
struct IdempotencyRow: Equatable {
    var key: String
    var charge: String
    var requestDigest: Data

    private var digest: Data {
        var digest = RowDigest("till idempotency 1")
        digest.add(key)
        digest.add(charge)
        digest.add(requestDigest)
        return digest.value
    }

    init?(_ opening: Opening) {
        guard let key = opening.idempotencyKey else { return nil }
        (self.key, charge, requestDigest) = (key, opening.terms.id.rawValue, opening.requestDigest ?? Data())
    }

    func insert(_ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT INTO idempotency (key, charge, request_digest, digest) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [key, charge, requestDigest, digest])
    }

    static func fetch(_ db: Database, where condition: String, _ value: String) throws -> IdempotencyRow? {
        try Row.fetchOne(
            db,
            sql: "SELECT key, charge, request_digest, digest FROM idempotency WHERE \(condition) = ?",
            arguments: [value]
        ).map(IdempotencyRow.init(checked:))
    }

    private init(checked row: Row) throws {
        key = try row.decode(atIndex: 0)
        charge = try row.decode(atIndex: 1)
        requestDigest = try row.decode(atIndex: 2)
        guard digest == (try row.decode(Data.self, atIndex: 3)) else {
            throw JournalError.corrupt(detail: "the table of idempotency keys was changed at charge \(charge)")
        }
    }
}

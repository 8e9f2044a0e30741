import Foundation
import GRDB
import Payments

/// One row of the table `charge`: what is known of a charge now, made from its entries.
struct ChargeRow: Equatable {
    static let columns = """
        opened_seq, id, state, open, released, late, currency, minor_units, tip_minor_units, reference, opened_ms, \
        updated_ms, last_seq, unseen, digest
        """

    var id: String
    var state: String
    /// The authority has not ended every attempt.
    var isOpen: Bool
    var isReleased: Bool
    var isLate: Bool
    var currency: String
    var minorUnits: Int64
    var tipMinorUnits: Int64?
    var reference: String?
    var openedMilliseconds: Int64
    var updatedMilliseconds: Int64
    var lastSequence: Int64
    /// What staff have not seen yet.
    var unseen: String?

    init(_ charge: Charge, last sequence: Int64, at time: WallTime) {
        id = charge.id.rawValue
        state = charge.state.rawValue
        isOpen = !charge.state.isFinal || charge.attempts.contains(where: \.isOpen)
        isReleased = charge.isReleased
        isLate = charge.isLate
        currency = charge.terms.amount.currency.code
        minorUnits = charge.terms.amount.minorUnits
        tipMinorUnits = charge.terms.tip?.minorUnits
        reference = charge.terms.reference
        openedMilliseconds = charge.terms.openedAt.millisecondsSince1970
        updatedMilliseconds = time.millisecondsSince1970
        lastSequence = sequence
        unseen = charge.unseen?.rawValue
    }

    private var digest: Data {
        var digest = RowDigest("till charge 2")
        digest.add(id)
        digest.add(state)
        digest.add(isOpen ? 1 : 0)
        digest.add(isReleased ? 1 : 0)
        digest.add(isLate ? 1 : 0)
        digest.add(currency)
        digest.add(minorUnits)
        digest.add(tipMinorUnits)
        digest.add(reference)
        digest.add(openedMilliseconds)
        digest.add(updatedMilliseconds)
        digest.add(lastSequence)
        digest.add(unseen)
        return digest.value
    }

    func insert(_ db: Database, opened sequence: Int64) throws {
        try db.cachedStatement(
            sql: "INSERT INTO charge (\(ChargeRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            sequence, id, state, isOpen, isReleased, isLate, currency, minorUnits, tipMinorUnits, reference,
            openedMilliseconds, updatedMilliseconds, lastSequence, unseen, digest,
        ])
    }

    /// Changes what an event can change.
    func update(_ db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE charge SET state = ?, open = ?, released = ?, late = ?, updated_ms = ?, last_seq = ?, unseen = ?,
                    digest = ?
                WHERE id = ?
                """
        ).execute(arguments: [
            state, isOpen, isReleased, isLate, updatedMilliseconds, lastSequence, unseen, digest, id,
        ])
        guard db.changesCount == 1 else {
            throw JournalError.unavailable(detail: "charge \(id) was never opened in this journal")
        }
    }

    /// Reads a row of `columns` and makes sure that it is as it was written.
    init(checked row: Row) throws {
        id = try row.decode(atIndex: 1)
        state = try row.decode(atIndex: 2)
        isOpen = try row.decode(atIndex: 3)
        isReleased = try row.decode(atIndex: 4)
        isLate = try row.decode(atIndex: 5)
        currency = try row.decode(atIndex: 6)
        minorUnits = try row.decode(atIndex: 7)
        tipMinorUnits = try row.decode(atIndex: 8)
        reference = try row.decode(atIndex: 9)
        openedMilliseconds = try row.decode(atIndex: 10)
        updatedMilliseconds = try row.decode(atIndex: 11)
        lastSequence = try row.decode(atIndex: 12)
        unseen = try row.decode(atIndex: 13)
        guard digest == (try row.decode(Data.self, atIndex: 14)) else {
            throw JournalError.corrupt(detail: "the table of charges was changed at \(id)")
        }
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

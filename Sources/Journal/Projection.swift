import GRDB
import Payments

/// What the entries of one charge come to.
struct Replay {
    var charge: Charge
    var opening: Opening
    var openedSequence: Int64
    var lastSequence: Int64
    var updatedAt: WallTime

    /// Nil where no entry names the charge.
    init?(_ db: Database, _ id: String) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT \(Entry.columns) FROM event WHERE charge = ? ORDER BY seq",
            arguments: [id]
        )
        guard let row = try rows.next() else { return nil }
        let first = try Entry(checked: row)
        guard first.kind == Entry.opened else {
            throw JournalError.corrupt(detail: "the first entry of charge \(id) does not open it")
        }
        opening = try first.opening()
        guard opening.terms.id.rawValue == id else {
            throw JournalError.corrupt(detail: "entry \(first.sequence) opens another charge than it names")
        }
        charge = Charge(terms: opening.terms)
        openedSequence = first.sequence
        lastSequence = first.sequence
        updatedAt = first.time
        while let row = try rows.next() {
            let entry = try Entry(checked: row)
            _ = charge.handle(try entry.event())
            lastSequence = entry.sequence
            updatedAt = entry.time
        }
    }

    var row: ChargeRow { ChargeRow(charge, last: lastSequence, at: updatedAt) }
    var record: ChargeRecord { ChargeRecord(charge: charge, updatedAt: updatedAt) }
}

/// The tables of current states. Written in the transaction of each entry; everything in them can be made anew.
enum Projection {
    /// True where the rows of these charges are what their entries say.
    static func agrees(_ db: Database, on charges: some Sequence<String>) throws -> Bool {
        for id in charges {
            guard let replay = try Replay(db, id) else { return false }
            let row = try Row.fetchOne(
                db,
                sql: "SELECT \(ChargeRow.columns) FROM charge WHERE id = ?",
                arguments: [id]
            )
            guard let row, (try? ChargeRow(checked: row)) == replay.row,
                try row.decode(Int64.self, atIndex: 0) == replay.openedSequence
            else { return false }
            let idempotency = try? IdempotencyRow.fetch(db, where: "charge", id)
            guard idempotency == IdempotencyRow(replay.opening) else { return false }
        }
        return true
    }

    /// Throws the tables away and makes them from the entries.
    static func rebuild(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM idempotency; DELETE FROM charge")
        try eachReplay(db) { replay in
            try replay.row.insert(db, opened: replay.openedSequence)
            try IdempotencyRow(replay.opening)?.insert(db)
        }
    }

    /// Replays every charge, oldest first.
    /// - Throws: ``JournalError`` where an entry cannot be read, or belongs to a charge that was never opened.
    static func eachReplay(_ db: Database, _ body: (Replay) throws -> Void) throws {
        let ids = try String.fetchAll(db, sql: "SELECT charge FROM event GROUP BY charge ORDER BY min(seq)")
        for id in ids {
            if let replay = try Replay(db, id) { try body(replay) }
        }
    }
}

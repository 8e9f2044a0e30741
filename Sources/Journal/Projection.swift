import Foundation
import GRDB
import Payments

/// What the entries of one charge come to.
struct Replay {
    var charge: Charge
    var opening: Opening
    var openedSequence: Int64
    var lastSequence: Int64
    var updatedAt: WallTime
    /// What its refunds and, once it has ended, it itself add to the sums.
    private(set) var takings = TakingsDelta()
    /// What it adds to its opener's shift.
    private(set) var shiftTakings = ShiftDelta()
    /// What went back to the customer, entry by entry.
    private(set) var refunds: [Refunded] = []

    /// Money that went back by one entry.
    struct Refunded {
        /// In minor units of the charge's currency; more than 0.
        var minorUnits: Int64
        var at: WallTime
        /// What staff asked for; nil where its authority gave the money back.
        var refund: Refund?
        var mark: Refund.Mark?
    }

    /// Nil where no entry names the charge.
    init?(_ db: Database, _ id: String) throws {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT \(Entry.columns) FROM event WHERE charge = ? ORDER BY seq"),
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
            let refunded = charge.refundedMinorUnits
            let event = try entry.event()
            let asked = event.attempt.flatMap(charge.attempt)?.askedRefund
            _ = charge.handle(event)
            lastSequence = entry.sequence
            updatedAt = entry.time
            if charge.refundedMinorUnits > refunded {
                takings.add(refundFrom: refunded, to: self.row, at: entry.wallMilliseconds)
                var part = Refunded(minorUnits: charge.refundedMinorUnits - refunded, at: entry.time)
                if case .refunded(_, let mark) = event { (part.refund, part.mark) = (asked, mark) }
                refunds.append(part)
            }
        }
        takings.add(self.row)
        shiftTakings.add(self.row)
    }

    var row: ChargeRow { ChargeRow(charge, shift: opening.shift, last: lastSequence, at: updatedAt) }
    var record: ChargeRecord { ChargeRecord(charge: charge, updatedAt: updatedAt) }
}

/// The tables of current states. Written in the transaction of each entry; everything in them can be made anew.
enum Projection {
    /// Writes what is known of a charge that was just opened. No sum changes: nothing is paid yet.
    /// - Parameters:
    ///   - sequence: The entry's that opened it.
    ///   - last: That of the last entry with it.
    /// - Returns: Its row.
    static func open(
        _ db: Database,
        _ charge: Charge,
        _ opening: Opening?,
        _ sequence: Int64,
        last: Int64,
        at time: WallTime
    ) throws -> ChargeRow {
        let row = ChargeRow(charge, shift: opening?.shift, last: last, at: time)
        try row.insert(db, opened: sequence)
        try ChargeWords.insert(db, ChargeWords.of(charge), opened: sequence)
        try opening.flatMap(IdempotencyRow.init)?.insert(db)
        return row
    }

    /// Writes what entries have changed: the row, the words that are new, and the sums.
    /// - Parameters:
    ///   - known: The row as it stands and its charge's place in the order of opening; nil: look them up.
    ///   - events: What the entries say.
    ///   - sequence: The last entry's.
    /// - Returns: The row as it is then, and the same place.
    static func change(
        _ db: Database,
        _ charge: Charge,
        from known: (row: ChargeRow, opened: Int64)?,
        by events: [Charge.Event],
        _ sequence: Int64,
        at time: WallTime
    ) throws -> (row: ChargeRow, opened: Int64) {
        guard let (before, opened) = try known ?? ChargeRow.fetch(db, charge.id.rawValue) else {
            throw JournalError.unavailable(detail: "charge \(charge.id) was never opened in this journal")
        }
        let row = ChargeRow(charge, shift: before.shift, last: sequence, at: time)
        try row.update(db, from: before)
        try ChargeWords.insert(db, ChargeWords.brought(by: events, to: charge), opened: opened)
        var takings = TakingsDelta()
        takings.remove(before)
        takings.add(row)
        takings.add(refundFrom: before.refundedMinorUnits, to: row, at: time.millisecondsSince1970)
        try takings.apply(db)
        var shifts = ShiftDelta()
        shifts.remove(before)
        shifts.add(row)
        try shifts.apply(db)
        return (row, opened)
    }

    // MARK: - Comparing

    /// True where the rows of these charges are what their entries say.
    static func agrees(_ db: Database, on charges: some Sequence<String>) throws -> Bool {
        for id in charges {
            guard let replay = try Replay(db, id), try agrees(db, with: replay) else { return false }
        }
        return true
    }

    private static func agrees(_ db: Database, with replay: Replay) throws -> Bool {
        let id = replay.charge.id.rawValue
        guard let (row, opened) = try? ChargeRow.fetch(db, id), row == replay.row, opened == replay.openedSequence,
            try ChargeWords.fetch(db, opened: opened) == ChargeWords.of(replay.charge)
        else { return false }
        let idempotency = try? IdempotencyRow.fetch(db, where: "charge", id)
        return idempotency == IdempotencyRow(replay.opening)
    }

    /// Compares everything with the entries. Nil where all agree, else what does not.
    static func disagreement(_ db: Database) throws -> String? {
        var takings = TakingsDelta()
        var shifts = ShiftDelta()
        var (charges, words) = (0, 0)
        var wrong: String?
        try eachReplay(db) { replay in
            charges += 1
            words += ChargeWords.of(replay.charge).count
            takings.merge(replay.takings)
            shifts.merge(replay.shiftTakings)
            guard wrong == nil, try !agrees(db, with: replay) else { return }
            wrong = "what is listed of charge \(replay.charge.id) is not what its entries say"
        }
        if let wrong { return wrong }
        guard try Int.fetchOne(db, sql: "SELECT count(*) FROM charge") == charges,
            try Int.fetchOne(db, sql: "SELECT count(*) FROM charge_word") == words
        else { return "charges are listed that no entry opened" }
        // Before v6 there were none.
        if try db.tableExists("shift_takings"), try ShiftDelta.fetch(db) != shifts.changes {
            return "the sums of the shifts are not those of the charges"
        }
        return try TakingsDelta.fetch(db) == takings.changes ? nil : "the sums are not those of the charges"
    }

    /// Whether as many charges are in the sums as have ended: for a long journal, whose sums are not made anew to look.
    static func countsAgree(_ db: Database) throws -> Bool {
        let counted = try Int64.fetchAll(
            db,
            sql: "SELECT coalesce(sum(charges), 0) FROM takings WHERE span_ms IN (900000, 86400000) GROUP BY span_ms"
        )
        let ended = try Int64.fetchOne(
            db,
            sql: "SELECT (SELECT count(*) FROM charge) - (SELECT count(*) FROM charge WHERE open = 1)"
        )
        return counted.allSatisfy { $0 == ended } && (counted.count == 2 || ended == 0)
    }

    // MARK: - Making anew

    /// How many charges one transaction takes when the tables are made anew.
    static let stepCharges = 500

    /// Throws the tables away and makes them from the entries, in one transaction.
    static func rebuild(_ db: Database) throws {
        try clear(db)
        var last: String? = ""
        while let done = last { last = try rebuildStep(db, after: done) }
    }

    /// The same in steps, each safe by itself: a start that was interrupted goes on where it was.
    /// - Parameter steps: Stops after so many, as a power cut would; for tests.
    static func rebuild(_ pool: DatabasePool, version: String, steps: Int = .max) throws {
        var mark = try pool.read { db in try RebuildMark.fetch(db) }
        if mark?.version != version {
            mark = RebuildMark(version: version, lastCharge: "")
            try pool.write { [mark] db in
                try clear(db)
                try mark?.store(db)
            }
        }
        var taken = 0
        while let current = mark, taken < steps {
            mark = try pool.write { db in
                guard let last = try rebuildStep(db, after: current.lastCharge) else {
                    try RebuildMark.remove(db)
                    return nil
                }
                let next = RebuildMark(version: version, lastCharge: last)
                try next.store(db)
                return next
            }
            taken += 1
        }
    }

    private static func clear(_ db: Database) throws {
        try db.execute(
            sql:
                "DELETE FROM shift_takings; DELETE FROM takings; DELETE FROM charge_word; DELETE FROM idempotency; DELETE FROM charge"
        )
    }

    /// - Returns: The last charge that was taken; nil where none was left.
    private static func rebuildStep(_ db: Database, after last: String) throws -> String? {
        let ids = try charges(db, after: last)
        var takings = TakingsDelta()
        var shifts = ShiftDelta()
        for id in ids {
            guard let replay = try Replay(db, id) else { continue }
            try replay.row.insert(db, opened: replay.openedSequence)
            try ChargeWords.insert(db, ChargeWords.of(replay.charge), opened: replay.openedSequence)
            try IdempotencyRow(replay.opening)?.insert(db)
            takings.merge(replay.takings)
            shifts.merge(replay.shiftTakings)
        }
        try takings.apply(db)
        try shifts.apply(db)
        return ids.last
    }

    private static func charges(_ db: Database, after last: String) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(sql: "SELECT DISTINCT charge FROM event WHERE charge > ? ORDER BY charge LIMIT ?"),
            arguments: [last, stepCharges]
        )
    }

    /// Replays every charge, in the order of their names.
    /// - Throws: ``JournalError`` where an entry cannot be read, or belongs to a charge that was never opened.
    static func eachReplay(_ db: Database, _ body: (Replay) throws -> Void) throws {
        var last = ""
        while true {
            let ids = try charges(db, after: last)
            guard let end = ids.last else { return }
            for id in ids { if let replay = try Replay(db, id) { try body(replay) } }
            last = end
        }
    }
}

/// Says in the file that the tables are being made anew, and how far that is.
struct RebuildMark {
    private static let name = "rebuilding"

    var version: String
    var lastCharge: String

    init(version: String, lastCharge: String) { (self.version, self.lastCharge) = (version, lastCharge) }

    static func fetch(_ db: Database) throws -> RebuildMark? {
        let text = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name])
        guard let parts = text?.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false), parts.count == 2
        else { return text == nil ? nil : RebuildMark(version: "", lastCharge: "") }
        return RebuildMark(version: String(parts[0]), lastCharge: String(parts[1]))
    }

    func store(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            arguments: [Self.name, version + " " + lastCharge]
        )
    }

    static func remove(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM meta WHERE name = ?", arguments: [name])
    }
}

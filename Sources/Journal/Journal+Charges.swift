import Foundation
import GRDB
public import Payments

// MARK: - What the core needs

extension Journal: ChargeJournal {
    public func open(
        _ terms: ChargeTerms,
        beginning events: [Charge.Event],
        under key: IdempotencyKey?,
        from place: String?
    ) async throws(JournalError) {
        for text in [terms.reference, terms.note, key?.key] where text?.utf8.contains(0) == true {
            throw .unavailable(detail: "a text with a zero byte cannot be kept")  // SQLite would end it there.
        }
        let charge = Charge(terms: terms, replaying: events)
        let following = try entries(of: events, charge, at: terms.openedAt)
        let line = try place.map { (place) throws(JournalError) in
            try StoredJSON.encode(AuditEntry(opening: terms, from: place))
        }
        try await writing { [self] db in
            let opening = Opening(
                terms: terms,
                idempotencyKey: key?.key,
                requestDigest: key.map { Data($0.requestDigest) },
                shift: try ShiftRow.number(db, takenUpBy: terms.openedBy, at: terms.openedAt)
            )
            let entry = entry(charge.id, Entry.opened, try StoredJSON.encode(opening), at: terms.openedAt)
            let sequence = try append(db, entry)
            var last = sequence
            for entry in following { last = try append(db, entry) }
            try open(db, charge, opening, sequence, last: last, at: terms.openedAt)
            if let line { try appendAudit(db, line) }
        }
    }

    public func append(_ event: Charge.Event, to charge: Charge, at time: WallTime) async throws(JournalError) {
        try await append([event], to: charge, at: time, with: TapNotes())
    }

    /// Appends what happened to a charge, in this order, with what was noted of its payment over BLE: all of it or nothing.
    /// - Parameters:
    ///   - events: At least one.
    ///   - charge: The charge after all of them.
    /// - Throws: As ``append(_:to:at:)``.
    public func append(
        _ events: [Charge.Event],
        to charge: Charge,
        at time: WallTime,
        with notes: TapNotes
    ) async throws(JournalError) {
        let entries = try entries(of: events, charge, at: time)
        try await writing { [self] db in
            var last: Int64?
            for entry in entries { last = try append(db, entry) }
            if let last { try change(db, charge, by: events, last, at: time) }
            try notes.insert(db)
        }
    }

    /// Entries for what happened to a charge, without their places in the chain.
    /// - Parameter charge: After all of it.
    private func entries(
        of events: [Charge.Event],
        _ charge: Charge,
        at time: WallTime
    ) throws(JournalError) -> [Entry] {
        var entries: [Entry] = []
        for event in events {
            var entry = entry(charge.id, event.kind, try StoredJSON.encode(event), at: time)
            entry.attempt = event.attempt.map(Int64.init)
            entry.rail = event.attempt.flatMap { charge.attempt($0)?.rail.rawValue }
            entries.append(entry)
        }
        return entries
    }

    /// An entry without its place in the chain.
    private func entry(_ charge: ChargeID, _ kind: String, _ body: Data, at time: WallTime) -> Entry {
        Entry(
            sequence: 0,
            charge: charge.rawValue,
            kind: kind,
            body: body,
            wallMilliseconds: time.millisecondsSince1970,
            monotonicNanoseconds: BootClock.nanoseconds,
            boot: boot,
            previous: Data()
        )
    }

    public func chargeOpened(under key: String) async throws(JournalError) -> (id: ChargeID, requestDigest: [UInt8])? {
        try await reading { db in
            guard let row = try IdempotencyRow.fetch(db, where: "key", key) else { return nil }
            guard let id = ChargeID(row.charge) else {
                throw JournalError.corrupt(detail: "“\(row.charge)” is not a charge")
            }
            return (id, Array(row.requestDigest))
        }
    }

    public func openCharges() async throws(JournalError) -> [Charge] {
        try await reading { db in
            try String.fetchAll(db, sql: "SELECT id FROM charge WHERE open = 1 ORDER BY opened_seq")
                .map { try Self.replay(db, $0).charge }
        }
    }

    /// Charges with a refund that waits for the gateway's word, the newest first.
    /// - Parameter limit: At most this many, 0 to 1000.
    public func chargesWithAskedRefunds(limit: Int) async throws(JournalError) -> [Charge] {
        try await reading { db in
            try String.fetchAll(
                db,
                sql: "SELECT id FROM charge WHERE refund_asked = 1 ORDER BY opened_seq DESC LIMIT ?",
                arguments: [min(max(limit, 0), 1000)]
            )
            .map { try Self.replay(db, $0).charge }
        }
    }

    public func openedMinorUnits(since time: WallTime, currency: Currency) async throws(JournalError) -> Int64 {
        try await reading { db in
            let rows = try Row.fetchCursor(
                db,
                sql: "SELECT \(ChargeRow.columns) FROM charge WHERE opened_ms >= ?",
                arguments: [time.millisecondsSince1970]
            )
            var sum: Int64 = 0
            while let row = try rows.next().map(ChargeRow.init(checked:)) {
                let state = Charge.State(rawValue: row.state)
                let endedUnpaid = state.map { $0.isFinal && $0 != .succeeded } ?? false
                guard row.currency == currency.code, !endedUnpaid else { continue }
                let (next, overflow) = sum.addingReportingOverflow(row.minorUnits)
                sum = overflow ? .max : next
            }
            return sum
        }
    }
}

// MARK: - Looking back

extension Journal {
    /// A charge, replayed from its entries; nil where there is none of this name.
    public func charge(_ id: ChargeID) async throws(JournalError) -> ChargeRecord? {
        try await reading { db in try Replay(db, id.rawValue)?.record }
    }

    /// Newest first, by the order in which they were opened. `before` continues after the last one of an earlier page.
    /// - Parameter limit: At most this many, 0 to 1000.
    public func charges(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(JournalError) -> [ChargeRecord] {
        try await reading { db in
            let ids = try String.fetchAll(
                db,
                sql: """
                    SELECT id FROM charge
                    WHERE (?1 IS NULL OR opened_seq < (SELECT opened_seq FROM charge WHERE id = ?1))
                        AND (?2 IS NULL OR state = ?2)
                    ORDER BY opened_seq DESC LIMIT ?3
                    """,
                arguments: [before?.rawValue, state?.rawValue, min(max(limit, 0), 1000)]
            )
            return try ids.map { try Self.replay(db, $0).record }
        }
    }

    /// Charges with news that nobody has said they have seen, the newest first.
    /// - Parameters:
    ///   - time: Only those that last changed since then.
    ///   - limit: At most this many, 0 to 1000.
    public func unseenCharges(since time: WallTime, limit: Int) async throws(JournalError) -> [ChargeRecord] {
        try await replays(
            """
            SELECT id FROM charge WHERE unseen IS NOT NULL AND updated_ms >= ? ORDER BY opened_seq DESC LIMIT ?
            """,
            [time.millisecondsSince1970, min(max(limit, 0), 1000)]
        )
    }

    /// Charges that ended unpaid and last changed since `time`, oldest first, at most 10 000.
    ///
    /// No charge is open for longer than two hours before it ends here; what stayed open for longer was asked about then.
    public func endedUnpaid(since time: WallTime) async throws(JournalError) -> [ChargeRecord] {
        try await replays(
            """
            SELECT id FROM charge WHERE opened_ms >= ? AND updated_ms >= ? AND open = 0
                AND state IN ('expired', 'cancelled', 'failed') ORDER BY opened_seq LIMIT 10000
            """,
            [time.millisecondsSince1970 - 7_200_000, time.millisecondsSince1970]
        )
    }

    /// Charges by the time they were opened, `from` inclusive and `until` exclusive, oldest first. `after` continues
    /// after the last one of an earlier page.
    /// - Parameter limit: At most this many, 0 to 1000.
    public func charges(
        openedFrom from: WallTime,
        until: WallTime,
        after: ChargeID?,
        limit: Int
    ) async throws(JournalError) -> [ChargeRecord] {
        try await replays(
            """
            SELECT id FROM charge WHERE opened_ms >= ?1 AND opened_ms < ?2
                AND (?3 IS NULL OR opened_seq > (SELECT opened_seq FROM charge WHERE id = ?3))
            ORDER BY opened_seq LIMIT ?4
            """,
            [
                from.millisecondsSince1970, until.millisecondsSince1970, after?.rawValue, min(max(limit, 0), 1000),
            ]
        )
    }

    /// Charges that a payment of this name was made or paid for, oldest first, at most 100.
    public func records(ofPayment name: String) async throws(JournalError) -> [ChargeRecord] {
        try await replays(
            """
            SELECT charge.id FROM charge_word JOIN charge ON charge.opened_seq = charge_word.opened_seq
            WHERE charge_word.word = ? ORDER BY charge.opened_seq LIMIT 100
            """,
            [ChargeWords.folded(name)]
        )
        // A word can also be what staff wrote.
        .filter { $0.charge.attempts.contains { $0.names(payment: name) } }
    }

    private func replays(_ sql: String, _ arguments: StatementArguments) async throws(JournalError) -> [ChargeRecord] {
        try await reading { db in
            try String.fetchAll(db, sql: sql, arguments: arguments).map { try Self.replay(db, $0).record }
        }
    }

    /// Everything that happened to a charge, in order. Empty where there is none of this name.
    public func events(of id: ChargeID) async throws(JournalError) -> [StoredEvent] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: "SELECT \(Entry.columns) FROM event WHERE charge = ? ORDER BY seq",
                arguments: [id.rawValue]
            ).map { row in
                let entry = try Entry(checked: row)
                return StoredEvent(
                    sequence: entry.sequence,
                    event: entry.kind == Entry.opened ? nil : try entry.event(),
                    time: entry.time,
                    hash: Array(entry.hash)
                )
            }
        }
    }

    private static func replay(_ db: Database, _ id: String) throws -> Replay {
        guard let replay = try Replay(db, id) else {
            throw JournalError.corrupt(detail: "charge \(id) stands in the table of charges and has no entries")
        }
        return replay
    }
}

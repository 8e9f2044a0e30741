import GRDB
public import Payments

/// One entry about a charge, with the charge as it was after it: what somebody outside may be told.
public struct ToldEntry: Sendable, Equatable {
    /// Counts all entries of the journal from 1, without a gap.
    public let sequence: Int64
    public let charge: Charge
    /// Whether the charge has another state than before, or was opened by it.
    public let isNewState: Bool
    public let time: WallTime
}

extension Journal {
    /// What happened after an entry, in order: from this an outbox goes on where it was, days later too.
    ///
    /// The charges are replayed up to the last of these entries, so each is told as it was then.
    /// - Parameter limit: At most this many, 1 to 1000.
    public func told(after sequence: Int64, limit: Int) async throws(JournalError) -> [ToldEntry] {
        try await reading { db in
            let places = try Row.fetchAll(
                db,
                sql: "SELECT seq, charge FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
                arguments: [sequence, min(max(limit, 1), 1000)]
            ).map { (sequence: try $0.decode(Int64.self, atIndex: 0), charge: try $0.decode(String.self, atIndex: 1)) }
            guard let last = places.last?.sequence else { return [] }
            return try Set(places.map(\.charge)).flatMap { charge in
                try Self.told(db, charge, after: sequence, upTo: last)
            }.sorted { $0.sequence < $1.sequence }
        }
    }

    private static func told(
        _ db: Database,
        _ id: String,
        after sequence: Int64,
        upTo last: Int64
    ) throws -> [ToldEntry] {
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT \(Entry.columns) FROM event WHERE charge = ? AND seq <= ? ORDER BY seq",
            arguments: [id, last]
        )
        var charge: Charge?
        var told: [ToldEntry] = []
        while let row = try rows.next() {
            let entry = try Entry(checked: row)
            let before = charge?.state
            if entry.kind == Entry.opened {
                charge = Charge(terms: try entry.opening().terms)
            } else {
                _ = charge?.handle(try entry.event())
            }
            guard let charge else {
                throw JournalError.corrupt(detail: "the first entry of charge \(id) does not open it")
            }
            guard entry.sequence > sequence else { continue }
            told.append(
                ToldEntry(
                    sequence: entry.sequence,
                    charge: charge,
                    isNewState: charge.state != before,
                    time: entry.time
                )
            )
        }
        return told
    }

    /// The number of the last entry; 0 in an empty journal.
    public func lastSequence() async throws(JournalError) -> Int64 {
        try await reading { db in try Int64.fetchOne(db, sql: "SELECT max(seq) FROM event") ?? 0 }
    }

    /// When the first entry after this one was written, by the clock of then; nil where there is none.
    public func timeOfEntry(after sequence: Int64) async throws(JournalError) -> WallTime? {
        try await reading { db in
            try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT wall_ms FROM event WHERE seq > ? ORDER BY seq LIMIT 1"),
                arguments: [sequence]
            ).map(WallTime.init(millisecondsSince1970:))
        }
    }

    /// What tells this journal from every other: made with it, and gone with it.
    public func name() async throws(JournalError) -> String {
        try await reading { db in
            try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = 'journal'") ?? ""
        }
    }
}

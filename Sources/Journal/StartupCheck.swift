import Foundation
import GRDB
import Payments

/// Looks at an existing journal through a connection that cannot write, before anything touches the file.
struct StartupCheck {
    /// A journal of up to this many entries is checked whole at each start, of a longer one the last `tail` entries.
    /// Some 500 charges: under 100 ms.
    static let wholeUpTo: Int64 = 5000
    static let tail: Int64 = 1000

    var entries: Int64 = 0
    var checked: Int64 = 0
    /// The tables of current states disagree with the entries.
    var wantsRebuild = false
    var wantsMigration = false
    /// Made by a version without lists and sums, which are made from every entry.
    var wantsLists = false

    /// - Throws: ``JournalError``, or ``NewerTables``. The files are as they were.
    init(_ path: String, _ migrator: DatabaseMigrator, _ configuration: Configuration) throws {
        try Self.checkHeader(path)
        try WriteAheadLog.check(path + "-wal")
        var configuration = configuration
        configuration.readonly = true
        let file = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? file.close() }  // Nothing was written through it.
        do { self = try file.read { db in try StartupCheck(db, migrator) } } catch let error as DatabaseError
            where error.resultCode == .SQLITE_ERROR
        {
            // The statements are ours and right: it is the tables that they do not fit.
            throw JournalError.corrupt(detail: "the tables are not as they were made: \(error.message ?? "")")
        }
        // The tables are made anew from every entry: what cannot be replayed is found before anything is changed.
        guard wantsRebuild || wantsLists else { return }
        try file.read { db in
            try Self.require(Chain.events.check(db))
            try Projection.eachReplay(db) { _ in }
        }
        checked = entries
    }

    private init(_ db: Database, _ migrator: DatabaseMigrator) throws {
        try checkSchema(db, migrator)
        entries = try Chain.events.tail(db).sequence
        let isWhole = entries <= Self.wholeUpTo
        try Self.checkStructure(db, isWhole: isWhole)
        checked = isWhole ? entries : Self.tail
        try Self.require(Chain.events.check(db, from: entries - checked + 1))
        let audits = try Chain.audit.tail(db).sequence
        try Self.require(Chain.audit.check(db, from: audits <= Self.wholeUpTo ? 1 : audits - Self.tail + 1))
        try Self.checkDocuments(db)
        guard !wantsLists else { return }
        if wantsMigration { try db.execute(sql: Schema.chargesOfV5) }
        wantsRebuild = try disagrees(db)
    }

    /// SQLite takes some damage to its header for somebody's wish: for a file that must not be written, or another mode.
    /// Source: SQLite, "Database File Format", section 1.3.
    private static func checkHeader(_ path: String) throws {
        let file = FileHandle(forReadingAtPath: path)
        let header = try file?.read(upToCount: 100).map { Array($0) } ?? []
        try file?.close()
        guard header.count == 100, header.starts(with: "SQLite format 3\0".utf8), header[18] == 2, header[19] == 2
        else {
            throw JournalError.corrupt(detail: "the file is not a journal, or its beginning was changed")
        }
    }

    private static func require(_ check: ChainCheck) throws {
        if case .broken(let sequence, let what) = check {
            throw JournalError.corrupt(detail: "entry \(sequence): \(what)")
        }
    }

    private mutating func checkSchema(_ db: Database, _ migrator: DatabaseMigrator) throws {
        guard try Int.fetchOne(db, sql: "PRAGMA application_id") == Schema.applicationID else {
            throw JournalError.corrupt(detail: "the file is not a journal")
        }
        let applied = try migrator.appliedIdentifiers(db)
        let newer = applied.subtracting(migrator.migrations)
        guard newer.isEmpty else { throw NewerTables(names: newer.sorted().joined(separator: ", ")) }
        guard let last = migrator.migrations.last(where: applied.contains) else {
            throw JournalError.corrupt(detail: "the journal has no tables")
        }
        wantsMigration = last != migrator.migrations.last
        wantsLists = !applied.contains("v5")
        let scratch = try DatabaseQueue()
        try migrator.migrate(scratch, upTo: last)
        guard try Self.definitions(db) == scratch.read(Self.definitions) else {
            throw JournalError.corrupt(detail: "the tables or their guards are not as they were made")
        }
    }

    private static func definitions(_ db: Database) throws -> [Row] {
        try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    }

    /// SQLite's own check reads every page it looks at: the whole file where it is small, else the tables that grow little.
    private static func checkStructure(_ db: Database, isWhole: Bool) throws {
        let checks =
            isWhole
            ? ["integrity_check(5)"]
            : try [
                "charge", "charge_word", "takings", "shift", "shift_takings", "idempotency", "document", "secret",
                "meta", "connect",
            ]
            .filter { try db.tableExists($0) }  // Older versions have fewer.
            .map { "integrity_check(\($0))" }
        for check in checks {
            let words = try String.fetchAll(db, sql: "PRAGMA \(check)")
            guard words == ["ok"] else { throw JournalError.corrupt(detail: words.joined(separator: "; ")) }
        }
        guard try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") == nil else {
            throw JournalError.corrupt(detail: "a row refers to an entry that is missing")
        }
    }

    private static func checkDocuments(_ db: Database) throws {
        let rows = try Row.fetchCursor(db, sql: "SELECT \(DocumentRow.columns) FROM document")
        while let row = try rows.next() { _ = try DocumentRow(checked: row) }
        guard try db.tableExists("shift") else { return }  // Before v6.
        let shifts = try Row.fetchCursor(
            db,
            sql: "SELECT \(ShiftRow.columns) FROM shift ORDER BY number DESC LIMIT 1000"
        )
        while let row = try shifts.next() { _ = try ShiftRow(checked: row) }
    }

    /// True where the tables of current states do not say what the entries say.
    private func disagrees(_ db: Database) throws -> Bool {
        let projected = try Int64.fetchOne(db, sql: "SELECT max(last_seq) FROM charge") ?? 0
        guard projected <= entries else {
            throw JournalError.corrupt(detail: "the journal ends at entry \(entries), but \(projected) was written")
        }
        guard projected == entries, try RebuildMark.fetch(db) == nil else { return true }
        if checked == entries { return try Projection.disagreement(db) != nil }
        let charges = try String.fetchAll(
            db,
            sql: "SELECT DISTINCT charge FROM event WHERE seq > ? UNION SELECT id FROM charge WHERE open = 1",
            arguments: [entries - checked]
        )
        return try !Projection.agrees(db, on: charges) || !Projection.countsAgree(db)
    }
}

/// A newer version has changed the tables.
struct NewerTables: Error {
    /// What it calls these changes: `v7`, or `v7, v8`.
    let names: String
}

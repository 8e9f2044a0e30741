import GRDBSQLite

/// The least that SQLite needs to be told to commit the same rows: prepared statements through its C interface.
@safe final class RawSQLite {
    struct Failure: Error { let message: String }

    private let database: OpaquePointer
    private var statements: [OpaquePointer] = unsafe []
    private let alsoUpdatesCharge: Bool
    private var sequence: Int64 = 0

    /// - Parameter alsoUpdatesCharge: Keeps a table of current states in the same transactions, as the journal does.
    init(_ path: String, alsoUpdatesCharge: Bool) throws {
        var database: OpaquePointer?
        guard unsafe sqlite3_open(path, &database) == SQLITE_OK, let opened = unsafe database else {
            throw Failure(message: "open")
        }
        unsafe self.database = opened
        self.alsoUpdatesCharge = alsoUpdatesCharge
        for sql in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
            "PRAGMA secure_delete = ON", "PRAGMA cell_size_check = ON", Self.tables,
        ] {
            guard unsafe sqlite3_exec(opened, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
        }
        for sql in ["BEGIN IMMEDIATE", "COMMIT", Self.insertEntry, Self.insertCharge, Self.updateCharge] {
            var statement: OpaquePointer?
            guard unsafe sqlite3_prepare_v2(opened, sql, -1, &statement, nil) == SQLITE_OK,
                let prepared = unsafe statement
            else { throw failure }
            unsafe statements.append(prepared)
        }
    }

    deinit {
        unsafe statements.forEach { statement in unsafe sqlite3_finalize(statement) }
        unsafe sqlite3_close(database)
    }

    /// Six transactions with rows as long as those of a charge's story.
    func story() throws -> Int {
        let opened = sequence + 1
        for length in Self.bodyLengths {
            sequence += 1
            try step(0)
            try insertEntry(bodyLength: length)
            if alsoUpdatesCharge { try writeCharge(opened) }
            try step(1)
        }
        return Self.bodyLengths.count
    }

    private func insertEntry(bodyLength: Int) throws {
        let statement = unsafe statements[2]
        unsafe sqlite3_bind_int64(statement, 1, sequence)
        unsafe sqlite3_bind_text(statement, 2, Self.text, 36, nil)
        unsafe sqlite3_bind_int64(statement, 3, 1)
        unsafe sqlite3_bind_text(statement, 4, Self.text, 4, nil)
        unsafe sqlite3_bind_text(statement, 5, Self.text, 8, nil)
        unsafe sqlite3_bind_int64(statement, 6, 1)
        unsafe sqlite3_bind_blob(statement, 7, Self.text, Int32(bodyLength), nil)
        unsafe sqlite3_bind_int64(statement, 8, 1_795_000_000_000 + sequence)
        unsafe sqlite3_bind_int64(statement, 9, 1_795_000_000_000_000 + sequence)
        unsafe sqlite3_bind_text(statement, 10, Self.text, 36, nil)
        unsafe sqlite3_bind_blob(statement, 11, Self.text, 32, nil)
        unsafe sqlite3_bind_blob(statement, 12, Self.text, 32, nil)
        try step(2)
    }

    private func writeCharge(_ opened: Int64) throws {
        let isNew = opened == sequence
        let statement = unsafe statements[isNew ? 3 : 4]
        unsafe sqlite3_bind_int64(statement, 1, opened)
        unsafe sqlite3_bind_text(statement, 2, Self.text, 10, nil)
        unsafe sqlite3_bind_int64(statement, 3, sequence - opened < 5 ? 1 : 0)
        unsafe sqlite3_bind_int64(statement, 4, sequence)
        unsafe sqlite3_bind_blob(statement, 5, Self.text, 32, nil)
        if isNew { unsafe sqlite3_bind_int64(statement, 6, 1_795_000_000_000 + opened) }
        try step(isNew ? 3 : 4)
    }

    private func step(_ index: Int) throws {
        let statement = unsafe statements[index]
        guard unsafe sqlite3_step(statement) == SQLITE_DONE else { throw failure }
        unsafe sqlite3_reset(statement)
    }

    private var failure: Failure { Failure(message: unsafe String(cString: sqlite3_errmsg(database))) }

    /// The lengths of the journal's own bodies for the same story, in bytes.
    private static let bodyLengths = [520, 45, 27, 190, 52, 310]

    /// Where every text and blob comes from. Static: SQLite may read it for as long as it likes.
    private nonisolated(unsafe) static let text: UnsafePointer<CChar> = {
        // Never freed: it lives as long as the program.
        let bytes = UnsafeMutablePointer<CChar>.allocate(capacity: 1024)
        unsafe bytes.initialize(repeating: 0x61, count: 1024)
        return unsafe UnsafePointer(bytes)
    }()

    private static let insertEntry = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    private static let insertCharge =
        "INSERT INTO charge (opened_seq, state, open, last_seq, digest, id) VALUES (?, ?, ?, ?, ?, ?)"
    private static let updateCharge =
        "UPDATE charge SET state = ?2, open = ?3, last_seq = ?4, digest = ?5 WHERE opened_seq = ?1"
    private static let tables = """
        CREATE TABLE event (
            seq INTEGER PRIMARY KEY, charge TEXT NOT NULL, attempt INTEGER, rail TEXT, kind TEXT NOT NULL,
            format INTEGER NOT NULL, body BLOB NOT NULL, wall_ms INTEGER NOT NULL, monotonic_ns INTEGER NOT NULL,
            boot TEXT NOT NULL, previous BLOB NOT NULL, hash BLOB NOT NULL
        ) STRICT;
        CREATE INDEX event_charge ON event(charge, seq);
        CREATE TABLE charge (
            opened_seq INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, state TEXT NOT NULL, open INTEGER NOT NULL,
            last_seq INTEGER NOT NULL, digest BLOB NOT NULL
        ) STRICT;
        CREATE INDEX charge_open ON charge(opened_seq) WHERE open = 1;
        CREATE INDEX charge_state ON charge(state, opened_seq);
        """
}

import GRDBSQLite

/// SQLite through its C interface, told to commit the same rows into the same tables as the journal: prepared statements,
/// one transaction each, on one thread, nothing encoded, hashed or checked.
@safe final class RawSQLite {
    struct Failure: Error { let message: String }

    private let database: OpaquePointer
    private var statements: [OpaquePointer] = unsafe []
    private var sequence: Int64 = 0

    /// - Parameter schema: The journal's own statements that make its tables, indexes and triggers.
    init(_ path: String, schema: [String]) throws {
        var database: OpaquePointer?
        guard unsafe sqlite3_open(path, &database) == SQLITE_OK, let opened = unsafe database else {
            throw Failure(message: "open")
        }
        unsafe self.database = opened
        let pragmas = [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
            "PRAGMA secure_delete = ON", "PRAGMA cell_size_check = ON", "PRAGMA trusted_schema = OFF",
        ]
        for sql in pragmas + schema {
            guard unsafe sqlite3_exec(opened, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
        }
        for sql in Step.allCases.map(\.sql) {
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

    private enum Step: Int, CaseIterable {
        case begin, commit, insertEntry, insertCharge, insertKey, updateCharge

        var sql: String {
            switch self {
            case .begin: "BEGIN IMMEDIATE"
            case .commit: "COMMIT"
            case .insertEntry: "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            case .insertCharge: "INSERT INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            case .insertKey: "INSERT INTO idempotency VALUES (?, ?, ?, ?)"
            case .updateCharge:
                """
                UPDATE charge SET state = ?, open = ?, released = ?, late = ?, updated_ms = ?, last_seq = ?, unseen = ?,
                    digest = ? WHERE id = ?
                """
            }
        }
    }

    /// The same six transactions as ``Story``.
    func story() throws -> Int {
        let opened = sequence + 1
        // Names in the order of time, as those of charges are.
        let digits = String(opened, radix: 16)
        let name = String(repeating: "0", count: 8 - digits.count) + digits + "-0abc-7def-8abc-0123456789ab"
        for (state, body) in zip(Self.states, Self.bodies) {
            sequence += 1
            try run(.begin, [])
            try run(
                .insertEntry,
                [
                    .number(sequence), .text(name), .number(1), .text("scan"), .text("attemptStarted"), .number(1),
                    .blob(body), .number(1_795_000_000_000), .number(123_456_789_012_345), .text(Self.boot),
                    .blob(Self.hash), .blob(Self.hash),
                ]
            )
            if sequence == opened {
                try run(
                    .insertCharge,
                    [
                        .number(opened), .text(name), .text(state), .number(1), .number(0), .number(0), .text("EUR"),
                        .number(1250), .null, .text("2026-001234"), .number(1_795_000_000_000),
                        .number(1_795_000_000_000), .number(sequence), .null, .blob(Self.hash),
                    ]
                )
                try run(.insertKey, [.text(name), .text(name), .blob([1, 2, 3]), .blob(Self.hash)])
            } else {
                try run(
                    .updateCharge,
                    [
                        .text(state), .number(state == "succeeded" ? 0 : 1), .number(0), .number(0),
                        .number(1_795_000_000_000), .number(sequence), .null, .blob(Self.hash), .text(name),
                    ]
                )
            }
            try run(.commit, [])
        }
        return Self.states.count
    }

    private enum Value {
        case null
        case number(Int64)
        case text(String)
        case blob([UInt8])
    }

    private func run(_ step: Step, _ values: [Value]) throws {
        let statement = unsafe statements[step.rawValue]
        for (index, value) in values.enumerated() {
            let place = Int32(index + 1)
            switch value {
            case .null: unsafe sqlite3_bind_null(statement, place)
            case .number(let number): unsafe sqlite3_bind_int64(statement, place, number)
            case .text(let text): unsafe sqlite3_bind_text(statement, place, text, -1, Self.copies)
            case .blob(let bytes): unsafe sqlite3_bind_blob(statement, place, bytes, Int32(bytes.count), Self.copies)
            }
        }
        guard unsafe sqlite3_step(statement) == SQLITE_DONE else { throw failure }
        unsafe sqlite3_reset(statement)
    }

    private var failure: Failure { Failure(message: unsafe String(cString: sqlite3_errmsg(database))) }

    /// SQLITE_TRANSIENT, a cast in C: SQLite copies what is bound.
    private static var copies: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private static let states = ["created", "created", "created", "requiresAction", "processing", "succeeded"]
    /// As long as the journal's own bodies for the same story.
    private static let bodies = [520, 45, 27, 190, 52, 310].map { [UInt8](repeating: 0x61, count: $0) }
    private static let hash = [UInt8](repeating: 0x5E, count: 32)
    private static let boot = "0b4f2a5e-6b0c-4c50-9d0e-5a1c2b3d4e5f"
}

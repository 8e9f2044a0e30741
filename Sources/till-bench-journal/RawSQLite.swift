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
        case begin, commit, insertEntry, insertCharge, insertKey, readCharge, updateCharge, insertWord, openTakings
        case addTakings

        var sql: String {
            switch self {
            case .begin: "BEGIN IMMEDIATE"
            case .commit: "COMMIT"
            case .insertEntry: "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            case .insertCharge:
                "INSERT INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, "
                    + "NULL, 0)"
            case .insertKey: "INSERT INTO idempotency VALUES (?, ?, ?, ?)"
            case .updateCharge:
                """
                UPDATE charge SET state = ?, open = ?, released = ?, late = ?, promised = ?, given_back = ?,
                    total_minor_units = ?, tip_minor_units = ?, surplus_minor_units = ?, refunded_minor_units = ?,
                    rail = ?, payment = ?, transaction_id = ?, updated_ms = ?, last_seq = ?, unseen = ?, digest = ?
                WHERE id = ?
                """
            case .readCharge: "SELECT * FROM charge WHERE id = ?"
            case .insertWord: "INSERT OR IGNORE INTO charge_word VALUES (?, ?)"
            case .openTakings:
                "INSERT INTO takings VALUES (?, ?, 'EUR', 'succeeded', 'scan', 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING"
            case .addTakings:
                """
                UPDATE takings SET charges = charges + 1, total_minor_units = total_minor_units + 1250,
                    tip_minor_units = tip_minor_units + 0, surplus_minor_units = surplus_minor_units + 0,
                    refunds = refunds + 0, refunded_minor_units = refunded_minor_units + 0
                WHERE span_ms = ? AND start_ms = ? AND currency = 'EUR' AND state = 'succeeded' AND rail = 'scan'
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
                        .number(opened), .text(name), .text("AC3D"), .text(state), .number(1), .number(0), .number(0),
                        .number(0), .number(0), .text("EUR"), .number(1250), .number(1250), .null, .number(0),
                        .number(0), .null, .text("staff:Ada"), .text("2026-001234"), .null, .null,
                        .number(1_795_000_000_000), .number(1_795_000_000_000), .number(sequence), .null,
                        .blob(Self.hash),
                    ]
                )
                for word in ["ac3d", "2026-001234"] { try run(.insertWord, [.number(opened), .text(word)]) }
                try run(.insertKey, [.text(name), .text(name), .blob([1, 2, 3]), .blob(Self.hash)])
            } else {
                try change(name, opened, state)
            }
            try run(.commit, [])
        }
        return Self.states.count
    }

    /// What the journal reads and writes of a charge at each event.
    private func change(_ name: String, _ opened: Int64, _ state: String) throws {
        let hasEnded = state == "succeeded"
        let isOffered = hasEnded || state == "requiresAction" || state == "processing"
        let payment = "pay_01K9ZQ3M7E8V5T2R4W6X8Y0A1B"
        let transaction = "0x" + String(repeating: "5e", count: 32)
        try run(.readCharge, [.text(name)])
        try run(
            .updateCharge,
            [
                .text(state), .number(hasEnded ? 0 : 1), .number(0), .number(0), .number(0), .number(0), .number(1250),
                .null, .number(0), .number(0), .text("scan"), isOffered ? .text(payment) : .null,
                hasEnded ? .text(transaction) : .null, .number(1_795_000_000_000), .number(sequence), .null,
                .blob(Self.hash), .text(name),
            ]
        )
        guard isOffered else { return }
        let words = ["ac3d", "2026-001234", payment] + (hasEnded ? [transaction] : [])
        for word in words { try run(.insertWord, [.number(opened), .text(word)]) }
        guard hasEnded else { return }
        for span in [900_000, 86_400_000] as [Int64] {
            let start = 1_795_000_000_000 / span * span
            try run(.openTakings, [.number(span), .number(start)])
            try run(.addTakings, [.number(span), .number(start)])
        }
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
        let result = unsafe sqlite3_step(statement)
        guard result == SQLITE_DONE || result == SQLITE_ROW else { throw failure }
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

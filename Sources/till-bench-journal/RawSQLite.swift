import Dispatch
import Executors
import GRDBSQLite

/// SQLite through its C interface, told to do the same durable work as the journal: the same pragmas, so one sync a
/// transaction, and statement by statement the same rows of the same lengths into the same tables.
///
/// Nothing is encoded, hashed, compared or checked, every statement is prepared once, and all runs on one thread.
@safe final class RawSQLite {
    struct Failure: Error { let message: String }

    private let database: OpaquePointer
    private var statements: [OpaquePointer] = unsafe []
    private var sequence: Int64 = 0
    /// The entry that opened the charge of the story that is being told.
    private var opened: Int64 = 0

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
        // The journal's first charge opens its opener's shift.
        let shift = "INSERT INTO shift VALUES (1, '\(Self.opener)', 1795000000000, NULL, NULL, NULL, zeroblob(32))"
        for sql in pragmas + schema + [shift] {
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
        case begin, commit, openShift, insertEntry, insertCharge, insertKey, insertWord
        case chooseRail, passOn, offer, process, succeed
        case openTakings, addTakings, openShiftTakings, addShiftTakings

        var sql: String {
            switch self {
            case .begin: "BEGIN IMMEDIATE"
            case .commit: "COMMIT"
            case .openShift: "SELECT * FROM shift WHERE person = ? AND closed_ms IS NULL"
            case .insertEntry: "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            case .insertCharge:
                "INSERT INTO charge VALUES (\(Array(repeating: "?", count: 28).joined(separator: ", ")))"
            case .insertKey: "INSERT INTO idempotency VALUES (?, ?, ?, ?)"
            case .insertWord: "INSERT OR IGNORE INTO charge_word VALUES (?, ?)"
            // The columns that change at this event and no others: SQLite writes every index of a named column anew.
            case .chooseRail: "UPDATE charge SET rail = ?, last_seq = ?, digest = ? WHERE id = ?"
            case .passOn: "UPDATE charge SET last_seq = ?, digest = ? WHERE id = ?"
            case .offer: "UPDATE charge SET state = ?, payment = ?, last_seq = ?, digest = ? WHERE id = ?"
            case .process: "UPDATE charge SET state = ?, last_seq = ?, digest = ? WHERE id = ?"
            case .succeed:
                "UPDATE charge SET state = ?, open = ?, transaction_id = ?, last_seq = ?, digest = ? WHERE id = ?"
            case .openTakings:
                "INSERT INTO takings VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING"
            case .addTakings:
                "UPDATE takings SET \(Self.sums) WHERE span_ms = ? AND start_ms = ? AND currency = ? AND state = ? AND rail = ?"
            case .openShiftTakings:
                "INSERT INTO shift_takings VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING"
            case .addShiftTakings:
                "UPDATE shift_takings SET \(Self.sums) WHERE shift = ? AND currency = ? AND state = ? AND rail = ?"
            }
        }

        private static let sums = """
            charges = charges + ?, total_minor_units = total_minor_units + ?, tip_minor_units = tip_minor_units + ?,
            surplus_minor_units = surplus_minor_units + ?, refunds = refunds + ?,
            refunded_minor_units = refunded_minor_units + ?
            """
    }

    /// The next transaction of one story after the other, each of the same transactions as ``Story``.
    func transaction() throws {
        let event = Self.events[Int(sequence) % Self.events.count]
        sequence += 1
        if event.step == .insertCharge { opened = sequence }
        // Names in the order of time, as those of charges are.
        let digits = String(opened, radix: 16)
        let name = String(repeating: "0", count: 8 - digits.count) + digits + "-0abc-7def-8abc-0123456789ab"
        try run(.begin, [])
        if event.step == .insertCharge { try run(.openShift, [.text(Self.opener)]) }
        try run(
            .insertEntry,
            [
                .number(sequence), .text(name), event.hasAttempt ? .number(1) : .null,
                event.hasAttempt ? .text("scan") : .null, .text(event.kind), .number(1), .blob(event.body),
                .number(1_795_000_000_000), .number(123_456_789_012_345), .text(Self.boot), .blob(Self.hash),
                .blob(Self.hash),
            ]
        )
        if event.step == .insertCharge { try open(name) } else { try change(name, event) }
        try run(.commit, [])
    }

    /// Writes the rows that the journal writes when a charge is opened.
    private func open(_ name: String) throws {
        try run(
            .insertCharge,
            [
                .number(opened), .text(name), .text(Self.code), .text("created"), .number(1), .number(0), .number(0),
                .number(0), .number(0), .text("EUR"), .number(1250), .number(1250), .null, .number(0), .number(0),
                .null, .text(Self.opener), .text(Self.reference), .null, .null, .number(1_795_000_000_000),
                .number(1_795_000_000_000), .number(sequence), .null, .blob(Self.hash), .null, .number(1), .number(0),
            ]
        )
        for word in [Self.code, Self.reference] { try run(.insertWord, [.number(opened), .text(word)]) }
        try run(.insertKey, [.text(name), .text(name), .blob([1, 2, 3]), .blob(Self.hash)])
    }

    /// Writes the rows that the journal writes at each later event of a charge. The baseline keeps the last row itself and reads nothing.
    private func change(_ name: String, _ event: Event) throws {
        var values: [Value] =
            switch event.step {
            case .chooseRail: [.text("scan")]
            case .offer: [.text("requiresAction"), .text(Self.payment)]
            case .process: [.text("processing")]
            case .succeed: [.text("succeeded"), .number(0), .text(Self.transaction)]
            default: []
            }
        values += [.number(sequence), .blob(Self.hash), .text(name)]
        try run(event.step, values)
        if event.step == .offer { try run(.insertWord, [.number(opened), .text(Self.payment)]) }
        guard event.step == .succeed else { return }
        for word in [Self.payment, Self.transaction] { try run(.insertWord, [.number(opened), .text(word)]) }
        let sums: [Value] = [.number(1), .number(1250), .number(0), .number(0), .number(0), .number(0)]
        let place: [Value] = [.text("EUR"), .text("succeeded"), .text("scan")]
        for span in [900_000, 86_400_000] as [Int64] {
            let start: [Value] = [.number(span), .number(1_795_000_000_000 / span * span)]
            try run(.openTakings, start + place)
            try run(.addTakings, sums + start + place)
        }
        try run(.openShiftTakings, [.number(1)] + place)
        try run(.addShiftTakings, sums + [.number(1)] + place)
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

    /// One transaction of the story after the other.
    private struct Event {
        let kind: String
        /// The event's body, as long as the journal's body of the same event.
        let body: [UInt8]
        /// How it changes the charge; `insertCharge` opens it.
        let step: Step
        let hasAttempt: Bool

        init(_ kind: String, bodyBytes: Int, _ step: Step, hasAttempt: Bool = true) {
            (self.kind, self.step, self.hasAttempt) = (kind, step, hasAttempt)
            body = [UInt8](repeating: 0x61, count: bodyBytes)
        }
    }

    private static let events = [
        Event("opened", bodyBytes: 438, .insertCharge, hasAttempt: false),
        Event("attemptStarted", bodyBytes: 46, .chooseRail), Event("sending", bodyBytes: 25, .passOn),
        Event("offered", bodyBytes: 175, .offer), Event("reported", bodyBytes: 53, .process),
        Event("reported", bodyBytes: 263, .succeed),
    ]
    private static let (code, reference, opener) = ("ac3d", "2026-001234", "staff:Ada")
    private static let payment = "pay_01k9zq3m7e8v5t2r4w6x8y0a1b"
    private static let transaction = "0x" + String(repeating: "5e", count: 32)
    private static let hash = [UInt8](repeating: 0x5E, count: 32)
    private static let boot = "0b4f2a5e-6b0c-4c50-9d0e-5a1c2b3d4e5f"
}

/// The same for callers that share their threads and must not block one: on a queue of its own, to which each transaction goes and
/// from which its end comes back.
actor QueuedSQLite {
    private let executor = QueueExecutor(label: "raw sqlite", qos: .userInitiated)
    private let raw: RawSQLite

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ raw: sending RawSQLite) { self.raw = raw }

    func transaction() throws { try raw.transaction() }
}

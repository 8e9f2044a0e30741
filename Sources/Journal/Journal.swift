import Crypto
import Foundation
import GRDB
import Glibc
public import Payments

/// The terminal's memory: what happened to each charge, in an SQLite file that nothing is ever changed in.
///
/// Every append is one transaction that survives a power cut before it returns (WAL, `synchronous=FULL`). Each entry holds
/// the hash of the one before it. Tables of current states are made from the entries and can be made anew.
/// Decided in docs/decisions/0003-the-journal.md.
public final class Journal: Sendable {
    let pool: DatabasePool
    private let key: DeviceKey
    private let lock: StorageLock
    /// Changes at each start: monotonic times of two runs cannot be compared.
    private let boot = UUID().uuidString

    /// Opens the journal of a folder, or makes one, and checks that it is whole.
    /// - Throws: ``JournalError``. A file that is damaged is left as it is.
    public static func open(directory: String, deviceKey: DeviceKey) throws(JournalError) -> Journal {
        try Storage.makeFolder(directory)
        let lock = try StorageLock(directory + "/journal.lock")
        let path = directory + "/journal.sqlite"
        do {
            let isNew = !FileManager.default.fileExists(atPath: path)
            if isNew {
                let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                guard descriptor >= 0 else { throw Storage.failure(of: "the journal") }
                Glibc.close(descriptor)
            }
            // The files beside it get the mode of the file itself.
            guard unsafe chmod(path, 0o600) == 0 else { throw Storage.failure(of: "the journal") }
            var configuration = Configuration()
            configuration.busyMode = .timeout(5)
            configuration.label = "journal"
            let pool = try DatabasePool(path: path, configuration: configuration)
            let journal = Journal(pool: pool, key: deviceKey, lock: lock)
            try journal.prepare()
            return journal
        } catch { throw JournalError(error) }
    }

    private init(pool: DatabasePool, key: DeviceKey, lock: StorageLock) {
        (self.pool, self.key, self.lock) = (pool, key, lock)
    }

    /// Ends the use of the file. Whoever holds the journal longer gets errors.
    public func close() throws(JournalError) {
        do { try pool.close() } catch { throw JournalError(error) }
    }

    private func prepare() throws {
        // The pool lowers `synchronous` to NORMAL when it turns on WAL; a power cut could then take back what was
        // acknowledged. Source: SQLite, "PRAGMA synchronous".
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2,
                try String.fetchOne(db, sql: "PRAGMA journal_mode") == "wal"
            else { throw JournalError.unavailable(detail: "the file system does not let the journal be synced") }
        }
        let migrator = Schema.migrator
        let applied = try pool.read { try migrator.appliedIdentifiers($0) }
        let unknown = applied.subtracting(migrator.migrations)
        guard unknown.isEmpty else {
            throw JournalError.fromNewerVersion(detail: unknown.sorted().joined(separator: ", "))
        }
        try migrator.migrate(pool)
        try pool.read { db in
            let words = try String.fetchAll(db, sql: "PRAGMA quick_check(5)")
            guard words == ["ok"] else { throw JournalError.corrupt(detail: words.joined(separator: "; ")) }
            let last = try Int64.fetchOne(db, sql: "SELECT max(seq) FROM event") ?? 0
            if case .broken(let sequence, let what) = try ChainLink.check(db, from: max(1, last - 999)) {
                throw JournalError.corrupt(detail: "entry \(sequence): \(what)")
            }
        }
        try pool.write { try Self.mendProjection($0) }
    }

    /// Brings the table of charges up to the entries, where it lags behind them or disagrees with how many there are.
    private static func mendProjection(_ db: Database) throws {
        let entries = try Int64.fetchOne(db, sql: "SELECT max(seq) FROM event") ?? 0
        let projected = try Int64.fetchOne(db, sql: "SELECT max(last_seq) FROM charge") ?? 0
        let charges = try Int.fetchOne(db, sql: "SELECT count(DISTINCT charge) FROM event") ?? 0
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM charge") ?? 0
        guard entries != projected || charges != rows else { return }
        for id in try String.fetchAll(db, sql: "SELECT DISTINCT charge FROM event") {
            let replayed = try replay(db, id)
            try project(db, replayed.charge, replayed.opening, last: replayed.last, at: replayed.updatedAt)
        }
    }

    /// Makes the table of current states anew from the entries.
    public func rebuildProjections() async throws(JournalError) {
        try await writing { db in
            try db.execute(sql: "DELETE FROM charge")
            try Self.mendProjection(db)
        }
    }

    /// Checks the whole chain of entries. Takes some seconds for a million.
    public func verifyChain() async throws(JournalError) -> ChainCheck {
        try await reading { db in try ChainLink.check(db) }
    }

    // MARK: - Appending

    /// The first entry of a charge.
    struct Opening: Codable {
        var terms: ChargeTerms
        var idempotencyKey: String?
        var requestDigest: [UInt8]?
    }

    private func append(_ db: Database, charge: ChargeID, kind: String, body: [UInt8], at time: WallTime) throws
        -> Int64
    {
        let last = try Row.fetchOne(db, sql: "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")
        let link = ChainLink(
            sequence: (last?["seq"] ?? 0) + 1,
            charge: charge.rawValue,
            kind: kind,
            body: body,
            wallMilliseconds: time.millisecondsSince1970,
            monotonicNanoseconds: Self.monotonicNanoseconds(),
            boot: boot,
            previous: last.map { Array($0["hash"] as Data) } ?? ChainLink.start
        )
        try db.cachedStatement(
            sql: """
                INSERT INTO event (seq, charge, kind, body, wall_ms, monotonic_ns, boot, previous, hash)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            link.sequence, link.charge, link.kind, Data(link.body), link.wallMilliseconds, link.monotonicNanoseconds,
            link.boot, Data(link.previous), Data(link.hash),
        ])
        return link.sequence
    }

    private static func project(
        _ db: Database,
        _ charge: Charge,
        _ opening: Opening?,
        last: Int64,
        at time: WallTime
    ) throws {
        let isOpen = !charge.state.isFinal || charge.attempts.contains(where: \.isOpen)
        if let opening {
            try db.execute(
                sql: """
                    INSERT INTO charge
                        (id, state, open, currency, minor_units, opened_ms, updated_ms, last_seq, idempotency_key, request_digest)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET state = excluded.state, open = excluded.open,
                        updated_ms = excluded.updated_ms, last_seq = excluded.last_seq
                    """,
                arguments: [
                    charge.id.rawValue, charge.state.rawValue, isOpen, charge.terms.amount.currency.code,
                    charge.terms.amount.minorUnits, charge.terms.openedAt.millisecondsSince1970,
                    time.millisecondsSince1970, last, opening.idempotencyKey, opening.requestDigest.map { Data($0) },
                ]
            )
        } else {
            try db.cachedStatement(
                sql: "UPDATE charge SET state = ?, open = ?, updated_ms = ?, last_seq = ? WHERE id = ?"
            ).execute(arguments: [
                charge.state.rawValue, isOpen, time.millisecondsSince1970, last, charge.id.rawValue,
            ])
            guard db.changesCount == 1 else {
                throw JournalError.corrupt(detail: "charge \(charge.id) was never opened here")
            }
        }
    }

    // MARK: - Replaying

    struct Replayed {
        var charge: Charge
        var opening: Opening
        var last: Int64
        var updatedAt: WallTime
    }

    static func replay(_ db: Database, _ id: String) throws -> Replayed {
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT seq, kind, body, wall_ms FROM event WHERE charge = ? ORDER BY seq",
            arguments: [id]
        )
        var replayed: Replayed?
        while let row = try rows.next() {
            let body = row["body"] as Data
            let time = WallTime(millisecondsSince1970: row["wall_ms"])
            if row["kind"] as String == "opened" {
                let opening: Opening = try decode(body)
                replayed = Replayed(
                    charge: Charge(terms: opening.terms),
                    opening: opening,
                    last: row["seq"],
                    updatedAt: time
                )
            } else {
                let event: Charge.Event = try decode(body)
                _ = replayed?.charge.handle(event)
                replayed?.last = row["seq"]
                replayed?.updatedAt = time
            }
        }
        guard let replayed else { throw JournalError.corrupt(detail: "charge \(id) has no first entry") }
        return replayed
    }

    /// What this version cannot read was written by a newer one, since the chain proves that it is as it was written.
    static func decode<Value: Decodable>(_ body: Data) throws -> Value {
        do { return try JSONDecoder().decode(Value.self, from: body) } catch {
            throw JournalError.fromNewerVersion(detail: "an entry of a kind that this version does not know")
        }
    }

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    // MARK: - The file

    func writing<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(JournalError)
        -> Value
    {
        do { return try await pool.write(body) } catch { throw JournalError(error) }
    }

    func reading<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(JournalError)
        -> Value
    {
        do { return try await pool.read(body) } catch { throw JournalError(error) }
    }

    func seal(_ bytes: [UInt8], name: String) throws -> Data {
        let box = try AES.GCM.seal(bytes, using: key.key, authenticating: Array(name.utf8))
        guard let combined = box.combined else { throw JournalError.unavailable(detail: "a secret cannot be sealed") }
        return combined
    }

    func unseal(_ sealed: Data, name: String) throws(JournalError) -> [UInt8] {
        do {
            return Array(
                try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key.key, authenticating: Array(name.utf8))
            )
        } catch {
            throw .corrupt(detail: "the secret \(name) was not sealed by this device's key")
        }
    }

    private static func monotonicNanoseconds() -> Int64 {
        var time = timespec()
        // Cannot fail: CLOCK_BOOTTIME exists since Linux 2.6.39 and `time` is a valid place to write to.
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

// MARK: - What the core needs

extension Journal: ChargeJournal {
    public func open(_ terms: ChargeTerms, under key: IdempotencyKey?) async throws(JournalError) {
        try await writing { [self] db in
            let opening = Opening(terms: terms, idempotencyKey: key?.key, requestDigest: key?.requestDigest)
            let sequence = try append(
                db,
                charge: terms.id,
                kind: "opened",
                body: Self.encode(opening),
                at: terms.openedAt
            )
            try Self.project(db, Charge(terms: terms), opening, last: sequence, at: terms.openedAt)
        }
    }

    public func append(_ event: Charge.Event, to charge: Charge, at time: WallTime) async throws(JournalError) {
        try await writing { [self] db in
            let sequence = try append(db, charge: charge.id, kind: "event", body: Self.encode(event), at: time)
            try Self.project(db, charge, nil, last: sequence, at: time)
        }
    }

    public func chargeOpened(under key: String) async throws(JournalError) -> (id: ChargeID, requestDigest: [UInt8])? {
        try await reading { db in
            guard
                let row = try Row.fetchOne(
                    db,
                    sql: "SELECT id, request_digest FROM charge WHERE idempotency_key = ?",
                    arguments: [key]
                ), let id = ChargeID(row["id"] as String)
            else { return nil }
            return (id, (row["request_digest"] as Data?).map { Array($0) } ?? [])
        }
    }

    public func openCharges() async throws(JournalError) -> [Charge] {
        try await reading { db in
            try String.fetchAll(db, sql: "SELECT id FROM charge WHERE open = 1 ORDER BY id")
                .map { try Self.replay(db, $0).charge }
        }
    }

    public func openedMinorUnits(since time: WallTime, currency: Currency) async throws(JournalError) -> Int64 {
        try await reading { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT coalesce(sum(minor_units), 0) FROM charge WHERE opened_ms >= ? AND currency = ?
                        AND state NOT IN ('failed', 'expired', 'cancelled')
                    """,
                arguments: [time.millisecondsSince1970, currency.code]
            ) ?? 0
        }
    }
}

// MARK: - Looking back

extension Journal {
    public func charge(_ id: ChargeID) async throws(JournalError) -> ChargeRecord? {
        try await reading { db in
            guard try Bool.fetchOne(db, sql: "SELECT 1 FROM charge WHERE id = ?", arguments: [id.rawValue]) == true
            else {
                return nil
            }
            let replayed = try Self.replay(db, id.rawValue)
            return ChargeRecord(charge: replayed.charge, updatedAt: replayed.updatedAt)
        }
    }

    /// Newest first. `before` continues after the last one of an earlier page.
    public func charges(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(JournalError) -> [ChargeRecord] {
        try await reading { db in
            let ids = try String.fetchAll(
                db,
                sql: """
                    SELECT id FROM charge WHERE id < ? AND (? IS NULL OR state = ?) ORDER BY id DESC LIMIT ?
                    """,
                arguments: [before?.rawValue ?? "g", state?.rawValue, state?.rawValue, limit]
            )
            return try ids.map { id in
                let replayed = try Self.replay(db, id)
                return ChargeRecord(charge: replayed.charge, updatedAt: replayed.updatedAt)
            }
        }
    }

    /// Everything that happened to a charge, in order.
    public func events(of id: ChargeID) async throws(JournalError) -> [StoredEvent] {
        try await reading { db in
            try Row.fetchAll(db, sql: "SELECT * FROM event WHERE charge = ? ORDER BY seq", arguments: [id.rawValue])
                .map { row in
                    StoredEvent(
                        sequence: row["seq"],
                        event: row["kind"] as String == "opened" ? nil : try Self.decode(row["body"] as Data),
                        time: WallTime(millisecondsSince1970: row["wall_ms"]),
                        hash: Array(row["hash"] as Data)
                    )
                }
        }
    }
}

extension JournalError {
    /// What an error of SQLite or the file system means.
    init(_ error: any Error) {
        switch error {
        case let error as JournalError: self = error
        case let error as DatabaseError:
            let detail = "SQLite \(error.extendedResultCode.rawValue): \(error.message ?? "")"
            self =
                switch error.resultCode {
                case .SQLITE_FULL: .diskFull
                case .SQLITE_READONLY, .SQLITE_PERM: .readOnly(detail: detail)
                case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt(detail: detail)
                case .SQLITE_BUSY, .SQLITE_LOCKED: .inUse(detail: detail)
                default: .unavailable(detail: detail)
                }
        default: self = .unavailable(detail: "\(error)")
        }
    }
}

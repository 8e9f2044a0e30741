import Foundation
import GRDB
import Glibc
public import Payments
import Locks

/// The terminal's memory: what happened to each charge, in an SQLite file whose entries are never changed.
///
/// Every append is one transaction that survives a power cut before it returns (WAL, `synchronous=FULL`). Each entry holds
/// the hash of the one before it. Tables of current states are written in the same transaction and can be made anew.
/// What a caller asks to be written is written even where its task is cancelled in the meantime.
/// Decided in docs/decisions/0003-the-journal.md.
public final class Journal: Sendable {
    let pool: DatabasePool
    let key: DeviceKey
    let directory: String
    private let lock: StorageLock
    private let writer = Mutex(Writer())
    let queue = Mutex(Queue())
    /// The kernel's name for the time since it started: monotonic times of two such times cannot be compared.
    let boot = BootClock.name

    /// What the last start found in the file.
    public let startup: StartupReport

    struct Queue {
        /// What nobody has begun to write yet.
        var jobs: [WriteJob] = []
        /// Nothing more is taken.
        var isClosed = false
    }

    /// What the connection that writes knows. Touched in its turn only.
    private struct Writer {
        /// The last entry; nil: look it up.
        var tail: (sequence: Int64, hash: Data)?
        /// The row that was written last, with its charge's place in the order of opening. Mostly it is the next one's too.
        var row: (row: ChargeRow, opened: Int64)?
        /// A write failed and may have left half a transaction at the end of the log.
        var hasLeftovers = false
        /// A sync failed: nothing written since then can be trusted to be on the storage.
        var hasLostSync = false
        /// Why the last write failed; nil where it did not.
        var fault: JournalError?
        /// Transactions since the log was last put away.
        var unputAway = 0
    }

    /// Opens the journal of a folder, or makes one, and checks that it is whole. Blocks; some milliseconds.
    ///
    /// A short journal is checked entry by entry, of a long one the end; tables of current states that do not say what the
    /// entries say are made anew. ``startup`` tells what was done.
    ///
    /// - Parameter goingBack: Where a newer version has changed the tables and nothing about money has come since, the copy that
    ///   it kept first is the journal again: an appliance whose new version does not stand goes back to the one before, and that
    ///   one must take payments. What goes then: what the newer version wrote into the audit log, and every change of staff,
    ///   sessions, secrets and wallets' sessions. Its file is kept as `journal.sqlite.newer`, one at most. Whoever asks for it
    ///   says so in the audit log, see ``StartupReport/tookBack``.
    /// - Throws: ``JournalError``. A file that is damaged, or from a newer version with no such way back, stays as it is.
    public static func open(
        directory: String,
        deviceKey: DeviceKey,
        goingBack: Bool = false
    ) throws(JournalError) -> Journal {
        try open(directory: directory, deviceKey: deviceKey, goingBack: goingBack, migrator: Schema.migrator)
    }

    /// - Parameter step: Called before each change of the storage on the way back from a newer version.
    static func open(
        directory: String,
        deviceKey: DeviceKey,
        goingBack: Bool = true,
        migrator: DatabaseMigrator,
        before step: (String) throws(JournalError) -> Void = { _ in }
    ) throws(JournalError) -> Journal {
        try Storage.makeFolder(directory)
        let lock = try StorageLock(directory + "/journal.lock")
        let path = directory + "/journal.sqlite"
        do {
            let isNew = !Storage.exists(path)
            if isNew {
                try create(path, migrator, lock)
            } else {
                try Storage.tighten(path)
            }
            let wayBack = WayBack(path: path, migrator: migrator, configuration: configuration)
            wayBack.clear()
            var tookBack: String?
            let check: StartupCheck
            do { check = try StartupCheck(path, migrator, configuration) } catch let newer as NewerTables {
                guard goingBack, let earlier = try wayBack.take(before: step) else {
                    throw JournalError.fromNewerVersion(detail: "tables of \(newer.names)")
                }
                (check, tookBack) = (earlier, newer.names)
            }
            let pool = try DatabasePool(path: path, configuration: configuration)
            try requireDurability(pool)
            if check.wantsMigration { try migrate(pool, migrator) }
            if check.wantsRebuild || check.wantsLists {
                try Projection.rebuild(pool, version: migrator.migrations.last ?? "")
            }
            let report = StartupReport(
                isNew: isNew,
                entries: check.entries,
                entriesChecked: check.checked,
                didRebuild: check.wantsRebuild,
                tookBack: tookBack
            )
            return Journal(pool: pool, key: deviceKey, directory: directory, lock: lock, startup: report)
        } catch { throw JournalError(error, in: directory) }
    }

    private init(pool: DatabasePool, key: DeviceKey, directory: String, lock: StorageLock, startup: StartupReport) {
        (self.pool, self.key, self.directory, self.lock, self.startup) = (pool, key, directory, lock, startup)
    }

    /// Takes the place on the storage that the log beside the file will need, so that an append does not wait for a file system
    /// that makes a file longer. Writes 4.5 MB where the last run ended in order, and does nothing where 100 MB are not left.
    ///
    /// - Throws: ``JournalError``: appends are as fast as they were, and as safe.
    public func reserveLog() async throws(JournalError) {
        guard Storage.hasRoom(directory, bytes: 100 << 20) else { return }
        // In a transaction's turn: nobody else writes.
        try await writing { [directory] _ in try WriteAheadLog.reserve(directory + "/journal.sqlite-wal") }
    }

    /// Takes what stands in the log beside the file over into it, where that has become much. For moments in which nobody waits
    /// for an append: SQLite does it by itself at 1000 pages, in the middle of whatever is written then, and it takes longer than
    /// the append. Appends wait meanwhile.
    ///
    /// - Throws: ``JournalError``: the log keeps everything, and is as safe there.
    public func putLogAway() async throws(JournalError) {
        let isMuch = writer.withLock { writer in
            guard writer.unputAway >= Self.muchForTheLog else { return false }
            // Where it fails it is tried again when as much has come once more.
            writer.unputAway = 0
            return true
        }
        guard isMuch, !queue.withLock(\.isClosed) else { return }
        let result: Result<Void, JournalError> = await withCheckedContinuation { continuation in
            pool.asyncWriteWithoutTransaction { [directory] db in
                do { continuation.resume(returning: .success(_ = try db.checkpoint(.passive))) } catch {
                    continuation.resume(returning: .failure(JournalError(error, in: directory)))
                }
            }
        }
        try result.get()
    }

    /// Transactions. A tap makes some ten, of some ten pages each.
    private static let muchForTheLog = 30

    /// Ends the use of the file and lets others open it. Blocks for a sync. Whoever uses the journal later gets errors.
    public func close() throws(JournalError) {
        let wasOpen = queue.withLock { queue in
            defer { queue.isClosed = true }
            return !queue.isClosed
        }
        guard wasOpen else { return }
        do {
            // Empties the log beside the file. Where that fails, the log stays and is read at the next start.
            try? pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            try pool.close()
            lock.release()
        } catch { throw JournalError(error, in: directory) }
    }
}

// MARK: - The file

extension Journal {
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "journal"
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 2
        configuration.prepareDatabase { db in
            // Zeroes what is deleted; notices broken pages early; trusts no function in a changed table definition.
            try db.execute(sql: "PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF")
        }
        return configuration
    }

    /// Makes a journal under another name first: a file under the journal's own name is always a whole one.
    private static func create(_ path: String, _ migrator: DatabaseMigrator, _ lock: StorageLock) throws {
        let mark = lock.mark
        guard mark.isEmpty, !Storage.exists(path + "-wal") else {
            throw JournalError.corrupt(
                detail: "the journal \(mark) is gone from \(path): restore it, or use another folder to start anew"
            )
        }
        let draft = path + ".new"
        for leftover in [draft, draft + "-wal", draft + "-shm", draft + "-journal"] { unsafe unlink(leftover) }
        try Storage.makeFile(draft)
        let file = try DatabaseQueue(path: draft, configuration: configuration)
        let name = UUID().uuidString
        try migrator.migrate(file)
        try file.write { db in
            try db.execute(sql: "INSERT INTO meta (name, value) VALUES ('journal', ?)", arguments: [name])
        }
        try file.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try file.close()
        try Storage.sync(draft)
        guard unsafe rename(draft, path) == 0 else { throw Storage.failure(of: path) }
        try Storage.sync((path as NSString).deletingLastPathComponent)
        try lock.mark(name)
    }

    /// The pool lowers `synchronous` to NORMAL when it turns on WAL; a power cut could then take back what was
    /// acknowledged. Source: SQLite, "PRAGMA synchronous".
    private static func requireDurability(_ pool: DatabasePool) throws {
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2,
                try String.fetchOne(db, sql: "PRAGMA journal_mode") == "wal",
                try Int.fetchOne(db, sql: "PRAGMA foreign_keys") == 1
            else { throw JournalError.unavailable(detail: "the file system does not let the journal be synced") }
        }
    }

    /// Keeps a copy of the file as the older version knew it, then changes the tables. A copy of an earlier try goes: the older
    /// version may have written since. So do those of versions before it, but for one.
    private static func migrate(_ pool: DatabasePool, _ migrator: DatabaseMigrator) throws {
        let applied = try pool.read(migrator.completedMigrations).last ?? "nothing"
        let copy = "\(pool.path).\(applied)"
        removeCopy(copy)
        try Storage.makeFile(copy)
        let file = try DatabaseQueue(path: copy)
        try pool.backup(to: file)
        try file.close()
        try Storage.sync(copy)
        try Storage.sync((copy as NSString).deletingLastPathComponent)
        try migrator.migrate(pool)
        let earlier = migrator.migrations.prefix { $0 != applied }.map { "\(pool.path).\($0)" }.last(
            where: Storage.exists
        )
        let kept = [copy, pool.path + ".newer"] + [earlier].compactMap(\.self)
        try? removeCopies(of: pool.path, keeping: kept)  // What is left takes room and no more.
    }

    /// The latest wall time that a charge, an entry or a document bears, by whatever clock it was written; nil where nothing
    /// is kept yet.
    public func newestTime() async throws(JournalError) -> WallTime? {
        try await reading { db in
            // Of the whole history by its index; of the rest the newest entries say enough.
            let sql = """
                SELECT max(at) FROM (
                    SELECT max(opened_ms) AS at FROM charge
                    UNION ALL SELECT max(wall_ms) FROM (SELECT wall_ms FROM event ORDER BY seq DESC LIMIT 1000)
                    UNION ALL SELECT max(wall_ms) FROM (SELECT wall_ms FROM tap ORDER BY seq DESC LIMIT 1000)
                    UNION ALL SELECT max(changed_ms) FROM document
                )
                """
            return try Int64.fetchOne(db, sql: sql).map(WallTime.init(millisecondsSince1970:))
        }
    }

    /// Makes the tables of current states anew from the entries. For tools; the start does it by itself where it must.
    public func rebuildProjections() async throws(JournalError) { try await writing(Projection.rebuild) }

    /// Compares the tables of current states, the words for searching and the sums with what all entries say. Appends go on
    /// meanwhile. A million charges take some minutes.
    /// - Returns: Nil where all agree, else the first thing that does not. ``rebuildProjections()`` mends it.
    public func verifyProjections() async throws(JournalError) -> String? { try await reading(Projection.disagreement) }

    /// Checks the whole chain of entries. Appends go on meanwhile. A million entries take some seconds.
    public func verifyChain() async throws(JournalError) -> ChainCheck {
        try await reading { db in try Chain.events.check(db) }
    }
}

// MARK: - Transactions

extension Journal {
    /// One transaction, on the database's own queue. Returns once it survives a power cut.
    ///
    /// GRDB's `async` calls end with their task; money's records must not, so these do not use them.
    func writing<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(JournalError) -> Value {
        let result: Result<Value, JournalError> = await withCheckedContinuation { continuation in
            let job = WriteJob(body, continuation)
            let (isTaken, isFirst) = queue.withLock { queue in
                if !queue.isClosed { queue.jobs.append(job) }
                return (!queue.isClosed, queue.jobs.count == 1)
            }
            guard isTaken else { return job.fail(Self.closed) }
            // Where others wait already, the writer is on its way and takes this one along.
            if isFirst { pool.asyncWriteWithoutTransaction { [self] db in write(db) } }
        }
        return try result.get()
    }

    /// Writes everything that waits, in one transaction: they share the sync, which costs most of the time. Where that
    /// fails, nothing of it is kept and each is written by itself, so that one refusal is nobody else's.
    private func write(_ db: Database) {
        let jobs = queue.withLock { queue in
            defer { queue.jobs = [] }
            return queue.jobs
        }
        if jobs.count > 1, case .success(let tellers) = transact(db, { db in try jobs.map { try $0.run(db) } }) {
            for tell in tellers { tell() }
            return
        }
        for job in jobs {
            switch transact(db, job.run) {
            case .success(let tell): tell()
            case .failure(let error): job.fail(error)
            }
        }
    }

    func reading<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(JournalError) -> Value {
        guard !queue.withLock(\.isClosed) else { throw Self.closed }
        let result: Result<Value, JournalError> = await withCheckedContinuation { continuation in
            pool.asyncRead { [directory] access in
                do { continuation.resume(returning: .success(try body(access.get()))) } catch {
                    continuation.resume(returning: .failure(JournalError(error, in: directory)))
                }
            }
        }
        return try result.get()
    }

    static let closed = JournalError.unavailable(detail: "the journal is closed: the terminal stops")

    private func transact<Value>(_ db: Database, _ body: (Database) throws -> Value) -> Result<Value, JournalError> {
        do {
            try prepareToWrite(db)
            var value: Value?
            try db.inTransaction(.immediate) {
                value = try body(db)
                return .commit
            }
            guard let value else { throw JournalError.unavailable(detail: "the transaction did not run") }
            writer.withLock { writer in
                writer.fault = nil
                writer.unputAway += 1
            }
            return .success(value)
        } catch {
            let isLostSync = JournalError.isLostSync(error)
            let fault = JournalError(error, in: directory)
            writer.withLock { writer in
                (writer.tail, writer.row) = (nil, nil)
                writer.hasLeftovers = true
                writer.hasLostSync = writer.hasLostSync || isLostSync
                writer.fault = fault
            }
            return .failure(fault)
        }
    }

    /// Why the last write failed; nil where it did not.
    var lastFault: JournalError? { writer.withLock { $0.fault } }

    private func prepareToWrite(_ db: Database) throws {
        let (hasLeftovers, hasLostSync) = writer.withLock { ($0.hasLeftovers, $0.hasLostSync) }
        guard !hasLostSync else {
            throw JournalError.unavailable(detail: "the storage lost a write; restart the terminal to see what it kept")
        }
        guard hasLeftovers else { return }
        // Empties the log, where it can: half a transaction left in it would look like a lost one at the next start.
        _ = try? db.checkpoint(.truncate)
        writer.withLock { $0.hasLeftovers = false }
    }

    /// Writes the rows of a charge that was just opened. In a transaction of ``writing(_:)`` only, as are the two below.
    func open(
        _ db: Database,
        _ charge: Charge,
        _ opening: Opening,
        _ sequence: Int64,
        last: Int64,
        at time: WallTime
    ) throws {
        let row = try Projection.open(db, charge, opening, sequence, last: last, at: time)
        writer.withLock { $0.row = (row, sequence) }
    }

    /// Writes what entries have changed.
    func change(
        _ db: Database,
        _ charge: Charge,
        by events: [Charge.Event],
        _ sequence: Int64,
        at time: WallTime
    ) throws {
        let known = writer.withLock { $0.row }.flatMap { $0.row.id == charge.id.rawValue ? $0 : nil }
        let row = try Projection.change(db, charge, from: known, by: events, sequence, at: time)
        writer.withLock { $0.row = row }
    }

    /// Writes the next entry.
    func append(_ db: Database, _ entry: Entry) throws -> Int64 {
        let tail = try writer.withLock { $0.tail } ?? Chain.events.tail(db)
        var entry = entry
        entry.sequence = tail.sequence + 1
        entry.previous = tail.hash
        let hash = try entry.insert(db)
        writer.withLock { $0.tail = (entry.sequence, hash) }  // Forgotten again where the transaction fails.
        return entry.sequence
    }
}

/// Something to be written, and the task that waits for it.
struct WriteJob: Sendable {
    /// Runs inside a transaction, more than once where the first one fails. Returns how to tell of the commit.
    let run: @Sendable (Database) throws -> @Sendable () -> Void
    let fail: @Sendable (JournalError) -> Void

    init<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
        _ continuation: CheckedContinuation<Result<Value, JournalError>, Never>
    ) {
        run = { db in
            let value = try body(db)
            return { continuation.resume(returning: .success(value)) }
        }
        fail = { continuation.resume(returning: .failure($0)) }
    }
}

/// The kernel's clock that runs through sleep and jumps for nobody.
enum BootClock {
    static let name: String = {
        let path = "/proc/sys/kernel/random/boot_id"
        let id = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
        return id?.trimmingCharacters(in: .whitespacesAndNewlines) ?? UUID().uuidString
    }()

    static var nanoseconds: Int64 {
        var time = timespec()
        // Cannot fail: CLOCK_BOOTTIME exists since Linux 2.6.39 and `time` is a valid place to write to.
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

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
    private let writer: Mutex<Writer>
    let queue = Mutex(Queue())
    /// The kernel's name for the time since it started: monotonic times of two such times cannot be compared.
    let boot = BootClock.name

    /// What the last start found in the file.
    public let startup: StartupReport
    /// Where the chains ended last, beside the database.
    private let markFile: EndMarkFile

    struct Queue {
        /// What nobody has begun to write yet.
        var jobs: [WriteJob] = []
        /// Nothing more is taken.
        var isClosed = false
        /// Those that have no answer yet.
        var unanswered = 0
        /// When the last of them got one, or the first of them came; nil where there are none.
        var waitsSince: ContinuousClock.Instant?
    }

    /// What the connection that writes knows. Touched in its turn only.
    private struct Writer {
        /// The last entry; nil: look it up.
        var tail: (sequence: Int64, hash: Data)?
        /// The audit log's last entry; nil: look it up.
        var auditTail: (sequence: Int64, hash: Data)?
        /// How many audit entries were taken over without a seal of this device; nil: look it up.
        var takenOver: Int64?
        /// What the mark beside the database says.
        var mark: EndMark
        /// Why the mark could not be written; nil where it could.
        var markFault: JournalError?
        /// The row that was written last, with its charge's place in the order of opening. Mostly it is the next one's too.
        var row: (row: ChargeRow, opened: Int64)?
        /// A write failed and may have left half a transaction at the end of the log.
        var hasLeftovers = false
        /// A sync failed: nothing written since then can be trusted to be on the storage.
        var hasLostSync = false
        /// Why the last write failed; nil where it did not.
        var fault: JournalError?
        /// When the last transaction was committed, on the kernel's clock.
        var writtenAt: Int64?
        /// The files that are open, as they were after the last transaction.
        var files: RecordFiles
        /// Why the last read failed, where the record itself may be the cause; nil where it did not.
        var readFault: JournalError?
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
            let wayBack = WayBack(path: path, migrator: migrator, configuration: configuration, key: deviceKey)
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
            let mark = try markEnds(pool, directory, deviceKey, isNew: isNew)
            let report = StartupReport(
                isNew: isNew,
                entries: check.entries,
                entriesChecked: check.checked,
                didRebuild: check.wantsRebuild,
                tookBack: tookBack,
                lostEntries: mark.newlyLostEntries,
                lostAudit: mark.newlyLostAudit
            )
            return Journal(pool, deviceKey, directory, lock, report, mark.file, mark.mark)
        } catch { throw JournalError(error, in: directory) }
    }

    private init(
        _ pool: DatabasePool,
        _ key: DeviceKey,
        _ directory: String,
        _ lock: StorageLock,
        _ startup: StartupReport,
        _ markFile: EndMarkFile,
        _ mark: EndMark
    ) {
        (self.pool, self.key, self.directory, self.lock, self.startup) = (pool, key, directory, lock, startup)
        self.markFile = markFile
        writer = Mutex(Writer(mark: mark, files: RecordFiles(directory + "/journal.sqlite")))
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
        try markFile.sync()
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
            try? markFile.sync()  // An older mark says less, and nothing wrong.
            markFile.close()
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

    /// Compares where the chains end with the mark beside the database, and marks where they end now.
    /// - Parameter isNew: The database was made just now: no earlier mark counts.
    private static func markEnds(
        _ pool: DatabasePool,
        _ directory: String,
        _ key: DeviceKey,
        isNew: Bool
    ) throws -> (file: EndMarkFile, mark: EndMark, newlyLostEntries: LostEntries?, newlyLostAudit: LostEntries?) {
        let reading = try EndMarkFile.read(directory, key: key)
        let (found, mark, isMarked, seal) = try pool.read { db -> (EndMark, EndMark?, Bool, AuditSeal.Standing) in
            let ends = try ends(db)
            let fresh = EndMark(journal: try name(db), ends: ends)
            let isMarked = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = 'marked'") != nil
            guard !isNew, case .mark(let mark) = reading, mark.journal == fresh.journal else {
                return (fresh, nil, isMarked, try AuditSeal.standing(db, key: key))
            }
            let judged = try mark.judged(
                ends,
                entry: { try Chain.events.hash(db, $0) },
                audit: { try Chain.audit.hash(db, $0) }
            )
            return (judged, mark, isMarked, try AuditSeal.standing(db, key: key))
        }
        var now = found
        let (entries, audits) = (now.ends.entries, now.ends.auditEntries)
        // Gone with what it stood for, or from another journal: nobody knows how far that one went.
        if !isNew, mark == nil, isMarked || reading != .none {
            now.lostEntries = LostEntries(from: entries + 1, to: nil)
            now.lostAudit = LostEntries(from: audits + 1, to: nil)
        }
        let isSealed = if case .good = seal { true } else { false }
        if !isNew, !isSealed, isMarked || seal != .none, now.lostAudit == nil {
            now.lostAudit = LostEntries(from: audits, to: audits)
        }
        let file = try EndMarkFile(directory, key: key)
        try file.write(now)
        try file.sync()
        // After the mark: a start that is cut off between leaves no database that misses one.
        if !isMarked || !isSealed {
            try pool.write { db in
                if !isSealed { try AuditSeal.put(db, key: key, takenOver: audits) }
                try db.execute(sql: "INSERT OR IGNORE INTO meta (name, value) VALUES ('marked', '1')")
            }
        }
        return (
            file, now, now.lostEntries == mark?.lostEntries ? nil : now.lostEntries,
            now.lostAudit == mark?.lostAudit ? nil : now.lostAudit
        )
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
        let mark = marked
        return try await reading { db in
            let check = try Chain.events.check(db)
            guard case .intact = check, let lost = mark?.lostEntries else { return check }
            return .broken(atSequence: lost.from, what: ChainCheck.lost)
        }
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
                if !queue.isClosed {
                    queue.jobs.append(job)
                    queue.unanswered += 1
                    if queue.waitsSince == nil { queue.waitsSince = .now }
                }
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
        defer {
            queue.withLock { queue in
                queue.unanswered -= jobs.count
                queue.waitsSince = queue.unanswered > 0 ? .now : nil
            }
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
            pool.asyncRead { [self] access in
                do {
                    let value = try body(access.get())
                    noteRead(nil)
                    continuation.resume(returning: .success(value))
                } catch {
                    let fault = JournalError(error, in: directory)
                    noteRead(fault)
                    continuation.resume(returning: .failure(fault))
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
                writer.writtenAt = BootClock.nanoseconds
                writer.files.look()
                writeMark(&writer)
            }
            return .success(value)
        } catch {
            let isLostSync = JournalError.isLostSync(error)
            let fault = isLostSync ? Self.lostWrite : JournalError(error, in: directory)
            writer.withLock { writer in
                (writer.tail, writer.row) = (nil, nil)
                (writer.auditTail, writer.takenOver) = (nil, nil)
                writer.hasLeftovers = true
                writer.hasLostSync = writer.hasLostSync || isLostSync
                writer.fault = fault
            }
            return .failure(fault)
        }
    }

    /// Why the last write failed; nil where it did not.
    var lastFault: JournalError? { writer.withLock { $0.fault } }

    /// Why the last read failed, where the record itself may be the cause. A record that was found damaged stays so until the
    /// next start has checked it.
    var lastReadFault: JournalError? { writer.withLock { $0.readFault } }

    /// How long ago the last transaction was committed; nil before the first.
    var sinceWrite: Duration? {
        writer.withLock(\.writtenAt).map { .nanoseconds(BootClock.nanoseconds - $0) }
    }

    /// Why what is written would not be found at the next start; nil where it would.
    var filesFault: JournalError? {
        do throws(JournalError) { try writer.withLock(\.files).check() } catch { return error }
        return nil
    }

    /// Empties the log on purpose. On the connection that writes only.
    func emptyLog(_ db: Database) throws {
        _ = try db.checkpoint(.truncate)
        writer.withLock { $0.files.look() }
    }

    private static let lostWrite = JournalError.lostWrite(
        detail: "a sync failed; restart the terminal to see what the storage kept"
    )

    private func prepareToWrite(_ db: Database) throws {
        let (hasLeftovers, hasLostSync) = writer.withLock { ($0.hasLeftovers, $0.hasLostSync) }
        guard !hasLostSync else { throw Self.lostWrite }
        if let fault = filesFault { throw fault }
        guard hasLeftovers else { return }
        // Empties the log, where it can: half a transaction left in it would look like a lost one at the next start.
        try? emptyLog(db)
        writer.withLock { $0.hasLeftovers = false }
    }

    private func noteRead(_ fault: JournalError?) {
        writer.withLock { writer in
            switch (fault, writer.readFault) {
            case (_, .corrupt?), (.diskFull?, _), (.inUse?, _), (.fromNewerVersion?, _): break
            default: writer.readFault = fault
            }
        }
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

    /// Writes the next entry of the audit log, with its seal. In a transaction of ``writing(_:)`` only.
    func appendAudit(_ db: Database, _ body: Data) throws {
        let known = writer.withLock { ($0.auditTail, $0.takenOver) }
        let tail = try known.0 ?? Chain.audit.tail(db)
        let takenOver: Int64
        if let own = known.1 {
            takenOver = own
        } else if case .good(let own) = try AuditSeal.standing(db, key: key) {
            takenOver = own
        } else {
            // What does not fit is never sealed as if it did: the mark remembers that it was found.
            takenOver = tail.sequence
        }
        let row = AuditRow(sequence: tail.sequence + 1, body: body, previous: tail.hash)
        try row.insert(db)
        let hash = row.hash
        try AuditSeal(row.sequence, hash, takenOver: takenOver, key: key).store(db)
        writer.withLock { writer in
            writer.auditTail = (row.sequence, hash)  // Forgotten again where the transaction fails.
            writer.takenOver = takenOver
        }
    }

    /// What the mark beside the database says; nil where it could not be written.
    var marked: EndMark? { writer.withLock { $0.markFault == nil ? $0.mark : nil } }

    /// Why the mark beside the database is not written; nil where it is.
    var markFault: JournalError? { writer.withLock(\.markFault) }

    /// Takes up where the chains end after somebody has written past ``writing(_:)``. For benchmarks.
    func forgetEnds() { writer.withLock { ($0.tail, $0.auditTail, $0.takenOver, $0.row) = (nil, nil, nil, nil) } }

    /// Writes where the chains end now, where a transaction has moved them.
    private func writeMark(_ writer: inout Writer) {
        var mark = writer.mark
        if let tail = writer.tail {
            // Somebody has cut what was written while the terminal runs.
            if tail.sequence < mark.ends.entries {
                mark.lostEntries = LostEntries(from: tail.sequence, to: mark.ends.entries).joined(mark.lostEntries)
            }
            (mark.ends.entries, mark.ends.head) = (tail.sequence, Array(tail.hash))
        }
        if let tail = writer.auditTail {
            if tail.sequence < mark.ends.auditEntries {
                mark.lostAudit = LostEntries(from: tail.sequence, to: mark.ends.auditEntries).joined(mark.lostAudit)
            }
            (mark.ends.auditEntries, mark.ends.auditHead) = (tail.sequence, Array(tail.hash))
        }
        guard mark != writer.mark || writer.markFault != nil else { return }
        do throws(JournalError) {
            try markFile.write(mark)
            (writer.mark, writer.markFault) = (mark, nil)
        } catch { writer.markFault = error }
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

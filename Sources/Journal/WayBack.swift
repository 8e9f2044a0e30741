import Foundation
import GRDB
import Glibc
import Payments

/// The way back from a newer version that has changed the tables and does not stand.
///
/// That version kept a copy first. It is the journal again where nothing about money has come since: the last entry, what
/// was noted over BLE, vouchers and shifts are the same in both, and so are the settings that say whom money goes to.
/// Tables made from entries are the same then. An entry that only says that the terminal started counts too: others were
/// told its number, and would take the next one for it.
///
/// Left are the newer version's audit entries, other documents and secrets, and what it kept for WalletConnect, whose
/// signatures move no money before an entry claims them. So an access that was taken away is back, and a password is as it
/// was. What was told to others is told again under the same numbers.
///
/// The newer file is put aside as `journal.sqlite.newer`; one that was put aside earlier goes. The copy stays.
struct WayBack {
    let path: String
    let migrator: DatabaseMigrator
    let configuration: Configuration
    let key: DeviceKey

    private var directory: String { (path as NSString).deletingLastPathComponent }
    /// What is made ready and checked before it becomes the journal.
    private var draft: String { path + ".back" }
    private var aside: String { path + ".newer" }
    private var secondName: String { aside + ".link" }

    /// Removes what a start that was cut off has left. Nothing of it was the journal.
    func clear() {
        Journal.removeCopy(draft)
        unsafe unlink(secondName)
    }

    /// Until its last step the newer file is the journal: whatever ends it, the next start begins anew.
    /// - Parameter step: Called before each change of the storage.
    /// - Returns: What the check of the journal of before found. Nil where there is no way back; nothing was changed then.
    func take(before step: (String) throws(JournalError) -> Void) throws -> StartupCheck? {
        guard let last = migrator.migrations.last else { return nil }
        let copy = "\(path).\(last)"
        // It was closed in order. With something beside it, it is not what was made.
        let isAlone = (Storage.size(copy + "-wal") ?? 0) == 0 && !Storage.exists(copy + "-journal")
        guard let bytes = Storage.size(copy), isAlone else { return nil }
        guard let newer = try legible({ try read(path, Standing.init) }) else { return nil }
        guard Storage.hasRoom(directory, for: bytes) else { throw JournalError.diskFull }
        defer { Journal.removeCopy(draft) }
        try step("copy the journal of before")
        try Storage.copy(copy, to: draft)
        guard let check = try legible({ try checkDraft(newer) }) else { return nil }

        try step("put the newer one's log away")
        try putLogAway()
        try step("remove its log")
        for name in ["-wal", "-shm"] { unsafe unlink(path + name) }
        // Beside the journal of before it would be taken for that one's.
        try Storage.sync(directory)
        try putAside(step)
        try step("mark where the journal of before ends")
        try markEnds()
        try step("put the journal of before in its place")
        guard unsafe rename(draft, path) == 0 else { throw Storage.failure(of: draft) }
        try Storage.sync(directory)
        return check
    }

    /// Checks all entries, and all pages: unlike at other starts there is another file that may be the better one.
    private func checkDraft(_ newer: Standing) throws -> StartupCheck {
        let check = try StartupCheck(draft, migrator, configuration)
        guard !check.wantsMigration else { throw JournalError.corrupt(detail: "it is of an earlier version") }
        let kept = try read(draft) { db in
            guard try String.fetchAll(db, sql: "PRAGMA integrity_check(1)") == ["ok"],
                case .intact = try Chain.events.check(db)
            else { throw JournalError.corrupt(detail: "it is not whole") }
            return try Standing(db)
        }
        guard newer.isAllIn(kept) else { throw JournalError.fromNewerVersion(detail: "it knows more") }
        return check
    }

    /// Takes what stands in the log over into the newer file, so that the file alone is whole.
    private func putLogAway() throws {
        let file = try DatabaseQueue(path: path, configuration: configuration)
        try file.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try file.close()
        guard (Storage.size(path + "-wal") ?? 0) == 0 else {
            throw JournalError.unavailable(detail: "the newer journal could not be written to its end")
        }
    }

    /// Gives the newer file a second name. It keeps the first until the journal of before takes it: there is always a journal.
    private func putAside(_ step: (String) throws(JournalError) -> Void) throws(JournalError) {
        try step("give it a second name")
        guard unsafe link(path, secondName) == 0 else { throw Storage.failure(of: path) }
        try step("put it aside")
        // Does nothing where a start that was cut off has put it aside already.
        guard unsafe rename(secondName, aside) == 0 else { throw Storage.failure(of: secondName) }
        unsafe unlink(secondName)
        try Storage.sync(directory)
    }

    /// Marks the end of the journal of before while the newer one is still in its place: beside the newer one this is an older mark,
    /// which says less and nothing wrong. What was known to be missing stays known.
    private func markEnds() throws {
        guard case .mark(var mark) = try EndMarkFile.read(directory, key: key) else { return }
        mark.ends = try read(draft, Journal.ends)
        let file = try EndMarkFile(directory, key: key)
        defer { file.close() }
        try file.write(mark)
        try file.sync()
    }

    private func read<Value>(_ path: String, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = configuration
        configuration.readonly = true
        let file = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? file.close() }  // Nothing was written through it.
        return try file.read(body)
    }

    /// Nil where a file does not hold what this version would have written. What the storage says is thrown.
    private func legible<Value>(_ body: () throws -> Value) throws -> Value? {
        do { return try body() } catch is NewerTables { return nil } catch {
            // The statements are ours and right: it is the tables that they do not fit.
            if let error = error as? DatabaseError, error.resultCode == .SQLITE_ERROR { return nil }
            let error = JournalError(error, in: directory)
            switch error {
            case .corrupt, .fromNewerVersion: return nil
            default: throw error
            }
        }
    }
}

/// Where a journal stands, as far as it must never be left.
private struct Standing {
    let name: String
    let entries: (sequence: Int64, hash: Data)
    let notes: Int64
    let lastNote: Data
    let shifts: [Int64: Data]
    let vouchers: [String: Data]
    /// The shop's settings and Tap's.
    let payees: [String: Data]

    init(_ db: Database) throws {
        name = try Journal.name(db)
        entries = try Chain.events.tail(db)
        notes = try Int64.fetchOne(db, sql: "SELECT count(*) FROM tap") ?? 0
        lastNote = try Data.fetchOne(db, sql: "SELECT digest FROM tap ORDER BY seq DESC LIMIT 1") ?? Data()
        shifts = try Self.digests(db, "SELECT number, digest FROM shift")
        vouchers = try Self.digests(db, "SELECT pass, digest FROM tap_voucher")
        payees = try Self.digests(db, "SELECT name, digest FROM document WHERE name IN ('settings', 'tap')")
    }

    private static func digests<Key: DatabaseValueConvertible & Hashable>(
        _ db: Database,
        _ sql: String
    ) throws -> [Key: Data] {
        let rows = try Row.fetchCursor(db, sql: sql)
        var digests: [Key: Data] = [:]
        while let row = try rows.next() { digests[try row.decode(atIndex: 0)] = try row.decode(atIndex: 1) }
        return digests
    }

    /// True where the other one knows all that this one does. A voucher that only the other one still knows was forgotten
    /// because nobody can pay with it any more.
    func isAllIn(_ other: Standing) -> Bool {
        !name.isEmpty && name == other.name && entries == other.entries && notes == other.notes
            && lastNote == other.lastNote && shifts == other.shifts && payees == other.payees
            && vouchers.allSatisfy { other.vouchers[$0.key] == $0.value }
    }
}

import Foundation
import GRDB
import Glibc
public import Payments

/// Puts a copy of a journal in the place of the one that a terminal has.
///
/// The copy is made ready and checked whole in a folder of its own. A mark there says that it is wanted; the next start,
/// before anybody opens the journal, puts the old one aside, the new one in its place, and the old one back where the new
/// one does not stand. Every step can be repeated: after a power cut the start goes on where it was.
public enum Restore {
    /// What the start found and did.
    public enum Outcome: Sendable, Equatable {
        /// Nothing was wanted.
        case nothing
        /// The copy is the journal now. `keptDamaged`: what was there could not be opened, and is kept.
        case restored(keptDamaged: Bool)
        /// Payments here have no final answer: the journal stays, and the copy is gone.
        case refused(openCharges: Int)
        /// The copy could not be opened in its place; what was there is back.
        case putBack(JournalError)
    }

    /// Where a journal that could not be opened is kept.
    public static let damagedFolder = "before-restore"
    private static let folderName = "restore"

    private static func folder(_ directory: String) -> String { "\(directory)/\(folderName)" }
    private static func ready(_ directory: String) -> String { folder(directory) + "/ready" }
    private static func undo(_ directory: String) -> String { folder(directory) + "/undo" }
    private static func keep(_ directory: String) -> String { folder(directory) + "/keep" }
    private static func copy(_ directory: String) -> String { folder(directory) + "/journal.sqlite" }
    private static func before(_ directory: String) -> String { folder(directory) + "/before" }
    /// Where the journal's end is marked, and where the old one's mark is kept meanwhile.
    private static func mark(_ directory: String) -> String { EndMarkFile.path(directory) }
    private static func oldMark(_ directory: String) -> String { EndMarkFile.path(before(directory)) }
    private static func journal(_ directory: String) -> String { directory + "/journal.sqlite" }

    /// Whether the next start puts a copy in the journal's place.
    public static func isWanted(_ directory: String) -> Bool {
        Storage.exists(ready(directory)) || Storage.exists(undo(directory))
    }

    /// Makes an empty folder for a copy; one that was there is forgotten.
    /// - Returns: Where the copy has to be written.
    /// - Throws: `inUse` where one is wanted already, which the next start looks after.
    public static func begin(_ directory: String) throws(JournalError) -> String {
        guard !isWanted(directory) else {
            throw .inUse(detail: "a copy waits for the next start to take the journal’s place")
        }
        try forget(directory)
        try Storage.makeFolder(folder(directory))
        try Storage.makeFile(copy(directory))
        return copy(directory)
    }

    /// Forgets a copy that is not wanted.
    public static func forget(_ directory: String) throws(JournalError) {
        guard !isWanted(directory), Storage.exists(folder(directory)) else { return }
        try remove(folder(directory))
    }

    /// Checks a copy whole and makes it this terminal's: its secrets are sealed with `key`, nobody is signed in, nothing is said of
    /// the other machine's updates, and what it sends bears another name from here on.
    /// - Parameters:
    ///   - ends: Where the copy has to end.
    ///   - entry: For the copy's audit log: that it was restored, by whom, from what.
    /// - Returns: How many of its charges no authority has ended.
    /// - Throws: ``JournalError``: it cannot be used. The journal is as it was.
    public static func prepare(
        _ directory: String,
        endingAt ends: JournalCopy.Ends,
        secrets: [String: [UInt8]],
        key: DeviceKey,
        entry: AuditEntry
    ) async throws(JournalError) -> Int {
        let path = copy(directory)
        do { try adopt(path, key) } catch { throw JournalError(error, in: directory) }
        let journal = try Journal.open(directory: folder(directory), deviceKey: key)
        let open: Int
        do throws(JournalError) {
            try await check(journal, ends)
            for (name, bytes) in secrets { try await journal.setSecret(name, bytes, by: entry.who, at: entry.at) }
            try await journal.writing { db in
                try db.execute(sql: "DELETE FROM document WHERE name IN ('sessions', 'update')")
            }
            try await journal.renameSender(after: ends.entries, by: entry.who, at: entry.at)
            try await journal.note(RecordGap(.restored, at: entry.at), by: entry.who)
            try await journal.audit(entry)
            open = try await journal.openCharges().count
        } catch {
            try? journal.close()
            throw error
        }
        try journal.close()
        // Its place is another folder, and nothing marks its end there yet.
        do { try forgetMark(path) } catch { throw JournalError(error, in: directory) }
        guard (Storage.size(path + "-wal") ?? 0) == 0 else {
            throw .unavailable(detail: "the copy could not be written to its end")
        }
        for name in ["-wal", "-shm"] { unsafe unlink(path + name) }
        try Storage.sync(path)
        try Storage.sync(folder(directory))
        return open
    }

    /// Makes the copy a journal of this terminal: with a log, without the mark of where it came from, its audit log sealed by `key`.
    /// - Throws: `corrupt` where this terminal wrote its audit log and somebody changed it since.
    private static func adopt(_ path: String, _ key: DeviceKey) throws {
        let file = try DatabaseQueue(path: path)
        try file.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try file.write { db in
            // Whatever else is missing is found, and named, by whoever checks the copy.
            guard try db.tableExists("meta"), try db.tableExists("audit") else { return }
            try db.execute(sql: "DELETE FROM meta WHERE name = 'marked'")
            try AuditSeal.adopt(db, key: key)
        }
        try file.close()
    }

    private static func forgetMark(_ path: String) throws {
        let file = try DatabaseQueue(path: path)
        try file.write { db in try db.execute(sql: "DELETE FROM meta WHERE name = 'marked'") }
        try file.close()
    }

    private static func check(_ journal: Journal, _ ends: JournalCopy.Ends) async throws(JournalError) {
        let found = try await journal.reading { db in try Journal.ends(db) }
        guard found == ends else { throw .corrupt(detail: "the copy does not end where its own list says") }
        for check in [try await journal.verifyChain(), try await journal.verifyAudit()] {
            if case .broken(let sequence, let what) = check {
                throw .corrupt(detail: "entry \(sequence) of the copy: \(what)")
            }
        }
    }

    /// Says that the next start shall put the copy in the journal's place. What is open then is looked at once more.
    public static func want(_ directory: String) throws(JournalError) {
        guard Storage.exists(copy(directory)) else {
            throw .unavailable(detail: "there is no copy that was checked")
        }
        if !Storage.exists(ready(directory)) { try Storage.makeFile(ready(directory)) }
        try Storage.sync(folder(directory))
        try Storage.sync(directory)
    }

    // MARK: - At the start

    /// Does what is wanted. Nobody may have the journal open.
    /// - Throws: ``JournalError``: what was begun goes on at the next start.
    public static func finish(_ directory: String, key: DeviceKey) async throws(JournalError) -> Outcome {
        try await finish(directory, key: key, before: { _ in })
    }

    /// - Parameter step: Called before each change of the storage.
    static func finish(
        _ directory: String,
        key: DeviceKey,
        before step: (String) throws(JournalError) -> Void
    ) async throws(JournalError) -> Outcome {
        if Storage.exists(undo(directory)) {
            try putBack(directory, step)
            return .putBack(.corrupt(detail: "the restored journal did not stand before the last stop"))
        }
        guard Storage.exists(ready(directory)) else {
            // Remains of one that was not wanted, or of the old one after the new one stood.
            if Storage.exists(folder(directory)) {
                try step("forget the folder")
                try remove(folder(directory))
            }
            return .nothing
        }
        if Storage.exists(copy(directory)) {
            if !Storage.exists(before(directory) + "/journal.sqlite"), Storage.exists(journal(directory)) {
                let open = try await openCharges(directory, key, step)
                guard open == 0 else {
                    try step("take the mark away")
                    try unlinkFile(ready(directory))
                    try Storage.sync(folder(directory))
                    try remove(folder(directory))
                    return .refused(openCharges: open)
                }
            }
            try swap(directory, step)
        }
        return try await stand(directory, key, step)
    }

    /// Of the journal that is there. One that cannot be read counts none, and is kept.
    private static func openCharges(
        _ directory: String,
        _ key: DeviceKey,
        _ step: (String) throws(JournalError) -> Void
    ) async throws(JournalError) -> Int {
        do throws(JournalError) {
            // It makes place for the backup: what a newer version has left does not stand in the way.
            let journal = try Journal.open(directory: directory, deviceKey: key, goingBack: true)
            let open = try await journal.openCharges().count
            try journal.close()
            return open
        } catch {
            guard case .corrupt = error else { throw error }
            if !Storage.exists(keep(directory)) {
                try step("note that it is damaged")
                try Storage.makeFile(keep(directory))
                try Storage.sync(folder(directory))
            }
            return 0
        }
    }

    /// The old one aside, the new one in its place. Which files lie where says how far it came.
    private static func swap(
        _ directory: String,
        _ step: (String) throws(JournalError) -> Void
    ) throws(JournalError) {
        let lock = try StorageLock(directory + "/journal.lock")
        defer { lock.release() }
        try Storage.makeFolder(before(directory))
        let (old, aside) = (journal(directory), before(directory) + "/journal.sqlite")
        if Storage.exists(old) {
            try step("put the old one aside")
            try move(old, aside)
        }
        if Storage.exists(old + "-wal") {
            try step("put its log aside")
            try move(old + "-wal", aside + "-wal")
        }
        unsafe unlink(old + "-shm")
        if Storage.exists(mark(directory)) {
            try step("put the mark of its end aside")
            try move(mark(directory), oldMark(directory))
        }
        try step("remove the old one's copies")
        try Journal.removeCopies(of: old)
        try Storage.sync(before(directory))
        try Storage.sync(directory)
        try step("put the new one in its place")
        try move(copy(directory), old)
        try Storage.sync(directory)
        try Storage.sync(folder(directory))
    }

    /// Opens the new one; only then the old one goes.
    private static func stand(
        _ directory: String,
        _ key: DeviceKey,
        _ step: (String) throws(JournalError) -> Void
    ) async throws(JournalError) -> Outcome {
        let name: String
        do throws(JournalError) {
            try step("open the new one")
            let journal = try Journal.open(directory: directory, deviceKey: key)
            name = try await journal.reading { db in try Journal.name(db) }
            try journal.close()
        } catch {
            // A full storage or another program is no reason to give it up.
            guard case .corrupt = error else { throw error }
            try step("note that it does not stand")
            try move(ready(directory), undo(directory))
            try Storage.sync(folder(directory))
            try putBack(directory, step)
            return .putBack(error)
        }
        let lock = try StorageLock(directory + "/journal.lock")
        try lock.mark(name)
        lock.release()
        let isDamaged = Storage.exists(keep(directory))
        if isDamaged, Storage.exists(before(directory)) {
            let kept = "\(directory)/\(damagedFolder)"
            try step("keep the damaged one")
            if Storage.exists(kept) { try remove(kept) }
            try move(before(directory), kept)
            try Storage.sync(directory)
        }
        try step("take the mark away")
        try unlinkFile(ready(directory))
        try Storage.sync(folder(directory))
        try step("erase the old one")
        try remove(folder(directory))
        return .restored(keptDamaged: isDamaged)
    }

    private static func putBack(
        _ directory: String,
        _ step: (String) throws(JournalError) -> Void
    ) throws(JournalError) {
        let lock = try StorageLock(directory + "/journal.lock")
        defer { lock.release() }
        let (place, aside) = (journal(directory), before(directory) + "/journal.sqlite")
        if Storage.exists(aside) {
            if Storage.exists(place) {
                // Its log first: beside the old one it would be taken for the old one's.
                try step("remove the new one")
                for name in ["-wal", "-shm"] { unsafe unlink(place + name) }
                try Storage.sync(directory)
                try unlinkFile(place)
                try Storage.sync(directory)
            }
            if Storage.exists(aside + "-wal") {
                try step("bring the log back")
                try move(aside + "-wal", place + "-wal")
                try Storage.sync(directory)
            }
            if Storage.exists(oldMark(directory)) {
                try step("bring the mark of its end back")
                try move(oldMark(directory), mark(directory))
            }
            try step("bring the old one back")
            try move(aside, place)
            try Storage.sync(directory)
        }
        try step("forget that it did not stand")
        try unlinkFile(undo(directory))
        try Storage.sync(folder(directory))
        try remove(folder(directory))
    }

    // MARK: - Files

    private static func move(_ from: String, _ to: String) throws(JournalError) {
        guard unsafe rename(from, to) == 0 else { throw Storage.failure(of: from) }
    }

    private static func unlinkFile(_ path: String) throws(JournalError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw Storage.failure(of: path) }
    }

    private static func remove(_ folder: String) throws(JournalError) {
        try Wipe.eraseContents(of: folder)
        guard unsafe rmdir(folder) == 0 else { throw Storage.failure(of: folder) }
        try Storage.sync((folder as NSString).deletingLastPathComponent)
    }
}

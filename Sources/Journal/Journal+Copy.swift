import Foundation
import GRDB
import Glibc
public import Payments

/// A journal as it was at one moment, in a file of its own that holds no secret. Prints as "redacted".
public struct JournalCopy: Sendable, CustomStringConvertible, CustomReflectable {
    /// Where it stands: its last entry and the audit log's, with their hashes.
    public struct Ends: Sendable, Codable, Equatable {
        public var entries: Int64
        /// 32 bytes; of an empty journal, zeros.
        public var head: [UInt8]
        public var auditEntries: Int64
        public var auditHead: [UInt8]
    }

    /// The journal's own name, which all copies of it bear.
    public let journal: String
    public let ends: Ends
    /// How many charges no authority has ended.
    public let openCharges: Int
    /// Of the file.
    public let bytes: Int
    /// What was sealed with the device's key, opened.
    public let secrets: [String: [UInt8]]
    /// Names of secrets that could not be opened, and so are nowhere in it.
    public let lostSecrets: [String]

    public var description: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Journal {
    /// Copies the journal as it is at this moment into a new file; charges go on meanwhile. A file that is there goes first.
    ///
    /// Secrets come beside it, opened. Pairings and sessions of wallets stay: two terminals must not speak for one.
    /// - Throws: ``JournalError``: `diskFull` where the copy has no room. Nothing of it is left then.
    public func copy(to path: String) async throws(JournalError) -> JournalCopy {
        guard Storage.hasRoom(directory, for: fileBytes) else { throw .diskFull }
        Self.removeCopy(path)
        try Storage.makeFile(path)
        do throws(JournalError) {
            return try await reading { [key] db in
                let ends = try Self.ends(db)
                let open = try Int.fetchOne(db, sql: "SELECT count(*) FROM charge WHERE open = 1") ?? 0
                let (name, sealed) = try Self.write(db, to: path)
                var (secrets, lost) = ([String: [UInt8]](), [String]())
                for (name, bytes) in sealed {
                    do { secrets[name] = try key.open(bytes, name: name) } catch { lost.append(name) }
                }
                return JournalCopy(
                    journal: name,
                    ends: ends,
                    openCharges: open,
                    bytes: Storage.size(path) ?? 0,
                    secrets: secrets,
                    lostSecrets: lost.sorted()
                )
            }
        } catch {
            Self.removeCopy(path)
            throw error
        }
    }

    /// Removes such a file, and what SQLite may have left beside it.
    public static func removeCopy(_ path: String) {
        for name in [path, path + "-wal", path + "-shm", path + "-journal"] { unsafe unlink(name) }
    }

    /// Removes the copies that changes of the tables have left beside a journal, and one that a way back has put aside.
    static func removeCopies(of path: String, keeping kept: [String] = []) throws(JournalError) {
        let (folder, name) = ((path as NSString).deletingLastPathComponent, (path as NSString).lastPathComponent)
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
            throw Storage.failure(of: folder)
        }
        for copy in names where copy.hasPrefix(name + ".") && !kept.contains("\(folder)/\(copy)") {
            removeCopy("\(folder)/\(copy)")
        }
    }

    static func ends(_ db: Database) throws -> JournalCopy.Ends {
        let (events, audits) = (try Chain.events.tail(db), try Chain.audit.tail(db))
        return JournalCopy.Ends(
            entries: events.sequence,
            head: Array(events.hash),
            auditEntries: audits.sequence,
            auditHead: Array(audits.hash)
        )
    }

    /// The journal's name.
    static func name(_ db: Database) throws -> String {
        try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = 'journal'") ?? ""
    }

    /// - Returns: The journal's name, and its secrets as they were sealed.
    private static func write(_ db: Database, to path: String) throws -> (String, [String: Data]) {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }  // Closed below; where that was not reached, the file goes.
        try file.writeWithoutTransaction { copy in try db.backup(to: copy) }
        let contents = try file.writeWithoutTransaction { copy in
            // One file, whatever becomes of it; and no trace of what is taken out.
            try copy.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON; PRAGMA synchronous = OFF")
            let rows = try Row.fetchAll(copy, sql: "SELECT name, sealed FROM secret")
            var sealed: [String: Data] = [:]
            for row in rows { sealed[try row.decode(String.self, atIndex: 0)] = try row.decode(Data.self, atIndex: 1) }
            try copy.execute(sql: "DELETE FROM secret; DELETE FROM connect")
            return (try name(copy), sealed)
        }
        try file.close()
        return contents
    }
}

extension Storage {
    /// Whether so many bytes fit, with some to spare for what the terminal writes meanwhile.
    static func hasRoom(_ directory: String, for bytes: Int) -> Bool {
        guard let free = freeBytes(directory) else { return true }
        return free > UInt64(max(0, bytes)) + 8 * 1024 * 1024
    }

    /// What this user may still write there; nil where nobody can say.
    static func freeBytes(_ directory: String) -> UInt64? {
        var status = statvfs()
        guard unsafe statvfs(directory, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
    }
}

import Glibc
import Payments

/// The database and the log as this program has them open, compared with what the next start would find under their names.
///
/// SQLite goes on writing into a file that was deleted or replaced, and reports success. What it writes there is gone at the next
/// start. Source: SQLite, "How To Corrupt An SQLite Database File", section 1.3 and 2.3.
struct RecordFiles: Sendable {
    /// A file by its place on the storage, and its length in bytes when it was looked at last.
    private struct Known: Sendable {
        let device: UInt64
        let inode: UInt64
        var bytes: Int64

        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            (device, inode, bytes) = (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
        }
    }

    private let path: String
    private var database: Known?
    /// Nil until SQLite has made it: it does so with the first transaction.
    private var log: Known?

    /// - Parameter path: The database's, which is open.
    init(_ path: String) {
        self.path = path
        (database, log) = (Known(path), Known(path + "-wal"))
    }

    /// - Throws: ``JournalError/replaced(detail:)``: nothing may be written any more.
    func check() throws(JournalError) {
        try Self.check(path, database)
        try Self.check(path + "-wal", log)
    }

    private static func check(_ path: String, _ known: Known?) throws(JournalError) {
        guard let known else { return }
        guard let now = Known(path) else { throw .replaced(detail: "\(path) was deleted while the terminal runs") }
        guard now.device == known.device, now.inode == known.inode else {
            throw .replaced(detail: "\(path) was replaced while the terminal runs")
        }
        guard now.bytes >= known.bytes else {
            throw .replaced(detail: "\(path) was cut from \(known.bytes) to \(now.bytes) bytes while the terminal runs")
        }
    }

    /// Takes the lengths after a transaction of this program. Call it where the log was emptied on purpose, too.
    mutating func look() {
        database = database ?? Known(path)
        log = log ?? Known(path + "-wal")
        if let now = Known(path), let known = database, now.inode == known.inode { database?.bytes = now.bytes }
        if let now = Known(path + "-wal"), let known = log, now.inode == known.inode { log?.bytes = now.bytes }
    }
}

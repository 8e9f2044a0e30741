import GRDB
import Locks
public import Payments

extension Journal {
    /// Why nothing can be recorded now; nil where it can, as far as is known without writing.
    ///
    /// After a write that failed, one more is tried, of a value that stands there already: whoever asks finds out that it
    /// works again though nobody charges. Asking a journal that works costs no write.
    public func writeFault() async -> JournalError? {
        guard !queue.withLock(\.isClosed) else { return Self.closed }
        if !Storage.hasRoom(directory) { return .diskFull }
        guard lastFault != nil else { return nil }
        do throws(JournalError) {
            try await writing { db in
                try db.execute(sql: "UPDATE meta SET value = value WHERE name = 'journal'")
            }
            return nil
        } catch { return error }
    }

    /// Where it lies.
    public var folder: String { directory }

    /// What its secrets are sealed with. Prints as "redacted".
    public var deviceKey: DeviceKey { key }

    /// How long its file and the log beside it are.
    public var fileBytes: Int {
        ["/journal.sqlite", "/journal.sqlite-wal"].reduce(0) { $0 + (Storage.size(directory + $1) ?? 0) }
    }

    /// How many entries of charges there are, and how many of the audit log.
    public func entryCounts() async throws(JournalError) -> (charges: Int64, audit: Int64) {
        try await reading { db in
            (
                try Int64.fetchOne(db, sql: "SELECT max(seq) FROM event") ?? 0,
                try Int64.fetchOne(db, sql: "SELECT max(seq) FROM audit") ?? 0
            )
        }
    }

    /// The version of SQLite that keeps it, such as `3.40.1`.
    public func engineVersion() async throws(JournalError) -> String {
        try await reading { db in try String.fetchOne(db, sql: "SELECT sqlite_version()") ?? "" }
    }
}

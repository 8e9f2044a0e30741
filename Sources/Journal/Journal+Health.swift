import GRDB
import Locks
public import Payments

extension Journal {
    /// For how long no write that waits has had an answer; nil where none waits. Storage that hangs makes it grow.
    public var stalledFor: Duration? { queue.withLock(\.waitsSince).map { .now - $0 } }

    /// Why nothing can be recorded now; nil where it can.
    ///
    /// After a write that failed, and where the last one was a minute ago, one more is tried: whoever asks finds out that the storage
    /// works again, or does not any more, though nobody charges. It changes a value: SQLite writes no page whose bytes are the same.
    public func writeFault() async -> JournalError? {
        guard !queue.withLock(\.isClosed) else { return Self.closed }
        if !Storage.hasRoom(directory) { return .diskFull }
        if let filesFault { return filesFault }
        if lastFault == nil, let sinceWrite, sinceWrite < .seconds(60) { return nil }
        do throws(JournalError) {
            try await writing { db in
                try db.execute(
                    sql: """
                        INSERT INTO meta (name, value) VALUES ('probe', '1')
                        ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) % 1000000 + 1 AS TEXT)
                        """
                )
            }
            return nil
        } catch { return error }
    }

    /// Why the record of payments cannot be relied on now: nothing can be recorded, or what stands there could not be read.
    public func recordFault() async -> JournalError? { await writeFault() ?? lastReadFault ?? markFault }

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

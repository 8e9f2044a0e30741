import Foundation
import GRDB
import Glibc
import Payments

extension JournalError {
    /// What an error of SQLite, GRDB or the file system means to the caller.
    /// - Parameter directory: Where the journal lies: some calls that find no room are reported as I/O errors.
    init(_ error: any Error, in directory: String) {
        switch error {
        case let error as JournalError: self = error
        case let error as DatabaseError: self.init(error, in: directory)
        case is RowDecodingError: self = .corrupt(detail: "a field holds what was never written into it")
        default: self = .unavailable(detail: "\(error)")
        }
    }

    /// Source: SQLite, "Result and Error Codes".
    private init(_ error: DatabaseError, in directory: String) {
        let code = error.extendedResultCode
        let detail = "SQLite \(code.rawValue): \(error.message ?? "no message")"
        switch error.resultCode {
        case .SQLITE_FULL: self = .diskFull
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: self = .readOnly(detail: detail)
        // SQLite calls a page damaged, too, that the storage could not read. Source: os_unix.c, `SQLITE_IOERR_CORRUPTFS`.
        case .SQLITE_CORRUPT where Storage.readFailure(directory) != nil:
            self = .unavailable(detail: Storage.readFailure(directory) ?? detail)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_MISMATCH: self = .corrupt(detail: detail)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: self = .inUse(detail: detail)
        case .SQLITE_IOERR, .SQLITE_CANTOPEN:
            self = Storage.hasRoom(directory) ? .unavailable(detail: detail) : .diskFull
        case .SQLITE_CONSTRAINT: self = .unavailable(detail: "refused by the journal's own rules: \(detail)")
        default: self = .unavailable(detail: detail)
        }
    }

    /// True where a sync failed. The system may have dropped what was to be synced and report success the next time, so
    /// nothing written after it can be trusted. Source: LWN, "PostgreSQL's fsync() surprise" (2018).
    static func isLostSync(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return [.SQLITE_IOERR_FSYNC, .SQLITE_IOERR_DIR_FSYNC].contains(error.extendedResultCode)
    }
}

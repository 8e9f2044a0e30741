public import Payments

/// Why a backup was not made or cannot be used. Nothing at the terminal was changed.
public enum BackupError: Error, Sendable, Equatable {
    /// It is no backup of a terminal.
    case notABackup(detail: String)
    /// Made by a later version of the program.
    case newer
    /// The passphrase does not open it.
    case wrongPassphrase
    /// It was changed, cut, or put together anew after it was made.
    case damaged(detail: String)
    /// Its file went, or cannot be read to its end.
    case unreadable(detail: String)
    /// The storage does not take it.
    case noRoom
    case storage(detail: String)
    case journal(JournalError)

    /// In words for whoever restores.
    public var reason: Reason {
        let nothing = "Nothing was changed at this terminal."
        return switch self {
        case .notABackup:
            Reason(
                code: "backup_unknown",
                message: "This is no backup of a terminal. \(nothing)",
                action: "Choose the file that a terminal gave as its backup."
            )
        case .newer:
            Reason(
                code: "backup_newer",
                message: "The file comes from a newer version of the program. Nothing was changed.",
                action: "Update this terminal first."
            )
        case .wrongPassphrase:
            Reason(
                code: "backup_passphrase_wrong",
                message: "This passphrase does not open the backup. \(nothing)",
                action: "Type it again; without it nobody can open the file."
            )
        case .damaged:
            Reason(
                code: "backup_damaged",
                message: "The backup was changed or is not whole. \(nothing)",
                action: "Copy the file again from where it was kept, or use another backup."
            )
        case .unreadable:
            Reason(
                code: "backup_unreadable",
                message: "The file of the backup cannot be read, or not to its end. \(nothing)",
                action: "Where it is on a stick, plug that in again; otherwise choose the file again."
            )
        case .noRoom:
            Reason(
                code: "backup_no_room",
                message: "The terminal’s storage has no room for this. \(nothing)",
                action: "Free space on the terminal’s storage, then try again."
            )
        case .storage, .journal:
            Reason(
                code: "backup_storage",
                message: "The terminal’s storage did not do its part. \(nothing)",
                action: "Look at the terminal’s health, then try again."
            )
        }
    }

    static func io(_ error: any Error, _ what: String) -> BackupError {
        let text = "\(error)"
        let isFull = text.contains("No space left") || text.contains("Code=640") || text.contains("out of space")
        return isFull ? .noRoom : .storage(detail: "\(what): \(text)")
    }
}

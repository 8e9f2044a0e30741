import Glibc
public import Payments

/// Why a backup is not on a stick. What is at the terminal was not touched, and no file on the stick has a backup's name that
/// is not a whole one.
public enum StickError: Error, Sendable, Equatable {
    case noRoom
    /// It may not be written on.
    case readOnly
    /// It was pulled out, or does not answer any more.
    case gone
    case failed(detail: String)
    /// The backup itself could not be made.
    case backup(BackupError)

    init(errno number: Int32, _ what: String) {
        self =
            switch number {
            case ENOSPC, EDQUOT, EFBIG: .noRoom
            case EROFS, EACCES, EPERM: .readOnly
            case ENOENT, ENOTDIR, ENODEV, ENXIO, EIO, ESTALE: .gone
            default: .failed(detail: "\(what): error \(number)")
            }
    }

    /// In words for whoever takes the backup.
    public var reason: Reason {
        switch self {
        case .noRoom:
            Reason(
                code: "stick_full",
                message: "The stick has no room for the backup. Nothing of it is left there.",
                action: "Delete files from the stick at a computer, or take a larger one."
            )
        case .readOnly:
            Reason(
                code: "stick_read_only",
                message: "The stick takes no writes. Nothing was written.",
                action: "Look whether it has a switch against writing; otherwise take another one."
            )
        case .gone:
            Reason(
                code: "stick_gone",
                message: "The stick was pulled out, or does not answer any more. The backup is not on it.",
                action: "Plug it in again and write the backup once more; a stick that does this again is broken."
            )
        case .failed:
            Reason(
                code: "stick_failed",
                message: "The stick did not take the backup. The backup is not on it.",
                action: "Take another stick."
            )
        case .backup(let error): error.reason
        }
    }
}

import Screen

/// A backup on its way onto a USB stick, or from one, or taken up, for the screen.
public enum BackupProgress: Sendable, Equatable {
    /// It is being written onto the stick; `percent` from 0 to 100.
    case writing(percent: Int)
    /// It is on the stick as `file`, and the stick may go.
    case written(file: String)
    /// It is not on the stick.
    case notWritten
    /// It is being read from the stick and checked.
    case reading(file: String)
    /// It was read, and can be restored.
    case whole(file: String)
    /// It was read, and cannot be used.
    case notUsable(file: String)
    /// The terminal starts again with it.
    case restoring
    /// The terminal has started with it.
    case restored
    /// The terminal has started with what it had before.
    case notRestored

    var page: Scene.Backup {
        switch self {
        case .writing(let percent): Scene.Backup(.writing, percent: percent)
        case .written(let file): Scene.Backup(.written, file: file)
        case .notWritten: Scene.Backup(.notWritten)
        case .reading(let file): Scene.Backup(.reading, file: file)
        case .whole(let file): Scene.Backup(.whole, file: file)
        case .notUsable(let file): Scene.Backup(.notUsable, file: file)
        case .restoring: Scene.Backup(.restoring)
        case .restored: Scene.Backup(.restored)
        case .notRestored: Scene.Backup(.notRestored)
        }
    }
}

extension ChargeDesk {
    /// Shows how a backup stands. Charges go on, and have the screen while they do.
    public func showBackup(_ backup: BackupProgress) {
        guard self.backup != backup else { return }
        self.backup = backup
        publish()
    }

    /// Takes it from the screen again, unless something newer stands there.
    public func hideBackup(_ backup: BackupProgress) {
        guard self.backup == backup else { return }
        self.backup = nil
        publish()
    }
}

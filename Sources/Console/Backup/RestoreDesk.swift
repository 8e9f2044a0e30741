import Backup
import Foundation
import Journal
import Payments
import Terminal

/// Takes a backup up piece after piece, checks it, and has it become the terminal's memory.
actor RestoreDesk {
    /// What a browser sends at once. A longer file costs no more memory than this.
    static let pieceBytes = 512 * 1024
    /// A piece as base64, and what is around it.
    static let bodyBytes = 720 * 1024

    /// How far it has come.
    struct Status: Sendable, Equatable {
        var totalBytes: Int?
        var receivedBytes = 0
        var prepared: PreparedBackup?
        /// Whether the next start takes it up.
        var isWanted = false
    }

    private let journal: Journal
    private let clock: TerminalClock
    private let begin: (@Sendable () throws(JournalError) -> Void)?
    private(set) var status = Status()
    private var file: FileHandle?
    /// Where it is read from instead of what was sent.
    private var stickPath: String?
    private var isChecking = false

    init(journal: Journal, clock: TerminalClock, begin: (@Sendable () throws(JournalError) -> Void)?) {
        (self.journal, self.clock, self.begin) = (journal, clock, begin)
    }

    private var path: String { journal.folder + "/restore.upload" }
    /// Where the copy lies that a backup is made of.
    nonisolated var copyPath: String { journal.folder + "/backup.copy" }
    /// The same for one that goes onto a stick.
    nonisolated var stickCopyPath: String { journal.folder + "/stick.copy" }

    /// Removes what an earlier run left behind.
    func load() {
        try? FileManager.default.removeItem(atPath: path)  // Mostly there is none.
        Journal.removeCopy(copyPath)
        Journal.removeCopy(stickCopyPath)
    }

    /// Begins to take a file up; an earlier one is forgotten.
    func begin(bytes: Int64) throws(Problem) {
        try requireIdle()
        drop()
        guard bytes > 0, bytes <= Int64(BackupReader.mostBytes) else {
            throw .field("file", BackupError.notABackup(detail: "its length").reason)
        }
        // The file, and what is in it.
        try requireRoom(2 * bytes)
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw Problem(503, BackupError.storage(detail: "").reason) }
        file = handle
        status = Status(totalBytes: Int(bytes))
    }

    /// Takes a file on a stick in place of one that is sent. It is read where it lies.
    func take(_ file: BackupSticks.File) throws(Problem) {
        try requireIdle()
        drop()
        guard file.bytes > 0, file.bytes <= Int64(BackupReader.mostBytes) else {
            throw .field("file", BackupError.notABackup(detail: "its length").reason)
        }
        try requireRoom(file.bytes)
        stickPath = file.path
        status = Status(totalBytes: Int(file.bytes), receivedBytes: Int(file.bytes))
    }

    /// Takes the next piece. One that has arrived already is taken for the same once more: its answer may have been lost.
    func add(_ piece: [UInt8], at place: Int64) throws(Problem) {
        try requireIdle()
        guard let file, let total = status.totalBytes, status.prepared == nil else { throw Self.notBegun }
        switch PieceTurn(of: piece.count, at: place, receivedBytes: status.receivedBytes, totalBytes: total) {
        case .again: return
        case .outOfTurn: throw Self.outOfPlace
        case .next: break
        }
        do { try file.write(contentsOf: piece) } catch {
            drop()
            throw Problem(503, BackupError.noRoom.reason)
        }
        status.receivedBytes += piece.count
    }

    /// Forgets the file, and what was prepared of it.
    func drop() {
        guard !isChecking, !Restore.isWanted(journal.folder) else { return }
        try? file?.close()
        (file, stickPath) = (nil, nil)
        status = Status()
        try? FileManager.default.removeItem(atPath: path)
        try? Restore.forget(journal.folder)  // The next start does it where this cannot.
    }

    /// Opens the file and checks all of it. Takes as long as the file is long.
    func check(_ passphrase: String, by who: Payments.Actor, from peer: String) async throws(Problem) -> PreparedBackup
    {
        try requireIdle()
        guard let total = status.totalBytes, status.receivedBytes == total else { throw Self.notBegun }
        isChecking = true
        defer { isChecking = false }
        status.prepared = nil
        do throws(BackupError) {
            let prepared = try await BackupReader.prepare(
                stickPath ?? path,
                passphrase: passphrase,
                for: journal.folder,
                key: journal.deviceKey,
                by: (who, peer),
                at: clock.wallTime()
            )
            status.prepared = prepared
            return prepared
        } catch {
            switch error {
            case .wrongPassphrase: throw .field("passphrase", error.reason)
            case .notABackup, .newer, .damaged: throw .field("file", error.reason)
            case .unreadable, .noRoom, .storage, .journal: throw Problem(503, error.reason)
            }
        }
    }

    /// Has it become the journal: the program ends, and its next start does it.
    func apply() throws(Problem) {
        try requireIdle()
        guard let begin, status.prepared != nil else { throw Self.notChecked }
        do throws(JournalError) { try begin() } catch { throw Problem(503, error.reason) }
        status.isWanted = true
        try? file?.close()
        try? FileManager.default.removeItem(atPath: path)
    }

    /// With some for the terminal to go on.
    private func requireRoom(_ bytes: Int64) throws(Problem) {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: journal.folder)
        if let free = attributes?[.systemFreeSize] as? NSNumber, free.int64Value < bytes + 16 * 1024 * 1024 {
            throw Problem(503, BackupError.noRoom.reason)
        }
    }

    private func requireIdle() throws(Problem) {
        guard !isChecking, !status.isWanted else {
            throw Problem(
                409,
                "restore_busy",
                "The terminal is working on a backup already. Nothing was changed.",
                "Wait until it is done."
            )
        }
    }

    private static let notBegun = Problem(
        409,
        "restore_not_begun",
        "The backup has not arrived whole at the terminal. Nothing was changed.",
        "Choose the file again."
    )
    private static let outOfPlace = Problem(
        409,
        "restore_out_of_place",
        "A piece of the backup came out of its turn. Nothing was changed.",
        "Choose the file again."
    )
    private static let notChecked = Problem(
        409,
        "restore_not_checked",
        "No backup was checked. Nothing was changed.",
        "Choose the file and check it first."
    )
}

import Foundation
import Glibc
public import Payments

/// Erases everything that a terminal keeps: first the key that its secrets are sealed with, then every file.
///
/// A mark in the folder says that it has begun, and goes last: after a power cut the next start finishes it.
public enum Wipe {
    private static let mark = "wipe.begun"

    /// Notes that everything is to be erased, and erases the device's key: what is sealed cannot be read from here on. The
    /// journal may still be open.
    /// - Throws: ``JournalError``: nothing was erased, or no more than the key; what was begun is finished at the next start.
    public static func begin(_ directory: String) throws(JournalError) {
        guard Storage.exists(directory + "/journal.lock") || Storage.exists(directory + "/device.key") else {
            throw .unavailable(detail: "there is no terminal’s memory at \(directory)")
        }
        if !isBegun(directory) { try Storage.makeFile("\(directory)/\(mark)") }
        try Storage.sync(directory)
        if Storage.exists(directory + "/device.key") { try erase(directory + "/device.key") }
        try Storage.sync(directory)
    }

    public static func isBegun(_ directory: String) -> Bool { Storage.exists("\(directory)/\(mark)") }

    /// Erases what is left. Nobody may have the journal open.
    /// - Throws: ``JournalError``: `inUse` where somebody has; what could not be erased is tried again at the next start.
    public static func finish(_ directory: String) throws(JournalError) {
        let lock = try StorageLock(directory + "/journal.lock")
        defer { lock.release() }
        try eraseContents(of: directory, but: mark)
        try Storage.sync(directory)
        guard unsafe unlink("\(directory)/\(mark)") == 0 || errno == ENOENT else {
            throw Storage.failure(of: "the mark of erasing")
        }
        try Storage.sync(directory)
    }

    static func eraseContents(of folder: String, but kept: String? = nil) throws(JournalError) {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
            throw .unavailable(detail: "\(folder) cannot be listed: \(error.localizedDescription)")
        }
        for name in names where name != kept {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { continue }  // Somebody was faster.
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                try eraseContents(of: path)
                guard unsafe rmdir(path) == 0 else { throw Storage.failure(of: path) }
            case S_IFREG where status.st_nlink == 1: try erase(path)
            // What a link leads to is not the terminal's own.
            default: guard unsafe unlink(path) == 0 else { throw Storage.failure(of: path) }
            }
        }
    }

    /// Writes zeros over a file of the terminal's before it goes. Flash memory may keep the old bytes elsewhere for a while, where
    /// only its maker reads them: what is secret is sealed, and its key was erased first.
    public static func erase(_ path: String) throws(JournalError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Storage.failure(of: path) }
        defer { close(descriptor) }
        var left = max(0, lseek(descriptor, 0, SEEK_END))
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw Storage.failure(of: path) }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        while left > 0 {
            let count = unsafe write(descriptor, zeros, min(zeros.count, left))
            // A full or broken storage takes nothing: the file goes all the same.
            guard count > 0 else { break }
            left -= count
        }
        fsync(descriptor)
        guard unsafe unlink(path) == 0 else { throw Storage.failure(of: path) }
    }
}

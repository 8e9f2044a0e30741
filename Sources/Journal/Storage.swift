import Foundation
import Glibc
import Locks
import Payments

/// Files and folders that only this user can read, and what the system's errors about them mean.
enum Storage {
    /// Makes a folder that only this user can read; tightens one that others could.
    static func makeFolder(_ path: String) throws(JournalError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw .unavailable(detail: "the folder \(path) cannot be made: \(error.localizedDescription)")
        }
        guard unsafe chmod(path, 0o700) == 0 else { throw failure(of: "the folder \(path)") }
    }

    /// Makes an empty file, mode 0600. The files that SQLite puts beside a database get the database's mode.
    /// - Throws: Also where it exists.
    static func makeFile(_ path: String) throws(JournalError) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(of: path) }
        close(descriptor)
    }

    /// Makes sure that nobody else can read the file.
    static func tighten(_ path: String) throws(JournalError) {
        guard unsafe chmod(path, 0o600) == 0 else { throw failure(of: path) }
    }

    /// Waits until what was written to the file, or which files the folder holds, survives a power cut.
    static func sync(_ path: String) throws(JournalError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(of: path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(of: path) }
    }

    /// Makes a file, mode 0600, that holds what another one does. Survives a power cut once its folder is synced too.
    /// - Throws: Also where it exists. What was written of it stays.
    static func copy(_ path: String, to new: String) throws(JournalError) {
        let source = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw failure(of: path) }
        defer { close(source) }
        let target = unsafe open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw failure(of: new) }
        defer { close(target) }
        while true {
            let count = sendfile(target, source, nil, 1 << 30)
            guard count >= 0 else { throw failure(of: new) }
            guard count > 0 else { break }
        }
        guard fsync(target) == 0 else { throw failure(of: new) }
    }

    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Nil where there is no such file.
    static func size(_ path: String) -> Int? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// False where less is left. 64 KiB are as good as nothing to a database.
    static func hasRoom(_ directory: String, bytes: UInt64 = 64 * 1024) -> Bool {
        var status = statvfs()
        guard unsafe statvfs(directory, &status) == 0 else { return true }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize) >= bytes
    }

    /// What the system says where the journal's files cannot be read to their end; nil where they can, or are not there. Reads up
    /// to 256 MB of each: for a record that was just called damaged.
    static func readFailure(_ directory: String) -> String? {
        for path in [directory + "/journal.sqlite", directory + "/journal.sqlite-wal"] {
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            for part in 0..<256 {
                let count = unsafe pread(descriptor, &bytes, bytes.count, off_t(part) << 20)
                guard count >= 0 else { return unsafe "\(path) cannot be read: \(String(cString: strerror(errno)))" }
                if count == 0 { break }
            }
        }
        return nil
    }

    /// What the system says of the call that just failed.
    static func failure(of what: String) -> JournalError {
        let code = errno
        let detail = unsafe "\(what): \(String(cString: strerror(code)))"
        return switch code {
        case ENOSPC, EDQUOT: .diskFull
        case EROFS, EACCES, EPERM: .readOnly(detail: detail)
        default: .unavailable(detail: detail)
        }
    }
}

/// Keeps a second program, or a second part of this one, from opening the same journal.
///
/// It also remembers that a journal was made here, so that one that vanished is not taken for a fresh start.
final class StorageLock: Sendable {
    private let descriptor: Mutex<Int32?>

    /// - Throws: `inUse` where somebody else holds it.
    init(_ path: String) throws(JournalError) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Storage.failure(of: path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error: JournalError =
                errno == EWOULDBLOCK
                ? .inUse(detail: "another program has this journal open: \(path)") : Storage.failure(of: path)
            close(descriptor)
            throw error
        }
        self.descriptor = Mutex(descriptor)
    }

    /// The name of the journal that was made here; empty where none was.
    var mark: String {
        descriptor.withLock { descriptor in
            guard let descriptor else { return "" }
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    func mark(_ name: String) throws(JournalError) {
        let bytes = Array(name.utf8)
        let isWritten = descriptor.withLock { descriptor in
            guard let descriptor else { return false }
            return unsafe pwrite(descriptor, bytes, bytes.count, 0) == bytes.count && fsync(descriptor) == 0
        }
        guard isWritten else { throw Storage.failure(of: "the journal's lock") }
    }

    func release() {
        descriptor.withLock { descriptor in
            if let held = descriptor {
                flock(held, LOCK_UN)  // A child that is being started has a copy: closing ours would not let go.
                close(held)
            }
            descriptor = nil
        }
    }

    deinit { release() }
}

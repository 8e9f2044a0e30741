import Crypto
import Foundation
import Glibc
public import Payments

/// The key that seals this device's secrets at rest: 32 random bytes, made on the device, readable by its user alone.
///
/// It lies beside what it seals until hardware holds it, so it keeps secrets out of backups and logs, not from a thief of
/// the whole storage.
public struct DeviceKey: Sendable, CustomStringConvertible, CustomReflectable {
    let key: SymmetricKey

    public var description: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Reads the key, or makes one where there is none.
    /// - Throws: ``JournalError``: the file cannot be read, cannot be made, or is no key.
    public static func loadOrCreate(at path: String) throws(JournalError) -> DeviceKey {
        try Storage.makeFolder((path as NSString).deletingLastPathComponent)
        if FileManager.default.fileExists(atPath: path) {
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw .unavailable(detail: "the device key cannot be read")
            }
            guard bytes.count == 32 else { throw .corrupt(detail: "the device key has another length than 32 bytes") }
            return DeviceKey(key: SymmetricKey(data: bytes))
        }
        let key = SymmetricKey(size: .bits256)
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Storage.failure(of: "the device key") }
        defer { close(descriptor) }
        let written = unsafe key.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        guard written == 32, fsync(descriptor) == 0 else {
            let error = Storage.failure(of: "the device key")
            unsafe unlink(path)  // Half a key would look like a damaged one at the next start.
            throw error
        }
        return DeviceKey(key: key)
    }
}

/// Folders and locks of the file system.
enum Storage {
    /// Makes a folder that only this user can read; tightens one that others could.
    static func makeFolder(_ path: String) throws(JournalError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw .unavailable(detail: "the folder \(path) cannot be made: \(error.localizedDescription)")
        }
        guard unsafe chmod(path, 0o700) == 0 else { throw failure(of: "the folder") }
    }

    /// What the system says of the call that just failed.
    static func failure(of what: String) -> JournalError {
        let code = errno
        let reason = unsafe String(cString: strerror(code))
        return switch code {
        case ENOSPC, EDQUOT: .diskFull
        case EROFS, EACCES, EPERM: .readOnly(detail: "\(what): \(reason)")
        default: .unavailable(detail: "\(what): \(reason)")
        }
    }
}

/// Keeps a second program from opening the same journal, for as long as it lives.
final class StorageLock: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws(JournalError) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Storage.failure(of: "the journal's lock") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .inUse(detail: path)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}

import Glibc

/// Where a phone keeps what it must not forget. A call returns when the disk has it.
public protocol PhoneStorage: Sendable {
    /// Replaces what was kept before, wholly or not at all.
    func save(_ text: String) throws(StateFileError)
    /// Nil on a phone that was never used.
    func load() throws(StateFileError) -> String?
}

/// One file, replaced as a whole each time, and a lock beside it: two phones with one memory would pay twice.
public final class PhoneStateFile: PhoneStorage {
    private let path: String
    private let lock: Int32

    /// - Throws: Also when another process has it open.
    public init(_ path: String) throws(StateFileError) {
        self.path = path
        lock = unsafe Glibc.open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Self.failure("cannot be locked", path) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw StateFileError(description: "\(path) is in use by another phone")
        }
    }

    deinit { close(lock) }

    public func load() throws(StateFileError) -> String? {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("cannot be opened", path)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure("cannot be read", path) }
            if count == 0 { break }
            bytes.append(contentsOf: buffer[..<count])
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    public func save(_ text: String) throws(StateFileError) {
        let draft = path + ".new"
        let descriptor = unsafe Glibc.open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure("cannot be written", draft) }
        do throws(StateFileError) {
            try Self.write(Array(text.utf8), to: descriptor, draft)
            close(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        guard unsafe rename(draft, path) == 0 else { throw Self.failure("cannot be replaced", path) }
        // The new name is only there after a power cut when the folder is on the disk too. Source: fsync(2).
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let directory = unsafe Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Self.failure("is in a folder that cannot be opened", path) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Self.failure("is in a folder that cannot be flushed", path) }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(StateFileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("cannot be written", path) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw failure("cannot be flushed", path) }
    }

    private static func failure(_ what: String, _ path: String) -> StateFileError {
        let reason = unsafe String(cString: strerror(errno))
        return StateFileError(description: "\(path) \(what): \(reason)")
    }
}

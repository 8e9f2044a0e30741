import Dispatch
import Glibc

/// The file behind a gateway that remembers: lines are only ever added, and are on the disk when ``append(_:)`` returns.
///
/// It writes on a queue of its own: writing and flushing block, and must not take a thread from the server's tasks.
public final class StateFile: Sendable {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "sandbox state file")

    /// What was in the file when it was opened.
    public struct Content: Sendable {
        public let lines: [String]
        /// Bytes of a last line that was never finished. They were cut off: nobody was answered for them.
        public let tornBytes: Int
    }

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens the file, or makes it, and reads it. Blocks: call before serving.
    /// - Throws: Also when another gateway has it open.
    public static func open(_ path: String) throws(StateFileError) -> (StateFile, Content) {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be opened", path) }
        let file = StateFile(descriptor: descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw StateFileError(description: "\(path) is in use by another gateway")
        }
        let bytes = try read(descriptor, path)
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if end < bytes.count {
            guard ftruncate(descriptor, end) == 0, fsync(descriptor) == 0 else {
                throw failure("cannot be cut after its last whole line", path)
            }
        }
        guard lseek(descriptor, 0, SEEK_END) >= 0 else { throw failure("cannot be written at its end", path) }
        try syncFolder(of: path)
        let lines = bytes[..<end].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        return (file, Content(lines: lines.map { String(decoding: $0, as: UTF8.self) }, tornBytes: bytes.count - end))
    }

    /// Writes the lines and waits until the disk has them.
    /// - Throws: The file is then in a state that nobody knows: stop.
    func append(_ lines: [String]) async throws(StateFileError) {
        // Not `self`: who lets go of the file right after this must be the last one to hold it.
        let descriptor = descriptor
        let result = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(StateFileError) in try Self.write(lines, to: descriptor) }
                )
            }
        }
        try result.get()
    }

    private static func write(_ lines: [String], to descriptor: Int32) throws(StateFileError) {
        var rest = Array((lines.joined(separator: "\n") + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("cannot be written", "the state file") }
            rest = rest.dropFirst(count)
        }
        guard fdatasync(descriptor) == 0 else { throw failure("cannot be flushed", "the state file") }
    }

    private static func read(_ descriptor: Int32, _ path: String) throws(StateFileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("cannot be read", path) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    /// A new file is only there after a power cut when its folder is on the disk too. Source: fsync(2).
    static func syncFolder(of path: String) throws(StateFileError) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = unsafe Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("is in a folder that cannot be opened", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("is in a folder that cannot be flushed", path) }
    }

    private static func failure(_ what: String, _ path: String) -> StateFileError {
        let reason = unsafe String(cString: strerror(errno))
        return StateFileError(description: "\(path) \(what): \(reason)")
    }
}

import Glibc

/// A backup on its way onto a stick: whole under its name, or not there.
///
/// Everything goes by the folder as it was opened first: where the stick is pulled out and another comes in its place, that one
/// gets nothing. What is half has a name of its own, which the next backup takes over.
public final class StickFile: Sendable {
    /// What is not whole yet.
    static let partName = "till-backup.part"
    private static let mode = mode_t(S_IRUSR | S_IWUSR)

    private let folder: Int32
    private let file: Int32

    /// - Parameter bytes: How long the file will be: where it does not fit, nothing is begun.
    /// - Throws: ``StickError``. Nothing is left then.
    private init(in path: String, bytes: Int) throws(StickError) {
        let folder = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw StickError(errno: errno, "opening the stick") }
        let file = unsafe openat(
            folder,
            Self.partName,
            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
            Self.mode
        )
        guard file >= 0 else {
            let number = errno
            close(folder)
            throw StickError(errno: number, "making the file")
        }
        // From here on both are closed by the end of this value.
        (self.folder, self.file) = (folder, file)
        var room = statvfs()
        // After the remains of an earlier one went.
        if unsafe fstatvfs(folder, &room) == 0, UInt64(room.f_bavail) * UInt64(room.f_frsize) < UInt64(bytes) {
            discard()
            throw .noRoom
        }
    }

    deinit {
        close(file)
        close(folder)
    }

    /// Writes all that `writer` gives into the folder at `path`, under the first free of `name.age`, `name-2.age` and so on. When
    /// it returns, all of it has left the machine's memory, and the stick can be pulled out.
    /// - Parameter progress: Told of each whole percent, from 0 to 100.
    /// - Returns: The file's name.
    public static func write(
        _ writer: BackupWriter,
        named name: String,
        into path: String,
        progress: @Sendable (Int) async -> Void
    ) async throws(StickError) -> String {
        do {
            let total = max(1, writer.totalBytes)
            let file = try await blocking { () throws(StickError) in try StickFile(in: path, bytes: total) }
            do {
                var (written, percent) = (0, 0)
                await progress(0)
                while let part = try await next(of: writer) {
                    try Task.checkCancellation()  // The terminal stops, and does not wait for a slow stick.
                    try await blocking { () throws(StickError) in try file.add(part) }
                    written += part.count
                    let now = min(100, written * 100 / total)
                    if now > percent {
                        percent = now
                        await progress(now)
                    }
                }
                return try await blocking { () throws(StickError) in try file.finish(as: name) }
            } catch {
                try? await blocking { () throws(StickError) in file.discard() }  // It never throws.
                throw error
            }
        } catch {
            await writer.end()
            throw error as? StickError ?? .failed(detail: "\(error)")
        }
    }

    private static func next(of writer: BackupWriter) async throws(StickError) -> [UInt8]? {
        do throws(BackupError) { return try await writer.next() } catch { throw .backup(error) }
    }

    /// A stick may take seconds for what a disk does at once: not on a thread that others wait for.
    private static func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StickError) -> Value
    ) async throws -> Value {
        try await BackupWriter.elsewhere { try work() }
    }

    private func add(_ bytes: [UInt8]) throws(StickError) {
        var place = 0
        while place < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(file, buffer.baseAddress.map { unsafe $0 + place }, bytes.count - place)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw StickError(errno: count == 0 ? EIO : errno, "writing") }
            place += count
        }
    }

    private func finish(as name: String) throws(StickError) -> String {
        guard fsync(file) == 0 else { throw StickError(errno: errno, "writing to the end") }
        let final = try freeName(name)
        guard unsafe renameat(folder, Self.partName, folder, final) == 0 else {
            throw StickError(errno: errno, "naming the file")
        }
        // On FAT the new name is one of an empty file until the file itself is written down once more. Source: Linux,
        // fs/fat/namei_vfat.c, vfat_rename: the new entry's length comes with the inode.
        guard fsync(file) == 0, fsync(folder) == 0 else {
            let number = errno
            unsafe unlinkat(folder, final, 0)
            throw StickError(errno: number, "writing the name down")
        }
        return final
    }

    /// No backup takes the place of an earlier one.
    private func freeName(_ name: String) throws(StickError) -> String {
        for number in 1...99 {
            let candidate = number == 1 ? "\(name).age" : "\(name)-\(number).age"
            if unsafe faccessat(folder, candidate, F_OK, 0) != 0 {
                guard errno == ENOENT else { throw StickError(errno: errno, "looking for a name") }
                return candidate
            }
        }
        throw .noRoom
    }

    /// Where the stick is gone, what is half stays on it under a name that no backup has.
    private func discard() {
        unsafe unlinkat(folder, Self.partName, 0)
        fsync(folder)
    }
}

import Foundation
import Glibc

/// USB sticks as the machine shows them: a folder for each, in one of two places. What is written goes to the one place alone,
/// which the machine puts only such sticks into as are meant for it.
public struct BackupSticks: Sendable {
    /// A stick that backups may be written onto.
    struct Stick: Sendable, Equatable {
        /// The machine's own name for it, such as `sdb1`.
        var name: String
        var path: String
        var freeBytes: Int64
        var isReadOnly: Bool
    }

    /// A backup on a stick.
    struct File: Sendable, Equatable {
        /// The stick's name and the file's, such as `sdb1/till-backup-2026-11-24.age`.
        var place: String
        var name: String
        var path: String
        var bytes: Int64
    }

    private let writable: String
    private let readable: String
    private let mustBeMounted: Bool

    /// - Parameters:
    ///   - writable: The folder of sticks that are there for backups.
    ///   - readable: The folder of all others, which are only read.
    ///   - mustBeMounted: False only where a plain folder stands for a stick.
    public init(
        writable: String = "/run/till/backup",
        readable: String = "/run/till/sticks",
        mustBeMounted: Bool = true
    ) {
        (self.writable, self.readable, self.mustBeMounted) = (writable, readable, mustBeMounted)
    }

    /// Those that a backup may be written onto.
    func sticks() -> [Stick] {
        folders(of: writable).map { name, path in
            var room = statvfs()
            let isKnown = unsafe statvfs(path, &room) == 0
            return Stick(
                name: name,
                path: path,
                freeBytes: isKnown ? Int64(clamping: UInt64(room.f_bavail) * UInt64(room.f_frsize)) : 0,
                isReadOnly: isKnown && room.f_flag & UInt(ST_RDONLY) != 0
            )
        }
    }

    /// What can be restored from any of them: the newest names first, 40 at most.
    func files() -> [File] {
        var found: [File] = []
        for (stick, folder) in folders(of: writable) + folders(of: readable) {
            // A stick may hold anything, and as much of it as it likes.
            let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted(by: >)
            for name in names where name.hasSuffix(".age") && !name.hasPrefix(".") && name.utf8.count <= 255 {
                let path = "\(folder)/\(name)"
                guard found.count < 40, let facts = try? FileManager.default.attributesOfItem(atPath: path),
                    facts[.type] as? FileAttributeType == .typeRegular, let bytes = facts[.size] as? NSNumber
                else { continue }
                found.append(File(place: "\(stick)/\(name)", name: name, path: path, bytes: bytes.int64Value))
            }
        }
        return found
    }

    private func folders(of place: String) -> [(name: String, path: String)] {
        StickFolders.folders(of: place, mustBeMounted: mustBeMounted)
    }
}

import Foundation
import Glibc
import Journal
import Payments
import Testing
import TestSupport

@testable import Backup

/// A backup onto a stick, for which a folder stands: whole under its name, or not there.
@Suite(.timeLimit(.minutes(3)))
struct StickTests {
    /// As much as takes several parts.
    private func withWriter(_ folder: TemporaryFolder, _ body: (BackupWriter) async throws -> Void) async throws {
        try await folder.withJournal { journal in
            try await ExampleJournal.fill(journal, open: 1)
            _ = try await journal.setDocument(
                "settings",
                (0..<600_000).map { UInt8(truncatingIfNeeded: $0) },
                expecting: .any,
                by: .terminal,
                at: ExampleJournal.time
            )
            let writer = try await BackupWriter(
                of: journal,
                at: ExampleJournal.time,
                by: "0.9.0",
                merchantName: "Kiosk",
                passphrase: ExampleJournal.passphrase,
                copyingTo: folder.state + "/stick.copy",
                work: 10
            )
            try await body(writer)
            #expect(!FileManager.default.fileExists(atPath: folder.state + "/stick.copy"), "the copy goes in any case")
        }
    }

    private func stick(_ folder: TemporaryFolder) throws -> String {
        let path = folder.path + "/stick"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    private func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    @Test func aBackupOnAStickIsWholeAndTakesNoOthersPlace() async throws {
        let folder = try TemporaryFolder()
        let stick = try stick(folder)
        // Of an earlier one, whose stick was pulled out.
        try Data(count: 5_000_000).write(to: URL(filePath: stick + "/till-backup.part"))
        for (open, expected) in [(1, "till-backup-2026-11-24.age"), (2, "till-backup-2026-11-24-2.age")] {
            let percents = Percents()
            try await withWriter(folder) { writer in
                let name = try await StickFile.write(writer, named: "till-backup-2026-11-24", into: stick) {
                    await percents.add($0)
                }
                #expect(name == expected)
                let size = try FileManager.default.attributesOfItem(atPath: stick + "/" + name)[.size] as? Int
                #expect(size == writer.totalBytes)
            }
            let seen = await percents.seen
            #expect(seen.first == 0 && seen.last == 100 && seen.count > 3 && seen == seen.sorted(), "\(seen)")
            let prepared = try await ExampleJournal.prepare("\(stick)/\(expected)", for: try TemporaryFolder())
            #expect(prepared.openCharges == open, "the journal has one more each time")
        }
        #expect(try names(stick) == ["till-backup-2026-11-24-2.age", "till-backup-2026-11-24.age"])
    }

    @Test func aStickThatIsPulledOutInTheMiddleHasNoBackup() async throws {
        let folder = try TemporaryFolder()
        let (stick, pulled) = (try stick(folder), folder.path + "/pulled")
        try await withWriter(folder) { writer in
            await #expect(throws: StickError.gone) {
                try await StickFile.write(writer, named: "till-backup", into: stick) { percent in
                    guard percent > 30 else { return }
                    // Another stick in its place gets nothing.
                    try? FileManager.default.removeItem(atPath: stick)
                    try? FileManager.default.createDirectory(atPath: stick, withIntermediateDirectories: true)
                }
            }
        }
        #expect(try names(stick) == [])
        try await withWriter(folder) { writer in
            await #expect(throws: StickError.gone) {
                try await StickFile.write(writer, named: "till-backup", into: pulled) { _ in }
            }
        }
    }

    @Test func whatDoesNotFitIsNotBegunAndWhatFailsLeavesNothing() async throws {
        let folder = try TemporaryFolder()
        let stick = try stick(folder)
        guard unsafe mount("tmpfs", stick, "tmpfs", 0, "size=300k") == 0 else { return }  // Only who may mount can try.
        defer { unsafe umount2(stick, Int32(MNT_DETACH)) }
        try await withWriter(folder) { writer in
            await #expect(throws: StickError.noRoom) {
                try await StickFile.write(writer, named: "till-backup", into: stick) { _ in }
            }
        }
        #expect(try names(stick) == [])
        // It fits when it begins, and somebody else fills the rest.
        #expect(unsafe mount("tmpfs", stick, "tmpfs", UInt(MS_REMOUNT), "size=3m") == 0)
        try await withWriter(folder) { writer in
            await #expect(throws: StickError.noRoom) {
                try await StickFile.write(writer, named: "till-backup", into: stick) { percent in
                    if percent == 0 { try? Data(count: 2_900_000).write(to: URL(filePath: stick + "/film")) }
                }
            }
        }
        #expect(try names(stick) == ["film"])
        #expect(unsafe mount("tmpfs", stick, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
        try await withWriter(folder) { writer in
            await #expect(throws: StickError.readOnly) {
                try await StickFile.write(writer, named: "till-backup", into: stick) { _ in }
            }
        }
    }

    @Test func aFileThatGoesWhileItIsReadIsSaidToBeUnreadable() async throws {
        let folder = try TemporaryFolder()
        await #expect {
            try await ExampleJournal.prepare(folder.path + "/none.age", for: folder)
        } throws: { error in
            (error as? BackupError)?.reason.code == "backup_unreadable"
        }
    }
}

private actor Percents {
    private(set) var seen: [Int] = []
    func add(_ percent: Int) { seen.append(percent) }
}

import Backup
import Foundation
import Glibc
import Journal
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// A whole backup by way of a USB stick, for which a folder stands, and what the screen says of it.
@Suite(.timeLimit(.minutes(2)))
struct StickTests {
    private static let password = "correct horse battery"
    private static let passphrase = "four unrelated words: barn"

    /// Two places of sticks, as the machine shows them.
    private struct Sticks {
        let folder: TemporaryFolder
        var places: BackupSticks {
            BackupSticks(writable: folder.path + "/backup", readable: folder.path + "/sticks", mustBeMounted: false)
        }

        init() throws {
            folder = try TemporaryFolder()
            for name in ["backup/sdb1", "sticks/sdc1"] { try make(name) }
        }

        func make(_ name: String) throws {
            let path = "\(folder.path)/\(name)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        func names(_ stick: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/\(stick)").sorted()
        }
    }

    private func withOwner(
        _ sticks: BackupSticks?,
        restored: Bool? = nil,
        _ body: (Page) async throws -> Void
    ) async throws {
        try await withConsole(sticks: sticks, restored: restored) { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            try await body(page)
        }
    }

    private func write(_ page: Page, onto stick: String = "sdb1") async throws -> WebResponse {
        let words = #""passphrase":"\#(Self.passphrase)","password":"\#(Self.password)""#
        return try await page.ask("POST", "backup/stick", #"{"stick":"\#(stick)",\#(words)}"#)
    }

    /// What the screen says once nothing is being written any more.
    private func untilWritten(_ page: Page) async -> BackupProgress? {
        for await snapshot in await page.desk.snapshots() {
            guard let backup = snapshot.backup else { continue }
            if case .writing = backup { continue }
            return backup
        }
        return nil
    }

    private func state(_ page: Page) async throws -> [String: Any] {
        while true {
            let said = try Page.said(try await page.ask("GET", "backup/stick", ""))
            if said["phase"] as? String != "writing" { return said }
            await Task.yield()
        }
    }

    private func sticks(_ page: Page) async throws -> [[String: Any]] {
        try await state(page)["sticks"] as? [[String: Any]] ?? []
    }

    private func code(_ answer: WebResponse) throws -> String {
        let said = try Page.said(answer)
        let fields = said["fields"] as? [String: [String: Any]] ?? [:]
        return fields.map { "\($0.key) \($0.value["code"] as? String ?? "")" }.first ?? said["code"] as? String ?? ""
    }

    @Test func aBackupGoesOntoAStickAndFromThereIntoAnotherTerminal() async throws {
        let sticks = try Sticks()
        var file = ""
        try await withOwner(sticks.places) { page in
            #expect(try await write(page).status == 202)
            let shown = try #require(await untilWritten(page))
            let said = try await state(page)
            file = try #require((said["written"] as? [String: Any])?["file"] as? String)
            #expect(shown == .written(file: file))
            #expect((said["files"] as? [[String: Any]])?.compactMap { $0["place"] as? String } == ["sdb1/\(file)"])
            let rows = try await page.rows().suffix(2)
            #expect(rows.map { "\($0.what) \($0.result)" } == ["backup.stick begun", "backup.stick ok"])
            #expect(rows.last?.who == .staff(name: "owner"))
            #expect(!FileManager.default.fileExists(atPath: page.folder + "/stick.copy"))
        }
        #expect(try sticks.names("backup/sdb1") == [file])
        // At the other terminal it is on a stick that is only read.
        try FileManager.default.moveItem(
            atPath: "\(sticks.folder.path)/backup/sdb1/\(file)",
            toPath: "\(sticks.folder.path)/sticks/sdc1/\(file)"
        )
        try await withOwner(sticks.places) { page in
            func check(_ passphrase: String) -> String { #"{"stick":"sdc1/\#(file)","passphrase":"\#(passphrase)"}"# }
            let wrong = try await page.ask("POST", "restore/check", check("another one"))
            #expect(try code(wrong) == "passphrase backup_passphrase_wrong")
            #expect(await page.desk.snapshot.backup == .notUsable(file: file))
            let right = try Page.said(try await page.ask("POST", "restore/check", check(Self.passphrase)))
            #expect((right["found"] as? [String: Any])?["entries"] as? Int == 0)
            #expect(await page.desk.snapshot.backup == .whole(file: file))
            #expect(try code(try await page.ask("POST", "restore/apply", "{}")) == "password password_needed")
        }
    }

    @Test func aStickThatGoesOrIsNotThereIsSaidInWordsAndLeavesNoBackup() async throws {
        let sticks = try Sticks()
        try await withOwner(sticks.places) { page in
            #expect(try code(try await write(page, onto: "sdc1")) == "stick_missing", "that one is only read")
            #expect(try code(try await write(page, onto: "../sticks/sdc1")) == "stick_missing")
            let place = #"{"stick":"sdb1/../../etc/x.age","passphrase":"\#(Self.passphrase)"}"#
            #expect(try code(try await page.ask("POST", "restore/check", place)) == "stick_missing")
            // It goes as soon as it was begun.
            let stick = sticks.folder.path + "/backup/sdb1"
            #expect(unsafe symlink("/nowhere", stick + "/till-backup.part") == 0)
            #expect(try await write(page).status == 202)
            #expect(await untilWritten(page) == .notWritten)
            let said = try await state(page)
            #expect((said["problem"] as? [String: Any])?["code"] as? String == "stick_failed")
            #expect(said["written"] is NSNull)
            #expect(
                try await page.rows().last.map { "\($0.what) \($0.result) \($0.detail)" }
                    == "backup.stick failed stick_failed"
            )
            #expect(try sticks.names("backup/sdb1") == ["till-backup.part"])
            // The next one can be written all the same.
            try FileManager.default.removeItem(atPath: stick + "/till-backup.part")
            #expect(try await write(page).status == 202)
            let after = try await state(page)
            #expect(after["written"] is [String: Any])
            try FileManager.default.removeItem(atPath: stick)
            #expect(try await self.sticks(page).isEmpty)
            #expect(try code(try await write(page)) == "stick_missing")
        }
    }

    @Test func whatIsNoBackupOnAStickIsRefusedAndWhatIsNoFileIsNotListed() async throws {
        let sticks = try Sticks()
        let folder = sticks.folder.path + "/sticks/sdc1"
        try Data("letters".utf8).write(to: URL(filePath: folder + "/letters.age"))
        try Data().write(to: URL(filePath: folder + "/.hidden.age"))
        try FileManager.default.createDirectory(atPath: folder + "/folder.age", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder + "/link.age", withDestinationPath: "/etc/passwd")
        try await withOwner(sticks.places) { page in
            let files = try await state(page)["files"] as? [[String: Any]] ?? []
            #expect(files.compactMap { $0["name"] as? String } == ["letters.age"])
            let body = #"{"stick":"sdc1/letters.age","passphrase":"\#(Self.passphrase)"}"#
            #expect(try code(try await page.ask("POST", "restore/check", body)) == "backup_unknown")
            #expect(await page.desk.snapshot.backup == .notUsable(file: "letters.age"))
        }
    }

    @Test func neitherWithoutThePasswordNorWithAWeakPassphraseNorByAStranger() async throws {
        let sticks = try Sticks()
        try await withOwner(sticks.places) { page in
            let without = #"{"stick":"sdb1","passphrase":"\#(Self.passphrase)"}"#
            let refused = try await page.ask("POST", "backup/stick", without)
            #expect(try code(refused) == "password password_needed")
            let weak = #"{"stick":"sdb1","passphrase":"kiosk","password":"\#(Self.password)"}"#
            #expect(try code(try await page.ask("POST", "backup/stick", weak)) == "passphrase passphrase_weak")
            #expect(try await page.another().send("GET", "backup/stick", "") == 401)
            #expect(await page.desk.snapshot.backup == nil)
        }
        #expect(try sticks.names("backup/sdb1") == [])
    }

    /// A folder is no stick where nothing is mounted on it: what was written there would be gone with the power.
    @Test func aFolderWithoutAStickIsNone() async throws {
        let sticks = try Sticks()
        let places = BackupSticks(writable: sticks.folder.path + "/backup", readable: sticks.folder.path + "/sticks")
        try await withOwner(places) { page in
            let found = try await self.sticks(page)
            #expect(found.isEmpty)
            #expect(try code(try await write(page)) == "stick_missing")
        }
        let stick = sticks.folder.path + "/backup/sdb1"
        // Only who may mount can try it with a real one.
        if unsafe mount("tmpfs", stick, "tmpfs", UInt(MS_RDONLY), nil) == 0 {
            defer { unsafe umount2(stick, Int32(MNT_DETACH)) }
            try await withOwner(places) { page in
                let found = try #require(try await self.sticks(page).first)
                #expect(found["name"] as? String == "sdb1" && found["readOnly"] as? Bool == true)
                #expect(try code(try await write(page)) == "stick_read_only")
            }
        }
        try await withOwner(nil) { page in
            let said = try await state(page)
            #expect(said["available"] as? Bool == false)
            #expect(try code(try await write(page)) == "stick_absent")
        }
    }

    @Test(arguments: [true, false])
    func theStartAfterARestoreSaysHowItEnded(isRestored: Bool) async throws {
        try await withOwner(nil, restored: isRestored) { page in
            let expected = isRestored ? BackupProgress.restored : .notRestored
            #expect(await page.desk.snapshot.backup == expected)
        }
    }
}

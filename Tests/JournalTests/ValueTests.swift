import Foundation
import GRDB
import Glibc
@testable import Journal
import Payments
import Testing
import TestSupport

/// Documents, secrets, the device key, and who can read the files.
struct ValueTests {
    let folder: TemporaryFolder
    let journal: Journal

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.open()
    }

    @Test func aDocumentCarriesItsVersionAndWhoChangedIt() async throws {
        #expect(try await journal.document("settings") == nil)
        let ada = Actor.staff(name: "Ada")
        let later = WallTime.example.advanced(by: .seconds(1))
        #expect(
            try await journal.setDocument("settings", [1], expecting: nil, by: .terminal, at: .example)
                == .stored(version: 1)
        )
        #expect(
            try await journal.setDocument("settings", [2], expecting: 1, by: ada, at: later) == .stored(version: 2)
        )
        let current = StoredDocument(bytes: [2], version: 2, changedAt: later, changedBy: ada)
        #expect(try await journal.document("settings") == current)
        for stale in [nil, 1, 3] {
            #expect(
                try await journal.setDocument("settings", [9], expecting: stale, by: ada, at: later)
                    == .conflict(current: current)
            )
        }
        #expect(
            try await journal.setDocument("owner", [9], expecting: 1, by: ada, at: later) == .conflict(current: nil)
        )
        #expect(
            try await journal.setDocument("settings", [], expecting: .any, by: ada, at: later) == .stored(version: 3)
        )
        #expect(try await journal.document("settings")?.bytes == [])
        #expect(try await journal.document("owner") == nil)
    }

    @Test func aSecretComesBackAndCanBeForgotten() async throws {
        #expect(try await journal.secret("gateway key") == nil)
        try await journal.setSecret("gateway key", Array("wcp_1".utf8), by: .terminal, at: .example)
        try await journal.setSecret("gateway key", Array("wcp_2".utf8), by: .terminal, at: .example)
        #expect(try await journal.secret("gateway key") == Array("wcp_2".utf8))
        try await journal.setSecret("gateway key", nil, by: .terminal, at: .example)
        #expect(try await journal.secret("gateway key") == nil)
    }

    @Test func noFileHoldsASecretInTheClear() async throws {
        let canary = "canary-7f3e9b-gateway-key"
        for number in 0..<50 {
            try await journal.setSecret(
                "key \(number % 3)",
                Array("\(canary)-\(number)".utf8),
                by: .terminal,
                at: .example
            )
        }
        let forms = [Data(canary.utf8), Data(Data(canary.utf8).base64EncodedString().dropLast(4).utf8)]
        var scanned = 0
        func scan() throws {
            for (name, data) in folder.contents {
                scanned += data.count
                for form in forms { #expect(data.range(of: form) == nil, "\(name)") }
            }
        }
        try scan()
        #expect(folder.contents["journal.sqlite-wal"]?.isEmpty == false)
        try journal.close()
        try scan()
        #expect(scanned > 10_000)
    }

    @Test func aSecretUnderAnotherNameCannotBeOpened() async throws {
        try await journal.setSecret("a", [1, 2, 3], by: .terminal, at: .example)
        try await journal.setSecret("b", [4, 5, 6], by: .terminal, at: .example)
        try await journal.pool.write { db in
            try db.execute(
                sql: "UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'b') WHERE name = 'a'"
            )
        }
        await expectCorrupt { _ = try await journal.secret("a") }
        #expect(try await journal.secret("b") == [4, 5, 6])
    }

    @Test func anotherDevicesKeyOpensNoSecret() async throws {
        try await journal.setSecret("a", [1, 2, 3], by: .terminal, at: .example)
        try await journal.play(Charge.Event.paid)
        try journal.close()
        let other = try DeviceKey.loadOrCreate(at: folder.path + "/other.key")
        let again = try Journal.open(directory: folder.path, deviceKey: other)
        await expectCorrupt { _ = try await again.secret("a") }
        #expect(try await again.charges(before: nil, limit: 9, state: nil).count == 1)
        // The mark of the record's end was made with the first key: whether this is all of it is not known.
        #expect(again.startup.lostEntries == LostEntries(from: 7, to: nil))
        #expect(try await again.verifyChain().brokenAt == 7)
    }

    @Test func theDeviceKeyStaysTheSameAndPrintsNothing() throws {
        let path = folder.path + "/device.key"
        let key = try DeviceKey.loadOrCreate(at: path)
        let sealed = try key.seal([1, 2, 3], name: "n")
        #expect(try DeviceKey.loadOrCreate(at: path).open(sealed, name: "n") == [1, 2, 3])
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(text.contains("redacted"))
            #expect(!text.contains("SymmetricKey"))
        }
    }

    @Test func manyStartsAtOnceAgreeOnOneDeviceKey() async throws {
        let path = folder.path + "/new.key"
        let keys = try await withThrowingTaskGroup(of: DeviceKey.self) { group in
            for _ in 0..<16 { group.addTask { try DeviceKey.loadOrCreate(at: path) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for key in keys {
            #expect(try keys[0].open(key.seal([7], name: "n"), name: "n") == [7])
        }
        let leftovers = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("new") }
        #expect(leftovers == ["new.key"])
    }

    @Test func aDamagedDeviceKeyIsNamedAndKept() async throws {
        let path = folder.path + "/device.key"
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        await expectCorrupt { _ = try DeviceKey.loadOrCreate(at: path) }
        #expect(FileManager.default.contents(atPath: path) == Data([1, 2, 3]))
    }

    @Test func onlyTheOwnUserCanReadTheFiles() async throws {
        try await journal.fill(charges: 1)
        #expect(mode(folder.path) == 0o700)
        var names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for name in names { #expect(mode("\(folder.path)/\(name)") == 0o600, "\(name)") }
        #expect(names.count == 6)

        try journal.close()
        chmod(folder.path, to: 0o755)
        for name in names { chmod("\(folder.path)/\(name)", to: 0o644) }
        let again = try folder.open()
        try await again.fill(charges: 0)
        names = ["", "/device.key", "/journal.sqlite", "/journal.sqlite-wal"]
        #expect(names.map { mode(folder.path + $0) } == [0o700, 0o600, 0o600, 0o600])
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    private func chmod(_ path: String, to mode: UInt32) { _ = unsafe Glibc.chmod(path, mode) }
}

/// Expects `corrupt`, whatever its detail.
func expectCorrupt(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async {
    await #expect(sourceLocation: sourceLocation) { try await body() } throws: { error in
        if case JournalError.corrupt = error { true } else { false }
    }
}

import Foundation
import Glibc
import Journal
import Payments
import Subprocess
import Testing
import TestSupport

@testable import Backup

/// A terminal's whole memory as one sealed file, and back.
@Suite(.timeLimit(.minutes(3)))
struct BackupTests {
    @Test func aBackupMovesEverythingToAnotherTerminal() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        let chain = try await old.withJournal { journal in
            try await ExampleJournal.fill(journal, open: 1)
            let facts = try await ExampleJournal.backUp(journal, old)
            #expect(facts.openCharges == 1 && facts.lostSecrets.isEmpty && facts.merchantName == "Kiosk")
            return try await journal.verifyChain()
        }
        let prepared = try await ExampleJournal.prepare(old.backup, for: new)
        #expect(prepared.openCharges == 1, "it will ask the authority about this one")
        #expect(!Restore.isWanted(new.state), "checked is not wanted")
        try Restore.want(new.state)
        let key = try new.key()
        #expect(try await Restore.finish(new.state, key: key) == .restored(keptDamaged: false))
        #expect(new.names == ["device.key", "journal.end", "journal.lock", "journal.sqlite"])
        try await new.withJournal { journal in
            #expect(try await journal.verifyChain() == chain, "every entry, and nothing else")
            #expect(try await journal.verifyProjections() == nil)
            #expect(try await journal.openCharges().count == 1)
            #expect(
                try await journal.secret("gateway-key") == Array(ExampleJournal.secret.utf8),
                "sealed by the new device"
            )
            #expect(try await journal.document("settings") != nil)
            #expect(try await journal.document("sessions") == nil, "nobody is signed in")
            #expect(try await journal.connectValues(prefix: "").isEmpty, "wallets stay with the old one")
            let last = try await journal.auditEntries(before: nil, limit: 1)
            #expect(last.first?.entry.what == "restore")
            _ = try await ExampleJournal.charge(journal, 99)
            #expect(try await journal.verifyChain() != chain, "it goes on")
        }
        let keys = try [old, new].map { try Data(contentsOf: URL(fileURLWithPath: $0.state + "/device.key")) }
        #expect(keys[0] != keys[1])
    }

    @Test func noSecretLiesOpenOutsideTheSealedFile() async throws {
        let folder = try TemporaryFolder()
        try await folder.withJournal { journal in
            try await ExampleJournal.fill(journal)
            let copy = folder.state + "/backup.copy"
            let writer = try await BackupWriter(
                of: journal,
                at: ExampleJournal.time,
                by: "",
                merchantName: nil,
                passphrase: ExampleJournal.passphrase,
                copyingTo: copy,
                work: 10
            )
            let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
            #expect(bytes.range(of: Data(ExampleJournal.secret.utf8)) == nil)
            let key = try Data(contentsOf: URL(fileURLWithPath: folder.state + "/device.key"))
            #expect(bytes.range(of: key) == nil)
            var status = stat()
            #expect(unsafe stat(copy, &status) == 0 && status.st_mode & 0o777 == 0o600)
            var sealed = Data()
            while let part = try await writer.next() { sealed.append(contentsOf: part) }
            for canary in [Data("SQLite format 3".utf8), Data("mrch_1".utf8), Data(ExampleJournal.secret.utf8), key] {
                #expect(sealed.range(of: canary) == nil)
            }
            #expect(!FileManager.default.fileExists(atPath: copy), "the copy went with the last part")
        }
    }

    @Test func chargesGoOnWhileTheBackupIsTaken() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal, charges: 10)
            let writer = try await BackupWriter(
                of: journal,
                at: ExampleJournal.time,
                by: "",
                merchantName: nil,
                passphrase: ExampleJournal.passphrase,
                copyingTo: old.state + "/backup.copy",
                work: 10
            )
            var bytes = Data()
            var number = 10
            while let part = try await writer.next() {
                bytes.append(contentsOf: part)
                _ = try await ExampleJournal.charge(journal, number)
                number += 1
            }
            try bytes.write(to: URL(fileURLWithPath: old.backup))
            let prepared = try await ExampleJournal.prepare(old.backup, for: new)
            #expect(prepared.facts.ends.entries == 50, "ten charges of five entries: one moment, whatever followed")
        }
    }

    @Test func aWrongPassphraseIsToldApartFromADamagedFile() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal)
            try await ExampleJournal.backUp(journal, old)
        }
        await #expect(throws: BackupError.wrongPassphrase) {
            _ = try await ExampleJournal.prepare(old.backup, "four unrelated words", for: new)
        }
        #expect(new.names == ["device.key"], "nothing is left of the try")
    }

    /// Whoever keeps the file must not be able to make anything else of it.
    @Test func noChangedCutOrReorderedFileIsTaken() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal, charges: 40)
            try await ExampleJournal.backUp(journal, old)
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: old.backup))
        #expect(whole.count > 3 * (AgeCounter.pieceBytes + 16), "it has several pieces")
        let start = try #require(whole.range(of: Data("\n--- ".utf8))).upperBound + 44
        let piece = AgeCounter.pieceBytes + AgeCounter.tagBytes
        let payload = start + 16
        var changed: [(String, Data)] = []
        func change(_ name: String, _ body: (inout Data) -> Void) {
            var data = whole
            body(&data)
            changed.append((name, data))
        }
        for place in [payload, payload + piece, whole.count - 1, start + 3] {
            change("a bit at \(place)") { $0[place] ^= 1 }
        }
        // Its first letter stands for six of the bits that authenticate the head.
        let mac = start - 44
        change("another authentication of the head") { data in
            data[mac] = data[mac] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        }
        change("one byte less") { $0.removeLast() }
        change("one byte more") { $0.append(0) }
        change("the last piece away") { $0 = $0.prefix(payload + 2 * piece) }
        change("cut in the middle of a piece") { $0 = $0.prefix(payload + piece + 100) }
        change("nothing behind the head") { $0 = $0.prefix(start) }
        change("two pieces swapped") { data in
            let (one, two) = (data[payload..<payload + piece], data[payload + piece..<payload + 2 * piece])
            data.replaceSubrange(payload..<payload + 2 * piece, with: two + one)
        }
        change("a piece twice") { $0.insert(contentsOf: $0[payload..<payload + piece], at: payload + piece) }
        for (name, data) in changed {
            try data.write(to: URL(fileURLWithPath: old.backup))
            #expect(await kind(of: old, for: new) == "damaged", "\(name)")
            #expect(new.names == ["device.key"], "\(name): nothing is left of it")
        }
        let strange: [(String, (inout Data) -> Void)] = [
            ("empty", { $0 = Data() }), ("text", { $0 = Data("{}".utf8) }),
            (
                "too much work",
                {
                    $0 = Data(
                        String(decoding: $0.prefix(start), as: UTF8.self)
                            .replacingOccurrences(of: " 10\n", with: " 30\n").utf8
                    )
                }
            ),
        ]
        for (name, body) in strange {
            var data = whole
            body(&data)
            try data.write(to: URL(fileURLWithPath: old.backup))
            #expect(await kind(of: old, for: new) == "notABackup", "\(name)")
        }
        try Data("age-encryption.org/v2\n".utf8).write(to: URL(fileURLWithPath: old.backup))
        await #expect(throws: BackupError.newer) { _ = try await ExampleJournal.prepare(old.backup, for: new) }
    }

    /// Whoever knows the passphrase can seal what they like. A terminal takes what terminals write, and nothing hidden behind it.
    @Test(arguments: [1, 512, AgeCounter.pieceBytes + 1])
    func nothingIsTakenThatHoldsMoreThanItsArchive(excess: Int) async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal)
            try await ExampleJournal.backUp(journal, old)
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: old.backup))
        let start = try #require(whole.range(of: Data("\n--- ".utf8))).upperBound + 44 + 16
        let piece = AgeCounter.pieceBytes + AgeCounter.tagBytes
        let pieces = (whole.count - start + piece - 1) / piece
        var opener = try AgeOpener(path: old.backup, passphrase: ExampleJournal.passphrase)
        let archive = try opener.take(whole.count - start - pieces * AgeCounter.tagBytes)
        for extra in [[], [UInt8](repeating: 0, count: excess)] {
            var sealer = try AgeSealer(passphrase: ExampleJournal.passphrase, work: 10)
            let sealed = try sealer.start + sealer.add(Array(archive) + extra) + sealer.finish()
            try Data(sealed).write(to: URL(fileURLWithPath: old.backup))
            #expect(await kind(of: old, for: new) == (extra.isEmpty ? "taken" : "damaged"))
        }
        #expect(new.names == ["device.key"], "nothing is left of it")
    }

    private func kind(of old: TemporaryFolder, for new: TemporaryFolder) async -> String {
        do {
            _ = try await ExampleJournal.prepare(old.backup, for: new)
            return "taken"
        } catch { return "\(error)".prefix { $0 != "(" }.split(separator: ".").last.map(String.init) ?? "" }
    }

    /// A foreign program opens it: nobody needs a terminal to read what a terminal kept.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/age"), "age is not installed"))
    func ageAndTarOpenIt() async throws {
        let folder = try TemporaryFolder()
        try await folder.withJournal { journal in
            try await ExampleJournal.fill(journal)
            try await ExampleJournal.backUp(journal, folder)
        }
        // `age` asks at a terminal for the passphrase; `script` is one.
        let command =
            "age -d -o '\(folder.path)/opened.tar' '\(folder.backup)' && tar -C '\(folder.path)' -xf "
            + "'\(folder.path)/opened.tar' && echo opened"
        let result = try await run(
            .name("script"),
            arguments: ["-qec", command, "/dev/null"],
            input: .string(ExampleJournal.passphrase + "\n"),
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        #expect(result.standardOutput.contains("opened"), "\(result.standardOutput)")
        let facts = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/backup.json"))
        #expect(try JSONDecoder().decode(BackupFacts.self, from: facts).merchantName == "Kiosk")
        let secrets = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/secrets.json"))
        #expect(
            try JSONDecoder().decode([String: String].self, from: secrets)
                == ["gateway-key": Data(ExampleJournal.secret.utf8).base64EncodedString()]
        )
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: folder.path + "/journal.sqlite")).starts(
                with: Data("SQLite".utf8)
            )
        )
    }

    @Test func aSecretThatCannotBeOpenedIsNamedAndKeepsNobodyFromABackup() async throws {
        let folder = try TemporaryFolder()
        try await folder.withJournal { try await ExampleJournal.fill($0) }
        try FileManager.default.removeItem(atPath: folder.state + "/device.key")  // The next start makes another.
        try await folder.withJournal { journal in
            let facts = try await ExampleJournal.backUp(journal, folder)
            #expect(facts.lostSecrets == ["gateway-key"])
        }
        let new = try TemporaryFolder()
        #expect(try await ExampleJournal.prepare(folder.backup, for: new).facts.lostSecrets == ["gateway-key"])
    }
}

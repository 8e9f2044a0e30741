import Foundation
import GRDB
@testable import Journal
import Payments
import Subprocess
import Testing
import TestSupport

/// What the journal says to files that are not as they should be.
struct StartupTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aFreshFolderGetsAJournal() async throws {
        let journal = try folder.open()
        #expect(journal.startup == StartupReport(isNew: true, entries: 0, entriesChecked: 0, didRebuild: false))
        #expect(try await journal.verifyChain() == .intact(count: 0, head: Array(repeating: 0, count: 32)))
        #expect(try await journal.openCharges().isEmpty)
    }

    @Test func aSecondOpeningIsToldThatItIsInUse() async throws {
        let journal = try folder.open()
        for _ in 0..<2 {
            #expect { try folder.open() } throws: { error in
                if case JournalError.inUse = error { true } else { false }
            }
        }
        try await journal.play(Charge.Event.paid)
        try journal.close()
        let again = try folder.open()
        #expect(try await again.verifyChain().count == 6)
    }

    @Test func anotherProgramIsToldThatItIsInUse() async throws {
        let journal = try folder.open()
        let result = try await run(
            .path(Writer.program),
            arguments: ["append", folder.path],
            output: .string(limit: 1000)
        )
        #expect(result.standardOutput.hasPrefix("stopped inUse"))
        try journal.close()
    }

    @Test func tablesOfANewerVersionThatHasBookedAreLeftAlone() async throws {
        let journal = try folder.open()
        try await journal.fill()
        try journal.close()
        let newer = try Journal.open(
            directory: folder.path,
            deviceKey: try DeviceKey.loadOrCreate(at: folder.path + "/device.key"),
            migrator: Schema.nextVersion()
        )
        try await newer.play(Charge.Event.paid)
        try newer.close()
        let files = folder.journalFiles
        #expect { try folder.open() } throws: { error in
            if case JournalError.fromNewerVersion(let detail) = error { detail.contains("v7") } else { false }
        }
        #expect(folder.journalFiles == files)
    }

    @Test func anUpdateKeepsACopyThatTheOldVersionCanRead() async throws {
        let journal = try folder.open()
        try await journal.fill()
        let before = try await journal.everything()
        try journal.close()
        for name in ["v4", "v5"] { try Data("old".utf8).write(to: URL(filePath: folder.database + "." + name)) }
        let key = try DeviceKey.loadOrCreate(at: folder.path + "/device.key")
        let newer = try Journal.open(directory: folder.path, deviceKey: key, migrator: Schema.nextVersion())
        #expect(try await newer.everything() == before)
        try newer.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains("sqlite.") }
        #expect(files.sorted() == ["journal.sqlite.v5", "journal.sqlite.v6"], "copies grow with each update")

        let restored = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: folder.database + ".v6", toPath: restored.database)
        try FileManager.default.copyItem(atPath: folder.path + "/journal.end", toPath: restored.path + "/journal.end")
        let older = try Journal.open(directory: restored.path, deviceKey: key)
        #expect(older.startup.lostEntries == nil, "nothing was written since")
        #expect(try await older.everything() == before)
    }

    /// As version 0.1 made it: without the news that nobody has seen.
    @Test func aJournalOfTheFirstVersionIsReadAndKeptAsItWas() async throws {
        let journal = try folder.open()
        try await journal.fill()
        let late = try await journal.play([
            .attemptStarted(attempt: 1, rail: .scan), .deadlineReached,
            .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: nil, expiresAt: nil)),
            .reported(
                attempt: 1,
                report: .succeeded(Evidence(paymentID: "pay_1", transactionID: nil, paid: nil))
            ),
        ])
        let before = try await journal.everything()
        try journal.close()
        try await makeFirstVersion()

        let updated = try folder.open()
        #expect(try await updated.everything() == before)
        let unseen = try await updated.unseenCharges(since: WallTime(millisecondsSince1970: 0), limit: 20)
        #expect(unseen.map(\.charge.id) == [late.id] && unseen.first?.charge.unseen == .late)
        #expect(FileManager.default.fileExists(atPath: folder.database + ".v1"))
    }

    /// Its start looks at the end of the chain only, and the tables are made anew from all of it.
    @Test func aLongJournalOfTheFirstVersionThatIsDamagedIsNotTouched() async throws {
        let journal = try folder.open()
        _ = try await journal.lengthen()
        try journal.close()
        try await makeFirstVersion { db in
            let made = try #require(
                try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = 'event_no_update'")
            )
            try db.execute(sql: "DROP TRIGGER event_no_update")
            try db.execute(sql: "UPDATE event SET body = CAST(replace(body, '1250', '9950') AS BLOB) WHERE seq = 1")
            try db.execute(sql: made)
        }
        let files = folder.journalFiles
        #expect { try folder.open() } throws: { error in
            if case JournalError.corrupt(let detail) = error { detail.contains("entry 1") } else { false }
        }
        #expect(folder.journalFiles == files)
    }

    /// Puts the file back to how version 0.1 made it, and changes it in other ways too.
    private func makeFirstVersion(_ change: @Sendable @escaping (Database) throws -> Void = { _ in }) async throws {
        let file = try DatabaseQueue(path: folder.database)
        try await file.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF; DROP TABLE idempotency; DROP TABLE charge")
            try db.execute(
                sql: "DROP TABLE charge_word; DROP TABLE takings; DROP TABLE shift_takings; DROP TABLE shift"
            )
            try db.execute(sql: Schema.projections)
            try db.execute(sql: "DROP TABLE tap; DROP TABLE tap_voucher; DROP TABLE connect; DROP TABLE relay_message")
            try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier IN ('v2', 'v3', 'v4', 'v5', 'v6')")
            try change(db)
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try file.close()
    }

    @Test(arguments: [
        ("disputed", Entry.format, #"{"disputed":{"attempt":1}}"#),
        ("reported", Entry.format, #"{"reported":{"attempt":1,"report":{"disputed":{}}}}"#),
        ("resumed", Entry.format + 1, #"{"resumed":{}}"#),
    ])
    func anEntryOfANewerVersionIsNeverDropped(kind: String, format: Int64, body: String) async throws {
        let journal = try folder.open()
        let charge = try await journal.play(Charge.Event.paid)
        var entry = Entry(
            sequence: 0,
            charge: charge.id.rawValue,
            kind: kind,
            body: Data(body.utf8),
            wallMilliseconds: 0,
            monotonicNanoseconds: 0,
            boot: "",
            previous: Data()
        )
        entry.format = format
        _ = try await journal.writing { [entry] db in try journal.append(db, entry) }
        func expectNewer(_ body: () async throws -> Void) async {
            await #expect { try await body() } throws: { error in
                if case JournalError.fromNewerVersion(let detail) = error { detail.contains(kind) } else { false }
            }
        }
        await expectNewer { _ = try await journal.charge(charge.id) }
        await expectNewer { _ = try await journal.events(of: charge.id) }
        #expect(try await journal.verifyChain().count == 7)
        try journal.close()
        let files = folder.journalFiles
        await expectNewer { _ = try folder.open() }
        #expect(folder.journalFiles == files)
    }

    @Test func aJournalThatVanishedIsNotReplacedByAnEmptyOne() async throws {
        let journal = try folder.open()
        try await journal.fill()
        try journal.close()
        try FileManager.default.removeItem(atPath: folder.database)
        await expectCorrupt { _ = try folder.open() }
        #expect(!FileManager.default.fileExists(atPath: folder.database))
    }

    @Test(arguments: ["", "x", "SQLite format 3\0", String(repeating: "till ", count: 5000)])
    func aFileThatIsNoJournalIsNamedAndKept(text: String) async throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.database))
        await expectCorrupt { _ = try folder.open() }
        #expect(FileManager.default.contents(atPath: folder.database) == Data(text.utf8))
    }

    @Test func anotherProgramsDatabaseIsNamedAndKept() async throws {
        let other = try DatabaseQueue(path: folder.database)
        try await other.write { try $0.execute(sql: "CREATE TABLE event (seq INTEGER)") }
        try other.close()
        let files = folder.journalFiles
        await expectCorrupt { _ = try folder.open() }
        #expect(folder.journalFiles == files)
    }

    /// A start that was killed at any point of making the journal is followed by one that succeeds.
    @Test func leftoversOfAnUnfinishedFirstStartAreCleared() async throws {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            try Data("half".utf8).write(to: URL(fileURLWithPath: folder.database + ".new" + suffix))
        }
        let journal = try folder.open()
        try await journal.fill()
        #expect(folder.contents.keys.sorted() == ["device.key", "journal.end", "journal.sqlite", "journal.sqlite-wal"])
    }

    /// The end of a long journal is checked at each start, the rest when somebody asks.
    @Test func ofALongJournalTheEndIsCheckedAtTheStart() async throws {
        let journal = try folder.open()
        let charge = try await journal.lengthen()
        try journal.close()
        let entries = StartupCheck.wholeUpTo + 6

        // The row of the charge was not written by the journal, so it is made anew, after the whole chain was checked.
        let again = try folder.open()
        #expect(again.startup == .init(isNew: false, entries: entries, entriesChecked: entries, didRebuild: true))
        try again.close()
        let third = try folder.open()
        #expect(
            third.startup
                == .init(isNew: false, entries: entries, entriesChecked: StartupCheck.tail, didRebuild: false)
        )
        #expect(try await third.charge(charge.id)?.charge.state == .succeeded)
        #expect(try await third.verifyChain().count == Int(entries))
    }
}

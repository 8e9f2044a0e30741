import Foundation
import GRDB
import Glibc
@testable import Journal
import Payments
import Testing
import TestSupport

/// A version that does not stand has changed the tables already, and the version before it must take payments all the same.
struct WayBackTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let aside = "journal.sqlite.newer"
    private static let copy = "journal.sqlite.v6"

    /// What this version knew before the next one came.
    private func fill() async throws -> Everything {
        let journal = try folder.open()
        try await journal.fill()
        try await journal.append([.example(1)], vouchers: [.example(1), .example(2)])
        _ = try await journal.openShift(of: .staff(name: "Ada"), at: .example)
        let everything = try await journal.everything()
        try journal.close()
        return everything
    }

    private func expectNewer(sourceLocation: SourceLocation = #_sourceLocation, _ folder: TemporaryFolder) {
        let files = folder.journalFiles
        #expect(sourceLocation: sourceLocation) { try folder.open() } throws: { error in
            if case JournalError.fromNewerVersion(let detail) = error { detail.contains("v7") } else { false }
        }
        #expect(folder.journalFiles == files, "the files have changed", sourceLocation: sourceLocation)
    }

    /// What a version does that takes no payment.
    private func useWithoutPayment(_ newer: Journal) async throws {
        try await newer.audit(.example(99))
        _ = try await newer.setDocument(
            "document 0",
            Array("newer".utf8),
            expecting: .any,
            by: .terminal,
            at: .example
        )
        try await newer.setSecret("secret 0", Array("newer".utf8), by: .terminal, at: .example)
        try await newer.change(connect: [ConnectChange(name: "session", bytes: [1])], at: .example)
        try await newer.rememberRelayMessage(topic: "t", hash: "h", until: .max, limit: 9, at: .example)
        // Forgotten where nobody can pay with it any more: who still knows it refuses it as well.
        try await newer.forget(vouchers: [TapVoucher.example(1).pass])
    }

    @Test func whatTookNoPaymentIsLeftAndEverythingIsAsItWas() async throws {
        let before = try await fill()
        let newer = try folder.openNewer()
        try await useWithoutPayment(newer)
        let left = try await newer.everything()
        try newer.close()
        let copy = folder.contents[Self.copy]

        let journal = try folder.open()
        #expect(journal.startup.tookBack == "v7")
        #expect(journal.startup.lostEntries == nil && journal.startup.lostAudit == nil, "it is no loss")
        #expect(journal.startup.entries == Int64(before.chain?.count ?? -1) && !journal.startup.didRebuild)
        #expect(try await journal.everything() == before)
        #expect(try await Set(journal.tapVouchers()) == [.example(1), .example(2)])
        #expect(try await journal.connectValues(prefix: "").isEmpty)
        try await journal.play(Charge.Event.paid)
        try journal.close()

        #expect(
            folder.contents.keys.sorted() == ["device.key", "journal.end", "journal.sqlite", Self.aside, Self.copy]
        )
        #expect(copy != nil && folder.contents[Self.copy] == copy)
        #expect(mode(folder.database) == 0o600 && mode("\(folder.path)/\(Self.aside)") == 0o600)
        let again = try folder.open()
        #expect(again.startup.tookBack == nil)
        #expect(try await again.verifyProjections() == nil)
        try again.close()

        // What was put aside is whole. Beside the mark of the one that took its place it lacks what that one wrote.
        let apart = try TemporaryFolder()
        let parts = [("device.key", "device.key"), ("journal.end", "journal.end"), (Self.aside, "journal.sqlite")]
        for (name, kept) in parts {
            try FileManager.default.copyItem(atPath: "\(folder.path)/\(name)", toPath: "\(apart.path)/\(kept)")
        }
        let reopened = try apart.openNewer()
        #expect(try await reopened.everything().withoutTheCheck == left.withoutTheCheck)
        #expect(reopened.startup.lostEntries?.from == Int64(before.chain?.count ?? 0) + 1)
    }

    /// The newer version did not stop in order: what it wrote stands in the log beside the file.
    @Test func whatWasKilledIsLeftToo() async throws {
        let before = try await fill()
        let newer = try folder.openNewer()
        try await useWithoutPayment(newer)
        let left = try await newer.everything()
        let killed = try folder.copy()
        try newer.close()
        #expect((killed.contents["journal.sqlite-wal"]?.count ?? 0) > 4096)

        let journal = try killed.open()
        #expect(journal.startup.tookBack == "v7")
        #expect(try await journal.everything() == before)
        try journal.close()
        try killed.putInPlace(Self.aside)
        let reopened = try killed.openNewer()
        #expect(try await reopened.everything() == left)
    }

    /// What a version does with a payment, or with what belongs to one.
    enum Doing: CaseIterable {
        case payment, oneEntry, noteOfATap, spend, voucher, openedShift, closedShift, settings, tap

        func take(_ journal: Journal) async throws {
            let (ada, bea) = (Actor.staff(name: "Ada"), Actor.staff(name: "Bea"))
            switch self {
            case .payment: try await journal.play(Charge.Event.paid)
            case .oneEntry:
                let charge = try #require(try await journal.openCharges().first)
                try await journal.append(.resumed, to: charge, at: .example)
            case .noteOfATap: try await journal.append([.example(2)])
            case .spend: try await journal.append([], vouchers: [.example(2, body: [9])])
            case .voucher: try await journal.append([], vouchers: [.example(3)])
            case .openedShift: _ = try await journal.openShift(of: bea, at: .example)
            case .closedShift:
                let shift = try #require(try await journal.currentShift(of: ada))
                _ = try await journal.closeShift(shift.shift.id, by: ada, at: .example)
            // Whom the next payment goes to.
            case .settings, .tap:
                _ = try await journal.setDocument("\(self)", [1], expecting: .any, by: ada, at: .example)
            }
        }
    }

    @Test(arguments: Doing.allCases, [true, false])
    func whatIsAboutMoneyIsNeverLeft(doing: Doing, stoppedInOrder: Bool) async throws {
        _ = try await fill()
        let newer = try folder.openNewer()
        try await doing.take(newer)
        let after = try await newer.everything()
        let killed = try folder.copy()
        try newer.close()
        let left = stoppedInOrder ? folder : killed
        expectNewer(left)
        // Nothing of it is lost: the newer version goes on with it.
        #expect(try await left.openNewer().everything() == after)
    }

    /// What cannot be compared does not count as equal.
    @Test(arguments: [
        "ALTER TABLE event RENAME COLUMN hash TO head", "DROP TABLE tap_voucher", "ALTER TABLE tap RENAME TO taps",
        "ALTER TABLE shift RENAME COLUMN digest TO seal", "UPDATE meta SET value = 'other' WHERE name = 'journal'",
    ])
    func tablesThatCannotBeComparedAreNotLeft(sql: String) async throws {
        _ = try await fill()
        let migrator = Schema.nextVersion { db in
            try db.execute(sql: "DROP TRIGGER tap_no_update; DROP TRIGGER tap_no_delete")
            try db.execute(sql: sql)
        }
        // What it made of the tables no start of ours could go on with: the migration is all that ran.
        let newer = try? folder.openNewer(migrator)
        try newer?.close()
        expectNewer(folder)
    }

    /// Whoever only looks at it does not change it.
    @Test func onlyTheTerminalItselfGoesBack() async throws {
        _ = try await fill()
        try folder.openNewer().close()
        let files = folder.journalFiles
        #expect(throws: JournalError.self) {
            try Journal.open(
                directory: folder.path,
                deviceKey: try DeviceKey.loadOrCreate(at: folder.path + "/device.key")
            )
        }
        #expect(folder.journalFiles == files)
    }

    @Test func withoutTheCopyThereIsNoWayBack() async throws {
        _ = try await fill()
        try folder.openNewer().close()
        try FileManager.default.removeItem(atPath: "\(folder.path)/\(Self.copy)")
        expectNewer(folder)
    }

    @Test func aCopyThatIsDamagedAnywhereIsNotTaken() async throws {
        _ = try await fill()
        try folder.openNewer().close()
        let path = "\(folder.path)/\(Self.copy)"
        let whole = try #require(folder.contents[Self.copy])
        for damaged in [Data(), whole.prefix(100), whole.prefix(whole.count / 2), Data(count: whole.count)] {
            try damaged.write(to: URL(fileURLWithPath: path))
            expectNewer(folder)
        }
        for _ in 0..<Tries.share(of: 30) {
            // Of a page's content: a bit that nothing uses may have any value.
            let place = try #require(whole.indices.filter { whole[$0] != 0 && $0 > 100 }.randomElement())
            var changed = whole
            changed[place] ^= 1 << UInt8.random(in: 0...7)
            try changed.write(to: URL(fileURLWithPath: path))
            let other = try folder.copy()
            guard let journal = try? other.open() else {
                expectNewer(other)
                continue
            }
            #expect(try await journal.verifyChain() == journal.wholeChain())
            #expect(try await journal.verifyProjections() == nil)
        }
        try whole.write(to: URL(fileURLWithPath: path))
        // A transaction that somebody began in it and did not end.
        for name in ["-wal", "-journal"] {
            try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: path + name))
            expectNewer(folder)
            try FileManager.default.removeItem(atPath: path + name)
        }
        #expect(try folder.open().startup.tookBack == "v7")
    }

    /// A start looks at the end of a long chain only; here all of it must be whole.
    @Test func aLongCopyIsCheckedFromItsFirstEntry() async throws {
        let journal = try folder.open()
        // Of an end long ago: no start looks at its entries.
        try await journal.play(Charge.Event.paid)
        try await journal.lengthen()
        try journal.close()
        try folder.open().close()  // Makes the tables of current states anew.
        try folder.openNewer().close()
        let whole = try folder.copy()
        let copy = try DatabaseQueue(path: "\(folder.path)/\(Self.copy)")
        try await copy.writeWithoutTransaction { db in
            let made = try #require(
                try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = 'event_no_update'")
            )
            try db.execute(sql: "DROP TRIGGER event_no_update")
            try db.execute(sql: "UPDATE event SET wall_ms = wall_ms + 1 WHERE seq = 3")
            try db.execute(sql: made)
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try copy.close()
        expectNewer(folder)
        let journalOfTheWhole = try whole.open()
        #expect(journalOfTheWhole.startup.tookBack == "v7")
        #expect(try await journalOfTheWhole.verifyChain().count == Int(StartupCheck.wholeUpTo) + 12)
    }

    /// Two journals without an entry end at the same place.
    @Test func theCopyOfAnotherJournalIsNotTaken() async throws {
        try folder.open().close()
        try folder.openNewer().close()
        let other = try TemporaryFolder()
        try other.open().close()
        try other.openNewer().close()
        let copy = try #require(other.contents[Self.copy])
        let own = try #require(folder.contents[Self.copy])
        try copy.write(to: URL(fileURLWithPath: "\(folder.path)/\(Self.copy)"))
        expectNewer(folder)
        try own.write(to: URL(fileURLWithPath: "\(folder.path)/\(Self.copy)"))
        #expect(try folder.open().startup.tookBack == "v7")
    }

    @Test func aSecondTryOfTheNewerVersionKeepsWhatThisOneWroteInBetween() async throws {
        _ = try await fill()
        try folder.openNewer().close()
        let old = try #require(folder.contents[Self.copy])
        let journal = try folder.open()
        try await journal.play(Charge.Event.paid)
        let before = try await journal.everything()
        try journal.close()
        let newer = try folder.openNewer()
        try await newer.audit(.example(77))
        try newer.close()
        #expect(folder.contents[Self.copy] != old)

        // The copy of the first try, left in its place, is not taken for the second one's.
        let stale = try folder.copy()
        try old.write(to: URL(fileURLWithPath: "\(stale.path)/\(Self.copy)"))
        expectNewer(stale)

        let again = try folder.open()
        #expect(again.startup.tookBack == "v7")
        #expect(try await again.everything() == before)
        try again.close()
        #expect(
            folder.contents.keys.sorted() == ["device.key", "journal.end", "journal.sqlite", Self.aside, Self.copy]
        )
        try folder.putInPlace(Self.aside)
        let last = try await folder.openNewer().auditEntries(before: nil, limit: 1).first
        #expect(last?.entry == .example(77))
    }

    /// Two versions on: the first of them has kept the copy.
    @Test func severalNewerChangesAreLeftAtOnce() async throws {
        let before = try await fill()
        var migrator = Schema.nextVersion()
        migrator.registerMigration("v8") { db in try db.execute(sql: "CREATE TABLE more (id TEXT) STRICT") }
        try folder.openNewer().close()
        try folder.openNewer(migrator).close()
        let journal = try folder.open()
        #expect(journal.startup.tookBack == "v7, v8")
        #expect(try await journal.everything() == before)
    }

    // MARK: - A power cut, a full storage

    @Test(arguments: [true, false])
    func aPowerCutAtAnyStepEndsInTheJournalOfBefore(stoppedInOrder: Bool) async throws {
        let before = try await fill()
        let newer = try folder.openNewer()
        try await useWithoutPayment(newer)
        let left = try await newer.everything()
        let killed = try folder.copy()
        try newer.close()
        let start = stoppedInOrder ? folder : killed
        try Data("an earlier one".utf8).write(to: URL(fileURLWithPath: "\(start.path)/\(Self.aside)"))

        var steps: [(name: String, files: TemporaryFolder)] = []
        let journal = try start.openOld { name throws(JournalError) in
            do { steps.append((name, try start.copy())) } catch { throw .unavailable(detail: "\(error)") }
        }
        steps.append(("the end", try start.copy()))
        try journal.close()
        #expect(steps.count >= 7)
        for (name, files) in steps {
            // Started anew, the newer version finds its own journal until the last step.
            if name != "the end" {
                let other = try files.copy()
                #expect(try await other.openNewer().everything() == left, "cut before: \(name)")
            }
            let journal = try files.open()
            #expect(journal.startup.tookBack == (name == "the end" ? nil : "v7"), "cut before: \(name)")
            #expect(journal.startup.lostEntries == nil && journal.startup.lostAudit == nil, "cut before: \(name)")
            #expect(try await journal.everything() == before, "cut before: \(name)")
            try await journal.play(Charge.Event.paid)
            try journal.close()
            #expect(
                files.contents.keys.sorted() == ["device.key", "journal.end", "journal.sqlite", Self.aside, Self.copy],
                "cut before: \(name)"
            )
            try files.putInPlace(Self.aside)
            let newer = try await files.openNewer().everything()
            #expect(newer.withoutTheCheck == left.withoutTheCheck, "cut before: \(name)")
        }
    }

    /// - Parameter erases: Erases the terminal in place of the next start.
    @Test(arguments: [false, true])
    func whatFailsAtAnyStepIsDoneAtTheNextStart(erases: Bool) async throws {
        for cut in 1...100 {
            let folder = try TemporaryFolder()
            let journal = try folder.open()
            try await journal.fill(charges: 2)
            let before = try await journal.everything(charges: 2)
            try journal.close()
            try folder.openNewer().close()
            var count = 0
            let step = { (name: String) throws(JournalError) in
                count += 1
                if count == cut { throw .unavailable(detail: name) }
            }
            do throws(JournalError) {
                try folder.openOld(before: step).close()
                #expect(cut >= 7)
                return
            } catch {
                guard case .unavailable = error else { throw error }
            }
            if erases {
                try Wipe.begin(folder.path)
                try Wipe.finish(folder.path)
                #expect(folder.contents.isEmpty, "failed at step \(cut)")
                continue
            }
            let again = try folder.open()
            #expect(again.startup.tookBack == "v7", "failed at step \(cut)")
            #expect(try await again.everything(charges: 2) == before, "failed at step \(cut)")
            try again.close()
        }
    }

    @Test func erasingTheTerminalErasesWhatWasPutAside() async throws {
        _ = try await fill()
        try folder.openNewer().close()
        try folder.open().close()
        let aside = try #require(FileHandle(forReadingAtPath: "\(folder.path)/\(Self.aside)"))
        try Wipe.begin(folder.path)
        try Wipe.finish(folder.path)
        #expect(folder.contents.isEmpty)
        // Not only its name is gone.
        let bytes = try #require(try aside.readToEnd())
        #expect(bytes.count > 4096 && bytes.allSatisfy { $0 == 0 })
        try aside.close()
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }
}

extension TemporaryFolder {
    /// Opens the journal as the next version does.
    fileprivate func openNewer(_ migrator: DatabaseMigrator = Schema.nextVersion()) throws -> Journal {
        try Journal.open(
            directory: path,
            deviceKey: try DeviceKey.loadOrCreate(at: path + "/device.key"),
            migrator: migrator
        )
    }

    /// Opens the journal as this version does.
    /// - Parameter step: Called before each change of the storage on the way back.
    fileprivate func openOld(before step: (String) throws(JournalError) -> Void) throws(JournalError) -> Journal {
        try Journal.open(
            directory: path,
            deviceKey: try DeviceKey.loadOrCreate(at: path + "/device.key"),
            migrator: Schema.migrator,
            before: step
        )
    }

    /// Puts another file of the folder in the journal's place.
    fileprivate func putInPlace(_ name: String) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
        try FileManager.default.moveItem(atPath: "\(path)/\(name)", toPath: database)
    }
}

extension TapEntry {
    fileprivate static func example(_ number: UInt8) -> TapEntry {
        TapEntry(
            payment: "0190c5a0-0000-7000-8000-0000000000\(10 + number)",
            charge: ChargeTerms.example().id,
            attempt: 1,
            kind: "requested",
            body: [number],
            at: .example
        )
    }
}

extension TapVoucher {
    fileprivate static func example(_ number: UInt8, body: [UInt8] = [1]) -> TapVoucher {
        TapVoucher(pass: String(repeating: "\(number)", count: 32), body: body)
    }
}

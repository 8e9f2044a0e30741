import Foundation
import GRDB
import Journal
import Payments
import Testing
import TestSupport

@testable import Backup
@testable import Journal

/// Taking another terminal's place, with the power cut at each step.
@Suite(.timeLimit(.minutes(10)))
struct RestoreTests {
    /// A terminal with two charges of its own, and a backup of another with five that waits for its next start.
    private func wanted(open: Int = 0, damaged: Bool = false) async throws -> TemporaryFolder {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal, charges: 5)
            try await ExampleJournal.backUp(journal, old)
        }
        try await new.withJournal { journal in
            for number in 0..<2 { _ = try await ExampleJournal.charge(journal, number, open: number < open) }
        }
        if damaged {
            try Data("SQLite format 3\u{0} no".utf8).write(to: URL(fileURLWithPath: new.state + "/journal.sqlite"))
        }
        _ = try await ExampleJournal.prepare(old.backup, for: new)
        try Restore.want(new.state)
        return new
    }

    /// Starts until the restore is over, with a power cut before the `cut`-th change of the storage; then without.
    private func restart(_ folder: TemporaryFolder, cutBefore cut: Int) async throws -> (
        outcomes: [Restore.Outcome], cut: String?
    ) {
        var left = cut
        var reached: String?
        let key = try folder.key()
        do throws(JournalError) {
            let outcome = try await Restore.finish(folder.state, key: key) { step throws(JournalError) in
                left -= 1
                if left == 0 {
                    reached = step
                    throw .unavailable(detail: "cut")
                }
            }
            return ([outcome], nil)
        } catch {
            #expect(error == .unavailable(detail: "cut"))
        }
        return ([try await Restore.finish(folder.state, key: folder.key())], reached)
    }

    @Test func aPowerCutAtAnyStepEndsInTheRestoredJournal() async throws {
        var steps: [String] = []
        while true {
            let folder = try await wanted()
            // Of updates that the old one has seen.
            for name in ["v5", "newer"] {
                try Data().write(to: URL(filePath: "\(folder.state)/journal.sqlite.\(name)"))
            }
            let (outcomes, cut) = try await restart(folder, cutBefore: steps.count + 1)
            // Cut after the new one stood, the next start finds nothing left to do but to tidy.
            let isDone =
                outcomes == [.restored(keptDamaged: false)] || cut == "erase the old one" && outcomes == [.nothing]
            #expect(isDone, "cut before: \(cut ?? "nothing"): \(outcomes)")
            #expect(
                folder.names == ["device.key", "journal.end", "journal.lock", "journal.sqlite"],
                "cut before: \(cut ?? "nothing")"
            )
            let entries = try await folder.withJournal { journal in
                #expect(try await journal.verifyProjections() == nil)
                return try await journal.entryCounts().charges
            }
            #expect(entries == 25, "cut before: \(cut ?? "nothing")")
            guard let cut else { break }
            steps.append(cut)
        }
        #expect(steps.contains("put the old one aside") && steps.contains("put the new one in its place"))
        #expect(steps.count >= 5)
    }

    @Test func aPaymentWithoutAnEndKeepsTheTerminalAsItIs() async throws {
        for cut in 1...3 {
            let folder = try await wanted(open: 1)
            let (outcomes, name) = try await restart(folder, cutBefore: cut)
            #expect(
                outcomes == [.refused(openCharges: 1)] || outcomes == [.nothing],
                "cut before: \(name ?? "nothing")"
            )
            #expect(folder.names == ["device.key", "journal.end", "journal.lock", "journal.sqlite"])
            let stillOpen = try await folder.withJournal { try await $0.openCharges().count }
            #expect(stillOpen == 1)
        }
    }

    @Test func aCopyThatDoesNotStandInItsPlaceGivesWayToTheOldOne() async throws {
        var steps: [String] = []
        while true {
            let folder = try await wanted()
            // A storage that loses what was written between the check and the start.
            try Data(repeating: 7, count: 8192).write(
                to: URL(fileURLWithPath: folder.state + "/restore/journal.sqlite")
            )
            let (outcomes, cut) = try await restart(folder, cutBefore: steps.count + 1)
            guard case .putBack? = outcomes.first else {
                Issue.record("cut before: \(cut ?? "nothing"): \(outcomes)")
                break
            }
            #expect(
                folder.names == ["device.key", "journal.end", "journal.lock", "journal.sqlite"],
                "cut before: \(cut ?? "nothing")"
            )
            let entries = try await folder.withJournal { try await $0.entryCounts().charges }
            #expect(entries == 10, "cut before: \(cut ?? "nothing")")
            guard let cut else { break }
            steps.append(cut)
        }
        #expect(steps.contains("bring the old one back") && steps.contains("remove the new one"))
    }

    @Test func aJournalThatIsDamagedIsReplacedAndKept() async throws {
        var steps: [String] = []
        while true {
            let folder = try await wanted(damaged: true)
            let (outcomes, cut) = try await restart(folder, cutBefore: steps.count + 1)
            let isDone =
                outcomes == [.restored(keptDamaged: true)] || cut == "erase the old one" && outcomes == [.nothing]
            #expect(isDone, "cut before: \(cut ?? "nothing"): \(outcomes)")
            #expect(folder.names.contains("before-restore/journal.sqlite"), "cut before: \(cut ?? "nothing")")
            let entries = try await folder.withJournal { try await $0.entryCounts().charges }
            #expect(entries == 25)
            guard let cut else { break }
            steps.append(cut)
        }
        #expect(steps.contains("keep the damaged one"))
    }

    @Test func aCopyThatNobodyWantsIsForgottenAtTheNextStart() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal)
            try await ExampleJournal.backUp(journal, old)
        }
        try await new.withJournal { _ = try await ExampleJournal.charge($0, 1) }
        _ = try await ExampleJournal.prepare(old.backup, for: new)
        let outcome = try await Restore.finish(new.state, key: new.key())
        #expect(outcome == .nothing)
        #expect(new.names == ["device.key", "journal.end", "journal.lock", "journal.sqlite"])
        let entries = try await new.withJournal { try await $0.entryCounts().charges }
        #expect(entries == 5)
    }

    @Test func anEmptyTerminalTakesABackupToo() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal)
            try await ExampleJournal.backUp(journal, old)
        }
        _ = try await ExampleJournal.prepare(old.backup, for: new)
        try Restore.want(new.state)
        let key = try new.key()
        #expect(try await Restore.finish(new.state, key: key) == .restored(keptDamaged: false))
        // A journal that goes away later is not taken for a fresh start.
        try FileManager.default.removeItem(atPath: new.state + "/journal.sqlite")
        #expect(throws: JournalError.self) { _ = try new.open() }
    }

    /// As somebody would who has the passphrase. What a start does not look at, the beginning of a long record, is looked at.
    /// The terminal that the backup was taken from may have sent other entries under the same numbers.
    @Test func whatIsSentFromTheRestoreOnBearsAnotherName() async throws {
        var folder = try TemporaryFolder()
        try await folder.withJournal { journal in try await ExampleJournal.fill(journal, charges: 5) }
        let first = try await folder.withJournal { journal in try await journal.senderNames().current }
        var names = [first]
        for last in [Int64(25), 30] {
            _ = try await folder.withJournal { journal in try await ExampleJournal.backUp(journal, folder) }
            let next = try TemporaryFolder()
            _ = try await ExampleJournal.prepare(folder.backup, for: next)
            try Restore.want(next.state)
            #expect(try await Restore.finish(next.state, key: next.key()) == .restored(keptDamaged: false))
            let sender = try await next.withJournal { journal in
                _ = try await ExampleJournal.charge(journal, 9, open: false)
                return try await journal.senderNames()
            }
            #expect(sender.name(of: 1) == first && sender.name(of: last) == names.last)
            #expect(sender.name(of: last + 1) == sender.current && !names.contains(sender.current))
            #expect(sender.current.count == first.count)
            names.append(sender.current)
            folder = next
        }
    }

    @Test func aBackupWhoseEntriesWereChangedIsRefusedThoughItIsSealedWell() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        let file = old.path + "/copy.sqlite"
        let copy = try await old.withJournal { journal in
            try await withThrowingDiscardingTaskGroup { group in
                for number in 0..<5100 {
                    let entry = AuditEntry(
                        at: ExampleJournal.time,
                        who: .terminal,
                        from: "",
                        what: "login",
                        result: "ok",
                        detail: "\(number)"
                    )
                    group.addTask { try await journal.audit(entry) }
                }
            }
            return try await journal.copy(to: file)
        }
        let queue = try DatabaseQueue(path: file)
        try await queue.write { db in
            let guardian = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_schema WHERE name = 'audit_no_update'")
            try db.execute(sql: "DROP TRIGGER audit_no_update")
            try db.execute(sql: "UPDATE audit SET body = CAST(body || ' ' AS BLOB) WHERE seq = 2")
            try db.execute(sql: guardian ?? "")
        }
        try queue.close()
        await #expect(throws: JournalError.corrupt(detail: "entry 2 of the copy: its content was changed")) {
            try await prepare(file, endingAt: copy.ends, for: new)
        }
    }

    /// Somebody with the passphrase hides what was done and makes all hashes anew. The terminal that wrote the log knows its own seal;
    /// another one says that it cannot vouch for what was taken over.
    @Test(arguments: [true, false]) func anAuditLogThatWasForgedInTheBackupIsRefusedOrNotVouchedFor(isSame: Bool)
        async throws
    {
        let (old, other) = (try TemporaryFolder(), try TemporaryFolder())
        let file = old.path + "/copy.sqlite"
        try await old.withJournal { journal in
            try await ExampleJournal.fill(journal)
            _ = try await journal.copy(to: file)
        }
        let queue = try DatabaseQueue(path: file)
        let ends = try await queue.write { db in
            let guardian = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_schema WHERE name = 'audit_no_update'")
            try db.execute(sql: "DROP TRIGGER audit_no_update")
            let body = try #require(try Data.fetchOne(db, sql: "SELECT body FROM audit WHERE seq = 1"))
            let forged = AuditRow(
                sequence: 1,
                body: Data(String(decoding: body, as: UTF8.self).replacing("login", with: "reset").utf8),
                previous: Entry.start
            )
            try db.execute(
                sql: "UPDATE audit SET body = ?, hash = ? WHERE seq = 1",
                arguments: [forged.body, forged.hash]
            )
            try db.execute(sql: guardian ?? "")
            return try Journal.ends(db)
        }
        try queue.close()
        guard !isSame else {
            let refusal = JournalError.corrupt(
                detail: "the audit log in the copy was changed after this terminal wrote it"
            )
            await #expect(throws: refusal) { try await prepare(file, endingAt: ends, for: old) }
            return
        }
        try await prepare(file, endingAt: ends, for: other)
        try Restore.want(other.state)
        #expect(try await Restore.finish(other.state, key: other.key()) == .restored(keptDamaged: false))
        try await other.withJournal { journal in
            #expect(try await journal.auditTakenOver() == 1)
            guard case .intact(count: 2, _) = try await journal.verifyAudit() else {
                Issue.record("what the restore has added is sealed")
                return
            }
        }
    }

    /// What came after the backup is gone, and was wanted so: the record does not say that it was cut.
    @Test func aRestoreOntoTheSameTerminalIsNoLossAndAGapThatIsSaid() async throws {
        let folder = try TemporaryFolder()
        try await folder.withJournal { journal in
            try await ExampleJournal.fill(journal)
            try await ExampleJournal.backUp(journal, folder)
            for number in 10..<14 { _ = try await ExampleJournal.charge(journal, number) }
        }
        _ = try await ExampleJournal.prepare(folder.backup, for: folder)
        try Restore.want(folder.state)
        #expect(try await Restore.finish(folder.state, key: folder.key()) == .restored(keptDamaged: false))
        try await folder.withJournal { journal in
            #expect(journal.startup.lostEntries == nil && journal.startup.lostAudit == nil)
            for check in [try await journal.verifyChain(), try await journal.verifyAudit()] {
                if case .broken = check { Issue.record("\(check)") }
            }
            #expect(try await journal.gap()?.kind == .restored)
            #expect(try await journal.auditTakenOver() == 0, "this terminal wrote it")
        }
    }

    /// The copy is whole, and what was charged since is in the list beside it only.
    @Test func aCopyThatEndsBeforeItsOwnListSaysIsNotTaken() async throws {
        let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
        let earlier = old.file("earlier.copy")
        let ends = try await old.withJournal { journal in
            try await ExampleJournal.fill(journal)
            let ends = try await journal.copy(to: earlier).ends
            _ = try await ExampleJournal.charge(journal, 99)
            return (earlier: ends, later: try await journal.copy(to: old.file("later.copy")).ends)
        }
        let shorter = JournalError.corrupt(detail: "the copy does not end where its own list says")
        await #expect(throws: shorter) { try await prepare(earlier, endingAt: ends.later, for: new) }
        try Restore.forget(new.state)
        try await prepare(earlier, endingAt: ends.earlier, for: new)
    }

    /// Makes a copy ready to be restored.
    private func prepare(_ copy: String, endingAt ends: JournalCopy.Ends, for new: TemporaryFolder) async throws {
        let draft = try Restore.begin(new.state)
        try FileManager.default.removeItem(atPath: draft)
        try FileManager.default.copyItem(atPath: copy, toPath: draft)
        let entry = AuditEntry(
            at: ExampleJournal.time,
            who: .terminal,
            from: "",
            what: "restore",
            result: "ok",
            detail: ""
        )
        _ = try await Restore.prepare(new.state, endingAt: ends, secrets: [:], key: try new.key(), entry: entry)
    }
}

import Foundation
import GRDB
import Glibc
@testable import Journal
import Payments
import Testing
import TestSupport

/// A record that is whole in itself and shorter than it was, or another than it was.
struct EndMarkTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Puts an earlier copy of the database back, as storage that lied about its syncs would, and leaves the mark beside it.
    private func putBack(_ earlier: TemporaryFolder) throws {
        let files = FileManager.default
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            try? files.removeItem(atPath: "\(folder.path)/\(name)")
            guard files.fileExists(atPath: "\(earlier.path)/\(name)") else { continue }
            try files.copyItem(atPath: "\(earlier.path)/\(name)", toPath: "\(folder.path)/\(name)")
        }
        try? files.removeItem(atPath: folder.database + "-shm")
    }

    @Test func aRecordThatLostItsEndSaysSoAtTheStartAndInEveryCheckAfterIt() async throws {
        var journal = try folder.open()
        try await journal.play(Charge.Event.paid)
        try await journal.audit(.example(1))
        let earlier = try folder.copy()
        try await journal.play(Charge.Event.paid)
        try await journal.audit(.example(2))
        try journal.close()
        try putBack(earlier)
        journal = try folder.open()
        #expect(journal.startup.lostEntries == LostEntries(from: 7, to: 12))
        #expect(journal.startup.lostAudit == LostEntries(from: 2, to: 2))
        #expect(try await journal.verifyChain().brokenAt == 7)
        #expect(try await journal.verifyAudit().brokenAt == 2)
        // What is written over the gap does not close it.
        for _ in 0..<3 { try await journal.play(Charge.Event.paid) }
        for number in 3..<6 { try await journal.audit(.example(number)) }
        try journal.close()
        journal = try folder.open()
        #expect(journal.startup.lostEntries == nil, "it was said already")
        #expect(try await journal.verifyChain().brokenAt == 7)
        #expect(try await journal.verifyAudit().brokenAt == 2)
    }

    @Test func aPowerCutAtAnyMomentIsNoLoss() async throws {
        let journal = try folder.open()
        for _ in 0..<12 {
            try await journal.play(Charge.Event.paid)
            try await journal.audit(.example(1))
            let cut = try folder.copy()
            let after = try cut.open()
            #expect(after.startup.lostEntries == nil && after.startup.lostAudit == nil)
            #expect(try await after.verifyChain().brokenAt == nil)
            #expect(try await after.verifyAudit().brokenAt == nil)
            try after.close()
        }
    }

    /// The mark is not synced with each entry: after a power cut an older one may lie beside the newer database.
    @Test func anOlderMarkIsNoLossAndATornOneLeavesTheOther() async throws {
        let journal = try folder.open()
        try await journal.play(Charge.Event.paid)
        let mark = try Data(contentsOf: URL(filePath: folder.path + "/journal.end"))
        try await journal.play(Charge.Event.paid)
        try journal.close()
        try mark.write(to: URL(filePath: folder.path + "/journal.end"))
        var again = try folder.open()
        #expect(again.startup.lostEntries == nil)
        try again.close()
        for slot in 0..<2 {
            let torn = try folder.copy()
            try torn.change(torn.path + "/journal.end") { data in
                for offset in 0..<100 { data[slot * 1024 + offset] = 0 }
            }
            again = try torn.open()
            #expect(again.startup.lostEntries == nil && again.startup.lostAudit == nil)
            try again.close()
        }
    }

    enum Removal: CaseIterable { case removed, changed, ofAnotherTerminal }

    @Test(arguments: Removal.allCases) func aMarkThatIsGoneOrForgedIsNoProofOfAWholeRecord(removal: Removal)
        async throws
    {
        let journal = try folder.open()
        try await journal.play(Charge.Event.paid)
        try journal.close()
        let mark = folder.path + "/journal.end"
        switch removal {
        case .removed: try FileManager.default.removeItem(atPath: mark)
        case .changed:
            // Both places: an older one that is whole says less, and nothing wrong.
            try folder.change(mark) { data in
                data = Data(String(decoding: data, as: UTF8.self).replacing("till end 1", with: "till end 2").utf8)
            }
        case .ofAnotherTerminal:
            let other = try TemporaryFolder()
            try other.open().close()
            try FileManager.default.removeItem(atPath: mark)
            try FileManager.default.copyItem(atPath: other.path + "/journal.end", toPath: mark)
        }
        let again = try folder.open()
        #expect(again.startup.lostEntries == LostEntries(from: 7, to: nil))
        #expect(try await again.verifyChain().brokenAt == 7)
    }

    // MARK: - The audit log's seal

    /// Changes the log as somebody would who knows how its hashes are made: cut, changed, and chained anew.
    private func forge(_ path: String, keeping count: Int, _ change: @escaping @Sendable (String) -> String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { db in
            let guards = try Row.fetchAll(
                db,
                sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit'"
            )
            for row in guards { try db.execute(sql: "DROP TRIGGER \(row["name"] as String)") }
            try db.execute(sql: "DELETE FROM audit WHERE seq > ?", arguments: [count])
            var previous = Entry.start
            for row in try Row.fetchAll(db, sql: "SELECT \(AuditRow.columns) FROM audit ORDER BY seq") {
                var entry = try AuditRow.read(row).entry
                entry.body = Data(change(String(decoding: entry.body, as: UTF8.self)).utf8)
                entry.previous = previous
                previous = entry.hash
                try db.execute(
                    sql: "UPDATE audit SET body = ?, previous = ?, hash = ? WHERE seq = ?",
                    arguments: [entry.body, entry.previous, previous, entry.sequence]
                )
            }
            for row in guards { try db.execute(sql: row["sql"]) }
        }
        try queue.close()
    }

    /// Each way of hiding what was done, with the mark beside the database and without it.
    @Test(arguments: [true, false], [(9, "login"), (20, "reset"), (9, "reset")])
    func rowsThatWereCutOrWrittenAnewAreSeenByTheCheck(hasMark: Bool, forgery: (kept: Int, what: String)) async throws {
        let journal = try folder.open()
        for number in 1...20 { try await journal.audit(.example(number)) }
        #expect(try await journal.verifyAudit().count == 20)
        try journal.close()
        try forge(folder.database, keeping: forgery.kept) { $0.replacing("login", with: forgery.what) }
        if !hasMark { try FileManager.default.removeItem(atPath: folder.path + "/journal.end") }
        var again = try folder.open()
        #expect(again.startup.lostAudit != nil)
        #expect(try await again.verifyAudit().brokenAt != nil)
        // What is written after it does not make it good again.
        try await again.audit(.example(21))
        #expect(try await again.verifyAudit().brokenAt != nil)
        try again.close()
        again = try folder.open()
        #expect(try await again.verifyAudit().brokenAt != nil)
    }

    @Test func rowsThatAreCutWhileTheTerminalRunsAreSeenByTheCheck() async throws {
        let journal = try folder.open()
        for number in 1...20 { try await journal.audit(.example(number)) }
        try forge(folder.database, keeping: 12) { $0 }
        #expect(try await journal.verifyAudit().brokenAt == 13)
    }

    @Test func entriesOfAnEarlierVersionAreTakenOverAndSaidToBe() async throws {
        var journal = try folder.open()
        for number in 1...5 { try await journal.audit(.example(number)) }
        try await journal.pool.write { db in
            try db.execute(sql: "DELETE FROM meta WHERE name IN ('audit_seal', 'marked')")
        }
        try journal.close()
        try FileManager.default.removeItem(atPath: folder.path + "/journal.end")
        journal = try folder.open()
        #expect(journal.startup.lostAudit == nil && journal.startup.lostEntries == nil)
        try await journal.audit(.example(6))
        #expect(try await journal.verifyAudit().count == 6)
        #expect(try await journal.auditTakenOver() == 5)
    }
}

import Foundation
import GRDB
@testable import Journal
import Payments
import Testing
import TestSupport

/// Somebody writes into the file, past the guards.
struct TamperTests {
    let folder: TemporaryFolder
    let journal: Journal

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.open()
    }

    /// Changes rows as somebody would who takes the guards away and puts them back.
    private func tamper(_ table: String, _ change: @escaping @Sendable (Database) throws -> Void) async throws {
        try await journal.pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            let guards = try Row.fetchAll(
                db,
                sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?",
                arguments: [table]
            )
            for row in guards { try db.execute(sql: "DROP TRIGGER \(row["name"] as String)") }
            try change(db)
            for row in guards { try db.execute(sql: row["sql"]) }
        }
    }

    /// Another value of the same type.
    private static func changed(_ value: DatabaseValue) -> (any DatabaseValueConvertible)? {
        switch value.storage {
        case .null: 1
        case .int64(let number): number + 100
        case .double(let number): number + 1
        case .string(let text): (text.first == "0" ? "f" : "0") + text.dropFirst()
        case .blob(let data): data.prefix(10) + [data[10] ^ 1] + data.dropFirst(11)
        }
    }

    @Test(arguments: ["event", "audit"])
    func aChangeToAnyColumnIsFoundAtItsEntry(table: String) async throws {
        try await journal.fill(charges: 3)
        let columns = try await journal.pool.read { try $0.columns(in: table).map(\.name) }
        #expect(columns.count == (table == "event" ? 12 : 5))
        for column in columns {
            for sequence in [Int64(2), 1] {
                let original = try #require(
                    try await journal.pool.read { db in
                        try DatabaseValue.fetchOne(db, sql: "SELECT \(column) FROM \(table) WHERE seq = \(sequence)")
                    }
                )
                let place = column == "seq" ? sequence + 100 : sequence
                try await tamper(table) { db in
                    try db.execute(
                        sql: "UPDATE \(table) SET \(column) = ? WHERE seq = ?",
                        arguments: [Self.changed(original), sequence]
                    )
                }
                #expect(try await check(table).brokenAt == sequence, "\(column) of \(sequence)")
                try await tamper(table) { db in
                    try db.execute(
                        sql: "UPDATE \(table) SET \(column) = ? WHERE seq = ?",
                        arguments: [original, place]
                    )
                }
                #expect(try await check(table).brokenAt == nil, "\(column) of \(sequence)")
            }
        }
    }

    private func check(_ table: String) async throws -> ChainCheck {
        table == "event" ? try await journal.verifyChain() : try await journal.verifyAudit()
    }

    @Test func aMissingAnAddedAndASwappedEntryAreFound() async throws {
        try await journal.fill()
        try await tamper("event") { try $0.execute(sql: "UPDATE event SET seq = 7000 WHERE seq = 7") }
        #expect(try await journal.verifyChain().brokenAt == 7)
        try await tamper("event") { try $0.execute(sql: "UPDATE event SET seq = 7 WHERE seq = 7000") }
        #expect(try await journal.verifyChain().brokenAt == nil)

        // A row that has a hash of its own, in place of another.
        try await tamper("event") { db in
            try db.execute(
                sql: """
                    UPDATE event SET (body, kind, attempt, rail, hash) =
                        (SELECT body, kind, attempt, rail, hash FROM event WHERE seq = 3) WHERE seq = 4
                    """
            )
        }
        #expect(try await journal.verifyChain().brokenAt == 4)
    }

    /// Changes the content of one entry, and makes its hash anew.
    private func forge(_ table: String, _ sequence: Int64) async throws {
        try await tamper(table) { db in
            let columns = table == "event" ? Entry.columns : AuditRow.columns
            let rows = try Row.fetchAll(db, sql: "SELECT \(columns) FROM \(table) WHERE seq = \(sequence)")
            let row = try #require(rows.first)
            guard table == "event" else {
                var entry = try AuditRow.read(row).entry
                entry.body = Data(String(decoding: entry.body, as: UTF8.self).replacing("login", with: "reset").utf8)
                return try db.execute(
                    sql: "UPDATE audit SET body = ?, hash = ? WHERE seq = ?",
                    arguments: [entry.body, entry.hash, sequence]
                )
            }
            var entry = try Entry.read(row).entry
            entry.wallMilliseconds += 1
            try db.execute(
                sql: "UPDATE event SET wall_ms = ?, hash = ? WHERE seq = ?",
                arguments: [entry.wallMilliseconds, entry.hash, sequence]
            )
        }
    }

    /// Whoever changes an entry can make its hash anew. The entry behind it still holds the old one.
    @Test(arguments: ["event", "audit"])
    func anEntryThatWasChangedTogetherWithItsHashIsFoundAtTheEntryBehindIt(table: String) async throws {
        try await journal.fill(charges: 3)
        let sequence = Int64(2)
        try await forge(table, sequence)
        #expect(try await check(table).brokenAt == sequence + 1)
        try journal.close()
        await expectCorrupt { _ = try folder.open() }
    }

    /// Whoever makes all hashes anew leaves a chain that is whole and has another head than the one that was written down.
    @Test func aForgedHistoryHasAnotherHead() async throws {
        try await journal.fill()
        let head = try await journal.verifyChain()
        try await tamper("event") { db in
            var previous = Entry.start
            for row in try Row.fetchAll(db, sql: "SELECT \(Entry.columns) FROM event ORDER BY seq") {
                var entry = try Entry.read(row).entry
                entry.wallMilliseconds += entry.sequence == 2 ? 1 : 0
                entry.previous = previous
                previous = entry.hash
                try db.execute(
                    sql: "UPDATE event SET wall_ms = ?, previous = ?, hash = ? WHERE seq = ?",
                    arguments: [entry.wallMilliseconds, entry.previous, previous, entry.sequence]
                )
            }
        }
        let forged = try await journal.verifyChain()
        #expect(forged.brokenAt == nil)
        #expect(forged.count == head.count)
        #expect(forged != head)
    }

    @Test func aChangedEntryIsNeverReadAsTruth() async throws {
        let charge = try await journal.play(Charge.Event.paid)
        try await tamper("event") { db in
            try db.execute(sql: "UPDATE event SET body = CAST(replace(body, '1250', '9950') AS BLOB) WHERE seq = 1")
        }
        await expectCorrupt { _ = try await journal.charge(charge.id) }
        await expectCorrupt { _ = try await journal.events(of: charge.id) }
        await expectCorrupt { _ = try await journal.charges(before: nil, limit: 1, state: nil) }
    }

    @Test func aChangedDocumentIsNeverReadAsTruth() async throws {
        _ = try await journal.setDocument("settings", Array("iban".utf8), expecting: nil, by: .terminal, at: .example)
        try await journal.pool.write { try $0.execute(sql: "UPDATE document SET body = CAST('ibam' AS BLOB)") }
        await expectCorrupt { _ = try await journal.document("settings") }
        try journal.close()
        await expectCorrupt { _ = try folder.open() }
    }

    @Test func aChangedAmountInTheTableOfChargesIsNotCounted() async throws {
        try await journal.play([])
        try await journal.pool.write { try $0.execute(sql: "UPDATE charge SET minor_units = 1000") }
        await expectCorrupt { _ = try await journal.openedMinorUnits(since: .example, currency: .euro) }
        try journal.close()
        let again = try folder.open()
        #expect(again.startup.didRebuild)
        #expect(try await again.openedMinorUnits(since: .example, currency: .euro) == 1250)
    }

    @Test(arguments: [
        "DELETE FROM charge_word; DELETE FROM idempotency; DELETE FROM charge", "UPDATE charge SET open = 0",
        "UPDATE charge SET state = 'succeeded'", "DELETE FROM idempotency",
        "UPDATE charge SET last_seq = opened_seq",
        "DELETE FROM charge_word; DELETE FROM idempotency; DELETE FROM charge WHERE opened_seq = 1",
        "UPDATE idempotency SET request_digest = x'00'",
    ])
    func tablesThatDisagreeWithTheEntriesAreMadeAnew(sql: String) async throws {
        try await journal.fill()
        let before = try await journal.everything()
        try await journal.pool.write { try $0.execute(sql: sql) }
        try journal.close()
        let again = try folder.open()
        #expect(again.startup.didRebuild)
        #expect(try await again.everything() == before)
        try again.close()
        #expect(try folder.open().startup.didRebuild == false)
    }

    @Test(arguments: [
        "DROP TRIGGER event_no_update", "DROP TRIGGER audit_no_delete", "DROP INDEX charge_open",
        "CREATE TABLE note (text)", "PRAGMA application_id = 1",
        "CREATE TRIGGER sly AFTER INSERT ON event BEGIN UPDATE charge SET open = 0; END",
    ])
    func tablesAndGuardsThatWereChangedAreRefused(sql: String) async throws {
        try await journal.fill(charges: 1)
        try await journal.pool.writeWithoutTransaction { try $0.execute(sql: sql) }
        try journal.close()
        await expectCorrupt { _ = try folder.open() }
    }

    @Test func entriesCutOffAtTheEndAreNoticed() async throws {
        try await journal.fill()
        try await tamper("event") { try $0.execute(sql: "DELETE FROM event WHERE seq > 10") }
        try journal.close()
        await expectCorrupt { _ = try folder.open() }
    }
}

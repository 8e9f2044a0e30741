import Foundation
import GRDB
import Payments
import Testing
import TestSupport

@testable import Journal

/// What the owner finds in the audit log.
struct AuditPageTests {
    let folder: TemporaryFolder
    let journal: Journal

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.open()
    }

    /// Entries a minute apart, named by what they are about.
    private func write(_ entries: [(who: Payments.Actor, what: String, result: String)]) async throws {
        for (index, one) in entries.enumerated() {
            try await journal.audit(
                AuditEntry(
                    at: .example.advanced(by: .seconds(60 * index)),
                    who: one.who,
                    from: "192.168.1.\(index)",
                    what: one.what,
                    result: one.result,
                    detail: "Detail \(index)"
                )
            )
        }
    }

    private static let day: [(who: Payments.Actor, what: String, result: String)] = [
        (.stranger, "login", "refused"), (.staff(name: "owner"), "login", "ok"),
        (.staff(name: "Ada"), "token.make", "ok"), (.till(token: "till 1"), "charge", "refused"),
        (.staff(name: "Ada"), "token.revoke", "ok"),
    ]

    private func expect(_ sequences: [Int64], _ change: (inout AuditFilter) -> Void) async throws {
        var filter = AuditFilter()
        change(&filter)
        let found = try await journal.auditPage(filter, before: nil, limit: 100).lines.map(\.sequence)
        #expect(found == sequences, "\(filter)")
    }

    @Test func eachFilterFindsWhatItSaysAndNothingElse() async throws {
        try await write(Self.day)
        try await expect([5, 4, 3, 2, 1]) { _ in }
        try await expect([5, 3, 2]) { $0.who = "staff" }
        try await expect([5, 3]) { $0.who = "staff:Ada" }
        try await expect([4]) { $0.who = "till:till 1" }
        try await expect([1]) { $0.who = "stranger" }
        try await expect([]) { $0.who = "staff') OR 1=1 --" }
        try await expect([5, 3]) { $0.what = "token" }
        try await expect([3]) { $0.what = "token.make" }
        try await expect([]) { $0.what = "%" }
        try await expect([4, 1]) { $0.result = "refused" }
        try await expect([4]) { $0.text = "DETAIL 3" }
        try await expect([3]) { $0.text = "168.1.2" }
        try await expect([5, 4, 3]) { $0.from = .example.advanced(by: .seconds(120)) }
        try await expect([2, 1]) { $0.until = .example.advanced(by: .seconds(120)) }
        try await expect([2]) {
            $0.who = "staff"
            $0.result = "ok"
            $0.what = "login"
        }
    }

    @Test func pagesFollowEachOtherWithoutAGap() async throws {
        try await write((0..<25).map { (.stranger, $0 == 3 ? "rare" : "login", "refused") })
        var (seen, before): ([Int64], Int64?) = ([], nil)
        repeat {
            let page = try await journal.auditPage(AuditFilter(), before: before, limit: 10)
            seen += page.lines.map(\.sequence)
            before = page.next
        } while before != nil
        #expect(seen == Array((1...25).reversed()))
        // Each answer looks at ten entries only: what is found late is found all the same.
        var filter = AuditFilter()
        filter.what = "rare"
        var (rare, asked): ([Int64], Int) = ([], 0)
        repeat {
            let page = try await journal.auditPage(filter, before: before, limit: 10, window: 10)
            rare += page.lines.map(\.sequence)
            before = page.next
            asked += 1
        } while before != nil
        #expect(rare == [4] && asked == 3)
    }

    @Test func aChangedEntryIsShownAsChangedAndHidesNoOther() async throws {
        try await write(Self.day)
        try await journal.pool.writeWithoutTransaction { db in
            try db.execute(sql: "DROP TRIGGER audit_no_update")
            try db.execute(sql: "UPDATE audit SET body = CAST(replace(body, 'refused', 'ok') AS BLOB) WHERE seq = 4")
            try db.execute(sql: "UPDATE audit SET body = x'FF00' WHERE seq = 2")
        }
        let page = try await journal.auditPage(AuditFilter(), before: nil, limit: 100)
        #expect(page.lines.map(\.isIntact) == [true, false, true, false, true])
        #expect(page.lines.map { $0.entry == nil } == [false, true, false, true, false])
        // What is no JSON any more cannot be left out by looking for something else.
        try await expect([5, 3, 2]) { $0.what = "token" }
    }

    @Test func everythingThatTheHashWasMadeFromCanBeTakenAlong() async throws {
        try await write(Self.day)
        let lines = try await journal.auditLines(after: 1, limit: 3)
        #expect(lines.map(\.sequence) == [2, 3, 4])
        for (one, next) in zip(lines, lines.dropFirst()) { #expect(next.previous == one.hash) }
        for line in lines {
            let row = AuditRow(sequence: line.sequence, body: Data(line.body), previous: Data(line.previous))
            #expect(Array(row.hash) == line.hash)
        }
    }
}

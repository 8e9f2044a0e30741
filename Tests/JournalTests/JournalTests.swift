import GRDB
@testable import Journal
import Payments
import Testing
import TestSupport

/// What the core may rely on, against a real file.
struct JournalTests {
    let folder: TemporaryFolder
    let journal: Journal

    init() throws {
        folder = try TemporaryFolder()
        journal = try folder.open()
    }

    @Test func aChargeIsThereAsItsDriverLeftIt() async throws {
        let charge = try await journal.play(Charge.Event.paid)
        let record = try #require(try await journal.charge(charge.id))
        #expect(record.charge == charge)
        #expect(record.updatedAt == WallTime.example.advanced(by: .seconds(5)))
        let events = try await journal.events(of: charge.id)
        #expect(events.map(\.event) == [nil] + Charge.Event.paid)
        #expect(events.map(\.sequence) == Array(1...6))
        #expect(Set(events.map(\.hash)).count == 6)
    }

    @Test func itsNewestTimeStaysTheNewestAlsoWhereTheClockGoesBack() async throws {
        #expect(try await journal.newestTime() == nil)
        try await journal.play(Charge.Event.paid)
        let newest = WallTime.example.advanced(by: .seconds(5))
        #expect(try await journal.newestTime() == newest)
        for time in [WallTime(millisecondsSince1970: 1000), newest.advanced(by: .seconds(60))] {
            _ = try await journal.setDocument("d", [1], expecting: .any, by: .terminal, at: time)
            #expect(try await journal.newestTime() == max(newest, time))
        }
    }

    @Test func whatHappensToAChargeAndOverBLEInOneStepIsKeptTogetherOrNotAtAll() async throws {
        let before = try await journal.play(Array(Charge.Event.paid.prefix(3)))
        var charge = before
        let events: [Charge.Event] = [
            .claimWanted(attempt: 1, tipMinorUnits: 50), .claimed(attempt: 1),
            .reported(attempt: 1, report: .processing),
        ]
        for event in events { _ = charge.handle(event) }
        func append(_ payment: String) async throws {
            let entry = TapEntry(
                payment: payment,
                charge: charge.id,
                attempt: 1,
                kind: "claimed",
                body: [1],
                at: .example
            )
            try await journal.append(events, to: charge, at: .example, with: TapNotes([entry]))
        }
        await #expect(throws: JournalError.self) { try await append("no name of a payment") }
        #expect(try await journal.charge(before.id)?.charge == before)
        #expect(try await journal.tapEntries(of: charge.id, attempt: 1).isEmpty)

        try await append("01a20436-32c8-735e-9203-c4fb309133d6")
        #expect(try await journal.charge(before.id)?.charge == charge)
        #expect(try await journal.events(of: charge.id).suffix(3).map(\.event) == events)
        #expect(try await journal.tapEntries(of: charge.id, attempt: 1).map(\.kind) == ["claimed"])
        #expect(try await journal.pool.read { db in try Projection.disagreement(db) } == nil)
    }

    @Test func twoDocumentsThatChangeTogetherChangeBothOrNeither() async throws {
        let time = WallTime.example
        func change(expecting version: Int?) async throws -> DocumentChange {
            try await journal.setDocument(
                "one",
                [1],
                expecting: .version(version),
                and: ("other", [2]),
                by: .terminal,
                at: time
            )
        }
        #expect(try await change(expecting: nil) == .stored(version: 1))
        #expect(try await journal.document("other")?.bytes == [2])
        guard case .conflict = try await change(expecting: 7) else { return _ = Issue.record("no conflict") }
        #expect(try await journal.document("other")?.version == 1)
        try await journal.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON document WHEN NEW.name = 'other'
                        BEGIN SELECT RAISE(ABORT, 'no'); END
                    """
            )
        }
        await #expect(throws: JournalError.self) { _ = try await change(expecting: 1) }
        #expect(try await journal.document("one")?.version == 1)
    }

    @Test func chargesSurviveAReopen() async throws {
        let charge = try await journal.play(Charge.Event.paid)
        let open = try await journal.play([.attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1)])
        try journal.close()
        let again = try folder.open()
        #expect(again.startup == StartupReport(isNew: false, entries: 9, entriesChecked: 9, didRebuild: false))
        #expect(try await again.charge(charge.id)?.charge == charge)
        #expect(try await again.openCharges() == [open])
    }

    @Test func everyReplayGivesTheLiveCharge() async throws {
        var live: [Charge] = []
        for _ in 0..<60 {
            let count = Int.random(in: 0...25)
            let events = (0..<count).map { _ in Charge.Event.random() }
            live.append(try await journal.play(events))
        }
        let tables = try await journal.projection()
        try journal.close()
        let again = try folder.open()
        #expect(again.startup.didRebuild == false)
        for charge in live { #expect(try await again.charge(charge.id)?.charge == charge) }
        #expect(
            try await again.openCharges()
                == live.filter { !$0.state.isFinal || $0.attempts.contains(where: \.isOpen) }
        )
        try await again.rebuildProjections()
        #expect(try await again.projection() == tables)
        #expect(try await again.verifyChain() == again.wholeChain())
    }

    @Test func openChargesComeOldestFirstHoweverTheClockJumped() async throws {
        var ids: [ChargeID] = []
        for seconds in [0, 60, -86_400, 30] {
            let terms = ChargeTerms.example(at: .example.advanced(by: .seconds(seconds)))
            ids.append(try await journal.play([.attemptStarted(attempt: 1, rail: .scan)], terms).id)
        }
        #expect(try await journal.openCharges().map(\.id) == ids)
        #expect(try await journal.charges(before: nil, limit: 10, state: nil).map(\.charge.id) == ids.reversed())
    }

    @Test func pagesOfChargesCoverEachOnce() async throws {
        var ids: [ChargeID] = []
        for number in 0..<23 {
            let events = number % 3 == 0 ? Charge.Event.paid : []
            ids.append(try await journal.play(events).id)
        }
        for (state, expected) in [
            (nil, ids), (Charge.State.succeeded, ids.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)),
        ] {
            var seen: [ChargeID] = []
            while true {
                let page = try await journal.charges(before: seen.last, limit: 5, state: state)
                seen += page.map(\.charge.id)
                if page.isEmpty { break }
            }
            #expect(seen == expected.reversed())
        }
        #expect(try await journal.charges(before: nil, limit: 0, state: nil).isEmpty)
        #expect(try await journal.charges(before: nil, limit: -1, state: nil).isEmpty)
    }

    @Test func aKeyFindsItsChargeAndOpensNoSecondOne() async throws {
        let key = IdempotencyKey(key: "till-7/4711", requestDigest: Array(repeating: 7, count: 32))
        let charge = try await journal.play([], under: key)
        let found = try #require(try await journal.chargeOpened(under: key.key))
        #expect(found.id == charge.id)
        #expect(found.requestDigest == key.requestDigest)
        #expect(try await journal.chargeOpened(under: "another") == nil)

        let second = ChargeTerms.example()
        await #expect(throws: JournalError.self) { try await journal.open(second, under: key) }
        #expect(try await journal.charge(second.id) == nil)
        #expect(try await journal.verifyChain() == journal.wholeChain())
    }

    /// Nobody finds a charge of which the audit log knows nothing, or the other way round.
    @Test func aChargeAndItsLineInTheAuditLogAreOneRecord() async throws {
        let key = IdempotencyKey(key: "till-7/4711", requestDigest: [1])
        let terms = ChargeTerms.example()
        try await journal.open(terms, under: key, from: "192.0.2.7")
        let line = AuditEntry(
            at: terms.openedAt,
            who: terms.openedBy,
            from: "192.0.2.7",
            what: "charge",
            result: "ok",
            detail: terms.id.rawValue
        )
        #expect(try await journal.auditEntries(before: nil, limit: 10).map(\.entry) == [line])

        await #expect(throws: JournalError.self) {
            try await journal.open(.example(), under: key, from: "192.0.2.7")
        }
        #expect(try await journal.auditEntries(before: nil, limit: 10).map(\.entry) == [line])
        guard case .intact(count: 1, _) = try await journal.verifyAudit() else {
            Issue.record("the audit log's chain is broken")
            return
        }
    }

    /// SQLite would end the text at the zero byte and find another caller's key.
    @Test func aTextWithAZeroByteIsRefusedWhole() async throws {
        let key = IdempotencyKey(key: "a\u{0}b", requestDigest: [1])
        for (terms, key) in [(ChargeTerms.example(), key), (ChargeTerms.example(reference: "a\u{0}"), nil)] {
            await #expect(throws: JournalError.self) { try await journal.open(terms, under: key) }
            #expect(try await journal.charge(terms.id) == nil)
        }
    }

    @Test func anEventOfAChargeThatWasNeverOpenedIsRefusedWhole() async throws {
        try await journal.play(Charge.Event.paid)
        let stranger = Charge(terms: .example())
        await #expect(throws: JournalError.self) { try await journal.append(.resumed, to: stranger, at: .example) }
        #expect(try await journal.events(of: stranger.id).isEmpty)
        // The next entry follows from the last one that was written, not from the refused one.
        try await journal.play(Charge.Event.paid)
        #expect(try await journal.verifyChain() == journal.wholeChain())
        #expect(try await journal.verifyChain().count == 12)
    }

    @Test func theHourlySumCountsWhatIsOpenOrPaidInItsCurrency() async throws {
        let failure = Charge.Event.reported(attempt: 1, report: .failed(code: nil))
        let cancelled = Charge.Event.reported(attempt: 1, report: .cancelled)
        let begun = Array(Charge.Event.paid.prefix(3))
        try await journal.play(Charge.Event.paid, .example(minorUnits: 100))
        try await journal.play(begun, .example(minorUnits: 1000))
        try await journal.play(begun + [failure], .example(minorUnits: 10_000))
        try await journal.play(begun + [cancelled], .example(minorUnits: 100_000))
        try await journal.play([], .example(minorUnits: 1_000_000, currency: .yen))
        let earlier = WallTime(millisecondsSince1970: WallTime.example.millisecondsSince1970 - 1)
        try await journal.play([], .example(minorUnits: 10_000_000, at: earlier))
        #expect(try await journal.openedMinorUnits(since: .example, currency: .euro) == 1100)
        #expect(try await journal.openedMinorUnits(since: .example, currency: .yen) == 1_000_000)
        #expect(try await journal.openedMinorUnits(since: earlier, currency: .euro) == 10_001_100)
        try await journal.play([], .example(minorUnits: .max))
        try await journal.play([], .example(minorUnits: .max))
        #expect(try await journal.openedMinorUnits(since: .example, currency: .euro) == .max)
    }

    @Test func everyCommitWaitsForTheStorage() async throws {
        let pragmas = try await journal.pool.write { db in
            try ["synchronous", "journal_mode", "foreign_keys"].map { name in
                try String.fetchOne(db, sql: "PRAGMA \(name)") ?? ""
            }
        }
        #expect(pragmas == ["2", "wal", "1"])
    }

    @Test(arguments: ["event", "audit"])
    func entriesCannotBeChangedOrDeleted(table: String) async throws {
        try await journal.fill(charges: 1)
        for sql in ["UPDATE \(table) SET body = x'00'", "DELETE FROM \(table)", "DELETE FROM \(table) WHERE seq = 1"] {
            await #expect(throws: DatabaseError.self) { try await journal.pool.write { try $0.execute(sql: sql) } }
        }
    }

    @Test func auditEntriesComeBackNewestFirstInPages() async throws {
        for number in 0..<7 { try await journal.audit(.example(number)) }
        let first = try await journal.auditEntries(before: nil, limit: 4)
        let second = try await journal.auditEntries(before: first.last?.sequence, limit: 4)
        #expect((first + second).map(\.entry) == (0..<7).reversed().map(AuditEntry.example))
        #expect((first + second).map(\.sequence) == (1...7).reversed())
    }

    @Test func aClosedJournalAnswersWithAnError() async throws {
        let charge = try await journal.play([])
        try journal.close()
        await #expect(throws: JournalError.self) { try await journal.append(.resumed, to: charge, at: .example) }
        await #expect(throws: JournalError.self) { try await journal.openCharges() }
    }
}

extension Journal {
    /// The tables of current states, row by row.
    func projection() async throws -> [String] {
        try await pool.read { db in
            try ["SELECT * FROM charge ORDER BY id", "SELECT * FROM idempotency ORDER BY key"].flatMap { sql in
                try Row.fetchAll(db, sql: sql).map(\.debugDescription)
            }
        }
    }

    /// A check of a chain that is whole, with what the table says of its length and end.
    func wholeChain() async throws -> ChainCheck {
        try await pool.read { db in
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM event") ?? -1
            return .intact(count: count, head: Array(try Chain.events.tail(db).hash))
        }
    }
}

extension ChainCheck {
    /// -1 where it is broken.
    var count: Int { if case .intact(let count, _) = self { count } else { -1 } }
    /// Nil where it is intact.
    var brokenAt: Int64? { if case .broken(let sequence, _) = self { sequence } else { nil } }
}

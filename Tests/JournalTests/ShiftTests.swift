import Foundation
import GRDB
@testable import Journal
import Payments
import Testing
import TestSupport

/// Shifts, notes and refunds as the journal keeps them.
struct ShiftTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func terms(by name: String, note: String? = nil, at seconds: Int = 0) -> ChargeTerms {
        var generator = SystemRandomNumberGenerator()
        let time = WallTime.example.advanced(by: .seconds(seconds))
        return ChargeTerms(
            id: ChargeID(at: time, using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: .random(in: 100...5000), currency: .euro),
            reference: nil,
            note: note,
            merchantID: "merchant-42",
            merchantName: "Kiosk",
            operatorID: "operator-7",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: name),
            openedAt: time,
            timeLimitSeconds: 300
        )
    }

    @Test func theFirstChargeOfAPersonBeginsTheirShift() async throws {
        let journal = try folder.open()
        #expect(try await journal.currentShift(of: .staff(name: "Ada")) == nil)
        let paid = try await journal.play(Charge.Event.paid, terms(by: "Ada"))
        try await journal.play(Array(Charge.Event.paid.prefix(3)), terms(by: "Ada"))
        try await journal.play(Charge.Event.paid, terms(by: "Bea"))
        let shift = try #require(try await journal.currentShift(of: .staff(name: "Ada")))
        #expect(shift.shift.person == "staff:Ada" && shift.shift.openedAt == .example && shift.openCount == 1)
        let sums = shift.takings.filter { $0.state == .succeeded }
        #expect(sums.map(\.totalMinorUnits) == [paid.total.minorUnits] && sums.map(\.charges) == [1])
        #expect(shift.takings.contains { $0.state == .requiresAction && $0.charges == 1 })
        #expect(try await journal.openShift(of: .staff(name: "Ada"), at: .example).shift.id == shift.shift.id)
        #expect(try await journal.currentShift(of: .staff(name: "Bea"))?.shift.id == shift.shift.id + 1)
        #expect(try await journal.verifyProjections() == nil)
    }

    @Test func aClosedShiftKeepsItsReportWhateverComesAfter() async throws {
        let journal = try folder.open()
        var charge = try await journal.play(Charge.Event.paid, terms(by: "Ada"))
        let number = try #require(try await journal.currentShift(of: .staff(name: "Ada"))?.shift.id)
        let closed = try #require(try await journal.closeShift(number, by: .staff(name: "Bea"), at: .example))
        #expect(closed.shift.closing?.by == "staff:Bea")
        let report = try #require(closed.shift.closing?.report)
        #expect(report == closed.takings && report.first?.refundedMinorUnits == 0)

        let refund = Refund(minorUnits: 40, reason: "broken", by: .staff(name: "Bea"))
        for event in [
            Charge.Event.refundAsked(attempt: 1, refund: refund), .refunded(attempt: 1, mark: .keptHere),
        ] {
            _ = charge.handle(event)
            try await journal.append(event, to: charge, at: .example)
        }
        let later = try #require(try await journal.shift(number))
        #expect(later.shift.closing?.report == report)
        #expect(later.takings.map(\.refundedMinorUnits) == [40] && later.takings.map(\.refunds) == [1])
        // Closing again changes nothing, whatever it comes to by now; the next charge begins another shift.
        #expect(try await journal.closeShift(number, by: .staff(name: "Ada"), at: .example)?.shift == later.shift)
        try await journal.play([], terms(by: "Ada"))
        #expect(try await journal.currentShift(of: .staff(name: "Ada"))?.shift.id == number + 1)
        #expect(try await journal.closeShift(99, by: .terminal, at: .example) == nil)
        // A clock that was set back does not close it before it began.
        let early = WallTime.example.advanced(by: .seconds(-3600))
        let next = try #require(try await journal.closeShift(number + 1, by: .staff(name: "Ada"), at: early))
        #expect(next.shift.closing?.at == next.shift.openedAt)
        await #expect(throws: (any Error).self) {
            try await journal.pool.write { try $0.execute(sql: "UPDATE shift SET person = 'staff:Eve'") }
        }
        await #expect(throws: (any Error).self) {
            try await journal.pool.write { try $0.execute(sql: "DELETE FROM shift") }
        }
        #expect(try await journal.verifyProjections() == nil)
    }

    /// Random lives of charges by three people, who close their shifts in between.
    @Test func theSumsOfShiftsAreThoseOfTheirCharges() async throws {
        let journal = try folder.open()
        var lives: [Charge] = []
        for number in 0..<60 {
            let person = ["Ada", "Bea", "Cy"].randomElement() ?? "Ada"
            let terms = terms(by: person, at: number)
            try await journal.open(terms, under: nil)
            lives.append(Charge(terms: terms))
            for _ in 0..<Int.random(in: 0...12) {
                let index = Int.random(in: lives.indices)
                let event = Charge.Event.random()
                _ = lives[index].handle(event)
                try await journal.append(event, to: lives[index], at: .example)
            }
            if number % 9 == 8, let shift = try await journal.currentShift(of: .staff(name: person)) {
                _ = try await journal.closeShift(shift.shift.id, by: .staff(name: person), at: .example)
            }
        }
        let ever = WallTime(millisecondsSince1970: 0)..<WallTime.example.advanced(by: .seconds(86_400))
        let rows = try await journal.charges(ChargeFilter(), from: .oldest, limit: 1000).charges
        let shifts = try await journal.shifts(openedIn: ever, person: nil, limit: 400)
        #expect(shifts.count > 3 && rows.allSatisfy { $0.shift != nil })
        for shift in shifts {
            let mine = rows.filter { $0.shift == shift.shift.id }
            #expect(mine.allSatisfy { $0.openedBy == shift.shift.person })
            for state in Charge.State.allCases {
                let sums = shift.takings.filter { $0.state == state }
                let wanted = mine.filter { $0.state == state }
                #expect(sums.reduce(0) { $0 + $1.charges } == Int64(wanted.count))
                #expect(sums.reduce(0) { $0 + $1.totalMinorUnits } == wanted.reduce(0) { $0 + $1.total.minorUnits })
                #expect(
                    sums.reduce(0) { $0 + $1.refundedMinorUnits } == wanted.reduce(0) { $0 + $1.refunded.minorUnits }
                )
                #expect(sums.reduce(0) { $0 + $1.surplusMinorUnits } == wanted.reduce(0) { $0 + $1.surplus.minorUnits })
            }
            #expect(shift.openCount == mine.filter(\.isOpen).count)
        }
        #expect(try await journal.verifyProjections() == nil)
        try await journal.rebuildProjections()
        #expect(try await journal.shifts(openedIn: ever, person: nil, limit: 400) == shifts)
        #expect(try await journal.openers(limit: 10) == ["staff:Ada", "staff:Bea", "staff:Cy"])
        try journal.close()
        #expect(try folder.open().startup.didRebuild == false)
    }

    @Test func aNoteIsKeptAndFoundByEachOfItsWords() async throws {
        let journal = try folder.open()
        let charge = try await journal.play([], terms(by: "Ada", note: "Regular guest, Blue JACKET"))
        #expect(try await journal.charge(charge.id)?.charge.terms.note == "Regular guest, Blue JACKET")
        for text in ["regular g", "blue", "jack"] {
            var filter = ChargeFilter()
            filter.search = ChargeSearch(text: text, total: nil)
            let found = try await journal.charges(filter, from: .newest, limit: 10).charges
            #expect(found.map(\.note) == ["Regular guest, Blue JACKET"], "\(text)")
        }
        await #expect(throws: JournalError.self) {
            try await journal.open(terms(by: "Ada", note: "a\u{0}b"), under: nil)
        }
    }

    @Test func aRefundThatNobodyConfirmedIsFoundAfterARestart() async throws {
        let journal = try folder.open()
        var charge = try await journal.play(Charge.Event.paid, terms(by: "Ada"))
        let refund = Refund(minorUnits: charge.total.minorUnits, reason: "returned", by: .staff(name: "Bea"))
        _ = charge.handle(.refundAsked(attempt: 1, refund: refund))
        try await journal.append(.refundAsked(attempt: 1, refund: refund), to: charge, at: .example)
        try journal.close()
        let again = try folder.open()
        #expect(!again.startup.didRebuild)
        #expect(try await again.chargesWithAskedRefunds(limit: 10) == [charge])
        _ = charge.handle(.refunded(attempt: 1, mark: .marked))
        try await again.append(.refunded(attempt: 1, mark: .marked), to: charge, at: .example)
        #expect(try await again.chargesWithAskedRefunds(limit: 10).isEmpty)
        let listed = try await again.charges(ChargeFilter(), from: .newest, limit: 10).charges
        #expect(listed.map(\.refunded) == [charge.total] && listed.map(\.isGivenBack) == [true])
    }
}

/// From v5 on nothing is replayed for an update.
struct UpdateTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The terminal made this file before there were notes, shifts and refunds.
    @Test func aJournalOfTheVersionBeforeIsTakenOverAsItIs() async throws {
        try copyOld()
        let before = try rows()
        let journal = try folder.open()
        #expect(!journal.startup.didRebuild && FileManager.default.fileExists(atPath: folder.database + ".v5"))
        #expect(try rows() == before)
        #expect(try await journal.verifyProjections() == nil)
        let listed = try await journal.charges(ChargeFilter(), from: .newest, limit: 100).charges
        #expect(listed.count > 3 && listed.allSatisfy { $0.shift == nil && $0.note == nil })
        let charge = try await journal.play(Charge.Event.paid)
        #expect(try await journal.currentShift(of: .staff(name: "Ada"))?.takings.map(\.charges) == [1])
        #expect(try await journal.verifyProjections() == nil)
        try journal.close()
        let again = try folder.open()
        #expect(!again.startup.didRebuild)
        #expect(try await again.charge(charge.id)?.charge.state == .succeeded)
    }

    @Test func listsThatDisagreeBeforeAnUpdateAreMadeAnewByIt() async throws {
        try copyOld()
        let file = try DatabaseQueue(path: folder.database)
        try await file.write { try $0.execute(sql: "UPDATE charge SET total_minor_units = total_minor_units + 1") }
        try file.close()
        let journal = try folder.open()
        #expect(journal.startup.didRebuild)
        #expect(try await journal.verifyProjections() == nil)
    }

    private func copyOld() throws {
        let old = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Files/journal-v5.sqlite")
        try FileManager.default.copyItem(at: old, to: URL(fileURLWithPath: folder.database))
    }

    private func rows() throws -> [[String]] {
        let file = try DatabaseQueue(path: folder.database)
        defer { try? file.close() }  // Nothing was written through it.
        return try file.read { db in
            try Row.fetchAll(
                db,
                sql: "SELECT id, state, total_minor_units, hex(digest) FROM charge ORDER BY opened_seq"
            )
            .map { row in (0..<4).map { (row[$0] as DatabaseValue).description } }
        }
    }
}

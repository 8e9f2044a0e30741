import Payments
import TerminalTestSupport
import Testing
import TestSupport

@testable import Terminal

/// What is asked without anybody waiting for it, and that what comes of it is shown, booked and not forgotten.
@Suite(.timeLimit(.minutes(1)))
struct ReconcileTests {
    private static func succeeds(_ link: AttemptLink) async {
        let evidence = Evidence(paymentID: "pay_1", transactionID: nil, paid: nil)
        await link.record(.reported(attempt: link.id, report: .succeeded(evidence)))
    }

    /// A charge that staff cancelled and the authority confirmed, its result gone from the screen.
    private func cancelled(_ desk: DeskUnderTest) async throws -> ChargeID {
        let charge = try await desk.desk.open(desk.request())
        await desk.untilRail { $0 == [.pursue(charge.id)] }
        try await desk.offer(charge.id)
        _ = try await desk.desk.cancel(charge.id, by: .staff(name: "Ada"))
        try await desk.say(.reported(attempt: 1, report: .cancelled), of: charge.id)
        await desk.pass(.seconds(20))
        await desk.until { $0.phase == .idle }
        return charge.id
    }

    @Test func aPaymentThatWasPaidAfterItsCancelIsFoundShownAndBooked() async throws {
        try await withDesk(rail: ScriptedRail(answer: Self.succeeds)) { desk in
            let id = try await cancelled(desk)
            await desk.pass(.seconds(40))
            await desk.until { $0.notices.first?.id == id && $0.notices.first?.kind == .late }
            let charge = try await desk.desk.charge(id).charge
            #expect(charge.state == .succeeded && charge.isLate && charge.reason?.code == "paid_late")
            let booked = desk.archive.events(of: id).contains {
                if case .reported(_, .succeeded) = $0 { true } else { false }
            }
            #expect(booked)
        }
    }

    /// The last look of a day brings the word, and the storage is full.
    @Test func anAnswerThatTheJournalDidNotTakeIsAskedForAgain() async throws {
        try await withDesk(rail: ScriptedRail(answer: Self.succeeds)) { desk in
            let id = try await cancelled(desk)
            desk.archive.fail(at: 0...Int.max)
            for gap in [40, 540] { await desk.pass(.seconds(gap)) }
            await desk.untilSleeping(for: .seconds(600))
            #expect(await desk.desk.snapshot.trouble != nil)
            desk.archive.fail(at: nil)
            await desk.pass(.seconds(600))  // An answer would have had the next look after an hour.
            await desk.until { $0.notices.first?.id == id }
        }
    }

    @Test func theLastLooksGoOnAfterARestart() async throws {
        let archive = MemoryArchive()
        let id = try await withDesk(archive: archive) { try await cancelled($0) }
        let rail = ScriptedRail(answer: Self.succeeds)
        try await withDesk(archive: archive, rail: rail, startingAt: .seconds(3000)) { desk in
            await desk.pass(.seconds(600))
            await desk.until { $0.notices.first?.id == id }
            #expect(rail.calls == [.ask(id)])
        }
    }

    @Test func anEndThatStaysTheSameIsNotWrittenAgain() async throws {
        let rail = ScriptedRail { await $0.record(.reported(attempt: $0.id, report: .cancelled)) }
        try await withDesk(rail: rail) { desk in
            let id = try await cancelled(desk)
            let events = desk.archive.events(of: id)
            for gap in [40, 540, 3000, 18_000, 64_800] { await desk.pass(.seconds(gap)) }
            await desk.untilRail { $0.filter { $0 == .ask(id) }.count == 5 }
            #expect(desk.archive.events(of: id) == events)
        }
    }

    @Test func newsThatNobodySawComesBackAfterARestart() async throws {
        let archive = MemoryArchive()
        let charge = try await withDesk(archive: archive) { desk in
            let charge = try await desk.paidLate()
            await desk.until { $0.notices.count == 1 }
            return charge
        }
        try await withDesk(archive: archive) { desk in
            let notice = await desk.desk.snapshot.notices.first
            #expect(notice?.id == charge.id && notice?.kind == .late && notice?.amountText == "€12.50")
            let seen = try await desk.desk.markSeen(charge.id, by: .staff(name: "Ada"))
            #expect(seen.charge.state == .succeeded)
            #expect(await desk.desk.snapshot.notices.isEmpty)
            #expect(archive.events(of: charge.id).last == .seen(by: .staff(name: "Ada")))
        }
        try await withDesk(archive: archive) { desk in
            #expect(await desk.desk.snapshot.notices.isEmpty)
        }
    }

    @Test func whatTheJournalCannotTakeAsSeenIsStillShown() async throws {
        try await withDesk { desk in
            let charge = try await desk.paidLate()
            await desk.until { $0.notices.count == 1 }
            desk.archive.fail(at: 0...Int.max)
            await #expect(throws: ChargeRefusal.journal(.diskFull)) {
                try await desk.desk.markSeen(charge.id, by: .staff(name: "Ada"))
            }
            #expect(await desk.desk.snapshot.notices.count == 1)
        }
    }

    @Test func whatGotNoAnswerIsAskedAboutOnceTheGatewayIsBack() async throws {
        let rail = ScriptedRail { await $0.record(.silent(attempt: $0.id, reason: "time-out")) }
        try await withDesk(rail: rail) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            try await desk.say(.silent(attempt: 1, reason: "time-out"), of: charge.id)
            _ = try await desk.desk.release(charge.id, by: .staff(name: "Ada"))
            for (count, gap) in [15, 30, 60, 120].enumerated() {
                await desk.pass(.seconds(gap))
                await desk.untilRail { $0.filter { $0 == .ask(charge.id) }.count == count + 1 }
            }
            await desk.untilSleeping(for: .seconds(240))
            desk.clock.advance(by: .seconds(20))
            await desk.desk.setGateway(.ready)
            await desk.untilRail { $0.filter { $0 == .ask(charge.id) }.count == 5 }
        }
    }

    /// A terminal runs for months.
    @Test func aPaidChargeLeavesNothingBehindInMemory() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.pay(charge.id)
            await desk.pass(.seconds(20))
            await desk.until { $0.phase == .idle }
            let (charges, answered, schedule) = await (desk.desk.charges, desk.desk.answered, desk.desk.schedule)
            #expect(charges.isEmpty && answered.isEmpty && schedule == AskingSchedule())
        }
    }
}

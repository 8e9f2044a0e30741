import Logging
import Payments
import Screen
import TerminalTestSupport
import Testing
import TestSupport

@testable import Terminal

/// A storage that fails while a customer can pay: nobody is told to pay again, and what was paid is booked once it works again.
@Suite(.timeLimit(.minutes(1)))
struct RecordingTests {
    private func scene(_ desk: DeskUnderTest) async -> Scene {
        ScreenDirectorTests.director(desk.desk, desk.clock.terminalClock).scene(
            of: await desk.desk.snapshot,
            at: desk.clock.now
        )
    }

    private func expectNotKnown(_ desk: DeskUnderTest, _ id: ChargeID) async throws {
        let charge = try await desk.desk.charge(id)
        #expect(charge.isUnresolved && charge.link == nil && charge.paymentLink == nil && charge.secondsLeft == nil)
        #expect(charge.reason?.code == "storage_full" && charge.reason?.values["case"] == "charge")
        #expect(charge.reason?.action.contains("Do not charge again") == true)
        #expect(!charge.canCancel && !charge.canRelease, "neither could be recorded")
        // Whoever asks for it all the same reads the same words, and so does whoever looks at the terminal.
        let words = ChargeRefusal.unrecorded(try #require(charge.reason))
        await #expect(throws: words) { try await desk.desk.cancel(id, by: .terminal) }
        await #expect(throws: words) { try await desk.desk.release(id, by: .terminal) }
        #expect(await desk.desk.snapshot.trouble == charge.reason)
        guard case .unknown = await scene(desk) else {
            Issue.record("the screen does not say that it is not known: \(await scene(desk))")
            return
        }
    }

    @Test(arguments: Rail.allCases)
    func anAnswerThatCannotBeRecordedMakesTheChargeNotKnownAndIsBookedLater(rail: Rail) async throws {
        try await withDesk(rail: ScriptedRail(rail)) { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            desk.archive.fail(at: 1...Int.max)
            try await desk.pay(charge.id, offering: false)
            try await expectNotKnown(desk, charge.id)
            #expect(await desk.desk.snapshot.phase.charge?.isAnswerMissing == true)

            // The storage works again. That says nothing about the payment: the code stays away until its authority is heard.
            desk.archive.fail(at: nil)
            await desk.pass(.seconds(5))
            await desk.until { $0.trouble == nil }
            #expect(try await desk.desk.charge(charge.id).isAnswerMissing)
            #expect(try await desk.desk.charge(charge.id).link == nil)
            try await desk.pay(charge.id, offering: false)
            let paid = try await desk.desk.charge(charge.id)
            #expect(paid.charge.state == .succeeded && !paid.isUnresolved && !paid.charge.isLate)
        }
    }

    /// What never reached a customer is not said to be open: then staff may take the money another way.
    @Test(arguments: 0...4) func atEachStepTheScreenSaysWhatTheStorageMeansForTheMoney(step: Int) async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            let link = try #require(desk.rail.link(charge.id))
            let offer = Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: nil)
            let evidence = Evidence(paymentID: "pay_1", transactionID: nil, paid: nil)
            let story: [Charge.Event] = [
                .sending(attempt: 1), .offered(attempt: 1, offer: offer), .silent(attempt: 1, reason: "time-out"),
                .reported(attempt: 1, report: .processing), .reported(attempt: 1, report: .succeeded(evidence)),
            ]
            for event in story.prefix(step) { await link.record(event) }
            desk.archive.fail(at: 1...Int.max)
            await link.record(story[step])
            await desk.until { $0.trouble != nil }
            guard step >= 2 else {
                let detail = JournalError.diskFull.reason.message
                #expect(await scene(desk) == .offline(.init(merchantName: "Kiosk", detail: detail, storage: .full)))
                return
            }
            try await expectNotKnown(desk, charge.id)
        }
    }

    /// A payment that slipped in after the charge had ended is not denied while it cannot be recorded.
    @Test func aLatePaymentThatCannotBeRecordedIsNotCalledUnpaid() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            try await desk.say(.reported(attempt: 1, report: .expired), of: charge.id)
            desk.archive.fail(at: 1...Int.max)
            try await desk.pay(charge.id, offering: false)
            let shown = try await desk.desk.charge(charge.id)
            #expect(shown.charge.state == .expired && shown.isUnresolved && shown.isAnswerMissing)
            guard case .unknown = await scene(desk) else {
                Issue.record("the screen still says that it is not paid")
                return
            }
        }
    }

    @Test func aBrokenStorageComesBeforeAnotherCharge() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            desk.archive.fail(at: 1...Int.max)
            try await desk.say(.sending(attempt: 1), of: charge.id)
            await #expect(throws: ChargeRefusal.journal(.diskFull)) { try await desk.desk.open(desk.request()) }
            desk.archive.fail(at: nil)
            await #expect(throws: ChargeRefusal.busy(charge.id)) { try await desk.desk.open(desk.request()) }
        }
    }

    @Test func anIdleTerminalFindsOutThatItsStorageWorksAgain() async throws {
        try await withDesk { desk in
            desk.archive.fail(at: 1...Int.max)
            await #expect(throws: ChargeRefusal.journal(.diskFull)) { try await desk.desk.open(desk.request()) }
            await desk.pass(.seconds(5))
            await desk.untilSleeping(for: .seconds(5))
            #expect(await desk.desk.snapshot.trouble?.code == "storage_full")
            desk.archive.fail(at: nil)
            await desk.pass(.seconds(5))
            await desk.until { $0.trouble == nil }
        }
    }

    /// A storage that neither takes a write nor refuses it: the customer may have paid, and nobody is kept waiting.
    @Test func aStorageThatHangsMakesAChargeNotKnownUntilAnAnswerIsRecorded() async throws {
        let key = IdempotencyKey(key: "sale-1", requestDigest: [1])
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request(key: key))
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            await desk.desk.noteStall()
            let stalled = try await desk.desk.charge(charge.id)
            #expect(stalled.isUnresolved && stalled.link == nil && stalled.secondsLeft == nil && !stalled.canCancel)
            #expect(stalled.reason?.action.contains("Do not charge again") == true)
            guard case .unknown = await scene(desk) else {
                Issue.record("the screen still shows a code: \(await scene(desk))")
                return
            }
            let words = ChargeRefusal.unrecorded(try #require(stalled.reason))
            await #expect(throws: words) { try await desk.desk.cancel(charge.id, by: .terminal) }
            await #expect(throws: ChargeRefusal.journal(StallWatch.fault)) { try await desk.desk.open(desk.request()) }
            // A till that asks again under its key hears of its charge, and not of another way to pay.
            let repeated = try await desk.desk.openOnce(desk.request(key: key))
            #expect(repeated.charge.charge.id == charge.id && !repeated.isNew)
            try await desk.pay(charge.id, offering: false)
            let paid = try await desk.desk.charge(charge.id)
            #expect(paid.charge.state == .succeeded && !paid.isUnresolved)
            #expect(await desk.desk.snapshot.trouble == nil)
        }
    }

    @Test(arguments: [Duration?.none, .seconds(4), .seconds(5)])
    func onlyAWriteThatHasWaitedForSecondsCountsAsAHangingStorage(stall: Duration?) async throws {
        try await withDesk { desk in
            let clock = ManualClock()
            await withTaskGroup(of: Void.self) { group in
                let watch = StallWatch(desk.desk, clock: clock.terminalClock) { stall }
                group.addTask { await watch.run() }
                for _ in 0..<2 {
                    while !clock.hasSleeper(for: .seconds(1)) { await Task.yield() }
                    clock.advance(by: .seconds(1))
                }
                while !clock.hasSleeper(for: .seconds(1)) { await Task.yield() }
                group.cancelAll()
            }
            #expect(await (desk.desk.snapshot.trouble != nil) == (stall == .seconds(5)))
        }
    }

    @Test func whoeverFollowsChargesHearsThatOneIsNotKnown() async throws {
        try await withDesk { desk in
            let charge = try await desk.desk.open(desk.request())
            await desk.untilRail { $0 == [.pursue(charge.id)] }
            try await desk.offer(charge.id)
            var news = await desk.desk.follow(after: nil).next.makeAsyncIterator()
            desk.archive.fail(at: 1...Int.max)
            try await desk.pay(charge.id, offering: false)
            let change = await news.next()
            #expect(change?.id == charge.id && change?.isUnresolved == true && change?.state == .requiresAction)
        }
    }
}

import Journal
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport

/// Several phones, both sides' second thoughts, and other ways to pay.
struct RaceTests {
    @Test func ofThreePhonesOnePaysAndTheOthersHearIt() async throws {
        let bed = try TapTestBed()
        for (name, delay) in [("anna", 5000), ("ben", 3000), ("cem", 4000)] {
            try bed.phone(name, user: PhoneUser(answer: .accept(after: .milliseconds(delay))))
        }
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("everybody knows") {
                let outcomes = ["anna", "ben", "cem"].map(bed.outcome)
                return outcomes.filter { $0 == .paid }.count == 1 && outcomes.filter { $0 == .notPaid }.count == 2
            }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 1)
        #expect(await bed.acquirer.paid == 1050)
    }

    /// At once, and as many milliseconds after each other.
    @Test(arguments: [0, 5, 10])
    func twoPhonesThatAcceptAtOnceAreOnePayment(apart: Int) async throws {
        let bed = try TapTestBed()
        for (name, delay) in [("anna", 3000), ("ben", 3000 + apart)] {
            try bed.phone(name, user: PhoneUser(answer: .accept(after: .milliseconds(delay))))
        }
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("both know") { bed.outcome("anna") != nil && bed.outcome("ben") != nil }
        }
        // The one whose accept lost believes the acquirer alone, and may not have heard from it yet.
        let outcomes = ["anna", "ben"].compactMap(bed.outcome)
        #expect(outcomes.count { $0 == .paid } == 1)
        #expect(outcomes.count { $0 == .notPaid || $0 == .unknown } == 1)
        #expect(await bed.acquirer.paid == 1050)
    }

    @Test func aTipIsPaidOnTop() async throws {
        let bed = try TapTestBed { $0.tips.mode = .allowed }
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .milliseconds(300)), tip: .preset(1)))
        try await bed.run { shift in
            let id = try await shift.charge(2000)
            try await shift.until(id, is: .succeeded)
            #expect(try await shift.snapshot(id).total.minorUnits == 2200)
        }
        #expect(await bed.acquirer.paid == 2200)
    }

    @Test func staffCancelAndThePhoneHearsIt() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: PhoneUser(answer: .never))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            _ = try await shift.desk.cancel(id, by: .staff(name: "test"))
            try await shift.until(id, is: .cancelled)
            try await shift.until("anna knows") { bed.outcome("anna") == .notPaid }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func aPhoneThatDeclinesIsNotAskedAgainAndAnotherPays() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: PhoneUser(answer: .decline(after: .milliseconds(100))))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna declines") { bed.outcome("anna") == .declined }
            let asked = bed.timesAsked("anna")
            try bed.phone("ben", user: PhoneUser(answer: .accept(after: .seconds(20))))
            try await shift.until(id, is: .succeeded)
            #expect(bed.timesAsked("anna") == asked)
        }
        #expect(bed.outcome("ben") == .paid)
    }

    @Test func aDeclinedPaymentCanBeTriedAgainWithAnotherInstrument() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change { $0.mood = .declinesOnce }
        let user = PhoneUser(
            answer: .accept(after: .milliseconds(300)),
            secondAnswer: .accept(after: .milliseconds(500)),
            instruments: ["card", "bank"]
        )
        try bed.phone("anna", user: user)
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
        }
        #expect(await bed.acquirer.executions == 2)
        #expect(await bed.acquirer.paid == 1050)
    }

    /// A terminal with a phone that has its passes and no network of its own.
    private func offlinePhone(
        _ bed: TapTestBed,
        _ shift: Shift,
        user: PhoneUser = TapTestBed.acceptsQuickly
    ) async throws {
        let phone = try bed.phone("anna", user: user)
        try await shift.until("anna has passes") { await bed.acquirer.passes >= 4 }
        try await shift.passes(.milliseconds(200))
        await phone.setOnline(false)
    }

    @Test func aSecondTryThatNeverArrivedIsHandedInAgainAfterADecline() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change { $0.mood = .declinesOnce }
        try await bed.run { shift in
            let user = PhoneUser(
                answer: .accept(after: .milliseconds(300)),
                secondAnswer: .accept(after: .milliseconds(500)),
                instruments: ["card", "bank"]
            )
            try await offlinePhone(bed, shift, user: user)
            let id = try await shift.charge()
            try await shift.until("it is declined") { await bed.acquirer.executions == 1 }
            await bed.acquirer.change { $0.reachesTerminal = false }
            // Longer than the hand-in is repeated without a question.
            try await shift.passes(.seconds(15))
            await bed.acquirer.change { $0.reachesTerminal = true }
            try await shift.until(id, is: .succeeded)
        }
        #expect(await bed.acquirer.paid == 1050)
    }

    @Test(arguments: [true, false])
    func aRefusalNeverGivesBackWhatIsPaid(ofQuestions: Bool) async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change {
            $0.lostAnswers = ofQuestions ? 4 : 1
            $0.refusedQuestions = ofQuestions ? 1 : 0
            $0.refusesRepeats = !ofQuestions
        }
        try await bed.run { shift in
            try await offlinePhone(bed, shift)
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            #expect(try await shift.snapshot(id).isGivenBack == false)
        }
        #expect(await bed.acquirer.paid == 1050)
        #expect(await bed.acquirer.voided.isEmpty)
    }

    /// The staff's cancel around the moment at which the accept arrives: one of them is first in the journal, and all say so.
    @Test(arguments: 0..<8)
    func aStaffCancelThatCrossesTheAcceptEndsInOneWay(step: Int) async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .milliseconds(300))))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("anna has accepted") {
                bed.heard("anna").contains { if case .sent(.accept) = $0 { true } else { false } }
            }
            try await shift.passes(.milliseconds(step * 5))
            _ = try? await shift.desk.cancel(id, by: .staff(name: "test"))
            try await shift.until("it has ended") { try await shift.state(id).isFinal }
            let isPaid = try await shift.state(id) == .succeeded
            #expect(await bed.acquirer.paid == (isPaid ? 1050 : 0))
            try await shift.until("anna knows the same", within: .seconds(900)) {
                switch bed.outcome("anna") {
                case .paid: isPaid
                case .notPaid, .unknown: !isPaid
                default: false
                }
            }
        }
    }

    @Test func aCancelThatCrossesTheClaimComesTooLate() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change {
            $0.reachesTerminal = true; $0.lostAnswers = 2
        }
        try bed.phone(
            "anna",
            user: PhoneUser(answer: .accept(after: .milliseconds(300)), regretAfter: .milliseconds(1))
        )
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("it has ended") { try await shift.state(id).isFinal }
            let isPaid = try await shift.state(id) == .succeeded
            try await shift.until("anna knows the same") {
                bed.outcome("anna") == (isPaid ? .paid : .declined)
                    || bed.outcome("anna") == (isPaid ? .paid : .notPaid)
            }
            #expect(await bed.acquirer.paid == (isPaid ? 1050 : 0))
        }
    }

    @Test func silenceOfTheAcquirerIsFollowedUntilItSpeaks() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change { $0.lostAnswers = 8 }
        try bed.phone("anna")
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
        }
        #expect(await bed.acquirer.executions == 1)
    }

    /// The link falls right behind the decline: the customer pays with the next instrument all the same.
    @Test func aDeclineWhoseReopenWasLostCanBeTriedAgain() async throws {
        let bed = try TapTestBed()
        await bed.acquirer.change { $0.mood = .declinesOnce }
        let cuts = Mutex(0)
        bed.whenever.withLock {
            $0.act = { [weak bed] _, event in
                guard case .heard(.result(_, .failed, _, _)) = event else { return }
                let isFirst = cuts.withLock { cuts in
                    cuts += 1
                    return cuts == 1
                }
                if isFirst { bed?.radio.cut(after: 0) }
            }
        }
        try await bed.run { shift in
            try await offlinePhone(bed, shift)
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
        }
        #expect(cuts.withLock { $0 } >= 1)
        #expect(await bed.acquirer.executions == 2)
        #expect(await bed.acquirer.paid == 1050)
    }

    /// Till, page and screen go by the charge's state: after 30 seconds, or 45 where only the phone can say it, that state is
    /// “not known yet”, long before the customer's time is over.
    @Test(arguments: [true, false])
    func whatNobodySaysInTimeIsNotKnownYet(isTerminalOnline: Bool) async throws {
        let bed = try TapTestBed()
        try await bed.run { shift in
            let phone = try bed.phone("anna")
            try await shift.until("anna has passes") { await bed.acquirer.passes >= 4 }
            try await shift.passes(.milliseconds(200))
            if isTerminalOnline {
                await phone.setOnline(false)
                await bed.acquirer.change { $0.lostAnswers = .max }
            } else {
                // The phone takes itself for online and reaches nobody.
                await bed.acquirer.change { ($0.reachesTerminal, $0.reachesPhones) = (false, false) }
                await shift.station.note(online: false)
            }
            let id = try await shift.charge()
            try await shift.until(id, is: .processing)
            let begin = bed.clock.now
            try await shift.until(id, is: .unknown, within: .seconds(60))
            #expect(bed.clock.now - begin > .seconds(isTerminalOnline ? 25 : 40))
            let charge = try await shift.snapshot(id)
            #expect(charge.holdsTerminal && charge.canRelease && !charge.canCancel && charge.isUnresolved)
            #expect(charge.reason?.code == "not_known_yet" && !charge.isPastDeadline)
            // Kept as it is over a look at the journal.
            #expect(try await shift.journal.charge(id)?.charge.state == .unknown)
            await bed.acquirer.change { ($0.lostAnswers, $0.reachesTerminal) = (0, true) }
            try await shift.until(id, is: .succeeded)
            #expect(try await shift.snapshot(id).isLate == false)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    /// The acquirer would not take it any more, and nobody waits for the goods: it is made impossible instead.
    @Test func aClaimOfTenMinutesAgoIsVoidedAndNotHandedIn() async throws {
        let bed = try TapTestBed()
        try await bed.run { shift in
            try await offlinePhone(bed, shift)
            await bed.acquirer.change { $0.reachesTerminal = false }
            let id = try await shift.charge()
            try await shift.until("anna has the claim") {
                bed.heard("anna").contains { if case .heard(.claim) = $0 { true } else { false } }
            }
            // Longer than it is handed in without a question.
            try await shift.passes(.seconds(15))
            bed.clock.advance(by: .seconds(601))
            await bed.acquirer.change { $0.reachesTerminal = true }
            try await shift.until("it has ended") { try await shift.state(id).isFinal }
            #expect(try await shift.state(id) != .succeeded)
            #expect(await bed.acquirer.voided.count == 1)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func anUnansweredPaymentExpires() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: PhoneUser(answer: .never))
        try await bed.run { shift in
            let id = try await shift.charge()
            try await shift.until("it is over", within: .seconds(180)) { try await shift.state(id).isFinal }
            #expect([.expired, .cancelled].contains(try await shift.state(id)))
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    // MARK: - Beside the QR code

    private static let offer = Offer(paymentID: "pay_1", link: "https://pay.example/1", expiresAt: nil)

    /// A gateway that cancels what it is told to, where it is still waiting.
    private func scan() -> ScriptedRail {
        ScriptedRail(.scan, withdraws: true)
    }

    @Test func aTapTakesTheQRCodesPaymentBackBeforeMoneyMoves() async throws {
        let bed = try TapTestBed()
        let scan = scan()
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(1))))
        try await bed.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(.offered(attempt: 1, offer: Self.offer))
            try await shift.until(id, is: .succeeded)
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.rail == .scan }?.ending == .cancelled)
            #expect(charge.surplusAttempts.isEmpty)
        }
        #expect(await bed.acquirer.paid == 1050)
    }

    @Test func anAcceptIsNotExecutedLongAfterTheChargesTime() async throws {
        let bed = try TapTestBed()
        // Its gateway is silent: the code's payment can neither be taken back nor asked about.
        let scan = ScriptedRail(.scan)
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(1))))
        try await bed.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(.offered(attempt: 1, offer: Self.offer))
            try await shift.until("anna wants to pay") { try await shift.snapshot(id).isClaimed }
            try await shift.passes(.seconds(190))
            await scan.link(id)?.record(.reported(attempt: 1, report: .cancelled))
            try await shift.until("it is over", within: .seconds(20)) { try await shift.state(id).isFinal }
            #expect(try await shift.state(id) != .succeeded)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func aScanThatPaysFirstTellsThePhonesThatSomebodyPaid() async throws {
        let bed = try TapTestBed()
        let scan = ScriptedRail(.scan)
        try bed.phone("anna", user: PhoneUser(answer: .never))
        try await bed.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(.offered(attempt: 1, offer: Self.offer))
            try await shift.until("anna is asked") { bed.wasAsked("anna") }
            let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
            await scan.link(id)?.record(.reported(attempt: 1, report: .succeeded(evidence)))
            try await shift.until("anna hears it") {
                bed.heard("anna").contains { if case .heard(.otherPaid) = $0 { true } else { false } }
            }
            #expect(try await shift.state(id) == .succeeded)
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func aPaymentUnderWayByQRCodeRefusesTheTap() async throws {
        let bed = try TapTestBed()
        let scan = ScriptedRail(.scan)
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(2))))
        try await bed.run(scan: scan) { shift in
            let id = try await shift.charge()
            try await shift.until("the code is offered") { scan.link(id) != nil }
            await scan.link(id)?.record(.offered(attempt: 1, offer: Self.offer))
            try await shift.until("anna has accepted") {
                bed.heard("anna").contains { if case .sent(.accept) = $0 { true } else { false } }
            }
            // The gateway does not say whether its payment could be taken back: nothing may move on the phone's.
            for _ in 0..<50 { try await shift.passes(.milliseconds(100)) }
            #expect(await bed.acquirer.executions == 0)
            let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
            await scan.link(id)?.record(.reported(attempt: 1, report: .succeeded(evidence)))
            try await shift.until(id, is: .succeeded)
            try await shift.until("anna hears it") { bed.outcome("anna") != nil || bed.heardOtherPaid("anna") }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    /// A phone gives up after two seconds without an answer to its accept.
    @Test func aPhoneIsAnsweredWhileTheJournalDoesNotTakeAnothersClaim() async throws {
        let bed = try TapTestBed()
        let fuse = Fuse()
        fuse.refusedKinds.withLock { $0 = ["claimed"] }
        try bed.phone("anna", user: PhoneUser(answer: .accept(after: .seconds(4))))
        try bed.phone("ben", user: PhoneUser(answer: .accept(after: .milliseconds(4_600))))
        try await bed.run(fuse: fuse) { shift in
            let id = try await shift.charge()
            try await shift.until("both have agreed") {
                ["anna", "ben"].allSatisfy { name in
                    bed.heard(name).contains { if case .accepted = $0 { true } else { false } }
                }
            }
            try await shift.until("one of them is held", within: .milliseconds(900)) {
                ["anna", "ben"].contains { name in
                    bed.heard(name).contains { if case .heard(.hold) = $0 { true } else { false } }
                }
            }
            fuse.refusedKinds.withLock { $0 = [] }
            try await shift.until(id, is: .succeeded, within: .seconds(20))
        }
        #expect(await bed.acquirer.executions == 1)
    }
}

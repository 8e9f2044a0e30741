import Foundation
import Payments
import Testing
import TestSupport

/// The stories that merchants tell, one by one.
struct ChargeStoryTests {
    private let offer = Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: nil)
    private let evidence = Evidence(paymentID: "pay_1", transactionID: "0xabc", paid: nil)

    private func charge(_ events: Charge.Event...) -> Charge {
        var charge = Charge.example()
        for event in [.attemptStarted(attempt: 1, rail: .scan)] + events { _ = charge.handle(event) }
        return charge
    }

    @Test func aPaymentRunsItsWay() {
        var charge = Charge.example()
        #expect(charge.state == .created)
        #expect(charge.handle(.attemptStarted(attempt: 1, rail: .scan)) == [.pursue(1)])
        #expect(charge.handle(.sending(attempt: 1)) == [])
        #expect(charge.handle(.offered(attempt: 1, offer: offer)) == [])
        #expect(charge.state == .requiresAction && charge.canCancel && !charge.canRelease)
        #expect(charge.handle(.reported(attempt: 1, report: .processing)) == [])
        #expect(charge.state == .processing && !charge.canCancel && charge.canRelease)
        #expect(charge.handle(.reported(attempt: 1, report: .succeeded(evidence))) == [.freeTerminal])
        #expect(charge.state == .succeeded && charge.evidence == evidence && !charge.isLate && charge.reason == nil)
    }

    @Test func silenceIsNotAnOutcome() {
        let waiting = charge(.sending(attempt: 1), .offered(attempt: 1, offer: offer), .silent(attempt: 1, reason: "x"))
        #expect(waiting.state == .requiresAction && waiting.isUnresolved)
        #expect(waiting.reason?.code == "gateway_silent")
    }

    /// The customer may have scanned and paid. Who is told to pay another way then pays twice.
    @Test func nobodyIsSentToPayAnotherWayBesideAPaymentThatMayHaveBeenMade() throws {
        let shown = charge(.sending(attempt: 1), .offered(attempt: 1, offer: offer), .silent(attempt: 1, reason: "x"))
        let advice = try #require(shown.reason).action
        #expect(advice.contains("Do not charge again") && !advice.contains("another way"), "\(advice)")
        let unshown = charge(.sending(attempt: 1), .silent(attempt: 1, reason: "x"))
        #expect(try #require(unshown.reason).action.contains("another way"), "no code was shown")
    }

    /// Staff call whom the words name.
    @Test func whoIsSilentAndWhoHasConfirmedIsNamed() {
        var phone = Charge.example()
        let offers: [Charge.Event] = [
            .attemptStarted(attempt: 1, rail: .tap), .offered(attempt: 1, offer: offer),
            .reported(attempt: 1, report: .processing), .silent(attempt: 1, reason: "x"),
        ]
        for event in offers { _ = phone.handle(event) }
        #expect(phone.reason?.code == "acquirer_silent" && phone.reason?.message.contains("the acquirer") == true)
        #expect(phone.confirmedBy == nil)
        _ = phone.handle(.reported(attempt: 1, report: .succeeded(evidence)))
        #expect(phone.confirmedBy == .acquirer)
        // A wallet that was reached over BLE pays at the gateway all the same.
        var wallet = charge(.sending(attempt: 1), .offered(attempt: 1, offer: offer))
        _ = wallet.handle(.attemptStarted(attempt: 2, rail: .tap))
        _ = wallet.handle(.silent(attempt: 2, reason: "x"))
        _ = wallet.handle(.silent(attempt: 1, reason: "x"))
        #expect(wallet.reason?.code == "gateway_silent")
        _ = wallet.handle(.reported(attempt: 1, report: .succeeded(evidence)))
        #expect(wallet.confirmedBy == .gateway)
    }

    @Test func silenceAtTheDeadlineIsUnknownAndFreesTheTerminal() {
        var charge = charge(.sending(attempt: 1), .offered(attempt: 1, offer: offer))
        #expect(charge.handle(.deadlineReached) == [.ask(1)])
        #expect(charge.state == .requiresAction, "the local clock ends nothing")
        #expect(charge.handle(.silent(attempt: 1, reason: "time-out")) == [.freeTerminal, .followInBackground])
        #expect(charge.state == .unknown)
        _ = charge.handle(.reported(attempt: 1, report: .succeeded(evidence)))
        #expect(charge.state == .succeeded && charge.isLate && charge.reason?.code == "paid_late")
    }

    @Test func stillWaitingAtTheDeadlineIsTakenBack() {
        var charge = charge(.sending(attempt: 1), .offered(attempt: 1, offer: offer), .deadlineReached)
        #expect(charge.handle(.reported(attempt: 1, report: .requiresAction)) == [.withdraw(1)])
        #expect(charge.handle(.reported(attempt: 1, report: .expired)) == [.freeTerminal])
        #expect(charge.state == .expired)
    }

    @Test func aRefusalOfASecondRequestProvesNothingAboutTheFirst() {
        let refusal = Refusal(code: "params_validation", message: "no")
        let first = charge(.sending(attempt: 1), .refused(attempt: 1, refusal: refusal))
        #expect(first.state == .failed)
        let second = charge(.sending(attempt: 1), .sending(attempt: 1), .refused(attempt: 1, refusal: refusal))
        #expect(!second.state.isFinal && second.isUnresolved)
    }

    /// Staff went on after silence and took cash: nobody is to pay the code as well.
    @Test func aReleasedChargeThatStillWaitsIsTakenBack() {
        var charge = charge(
            .sending(attempt: 1),
            .offered(attempt: 1, offer: offer),
            .silent(attempt: 1, reason: "time-out"),
            .released(by: .staff(name: "Ada"))
        )
        #expect(charge.handle(.reported(attempt: 1, report: .requiresAction)) == [.withdraw(1)])
    }

    @Test func aPaymentThatTurnsUpAfterTheEndIsTakenBackAndFollowed() {
        for ending in [
            Charge.Event.notFound(attempt: 1), .refused(attempt: 1, refusal: Refusal(code: "forbidden", message: "")),
        ] {
            var charge = charge(.sending(attempt: 1), ending)
            #expect(charge.state == .failed)
            #expect(charge.handle(.offered(attempt: 1, offer: offer)) == [.withdraw(1), .followInBackground])
            #expect(charge.isReleased && !charge.holdsTerminal)
            #expect(charge.handle(.reported(attempt: 1, report: .succeeded(evidence))) == [])
            #expect(charge.state == .succeeded && charge.isLate)
        }
    }

    @Test func anAnswerAboutSomethingElseIsHeldAsUnknownUntilOneFits() {
        var charge = charge(
            .sending(attempt: 1),
            .offered(attempt: 1, offer: offer),
            .reported(attempt: 1, report: .contradictory(what: "it names the amount 1\u{202E} JPY"))
        )
        #expect(charge.state == .unknown && charge.canRelease && charge.evidence == nil)
        #expect(charge.reason?.code == "contradictory_answer")
        #expect(charge.reason?.message.contains("it names the amount 1 JPY") == true)
        #expect(charge.handle(.reported(attempt: 1, report: .succeeded(evidence))) == [.freeTerminal])
        #expect(charge.state == .succeeded && !charge.isLate)
    }

    /// Neither the customer's time nor staff end it: only the authority's next word does.
    @Test func aTapThatIsOverdueIsNotKnownYetWhileTheTerminalWaits() {
        var charge = Charge.example()
        let tap = Offer(paymentID: "019ab697-e800-791a-b5fd-49dd46939c7d", link: nil, expiresAt: nil)
        for event: Charge.Event in [
            .attemptStarted(attempt: 1, rail: .tap), .sending(attempt: 1), .offered(attempt: 1, offer: tap),
        ] { _ = charge.handle(event) }
        // What waits for the customer is not overdue.
        #expect(charge.handle(.overdue(attempt: 1)) == [])
        #expect(charge.state == .requiresAction && charge.canCancel && !charge.isUnresolved)
        for event: Charge.Event in [.claimWanted(attempt: 1, tipMinorUnits: 0), .claimed(attempt: 1)] {
            _ = charge.handle(event)
        }
        #expect(charge.state == .processing)
        #expect(charge.handle(.overdue(attempt: 1)) == [])
        #expect(charge.state == .unknown && charge.holdsTerminal && charge.isUnresolved)
        #expect(charge.canRelease && !charge.canCancel && charge.reason?.code == "not_known_yet")
        var paid = charge
        #expect(paid.handle(.reported(attempt: 1, report: .succeeded(evidence))) == [.freeTerminal])
        #expect(paid.state == .succeeded && !paid.isLate)
        var declined = charge
        _ = declined.handle(.claimDropped(attempt: 1))
        #expect(declined.state == .requiresAction && !declined.isUnresolved && declined.canCancel)
        // Past the customer's time the terminal goes on, and the question stays open.
        var late = charge
        _ = late.handle(.deadlineReached)
        _ = late.handle(.silent(attempt: 1, reason: "no answer"))
        #expect(late.state == .unknown && !late.holdsTerminal)
    }

    /// Nobody but the acquirer ends it, so staff are told whom to ask and for what.
    @Test func aTapOfWhichNobodyKnowsTheEndNamesThePaymentThatTheAcquirerIsAskedFor() {
        var charge = Charge.example()
        let tap = Offer(paymentID: "019ab697-e800-791a-b5fd-49dd46939c7d", link: nil, expiresAt: nil)
        for event: Charge.Event in [
            .attemptStarted(attempt: 1, rail: .tap), .sending(attempt: 1), .offered(attempt: 1, offer: tap),
            .claimWanted(attempt: 1, tipMinorUnits: 0), .claimed(attempt: 1), .silent(attempt: 1, reason: "x"),
            .released(by: .staff(name: "Ada")),
        ] { _ = charge.handle(event) }
        #expect(charge.state == .unknown)
        #expect(charge.reason?.code == "not_known_yet")
        #expect(charge.reason?.action.contains(tap.paymentID) == true)
    }

    @Test func cancelIsARequestAndThePaymentWins() {
        var charge = charge(.sending(attempt: 1), .offered(attempt: 1, offer: offer))
        #expect(charge.handle(.cancelRequested(by: .customer)) == [.withdraw(1)])
        #expect(charge.state == .requiresAction)
        _ = charge.handle(.reported(attempt: 1, report: .processing))
        #expect(charge.state == .processing)
        _ = charge.handle(.reported(attempt: 1, report: .succeeded(evidence)))
        #expect(charge.state == .succeeded && charge.isLate)
    }

    @Test func cancelBeforeAnythingLeftEndsAtOnce() {
        var charge = charge()
        #expect(charge.handle(.cancelRequested(by: .customer)) == [.freeTerminal])
        #expect(charge.state == .cancelled)
    }

    @Test func cancelWhileTheCreationIsSilentWaitsForThePaymentAndTakesItBack() {
        var charge = charge(.sending(attempt: 1), .silent(attempt: 1, reason: "time-out"))
        #expect(charge.handle(.cancelRequested(by: .customer)) == [])
        #expect(charge.state == .created && charge.isUnresolved)
        _ = charge.handle(.sending(attempt: 1))
        #expect(charge.handle(.offered(attempt: 1, offer: offer)) == [.withdraw(1)])
    }

    @Test func aRefusalAfterSilenceProvesNothing() {
        var charge = charge(.sending(attempt: 1), .silent(attempt: 1, reason: "time-out"), .sending(attempt: 1))
        _ = charge.handle(.refused(attempt: 1, refusal: Refusal(code: "unauthorized", message: "")))
        #expect(charge.state == .created && charge.isUnresolved)
        _ = charge.handle(.notFound(attempt: 1))
        #expect(charge.state == .failed)
    }

    @Test func aRefusalOfTheFirstRequestEndsTheCharge() {
        let refused = charge(
            .sending(attempt: 1),
            .refused(attempt: 1, refusal: Refusal(code: "invalid_api_key", message: "Invalid API key"))
        )
        #expect(refused.state == .failed)
        #expect(refused.reason?.action.contains("owner") == true)
    }

    @Test func aStrangeStatusWordIsHeldAsUnknownUntilAKnownOneComes() {
        var charge = charge(
            .sending(attempt: 1),
            .offered(attempt: 1, offer: offer),
            .reported(attempt: 1, report: .unrecognised(word: "settling\u{202E}\n<b>"))
        )
        #expect(charge.state == .unknown)
        #expect(charge.reason?.message.contains("settling <b>") == true)
        #expect(charge.reason?.message.contains("\u{202E}") == false)
        #expect(charge.handle(.reported(attempt: 1, report: .succeeded(evidence))) == [.freeTerminal])
        #expect(charge.state == .succeeded && !charge.isLate)
    }

    @Test func aRestartAsksAndTheChargeGoesOn() {
        var charge = charge(.sending(attempt: 1))
        #expect(charge.handle(.resumed) == [.pursue(1)])
        #expect(charge.attempt(1)?.phase == .unanswered && charge.isUnresolved)
    }

    /// The gateway has answered the order with a payment that is another charge's.
    @Test func anAnswerThatNamesSomebodyElsesPaymentIsSaidAndOffersNothing() {
        var charge = charge(
            .sending(attempt: 1),
            .reported(attempt: 1, report: .contradictory(what: "it names the payment of charge 7K3F"))
        )
        #expect(charge.state == .created && charge.isUnresolved && charge.attempt(1)?.phase == .unanswered)
        #expect(charge.reason?.code == "contradictory_answer")
        #expect(charge.handle(.deadlineReached) == [.ask(1)])
        #expect(!charge.isReleased, "asked once more before the terminal goes on")
        _ = charge.handle(.silent(attempt: 1, reason: "the gateway lists no payment"))
        #expect(charge.isReleased && charge.state == .unknown && charge.reason?.code == "contradictory_answer")
        _ = charge.handle(.offered(attempt: 1, offer: offer))
        #expect(charge.attempt(1)?.contradiction == nil && !charge.isUnresolved)
    }

    @Test func replayingTheEventsGivesTheSameCharge() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<Tries.share(of: 500) {
            let events = (0..<30).map { _ in Charge.Event.everyExample.randomElement(using: &generator)! }
            var live = Charge.example()
            for event in events { _ = live.handle(event) }
            let stored = try JSONDecoder().decode([Charge.Event].self, from: JSONEncoder().encode(events))
            #expect(Charge(terms: live.terms, replaying: stored) == live)
        }
    }

    @Test func declinedForComplianceReadsLikeAnyOtherDecline() {
        let declined = charge(
            .sending(attempt: 1),
            .offered(attempt: 1, offer: offer),
            .reported(attempt: 1, report: .failed(code: "declined_user"))
        )
        let plain = charge(
            .sending(attempt: 1),
            .offered(attempt: 1, offer: offer),
            .reported(attempt: 1, report: .failed(code: nil))
        )
        #expect(declined.reason?.message == plain.reason?.message)
    }
}

import TapProtocol
import Testing

struct PhonePaymentTests {
    typealias Phone = PhonePayment

    let offer: Phone.Offer
    let other: Phone.Offer
    let mine = ObjectHash(of: [1])
    let foreign = ObjectHash(of: [2])
    let end = 1000

    init() throws {
        let id = try #require(PaymentID("019ab697-e800-791a-b5fd-49dd46939c7d"))
        let second = try #require(PaymentID("019ab697-e800-791a-b5fd-49dd46939c7e"))
        offer = Phone.Offer(paymentID: id, requestHash: ObjectHash(of: [3]), expiresAtMilliseconds: 1000)
        other = Phone.Offer(paymentID: second, requestHash: ObjectHash(of: [4]), expiresAtMilliseconds: 1000)
    }

    private var id: PaymentID { offer.paymentID }

    private func after(_ events: Phone.Event...) -> Phone {
        var phone = Phone()
        for event in [.payScreenOpened, .read] + events { _ = phone.handle(event) }
        return phone
    }

    private var claim: Phone.Event { .claim(id, mine, .online, isPhoneOnline: true) }
    private var accepted: Phone.Event { .userAccepted(mine, isVoucher: false) }

    private var all: [Phone] {
        let asked = Phone.Event.request(offer)
        return [
            Phone(), after(.requestRefused(.requestInvalid)), after(), after(asked), after(asked, .hold(id)),
            after(asked, accepted), after(asked, accepted, .hold(id)), after(asked, accepted, claim),
            after(asked, accepted, .claim(id, mine, .offline, isPhoneOnline: false)),
            after(asked, accepted, claim, .gatewayResult(id, .completed)),
            after(asked, accepted, claim, .gatewayResult(id, .failed)), after(asked, .userCancelled(.user)),
            after(asked, accepted, .otherPaid(id)), after(asked, .otherPaid(id)),
        ]
    }

    private var events: [Phone.Event] {
        var events: [Phone.Event] = [
            .payScreenOpened, .payScreenClosed, .advertisingOver, .read, .request(offer), .request(other),
            .handshakeFailed,
            .request(Phone.Offer(paymentID: id, requestHash: foreign, expiresAtMilliseconds: end)), accepted,
            .userAccepted(foreign, isVoucher: true), .acknowledged, .closingOver, .linkLost,
            .clock(nowMilliseconds: 10),
            .clock(nowMilliseconds: end), .restarted,
        ]
        for code in TapErrorCode.all { events += [.error(code), .requestRefused(code)] }
        for reason in PayerCancelReason.allCases { events.append(.userCancelled(reason)) }
        for payment in [id, other.paymentID] {
            events += [.hold(payment), .reopen(payment), .otherPaid(payment), .cancelledByTerminal(payment)]
            events += [end, end + 600_000, end + 600_001].map { .gatewayKnowsNoClaim(payment, nowMilliseconds: $0) }
            for hash in [mine, foreign] {
                for mode in PaymentClaim.Mode.allCases {
                    events += [true, false].map { .claim(payment, hash, mode, isPhoneOnline: $0) }
                }
            }
            for status in PaymentStatus.allCases {
                events.append(.gatewayResult(payment, status))
                for verdict: Phone.ReceiptVerdict in [.valid, .missing, .refused] {
                    events.append(.result(payment, status, verdict))
                }
            }
        }
        return events
    }

    @Test func everyStateTakesEveryEvent() {
        for start in all {
            for event in events {
                var phone = start
                let actions = phone.handle(event)
                check(start, event, phone, actions)
            }
        }
    }

    private func check(_ start: Phone, _ event: Phone.Event, _ phone: Phone, _ actions: [Phone.Action]) {
        for (place, action) in actions.enumerated() {
            switch action {
            case .submit:
                // Nothing executes before a claim for this very accept is held.
                #expect(event == claim && start.mayBeCharged, "\(start.state) \(event)")
                #expect(actions.prefix(place).contains(.store))
            case .sendAccept:
                if case .request = event { continue }
                #expect(actions.prefix(place).contains(.store))
            case .tell(.cancelled), .tell(.otherPaid):
                guard case .won = start.state else { continue }
                Issue.record("\(start.state) was called off by \(event)")
            default: break
            }
        }
        // A claim that is held ends by the gateway's word only.
        if case .won = start.state, phone.state != start.state {
            switch event {
            case .gatewayResult, .result(_, _, .valid): break
            default: Issue.record("\(start.state) was ended by \(event)")
            }
        }
        // An accept that is out is never forgotten.
        if case .sent = start.state, let current = start.current {
            let isKnown =
                phone.current == current || phone.watched[current.paymentID] != nil
                || phone.closed[current.paymentID] != nil
            #expect(isKnown, "\(start.state) \(event)")
        }
        if !phone.watched.isEmpty, start.watched.isEmpty { #expect(actions.contains(.store)) }
    }

    @Test func theHappyPath() {
        var phone = Phone()
        #expect(phone.handle(.payScreenOpened) == [.advertise(newSession: true)])
        #expect(phone.handle(.read) == [.startSession])
        #expect(phone.handle(.request(offer)) == [.received(.prompting), .prompt(id), .tell(.receivedPayment)])
        #expect(phone.handle(accepted) == [.store, .sendAccept])
        #expect(phone.mayBeCharged)
        #expect(phone.handle(claim) == [.store, .submit])
        #expect(phone.handle(claim) == [])
        #expect(phone.handle(.result(id, .completed, .refused)) == [.refuse(.receiptInvalid)])
        #expect(phone.handle(.result(id, .completed, .missing)) == [.refuse(.receiptInvalid)])
        #expect(
            phone.handle(.result(id, .completed, .valid)) == [
                .store, .acknowledge(id), .tell(.finishedPayment(.completed)),
            ]
        )
        #expect(phone.handle(.acknowledged) == [.bye])
        #expect(phone.handle(.request(offer)) == [.received(.alreadyFinal), .result(id, .completed)])
    }

    @Test func aVoucherIsCommittedBeforeItIsSent() {
        var phone = after(.request(offer))
        #expect(phone.handle(.userAccepted(mine, isVoucher: true)) == [.commitVoucher, .store, .sendAccept])
        #expect(
            phone.handle(.claim(id, mine, .offline, isPhoneOnline: false))
                == [.store, .closePrompt, .tell(.finishedPayment(.acceptedOffline))]
        )
        #expect(phone.state == .ended(offer, .acceptedOffline))
    }

    @Test func offlineThePhoneWaitsForTheTerminal() {
        var phone = after(.request(offer), accepted)
        #expect(phone.handle(.claim(id, mine, .online, isPhoneOnline: false)) == [.store])
        #expect(phone.state == .won(offer, mine))
    }

    @Test func aDeclinedPaymentIsNotShownAgain() {
        var phone = after(.request(offer))
        #expect(phone.handle(.userCancelled(.user)) == [.store, .cancel(id, .user), .closePrompt])
        _ = phone.handle(.read)
        #expect(phone.handle(.request(offer)) == [.cancel(id, .alreadyDeclined)])
    }

    @Test func anotherPayerHoldsThisOneBack() {
        var phone = after(.request(offer))
        #expect(phone.handle(.hold(id)) == [.disableAccept])
        #expect(phone.handle(accepted) == [])
        #expect(phone.handle(.reopen(id)) == [.enableAccept])
        #expect(phone.state == .prompting(offer))
        #expect(phone.handle(.otherPaid(id)) == [.store, .acknowledge(id), .closePrompt, .tell(.otherPaid)])
    }

    @Test func aLostAcceptIsWatchedUntilTheGatewayCanTakeItNoMore() {
        var phone = after(.request(offer), accepted)
        #expect(
            phone.handle(.cancelledByTerminal(id))
                == [.store, .acknowledge(id), .closePrompt, .tell(.cancelled), .askGateway(id)]
        )
        #expect(phone.handle(.gatewayKnowsNoClaim(id, nowMilliseconds: end + 600_000)) == [])
        var paid = phone
        #expect(paid.handle(.gatewayResult(id, .completed)) == [.store, .tell(.finishedPayment(.completed))])
        #expect(phone.handle(.gatewayKnowsNoClaim(id, nowMilliseconds: end + 600_001)) == [.store])
        #expect(phone.watched.isEmpty)
    }

    @Test func aLostLinkIsResumedWhereItBroke() {
        var phone = after(.request(offer), accepted)
        #expect(
            phone.handle(.linkLost) == [.tell(.waitingForTerminal), .advertise(newSession: false), .askGateway(id)]
        )
        #expect(phone.handle(.read) == [.startSession])
        #expect(phone.handle(.request(offer)) == [.received(.acceptSent), .sendAccept])
        _ = phone.handle(claim)
        #expect(phone.handle(.request(offer)) == [.received(.won)])
        let changed = Phone.Offer(paymentID: id, requestHash: foreign, expiresAtMilliseconds: end)
        #expect(phone.handle(.request(changed)) == [.refuse(.requestInvalid)])
        #expect(phone.handle(.request(other)) == [.refuse(.busy)])
    }

    @Test func aRestartForgetsNoAccept() {
        var phone = after(.request(offer), accepted)
        #expect(phone.handle(.restarted) == [.tell(.mayBeCharged), .askGateway(id), .advertise(newSession: false)])
        #expect(phone.handle(.request(offer)) == [.received(.acceptSent), .sendAccept])
        var prompting = after(.request(offer))
        #expect(prompting.handle(.restarted) == [])
        #expect(prompting.state == .idle)
    }

    @Test func aVoucherIsSettledAfterItsScreenIsClosed() {
        var phone = after(.request(offer), accepted, .claim(id, mine, .offline, isPhoneOnline: false), .closingOver)
        #expect(phone.state == .advertising)
        #expect(phone.handle(.gatewayResult(id, .completed)) == [.store, .tell(.finishedPayment(.completed))])
        #expect(phone.handle(.gatewayResult(id, .completed)) == [])
        #expect(phone.closed[id] == .final(.completed))
    }

    @Test func aWalletsPaymentEndsByTheTerminalsWord() {
        var phone = after(.request(offer), accepted, claim)
        #expect(
            phone.handle(.result(id, .completed, .reported)) == [
                .store, .acknowledge(id), .tell(.finishedPayment(.completed)),
            ]
        )
    }

    @Test func aClaimForAnotherAcceptIsRefused() {
        var phone = after(.request(offer), accepted)
        #expect(phone.handle(.claim(id, foreign, .online, isPhoneOnline: true)) == [.refuse(.unexpected)])
        #expect(phone.handle(.claim(other.paymentID, mine, .online, isPhoneOnline: true)) == [.refuse(.unexpected)])
        var early = after(.request(offer))
        #expect(early.handle(claim) == [.refuse(.unexpected)])
    }

    @Test func aDeclinedAttemptMayBeTriedAgain() {
        var phone = after(.request(offer), accepted, claim)
        #expect(phone.handle(.result(id, .failed, .valid)) == [.store, .acknowledge(id), .tell(.failed)])
        #expect(phone.handle(.reopen(id)) == [.prompt(id), .enableAccept])
        #expect(phone.handle(.userAccepted(foreign, isVoucher: false)) == [.store, .sendAccept])
        #expect(phone.handle(claim) == [.refuse(.unexpected)])
    }

    @Test func tooLateToCancelIsSaid() {
        var phone = after(.request(offer), accepted)
        #expect(phone.handle(.userCancelled(.user)) == [.cancel(id, .user)])
        #expect(phone.handle(claim) == [.store, .submit])
        #expect(phone.handle(.userCancelled(.user)) == [.tell(.tooLateToCancel)])
    }
}

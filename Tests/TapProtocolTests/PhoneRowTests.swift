import TapProtocol
import Testing

/// Rows of the phone's table that are easily got wrong because they seldom happen.
struct PhoneRowTests {
    typealias Phone = PhonePayment

    let offer: Phone.Offer
    let mine = ObjectHash(of: [1])
    let end = 1000

    init() throws {
        let id = try #require(PaymentID("019ab697-e800-791a-b5fd-49dd46939c7d"))
        offer = Phone.Offer(paymentID: id, requestHash: ObjectHash(of: [3]), expiresAtMilliseconds: 1000)
    }

    private var id: PaymentID { offer.paymentID }

    private func after(_ events: Phone.Event...) -> Phone {
        var phone = Phone()
        for event in [.payScreenOpened, .read] + events { _ = phone.handle(event) }
        return phone
    }

    private var asked: Phone { after(.request(offer)) }
    private var held: Phone { after(.request(offer), .hold(id)) }
    private var sent: Phone { after(.request(offer), .userAccepted(mine, isVoucher: false)) }
    private var won: Phone {
        after(
            .request(offer),
            .userAccepted(mine, isVoucher: false),
            .claim(id, mine, .online, isPhoneOnline: true)
        )
    }

    @Test func aRequestThatFailsACheckIsNotShown() {
        var phone = after()
        #expect(phone.handle(.requestRefused(.certificateDenied)) == [.refuse(.certificateDenied)])
        #expect(phone.state == .advertising)
        var forged = after()
        #expect(forged.handle(.handshakeFailed) == [.control(.handshakeFailed)])
        #expect(forged.state == .advertising)
        // Somebody else's failure ends nothing that is going on.
        var busy = sent
        #expect(busy.handle(.handshakeFailed) == [.control(.handshakeFailed)])
        #expect(busy == sent)
    }

    @Test func whatIsAskedOrHeldEndsByTheTerminalsWordOrByTime() {
        for start in [asked, held] {
            let rows: [(Phone.Event, [Phone.Action])] = [
                (.otherPaid(id), [.store, .acknowledge(id), .closePrompt, .tell(.otherPaid)]),
                (.cancelledByTerminal(id), [.store, .acknowledge(id), .closePrompt, .tell(.cancelled)]),
                (.clock(nowMilliseconds: end), [.store, .closePrompt, .tell(.cancelled)]),
                (.userCancelled(.noInstrument), [.store, .cancel(id, .noInstrument), .closePrompt]),
            ]
            for (event, actions) in rows {
                var phone = start
                #expect(phone.handle(event) == actions, "\(event)")
                #expect(phone.state == .advertising)
            }
            var early = start
            #expect(early.handle(.clock(nowMilliseconds: end - 1)) == [])
            #expect(early == start)
        }
    }

    @Test func anAcceptThatLostTheRaceIsFollowedAndTheNextOneIsNew() {
        var phone = sent
        #expect(phone.handle(.hold(id)) == [.store, .disableAccept])
        #expect(phone.state == .held(offer) && phone.watched[id] == offer)
        #expect(phone.handle(.reopen(id)) == [.enableAccept])
        let next = ObjectHash(of: [2])
        #expect(phone.handle(.userAccepted(next, isVoucher: false)) == [.store, .sendAccept])
        #expect(phone.handle(.claim(id, mine, .online, isPhoneOnline: true)) == [.refuse(.unexpected)])
    }

    @Test func anAcceptThatIsOutIsFollowedAfterTheTerminalsLastWord() {
        let rows: [(Phone.Event, [Phone.Action])] = [
            (.otherPaid(id), [.store, .acknowledge(id), .closePrompt, .tell(.otherPaid), .askGateway(id)]),
            (.cancelledByTerminal(id), [.store, .acknowledge(id), .closePrompt, .tell(.cancelled), .askGateway(id)]),
            (.error(.overLimit), [.store, .closePrompt, .tell(.error(.overLimit)), .askGateway(id)]),
            (.error(.paymentClosed), [.store, .closePrompt, .tell(.error(.paymentClosed)), .askGateway(id)]),
            (
                .error(TapErrorCode(rawValue: 0x99)),
                [.store, .closePrompt, .tell(.error(TapErrorCode(rawValue: 0x99))), .askGateway(id)]
            ),
        ]
        for (event, actions) in rows {
            var phone = sent
            #expect(phone.handle(event) == actions, "\(event)")
            #expect(phone.state == .advertising && phone.watched[id] == offer, "\(event)")
            #expect(phone.handle(.gatewayResult(id, .completed)) == [.store, .tell(.finishedPayment(.completed))])
        }
        var phone = sent
        #expect(phone.handle(.error(.tipRefused)) == [.tell(.error(.tipRefused))])
        #expect(phone == sent)
    }

    @Test func anAcceptThatNobodyClaimedIsReleasedTenMinutesAfterTheEnd() {
        var phone = sent
        #expect(phone.handle(.gatewayKnowsNoClaim(id, nowMilliseconds: end + 600_000)) == [])
        #expect(
            phone.handle(.gatewayKnowsNoClaim(id, nowMilliseconds: end + 600_001))
                == [.store, .closePrompt, .tell(.cancelled)]
        )
        #expect(phone.state == .advertising)
        // With a claim in hand the gateway may still be handed the bundle by somebody.
        var claimed = won
        #expect(claimed.handle(.gatewayKnowsNoClaim(id, nowMilliseconds: end + 600_001)) == [])
        #expect(claimed == won)
    }

    @Test func theGatewaysWordEndsAClaimAndTheTerminalHearsIt() {
        for (status, notice) in [
            (PaymentStatus.completed, Phone.Notice.finishedPayment(.completed)), (.failed, .failed),
            (.cancelled, .failed),
        ] {
            for start in [sent, won] {
                var phone = start
                #expect(phone.handle(.gatewayResult(id, status)) == [.store, .result(id, status), .tell(notice)])
                #expect(phone.state == .ended(offer, status))
            }
        }
        for status in [PaymentStatus.initiated, .inProgress, .acceptedOffline] {
            var phone = won
            #expect(phone.handle(.gatewayResult(id, status)) == [])
            #expect(phone == won)
        }
    }

    @Test func aHeldClaimIsCalledOffByNobody() {
        let events: [Phone.Event] = [
            .otherPaid(id), .cancelledByTerminal(id), .hold(id), .reopen(id), .error(.declined), .error(.paymentClosed),
            .userCancelled(.user), .payScreenClosed, .clock(nowMilliseconds: end * 1000), .linkLost, .acknowledged,
            .closingOver, .result(id, .completed, .missing), .result(id, .failed, .refused),
            .result(id, .inProgress, .valid),
        ]
        for event in events {
            var phone = won
            _ = phone.handle(event)
            #expect(phone.state == won.state, "\(event)")
        }
    }

    @Test func whatFitsNoRowIsUnexpectedAndChangesNothing() {
        let claim = Phone.Event.claim(id, mine, .online, isPhoneOnline: true)
        let rows: [(Phone, [Phone.Event])] = [
            (after(), [claim, .hold(id), .reopen(id)]), (asked, [claim, .reopen(id)]), (held, [claim]),
            (sent, [.reopen(id)]), (won, [.hold(id), .reopen(id)]),
        ]
        for (start, events) in rows {
            for event in events {
                var phone = start
                #expect(phone.handle(event) == [.refuse(.unexpected)], "\(start.state) \(event)")
                #expect(phone == start)
            }
        }
    }

    @Test func anEndedPaymentIsLeftAfterFiveSecondsOrAnAcknowledgement() {
        for event in [Phone.Event.acknowledged, .closingOver] {
            var phone = won
            _ = phone.handle(.result(id, .completed, .valid))
            #expect(phone.handle(event) == [.bye])
            #expect(phone.state == .advertising)
        }
    }

    /// REOPEN comes right behind the ACK of RESULT.
    @Test func afterADeclineOnlyTheFiveSecondsEndTheLink() {
        var phone = won
        _ = phone.handle(.result(id, .failed, .valid))
        let declined = phone
        #expect(phone.handle(.acknowledged) == [])
        #expect(phone == declined)
        #expect(phone.handle(.reopen(id)) == [.prompt(id), .enableAccept])
        #expect(phone.state == .prompting(offer))
        var left = declined
        #expect(left.handle(.closingOver) == [.bye])
        #expect(left.state == .advertising)
        // Of a voucher the terminal may still bring the receipt.
        var promised = after(
            .request(offer),
            .userAccepted(mine, isVoucher: true),
            .claim(id, mine, .offline, isPhoneOnline: false)
        )
        #expect(promised.handle(.acknowledged) == [])
        #expect(promised.state == .ended(offer, .acceptedOffline))
    }

    /// The link fell between RESULT and REOPEN, and the five seconds are over.
    @Test func aDeclineWhoseReopenWasLostIsReopenedOnTheNextLink() {
        var phone = won
        for event in [Phone.Event.result(id, .failed, .valid), .linkLost, .closingOver, .read] {
            _ = phone.handle(event)
        }
        #expect(phone.state == .linked)
        #expect(phone.handle(.request(offer)) == [.received(.alreadyFinal), .result(id, .failed)])
        #expect(phone.handle(.acknowledged) == [])
        #expect(phone.handle(.reopen(id)) == [.prompt(id), .enableAccept])
        #expect(phone.state == .prompting(offer))
    }

    // MARK: The pay screen closes

    @Test func aClosedPayScreenDeclinesWhatIsAskedAndAdvertisesNoMore() {
        let declined: [Phone.Action] = [.store, .cancel(id, .user), .closePrompt, .stopAdvertising]
        let rows: [(Phone, [Phone.Action])] = [
            (Phone(), []), (after(.requestRefused(.requestInvalid)), [.stopAdvertising]),
            (after(), [.hangUp, .stopAdvertising]), (asked, declined), (held, declined),
        ]
        for (start, actions) in rows {
            var phone = start
            #expect(phone.handle(.payScreenClosed) == actions, "\(start.state)")
            #expect(phone.state == .idle, "\(start.state)")
            #expect(phone.handle(.payScreenOpened) == [.advertise(newSession: true)], "\(start.state)")
        }
    }

    @Test func aPaymentThatWasAgreedToGoesOnWithoutItsScreenAndThenNothingIsAdvertised() {
        let ends: [(Phone.Event, [Phone.Action])] = [
            (
                .gatewayResult(id, .completed),
                [.store, .result(id, .completed), .tell(.finishedPayment(.completed))]
            ), (.result(id, .completed, .valid), [.store, .acknowledge(id), .tell(.finishedPayment(.completed))]),
        ]
        for start in [sent, won] {
            for (end, actions) in ends {
                var phone = start
                #expect(phone.handle(.payScreenClosed) == [])
                #expect(phone.state == start.state)
                #expect(phone.handle(.linkLost).contains(.advertise(newSession: false)))
                #expect(phone.handle(end) == actions)
                #expect(phone.handle(.acknowledged) == [.bye, .stopAdvertising])
                #expect(phone.state == .idle)
            }
            // Whoever opens it again meanwhile is found by the next terminal.
            var back = start
            for event in [Phone.Event.payScreenClosed, .payScreenOpened, .gatewayResult(id, .completed)] {
                _ = back.handle(event)
            }
            #expect(back.handle(.closingOver) == [.bye])
            #expect(back.state == .advertising)
        }
        // An accept that is given up is followed, and nobody new is met.
        for event in [Phone.Event.otherPaid(id), .cancelledByTerminal(id), .error(.overLimit)] {
            var phone = sent
            _ = phone.handle(.payScreenClosed)
            #expect(phone.handle(event).last == .stopAdvertising, "\(event)")
            #expect(phone.state == .idle && phone.watched[id] == offer, "\(event)")
        }
    }

    @Test func aClosedPayScreenIsNotAskedAgainAfterADecline() {
        var phone = won
        _ = phone.handle(.result(id, .failed, .valid))
        #expect(phone.handle(.payScreenClosed) == [.bye, .stopAdvertising])
        #expect(phone.state == .idle)
        var away = won
        _ = away.handle(.payScreenClosed)
        _ = away.handle(.result(id, .failed, .valid))
        #expect(away.handle(.reopen(id)) == [.cancel(id, .user), .stopAdvertising])
        #expect(away.state == .idle)
    }

    /// After a restart an accept that is out is advertised without a pay screen, and nothing else is.
    @Test func aRestartOpensNoPayScreen() {
        var phone = sent
        _ = phone.handle(.restarted)
        #expect(!phone.isScreenOpen)
        _ = phone.handle(.gatewayResult(id, .completed))
        #expect(phone.handle(.closingOver) == [.bye, .stopAdvertising])
        #expect(phone.state == .idle)
    }
}

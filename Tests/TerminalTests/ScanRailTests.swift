import Payments
import Terminal
import Testing
import TestSupport
import WalletConnectPay

/// How the scan rail makes its payment: what it sends, when it sends it again, and what it concludes from each answer and
/// each silence.
@Suite(.timeLimit(.minutes(1)))
struct ScanRailTests {
    // MARK: - Making the payment

    @Test func theJournalKnowsOfTheOrderBeforeItLeaves() async throws {
        try await withRail([.created]) { rail in
            try await rail.untilRequests(2)
            #expect(rail.gateway.eventsAtSending.first == [RailUnderTest.started, .sending(attempt: 1)])
            let offer = await rail.link.current()?.offer
            #expect(offer?.paymentID == "pay_1" && offer?.link == "https://pay.walletconnect.com/?pid=pay_1")
            let order = try #require(rail.gateway.requests.first)
            let terms = rail.link.terms
            #expect(order.method == .post && order.url == "https://gateway.test/v1/payments")
            #expect(order.headers.contains(HTTPRequest.Header("Idempotency-Key", terms.idempotencyKey(attempt: 1))))
            let body = """
                {"amount":{"unit":"iso4217/EUR","value":"1250"},"expiresAt":\(terms.deadline.secondsSince1970),\
                "referenceId":"\(terms.id.compact)"}
                """
            #expect(String(decoding: order.body ?? [], as: UTF8.self) == body)
        }
    }

    @Test func whatTheJournalDoesNotTakeDoesNotLeave() async throws {
        try await withRail([.created], recording: { _ in false }) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            #expect(rail.gateway.requests.isEmpty)
            await rail.ledger.record { _ in true }
            rail.clock.advance(by: .seconds(1))
            try await rail.untilRequests(1)
        }
    }

    @Test func silenceSendsTheSameOrderAgainUnderTheSameKey() async throws {
        let silences = [Answer.silence, .status(502, "<html>"), .status(201, "{}"), .status(500, "")]
        try await withRail(silences + [.created]) { rail in
            for (index, gap) in [1, 2, 4, 8].enumerated() {
                try await rail.untilSleeping(for: .seconds(gap))
                #expect(rail.gateway.requests.count == index + 1)
                #expect(await rail.link.current()?.phase == .unanswered, "a payment may exist")
                rail.clock.advance(by: .seconds(gap))
            }
            try await rail.untilRequests(6)
            let orders = rail.gateway.requests.prefix(5)
            #expect(Set(orders.map(\.body)).count == 1 && orders.allSatisfy { $0 == orders.first })
            #expect(await rail.link.current()?.offer?.paymentID == "pay_1")
        }
    }

    @Test func theGapsGrowToTenSecondsAndNoFurther() async throws {
        try await withRail(Array(repeating: .silence, count: 9)) { rail in
            for gap in [1, 2, 4, 8, 10, 10, 10, 10] {
                try await rail.untilSleeping(for: .seconds(gap))
                rail.clock.advance(by: .seconds(gap))
            }
        }
    }

    /// Whoever asks for fewer requests may stand behind the work: the payment may be made.
    @Test(arguments: [#"{"code":"rate_limited","message":"slow down"}"#, "<html>", ""])
    func aGatewayThatAsksForFewerRequestsHasNotSaidThatNothingHappened(body: String) async throws {
        try await withRail([.status(429, body), .created]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            let attempt = await rail.link.current()
            #expect(attempt?.phase == .unanswered && attempt?.isSilent == true && attempt?.mayHoldMoney == true)
            rail.clock.advance(by: .seconds(1))
            try await rail.untilRequests(2)
        }
    }

    @Test func whatDidNotLeaveMadeNoPayment() async throws {
        try await withRail([.notSent, .created]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            let attempt = await rail.link.current()
            #expect(attempt?.phase == .idle && attempt?.mayHoldMoney == false && attempt?.isSilent == true)
            rail.clock.advance(by: .seconds(1))
            try await rail.untilRequests(3)
            #expect(await rail.link.current()?.offer != nil)
        }
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "<html>", "\u{0}", #"{"paymentId":1}"#,
        #"{"paymentId":"pay_1/../2","status":"requires_action","gatewayUrl":"https://pay.walletconnect.com/"}"#,
        #"{"paymentId":"pay_1","status":"requires_action","gatewayUrl":"https://evil.test/?pid=pay_1"}"#,
    ])
    func anAnswerThatIsNotAsDocumentedIsSilence(body: String) async throws {
        try await withRail([.status(201, body)]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            let attempt = await rail.link.current()
            #expect(attempt?.phase == .unanswered && attempt?.isSilent == true && attempt?.mayHoldMoney == true)
        }
    }

    @Test func aRefusalOfTheFirstRequestEndsIt() async throws {
        try await withRail([.status(401, #"{"code":"invalid_api_key","message":"no"}"#)]) { rail in
            try await rail.untilOver()
            let refusal = Refusal(code: "invalid_api_key", message: "no")
            #expect(await rail.link.current()?.ending == .refused(refusal))
            #expect(rail.gateway.requests.count == 1)
        }
    }

    /// The gateway answers, but the answer cannot be recorded: the question is repeated, in growing gaps.
    @Test(arguments: [Answer.created, .status(401, #"{"code":"invalid_api_key","message":"no"}"#)])
    func aFullJournalDoesNotMakeItAskWithoutPause(answer: Answer) async throws {
        let answers = [Answer](repeating: answer, count: 40)
        try await withRail(answers, recording: { if case .sending = $0 { true } else { false } }) { rail in
            for (count, gap) in [(1, 1), (2, 2), (3, 4)] {
                try await rail.untilSleeping(for: .seconds(gap), orRequests: 10)
                #expect(rail.gateway.requests.filter { $0.method == .post }.count == count)
                rail.clock.advance(by: .seconds(gap))
            }
        }
    }

    // MARK: - The gateway's own pace

    @Test func thePauseThatTheGatewayAsksForIsKeptInsteadOfOurOwn() async throws {
        try await withRail([.slowDown(40), .created, .slowDown(3), .succeeded]) { rail in
            try await rail.untilSleeping(for: .seconds(40))
            #expect(await rail.link.current()?.phase == .unanswered)
            rail.clock.advance(by: .seconds(39))
            try await rail.untilSleeping(for: .seconds(1))
            #expect(rail.gateway.requests.count == 1)
            rail.clock.advance(by: .seconds(1))
            try await rail.untilSleeping(for: .seconds(3))
            #expect(rail.gateway.requests.count == 3)
            rail.clock.advance(by: .seconds(3))
            try await rail.untilOver()
            #expect(await rail.ledger.charge.state == .succeeded)
        }
    }

    /// The customer pays meanwhile, and has five minutes in all.
    @Test(arguments: [61, 3600, 86_400])
    func aPauseThatIsLongerThanACustomerWaitsIsCutShort(seconds: Int) async throws {
        try await withRail([.created, .slowDown(seconds), .slowDown(seconds), .succeeded]) { rail in
            for count in 2...3 {
                try await rail.untilSleeping(for: .seconds(60), orRequests: count + 1)
                #expect(rail.gateway.requests.count == count)
                let until = rail.clock.wallTime().advanced(by: .seconds(60))
                #expect(rail.hindrances.last == .paused(until: until), "and staff are told until when")
                rail.clock.advance(by: .seconds(60))
            }
            try await rail.untilOver()
            #expect(await rail.ledger.charge.state == .succeeded)
            #expect(rail.hindrances.last == nil)
        }
    }

    @Test func onePauseIsOneHoweverTheGatewayIsWritten() async throws {
        try await withOffered([.succeeded]) { rail in
            await rail.pace.pause("https://GATEWAY.test:443/v1/", for: .seconds(16))
            await rail.rail.ask(rail.link)
            #expect(rail.gateway.requests.isEmpty)
        }
    }

    /// Whoever pays has the time that the screen says, and the gateway does not refuse what is over by its clock.
    @Test(arguments: [Int64(-3600), 0, 420])
    func theTimeToPayEndsByTheGatewaysClock(ahead: Int64) async throws {
        try await withRail([.created], gatewayAheadSeconds: ahead) { rail in
            try await rail.untilRequests(2)
            let body = String(decoding: rail.gateway.requests.first?.body ?? [], as: UTF8.self)
            let end = rail.link.terms.deadline.secondsSince1970 + ahead
            #expect(body.contains("\"expiresAt\":\(end),"), "\(body)")
        }
    }

    /// Something between the terminal and the gateway answers, after the gateway has made the payment.
    @Test(arguments: [403, 404, 425], ["", "<html>no</html>"])
    func aNoThatIsNotTheGatewaysEndsNothing(status: Int, body: String) async throws {
        try await withRail([.status(status, body), .created]) { rail in
            try await rail.untilSleeping(for: .seconds(1), orOver: true)
            let attempt = await rail.link.current()
            #expect(attempt?.phase == .unanswered && attempt?.mayHoldMoney == true)
            rail.clock.advance(by: .seconds(1))
            try await rail.untilRequests(3, orOver: true)
            #expect(await rail.link.current()?.offer?.paymentID == "pay_1", "the same order finds its payment")
        }
    }

    @Test func aPauseHoldsForEveryChargeAtThatGateway() async throws {
        try await withRail([.created], pursues: false) { rail in
            await rail.pace.pause("https://gateway.test", for: .seconds(60))
            await rail.pace.pause("https://gateway.test", for: .seconds(2))
            await rail.pace.pause("https://another.test", for: .seconds(600))
            try await withThrowingTaskGroup { group in
                group.addTask { await rail.rail.pursue(rail.link) }
                try await rail.untilSleeping(for: .seconds(60), orRequests: 1)
                #expect(rail.gateway.requests.isEmpty)
                let attempt = await rail.link.current()
                #expect(attempt?.phase == .idle && attempt?.isSilent == true, "and staff are told that nothing moves")
                let until = rail.clock.wallTime().advanced(by: .seconds(60))
                #expect(rail.hindrances.last == .paused(until: until))
                rail.clock.advance(by: .seconds(60))
                try await rail.untilRequests(1)
                group.cancelAll()
            }
        }
    }

    @Test func aSingleQuestionWaitsForAShortPauseAndNotForALongOne() async throws {
        try await withOffered([.succeeded]) { rail in
            await rail.pace.pause("https://gateway.test", for: .seconds(16))
            await rail.rail.ask(rail.link)
            #expect(rail.gateway.requests.isEmpty)
            let attempt = await rail.link.current()
            #expect(attempt?.isSilent == true && attempt?.isOpen == true)
            rail.clock.advance(by: .seconds(1))
            try await withThrowingTaskGroup { group in
                group.addTask { await rail.rail.ask(rail.link) }
                try await rail.untilSleeping(for: .seconds(15), orRequests: 1)
                #expect(rail.gateway.requests.isEmpty)
                rail.clock.advance(by: .seconds(15))
                try await rail.untilOver()
                group.cancelAll()
            }
        }
    }

    // MARK: - Refused after silence

    @Test func aPaymentOfAnUnansweredOrderIsFoundByItsReference() async throws {
        // As the gateway lists it: the amount with how it is written, and other payments that match a part.
        let list = Answer.list([
            ("pay_8", "X$REFERENCE", "1250"), ("pay_9", "$REFERENCE", "1250"),
        ])
        try await withRail([.silence, .conflict, list]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            rail.clock.advance(by: .seconds(1))
            try await rail.untilRequests(4)
            let query = rail.gateway.requests[2]
            #expect(query.method == .get)
            #expect(query.url.hasPrefix("https://gateway.test/v1/merchants/payments?"))
            #expect(query.url.contains("referenceId=\(rail.link.terms.id.compact)"))
            let offer = try #require(await rail.link.current()?.offer)
            #expect(offer == Offer(paymentID: "pay_9", link: nil, expiresAt: nil), "nobody can be shown its link")
            #expect(rail.gateway.requests[3].url.contains("/payments/pay_9/status"))
        }
    }

    @Test(arguments: [Answer.list([]), .list([("pay_8", "X$REFERENCE", "1250")])])
    func anOrderThatNobodyKnowsIsNotFound(list: Answer) async throws {
        try await withRail([.silence, .refusal, list]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            rail.clock.advance(by: .seconds(1))
            try await rail.untilOver()
            #expect(await rail.link.current()?.ending == .notFound)
        }
    }

    /// Each of these says that something is known under the key: an empty list then does not say that nothing is.
    @Test(
        arguments: [
            Answer.conflict, .status(409, #"{"code":"idempotency_conflict","message":"no"}"#), .status(410, ""),
            .status(400, #"{"code":"invalid_state","message":"no"}"#),
            .status(400, #"{"code":"payment_expired","message":"no"}"#),
        ],
        [true, false]
    )
    func aConflictLeavesOpenWhetherAPaymentExists(answer: Answer, isAfterSilence: Bool) async throws {
        try await withRail((isAfterSilence ? [.silence] : []) + [answer, .list([]), .created]) { rail in
            if isAfterSilence {
                try await rail.untilSleeping(for: .seconds(1))
                rail.clock.advance(by: .seconds(1))
            }
            let gap = isAfterSilence ? 2 : 1
            try await rail.untilSleeping(for: .seconds(gap), orOver: true)
            let attempt = await rail.link.current()
            #expect(attempt?.phase == .unanswered && attempt?.isSilent == true && attempt?.mayHoldMoney == true)
            rail.clock.advance(by: .seconds(gap))
            try await rail.untilRequests(isAfterSilence ? 5 : 4, orOver: true)
            #expect(await rail.link.current()?.offer?.paymentID == "pay_1")
        }
    }

    @Test func aConflictOfTheFirstOrderFindsThePaymentThatCausedIt() async throws {
        try await withRail([.conflict, .list([("pay_9", "$REFERENCE", "1250")])]) { rail in
            try await rail.untilRequests(3, orOver: true)
            #expect(await rail.link.current()?.offer == Offer(paymentID: "pay_9", link: nil, expiresAt: nil))
        }
    }

    // MARK: - The time to pay is over

    @Test func nothingIsOrderedOnceTheTimeToPayIsOver() async throws {
        try await withRail([.created], pursues: false) { rail in
            rail.clock.advance(by: .seconds(300))
            try await withThrowingTaskGroup { group in
                group.addTask { await rail.rail.pursue(rail.link) }
                try await rail.untilSleeping(for: .seconds(1), orRequests: 1)
                group.cancelAll()
            }
            #expect(rail.gateway.requests.isEmpty)
            let attempt = await rail.link.current()
            #expect(attempt?.phase == .idle && attempt?.isSilent == true)
        }
    }

    /// Repeated now, the order would be refused, or make a payment that nobody waits for.
    @Test func anOverdueOrderIsLookedUpAndNotRepeated() async throws {
        try await withRail([.silence, .list([]), .list([])]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            rail.clock.advance(by: .seconds(300))
            try await rail.untilSleeping(for: .seconds(2), orOver: true)
            #expect(rail.gateway.requests.map(\.method) == [.post, .get])
            #expect(await rail.link.current()?.phase == .unanswered, "the order may still be on its way")
            rail.clock.advance(by: .seconds(30))
            try await rail.untilOver()
            #expect(rail.gateway.requests.map(\.method) == [.post, .get, .get])
            #expect(await rail.link.current()?.ending == .notFound)
        }
    }

    @Test func anOverdueOrderThatMadeAPaymentIsFound() async throws {
        try await withRail([.silence, .list([("pay_9", "$REFERENCE", "1250")]), .succeeded]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            rail.clock.advance(by: .seconds(300))
            try await rail.untilOver()
            #expect(await rail.ledger.charge.evidence?.paymentID == "pay_9")
        }
    }

    // MARK: - Made already

    /// An order that is repeated may be answered with a payment that somebody has paid: its code must not be shown.
    @Test func aPaymentThatIsUnderWayAlreadyIsNeverShownAsACode() async throws {
        try await withRail([.created(as: "processing")]) { rail in
            try await rail.untilRequests(2)
            let offer = Charge.Event.offered(
                attempt: 1,
                offer: Offer(
                    paymentID: "pay_1",
                    link: nil,
                    expiresAt: WallTime(millisecondsSince1970: 1_790_000_300_000)
                )
            )
            let events = await rail.ledger.events
            #expect(Array(events.suffix(2)) == [offer, .reported(attempt: 1, report: .processing)])
            #expect(await rail.ledger.charge.state == .processing)
        }
    }

    @Test func aPaymentThatHasEndedAlreadyIsAskedAboutAtOnce() async throws {
        try await withRail([.created(as: "succeeded"), .succeeded]) { rail in
            try await rail.untilOver()
            #expect(rail.gateway.requests.last?.url == "https://gateway.test/v1/payments/pay_1/status")
            #expect(await rail.ledger.charge.evidence == RailUnderTest.evidence, "with its transaction")
            #expect(await rail.ledger.charge.attempts.first?.offer?.link == nil)
        }
    }

    @Test(arguments: [
        ("succeeded", Charge.State.succeeded), ("failed", .failed), ("expired", .expired), ("cancelled", .cancelled),
    ])
    func theAnswerToTheOrderCountsWhereNothingElseIsHeard(word: String, state: Charge.State) async throws {
        try await withRail([.created(as: word), .silence]) { rail in
            try await rail.untilOver()
            #expect(await rail.ledger.charge.state == state)
        }
    }

    @Test func anEndThatTheAnswerToTheOrderCallsNotFinalIsNone() async throws {
        try await withRail([.created(as: "succeeded", isFinal: false), .silence]) { rail in
            try await rail.untilSleeping(for: .seconds(1), orOver: true)
            #expect(await rail.ledger.charge.state == .unknown)
        }
    }
}

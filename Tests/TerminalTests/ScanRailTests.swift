import Payments
import Synchronization
import Terminal
import Testing
import WalletConnectPay

/// What the scan rail sends, when it sends it again, and what it concludes from each answer and each silence.
@Suite(.timeLimit(.minutes(1)))
struct ScanRailTests {
    // MARK: - Making the payment

    @Test func theJournalKnowsOfTheOrderBeforeItLeaves() async throws {
        try await withRail([.created]) { rail in
            try await rail.untilRequests(2)
            #expect(rail.gateway.eventsAtSending.first == [Self.started, .sending(attempt: 1)])
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

    @Test(arguments: [
        Answer.notSent, .status(429, #"{"code":"rate_limited","message":"slow down"}"#), .status(429, ""),
    ])
    func whatDidNotLeaveOrWasTurnedAwayMadeNoPayment(answer: Answer) async throws {
        try await withRail([answer, .created]) { rail in
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
            #expect(await rail.link.current()?.phase == .idle)
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

    // MARK: - After the end

    @Test(arguments: [Report.expired, .cancelled])
    func aPaymentThatEndedUnpaidIsAskedAboutAllTheSame(report: Report) async throws {
        try await withOffered([.succeeded]) { rail in
            await rail.ledger.apply(.reported(attempt: 1, report: report))
            #expect(await rail.ledger.charge.state != .succeeded)
            await rail.rail.ask(rail.link)
            let charge = await rail.ledger.charge
            #expect(charge.state == .succeeded && charge.isLate && charge.unseen == .late)
        }
    }

    @Test func anOrderThatWasNotFoundIsLookedForAllTheSame() async throws {
        let answers = [Answer.list([]), .list([("pay_9", "$REFERENCE", "1250")])]
        try await withRail(answers, pursues: false) { rail in
            for event: Charge.Event in [
                .sending(attempt: 1), .silent(attempt: 1, reason: "x"), .notFound(attempt: 1),
            ] { await rail.ledger.apply(event) }
            await rail.rail.ask(rail.link)
            #expect(await rail.ledger.charge.state == .failed)
            await rail.rail.ask(rail.link)
            #expect(await rail.link.current()?.offer?.paymentID == "pay_9")
            #expect(await rail.ledger.charge.state != .failed)
        }
    }

    @Test func whatIsPaidIsNotAskedAbout() async throws {
        try await withOffered([.succeeded]) { rail in
            await rail.ledger.apply(.reported(attempt: 1, report: .succeeded(Self.evidence)))
            await rail.rail.ask(rail.link)
            #expect(rail.gateway.requests.isEmpty)
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
            #expect(await rail.ledger.charge.evidence == Self.evidence, "with its transaction")
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

    // MARK: - What the customer paid with

    @Test(arguments: [
        (#"{"assetSymbol":"USDC","assetName":"USD Coin"}"#, nil),
        (#"{"assetSymbol":"USDC","assetName":"USD Coin","decimals":null}"#, nil),
        (#"{"assetSymbol":" \u202e\u0000","assetName":"","decimals":6}"#, nil),
        (
            #"{"assetSymbol":"US\u202eDC\n","assetName":"","decimals":6,"networkName":"\u0007Base"}"#,
            TokenAmount(digits: "13570000", decimals: 6, symbol: "US DC", network: "Base")
        ),
        (
            #"{"assetSymbol":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","assetName":"","decimals":6,"networkName":""}"#,
            TokenAmount(digits: "13570000", decimals: 6, symbol: "ABCDEFGHIJKLMNOP", network: nil)
        ),
    ])
    func aTokenAmountIsShownInFullOrNotAtAll(display: String, paid: TokenAmount?) async throws {
        let amount = #"{"unit":"caip19/eip155:8453/erc20:0x1","value":"13570000","display":\#(display)}"#
        let answer = #"{"status":"succeeded","isFinal":true,"info":{"txId":"0x1","optionAmount":\#(amount)}}"#
        try await withRail([.created, .status(200, answer)]) { rail in
            try await rail.untilOver()
            #expect(await rail.ledger.charge.state == .succeeded)
            #expect(await rail.ledger.charge.evidence?.paid == paid)
        }
    }

    // MARK: - An answer about something else

    private static let contradictions = [
        #""amount":{"unit":"iso4217/EUR","value":"1251"}"#, #""amount":{"unit":"iso4217/USD","value":"1250"}"#,
        #""info":{"txId":"0x1","optionAmount":{"unit":"iso4217/EUR","value":"1"}}"#, #""paymentId":"pay_2""#,
        #""referenceId":"another""#, #""merchant":{"id":"mrch_2"}"#,
    ]

    @Test(arguments: contradictions)
    func aPaidAnswerThatContradictsTheChargeIsNotPaid(fact: String) async throws {
        let answer = Answer.status(200, #"{"status":"succeeded","isFinal":true,"pollInMs":1000,\#(fact)}"#)
        try await withRail([.created, answer, .succeeded]) { rail in
            try await rail.untilSleeping(for: .seconds(1), orOver: true)
            let charge = await rail.ledger.charge
            #expect(charge.state == .unknown && charge.evidence == nil && charge.canRelease)
            #expect(charge.reason?.code == "contradictory_answer")
            #expect(charge.reason?.action.contains("Do not charge again") == true)
            rail.clock.advance(by: .seconds(1))
            try await rail.untilOver()
            #expect(await rail.ledger.charge.state == .succeeded, "an answer that fits ends the doubt")
        }
    }

    @Test(arguments: ["failed", "expired", "cancelled"])
    func anEndOfAnotherPaymentEndsNothing(word: String) async throws {
        let answer = Answer.status(200, #"{"status":"\#(word)","isFinal":true,"pollInMs":1000,"paymentId":"pay_2"}"#)
        try await withRail([.created, answer]) { rail in
            try await rail.untilSleeping(for: .seconds(1), orOver: true)
            #expect(await rail.ledger.charge.state == .unknown)
        }
    }

    @Test(arguments: [
        #""amount":{"unit":"iso4217/EUR","value":"1250"},"paymentId":"pay_1","merchant":{"id":"mrch_1"}"#,
        #""amount":"€12.50","paymentId":7,"merchant":"Kiosk","referenceId":null"#,
        #""amount":{"unit":"iso4217/EUR"},"merchant":{"name":"Kiosk"}"#,
    ])
    func whatTheAnswerDoesNotContradictIsPaid(facts: String) async throws {
        let answer = Answer.status(200, #"{"status":"succeeded","isFinal":true,\#(facts)}"#)
        try await withRail([.created, answer]) { rail in
            try await rail.untilOver()
            #expect(await rail.ledger.charge.state == .succeeded)
        }
    }

    @Test func aPaymentOfAnotherMerchantIsNotTakenOver() async throws {
        try await withRail([.silence, .conflict, .list([("pay_9", "$REFERENCE", "1250")], merchant: "mrch_2")]) {
            rail in
            try await rail.untilSleeping(for: .seconds(1))
            rail.clock.advance(by: .seconds(1))
            try await rail.untilSleeping(for: .seconds(2), orOver: true)
            #expect(await rail.link.current()?.phase == .unanswered)
        }
    }

    @Test(arguments: [("1251", "EUR"), ("1250", "USD")])
    func aPaymentOfAnotherAmountIsNotTakenOver(value: String, currency: String) async throws {
        let list = Answer.list([("pay_9", "$REFERENCE", value)], currency: currency)
        try await withRail([.silence, .conflict, list]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            rail.clock.advance(by: .seconds(1))
            try await rail.untilSleeping(for: .seconds(2))
            let attempt = await rail.link.current()
            #expect(attempt?.phase == .unanswered && attempt?.isSilent == true && attempt?.offer == nil)
            #expect(await rail.ledger.charge.isUnresolved)
            guard case .silent(_, let reason)? = await rail.ledger.events.last else {
                Issue.record("\(String(describing: await rail.ledger.events.last))")
                return
            }
            #expect(reason.contains("the amount \(value) of iso4217/\(currency)"))
        }
    }

    @Test(arguments: [Answer.silence, .status(200, "{}"), .status(500, "")])
    func aLookUpWithoutAnswerLeavesTheQuestionOpen(answer: Answer) async throws {
        try await withRail([.silence, .conflict, answer, .created]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            rail.clock.advance(by: .seconds(1))
            try await rail.untilSleeping(for: .seconds(2))
            #expect(await rail.link.current()?.phase == .unanswered)
            rail.clock.advance(by: .seconds(2))
            try await rail.untilRequests(5)
            #expect(rail.gateway.requests[3] == rail.gateway.requests[0])
            #expect(await rail.link.current()?.offer?.paymentID == "pay_1")
        }
    }

    // MARK: - Following the payment

    @Test(arguments: [("1000", 1000), ("700", 700), ("2500", 2500), ("null", 2000), ("99999999", 60_000)])
    func itAsksAtThePaceOfTheGateway(pollInMs: String, milliseconds: Int) async throws {
        try await withRail([.created, .waiting(pollInMs: pollInMs)]) { rail in
            try await rail.untilSleeping(for: .milliseconds(milliseconds))
            #expect(rail.gateway.requests.count == 2)
            rail.clock.advance(by: .milliseconds(milliseconds))
            try await rail.untilRequests(3)
        }
    }

    @Test func aQuestionThatWasHeldHasWaitedAlready() async throws {
        try await withRail([.created, .held(.milliseconds(1500)), .held(.seconds(15))]) { rail in
            try await rail.untilSleeping(for: .milliseconds(500))
            rail.clock.advance(by: .milliseconds(500))
            // Held for longer than the pace: the next question follows at once.
            try await rail.untilRequests(4)
        }
    }

    @Test(arguments: ["0", "-5", "1"])
    func aGatewayThatNamesNoPauseIsNotAskedWithoutPause(pollInMs: String) async throws {
        let answers = [Answer](repeating: .waiting(pollInMs: pollInMs), count: 40)
        try await withRail([.created] + answers) { rail in
            for count in 2...4 {
                try await rail.untilSleeping(for: .milliseconds(500), orRequests: 10)
                #expect(rail.gateway.requests.count == count)
                rail.clock.advance(by: .milliseconds(500))
            }
        }
    }

    @Test func aQuestionMayBeHeldAndIsGivenTheTimeForIt() async throws {
        try await withRail([.created]) { rail in
            try await rail.untilRequests(2)
            let question = rail.gateway.requests[1]
            #expect(question.method == .get)
            #expect(question.url == "https://gateway.test/v1/payments/pay_1/status?maxPollMs=20000")
            #expect(question.timeout > .seconds(20))
        }
    }

    @Test func oneQuestionIsAnsweredAtOnceAndNotHeld() async throws {
        try await withRail([.status(200, #"{"status":"processing","isFinal":false,"pollInMs":1000}"#)], pursues: false)
        {
            rail in
            await rail.ledger.apply(.sending(attempt: 1))
            await rail.ledger.apply(.offered(attempt: 1, offer: Self.offer))
            await rail.rail.ask(rail.link)
            #expect(rail.gateway.requests.map(\.url) == ["https://gateway.test/v1/payments/pay_1/status"])
            #expect(await rail.ledger.charge.state == .processing)
        }
    }

    @Test func nothingIsAskedAboutWhatNeverLeft() async throws {
        try await withRail([.created], pursues: false) { rail in
            await rail.rail.ask(rail.link)
            #expect(rail.gateway.requests.isEmpty)
        }
    }

    @Test func aWordNobodyKnowsIsKeptAndAskedAboutAgain() async throws {
        let word = Answer.status(200, #"{"status":"reviewing","isFinal":true,"pollInMs":3000}"#)
        try await withRail([.created, word, .succeeded]) { rail in
            try await rail.untilSleeping(for: .seconds(3))
            let charge = await rail.ledger.charge
            #expect(charge.state == .unknown && charge.reason?.code == "unrecognised_status")
            #expect(charge.reason?.message.contains("reviewing") == true)
            rail.clock.advance(by: .seconds(3))
            try await rail.untilOver()
            #expect(await rail.ledger.charge.state == .succeeded)
        }
    }

    @Test func anOutcomeThatTheGatewayCallsNotFinalIsNone() async throws {
        try await withRail([.created, .status(200, #"{"status":"succeeded","isFinal":false,"pollInMs":1000}"#)]) {
            rail in
            try await rail.untilSleeping(for: .seconds(1))
            let charge = await rail.ledger.charge
            #expect(charge.state == .unknown && charge.evidence == nil)
        }
    }

    @Test(arguments: [Answer.silence, .notSent, .status(200, "{}"), .status(503, ""), .status(404, "{}")])
    func silenceWhileFollowingIsNotKnownYet(answer: Answer) async throws {
        try await withRail([.created, answer, .succeeded]) { rail in
            try await rail.untilSleeping(for: .seconds(1))
            let charge = await rail.ledger.charge
            #expect(charge.state == .requiresAction && charge.isUnresolved)
            rail.clock.advance(by: .seconds(1))
            try await rail.untilOver()
            #expect(await rail.ledger.charge.evidence == Self.evidence)
            #expect(rail.gateway.requests.count == 3, "nothing is asked after the last word")
        }
    }

    // MARK: - Taking it back

    @Test(arguments: [
        (Answer.succeeded, Charge.State.succeeded), (.status(200, #"{"status":"processing"}"#), .processing),
        (.status(200, #"{"status":"expired","isFinal":true}"#), .expired),
    ])
    func whereTakingBackIsRefusedTheStatusSaysWhy(status: Answer, state: Charge.State) async throws {
        try await withOffered([.conflict, status]) { rail in
            await rail.rail.withdraw(rail.link)
            let prefix = "https://gateway.test/v1/payments/pay_1/"
            #expect(rail.gateway.requests.map(\.url) == [prefix + "cancel", prefix + "status"])
            #expect(await rail.ledger.charge.state == state)
        }
    }

    @Test func whatStillWaitsAfterEachTryIsTakenBackInGrowingGaps() async throws {
        let stillWaits = Answer.status(200, #"{"status":"requires_action"}"#)
        try await withOffered(Array(repeating: stillWaits, count: 40)) { rail in
            try await withThrowingTaskGroup { group in
                group.addTask { await rail.rail.withdraw(rail.link) }
                for (count, gap) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10)] {
                    try await rail.untilSleeping(for: .seconds(gap), orRequests: 20)
                    #expect(rail.gateway.requests.count == count)
                    rail.clock.advance(by: .seconds(gap))
                }
                try await group.waitForAll()
            }
            #expect(rail.gateway.requests.count == 5)
        }
    }

    @Test func takenBackIsTheGatewaysWord() async throws {
        try await withOffered([.status(200, #"{"status":"cancelled"}"#)]) { rail in
            await rail.rail.withdraw(rail.link)
            #expect(await rail.link.current()?.ending == .cancelled)
        }
    }

    @Test func takingBackIsTriedAgainAfterSilenceAndNotForEver() async throws {
        try await withOffered(Array(repeating: .silence, count: 9)) { rail in
            try await withThrowingTaskGroup { group in
                group.addTask { await rail.rail.withdraw(rail.link) }
                for gap in [1, 2, 4, 8, 10] {
                    try await rail.untilSleeping(for: .seconds(gap))
                    rail.clock.advance(by: .seconds(gap))
                }
                try await group.waitForAll()
            }
            #expect(rail.gateway.requests.count == 5)
            let charge = await rail.ledger.charge
            #expect(charge.state == .requiresAction && charge.isUnresolved, "silence took nothing back")
        }
    }

    @Test func aPaymentThatIsMovingIsNotTakenBack() async throws {
        try await withOffered([]) { rail in
            await rail.ledger.apply(.reported(attempt: 1, report: .processing))
            await rail.rail.withdraw(rail.link)
            #expect(rail.gateway.requests.isEmpty)
        }
    }

    // MARK: - Other settings

    @Test(arguments: [("https://other.test", "mrch_1"), ("https://gateway.test", "mrch_2")])
    func anotherGatewayOrMerchantIsNeverAskedAboutThisPayment(gatewayURL: String, merchantID: String) async throws {
        let known: [[Charge.Event]] = [
            [], [.sending(attempt: 1), .silent(attempt: 1, reason: "time-out")],
            [.sending(attempt: 1), .offered(attempt: 1, offer: Self.offer)],
        ]
        for events in known {
            try await withRail([], gatewayURL: gatewayURL, merchantID: merchantID, pursues: false) { rail in
                for event in events { await rail.ledger.apply(event) }
                try await withThrowingTaskGroup { group in
                    group.addTask { await rail.rail.pursue(rail.link) }
                    group.addTask { await rail.rail.ask(rail.link) }
                    group.addTask { await rail.rail.withdraw(rail.link) }
                    for gap in [1, 2, 4] {
                        try await rail.untilSleeping(for: .seconds(gap))
                        rail.clock.advance(by: .seconds(gap))
                    }
                    group.cancelAll()
                }
                #expect(rail.gateway.requests.isEmpty)
                let attempt = await rail.link.current()
                #expect(attempt?.isOpen == true && attempt?.isSilent == true)
                guard case .silent(_, let reason)? = await rail.ledger.events.last else {
                    Issue.record("\(String(describing: await rail.ledger.events.last))")
                    return
                }
                #expect(reason.contains("another gateway or merchant"))
            }
        }
    }
}

// MARK: - The rail under test

/// What the gateway says to one request.
enum Answer: Sendable, Equatable, CustomTestStringConvertible {
    /// `$REFERENCE` in the body stands for the charge's own.
    case status(Int, String)
    /// Too many requests: wait for so many seconds.
    case slowDown(Int)
    /// No byte left: refused connection.
    case notSent
    /// It left and nothing came back.
    case silence
    /// Still waiting for the customer, said after the gateway held the question for so long. Names no pace.
    case held(Duration)

    static let created = created(as: "requires_action", isFinal: false)
    /// Final or not as the word says, unless `isFinal` says otherwise.
    static func created(as word: String, isFinal: Bool? = nil) -> Answer {
        .status(
            201,
            """
            {"paymentId":"pay_1","status":"\(word)","expiresAt":1790000300,"pollInMs":1000,
             "isFinal":\(isFinal ?? (word != "processing")),"gatewayUrl":"https://pay.walletconnect.com/?pid=pay_1"}
            """
        )
    }
    /// Says nothing about what is known under the key.
    static let refusal = Answer.status(400, #"{"code":"params_validation","message":"no"}"#)
    static let conflict = Answer.status(409, #"{"code":"conflict","message":"no"}"#)
    static let succeeded = Answer.status(
        200,
        #"{"status":"succeeded","isFinal":true,"pollInMs":null,"info":{"txId":"0x1"}}"#
    )

    static func waiting(pollInMs: String) -> Answer {
        .status(200, #"{"status":"requires_action","isFinal":false,"pollInMs":\#(pollInMs)}"#)
    }

    static func list(
        _ payments: [(id: String, reference: String, value: String)],
        currency: String = "EUR",
        merchant: String = "mrch_1"
    ) -> Answer {
        let items = payments.map { payment in
            """
            {"paymentId":"\(payment.id)","merchant":{"id":"\(merchant)","name":"Kiosk"},"referenceId":"\(payment.reference)","status":"requires_action","fiatAmount":
             {"unit":"iso4217/\(currency)","value":"\(payment.value)","display":
              {"assetSymbol":"\(currency)","assetName":"Money","decimals":2}}}
            """
        }
        return .status(200, #"{"data":[\#(items.joined(separator: ","))],"nextCursor":null}"#)
    }

    var testDescription: String {
        switch self {
        case .status(let status, let body): "\(status) \(body.prefix(60))"
        case .slowDown(let seconds): "429, wait \(seconds) s"
        case .notSent: "not sent"
        case .silence: "silence"
        case .held(let duration): "held for \(duration)"
        }
    }
}

/// Gives its answers one after the other and then holds every request until it is cancelled.
private final class ScriptedGateway: HTTPTransport {
    private struct State {
        var answers: ArraySlice<Answer>
        var requests: [HTTPRequest] = []
        var eventsAtSending: [[Charge.Event]] = []
    }

    private let state: Mutex<State>
    private let ledger: Ledger
    private let clock: ManualClock

    init(_ answers: [Answer], _ ledger: Ledger, _ clock: ManualClock) {
        state = Mutex(State(answers: answers[...]))
        (self.ledger, self.clock) = (ledger, clock)
    }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    /// What the journal held when each request left.
    var eventsAtSending: [[Charge.Event]] { state.withLock { $0.eventsAtSending } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let (events, reference) = await (ledger.events, ledger.charge.id.compact)
        let answer = state.withLock { state in
            state.requests.append(request)
            state.eventsAtSending.append(events)
            return state.answers.popFirst()
        }
        switch answer {
        case .status(let status, let body):
            let text = body.replacing("$REFERENCE", with: reference)
            return HTTPResponse(status: status, body: Array(text.utf8))
        case .slowDown(let seconds):
            return HTTPResponse(status: 429, headers: [("Retry-After", String(seconds))], body: [])
        case .notSent: throw .notSent(reason: "connection refused")
        case .silence: throw .noAnswer(after: .seconds(15))
        case .held(let duration):
            clock.advance(by: duration)
            let body = #"{"status":"requires_action","isFinal":false,"pollInMs":null}"#
            return HTTPResponse(status: 200, body: Array(body.utf8))
        case nil:
            let (never, continuation) = AsyncStream<Never>.makeStream()
            await withTaskCancellationHandler {
                for await _ in never {}
            } onCancel: {
                continuation.finish()
            }
            throw .cancelled
        }
    }
}

/// Keeps one charge as the desk does: an event that is not recorded has not happened.
private actor Ledger {
    private(set) var charge: Charge
    private(set) var events: [Charge.Event] = []
    private var takes: @Sendable (Charge.Event) -> Bool

    init(_ terms: ChargeTerms, recording takes: @escaping @Sendable (Charge.Event) -> Bool) {
        charge = Charge(terms: terms)
        self.takes = takes
        let started = Charge.Event.attemptStarted(attempt: 1, rail: .scan)
        _ = charge.handle(started)
        events = [started]
    }

    func record(_ takes: @escaping @Sendable (Charge.Event) -> Bool) { self.takes = takes }

    @discardableResult
    func apply(_ event: Charge.Event) -> Attempt? {
        guard takes(event) else { return charge.attempt(1) }
        _ = charge.handle(event)
        events.append(event)
        return charge.attempt(1)
    }
}

private struct RailUnderTest: Sendable {
    let rail: ScanRail
    let link: AttemptLink
    let ledger: Ledger
    let gateway: ScriptedGateway
    let clock: ManualClock
    let pace: GatewayPace

    /// Throws where the test's time is over first, like the other two.
    /// - Parameter orOver: Whether to stop waiting also where the attempt has ended.
    func untilRequests(_ count: Int, orOver: Bool = false) async throws {
        while gateway.requests.count < count {
            if orOver, await link.current()?.isOpen == false { return }
            try await pause()
        }
    }

    /// Waits until the rail waits for this much time to pass, or has sent so many requests instead.
    func untilSleeping(for duration: Duration, orRequests most: Int = .max, orOver: Bool = false) async throws {
        while !clock.hasSleeper(for: duration), gateway.requests.count < most {
            if orOver, await link.current()?.isOpen == false { return }
            try await pause()
        }
    }

    func untilOver() async throws {
        while await link.current()?.isOpen == true { try await pause() }
    }

    private func pause() async throws {
        try Task.checkCancellation()
        await Task.yield()
    }
}

extension ScanRailTests {
    fileprivate static let started = Charge.Event.attemptStarted(attempt: 1, rail: .scan)
    fileprivate static let offer = Offer(paymentID: "pay_1", link: "https://pay.walletconnect.com/", expiresAt: nil)
    fileprivate static let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)

    /// A rail whose payment is offered and that nobody follows.
    private func withOffered(_ answers: [Answer], _ body: @Sendable (RailUnderTest) async throws -> Void) async throws {
        try await withRail(answers, pursues: false) { rail in
            await rail.ledger.apply(.sending(attempt: 1))
            await rail.ledger.apply(.offered(attempt: 1, offer: Self.offer))
            try await body(rail)
        }
    }

    /// - Parameters:
    ///   - gatewayURL: What the settings say now; the charge was opened at `https://gateway.test`.
    ///   - recording: Which events the journal takes.
    ///   - pursues: Whether the rail follows the attempt for as long as `body` runs.
    private func withRail(
        _ answers: [Answer],
        gatewayURL: String = "https://gateway.test",
        merchantID: String = "mrch_1",
        recording takes: @escaping @Sendable (Charge.Event) -> Bool = { _ in true },
        pursues: Bool = true,
        _ body: @Sendable (RailUnderTest) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        var generator = SystemRandomNumberGenerator()
        let now = clock.terminalClock.wallTime()
        let terms = ChargeTerms(
            id: ChargeID(at: now, using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: 1250, currency: .euro),
            reference: nil,
            merchantID: "mrch_1",
            merchantName: "Kiosk",
            operatorID: "op-1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "Ada"),
            openedAt: now,
            timeLimitSeconds: 300
        )
        let ledger = Ledger(terms, recording: takes)
        let gateway = ScriptedGateway(answers, ledger, clock)
        let merchant = try MerchantClient(
            baseURL: gatewayURL,
            credentials: MerchantCredentials(merchantID: merchantID, apiKey: Secret("wcp_key")),
            transport: gateway
        )
        let pace = GatewayPace(clock: clock.terminalClock)
        let rail = ScanRail(
            merchant: merchant,
            gatewayURL: gatewayURL,
            merchantID: merchantID,
            clock: clock.terminalClock,
            pace: pace
        )
        let link = AttemptLink(
            terms: terms,
            id: 1,
            read: { await ledger.charge.attempt(1) },
            write: { await ledger.apply($0) }
        )
        let under = RailUnderTest(rail: rail, link: link, ledger: ledger, gateway: gateway, clock: clock, pace: pace)
        try await withThrowingTaskGroup(of: Void.self) { group in
            if pursues { group.addTask { await rail.pursue(link) } }
            try await body(under)
            group.cancelAll()
        }
    }
}

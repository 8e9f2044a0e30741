import Payments
import Terminal
import Testing
import TestSupport
import WalletConnectPay

/// How the scan rail follows a payment that was made, and takes it back.
@Suite(.timeLimit(.minutes(1)))
struct ScanRailFollowingTests {
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
            await rail.ledger.apply(.reported(attempt: 1, report: .succeeded(RailUnderTest.evidence)))
            await rail.rail.ask(rail.link)
            #expect(rail.gateway.requests.isEmpty)
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
            await rail.ledger.apply(.offered(attempt: 1, offer: RailUnderTest.offer))
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
            #expect(await rail.ledger.charge.evidence == RailUnderTest.evidence)
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

    // MARK: - What it says of the gateway

    @Test(arguments: [
        (Answer.succeeded, GatewayLight.ready), (.waiting(pollInMs: "1000"), .ready),
        // Left alone for a minute at most: somebody may have paid.
        (.slowDown(30), .paused(until: WallTime(millisecondsSince1970: 1_790_000_030_000))),
        (.slowDown(86_400), .paused(until: WallTime(millisecondsSince1970: 1_790_000_060_000))),
        (.status(401, #"{"code":"invalid_api_key","message":"no"}"#), .refused), (.silence, .unreachable),
        (.notSent, .unreachable), (.status(503, ""), .unreachable), (.clockIsNotSet, .clock),
    ])
    func theGatewaysLightFollowsFromTheExchangeAndNotFromThePayment(answer: Answer, light: GatewayLight) async throws {
        try await withOffered([answer]) { rail in
            await rail.rail.ask(rail.link)
            #expect(rail.lights.all == [light])
        }
    }

    /// "Go on without an answer" ends a question that the gateway still holds.
    @Test func aQuestionThatTheTerminalCutsShortSaysNothingOfTheGateway() async throws {
        try await withOffered([]) { rail in
            await withTaskGroup { group in
                group.addTask { await rail.rail.pursue(rail.link) }
                while rail.gateway.requests.isEmpty, !Task.isCancelled {
                    if let sleep = rail.clock.shortestSleep { rail.clock.advance(by: sleep) }
                    await Task.yield()
                }
                group.cancelAll()
            }
            #expect(rail.lights.all.isEmpty)
        }
    }

    /// The settings have changed since: nothing was asked, so nothing is known of the gateway, and the end stays the end.
    @Test func anEndMadeElsewhereSaysNothing() async throws {
        try await withRail([], merchantID: "mrch_2", pursues: false) { rail in
            await rail.ledger.apply(.sending(attempt: 1))
            await rail.ledger.apply(.offered(attempt: 1, offer: RailUnderTest.offer))
            await rail.ledger.apply(.reported(attempt: 1, report: .cancelled))
            let events = await rail.ledger.events
            await rail.rail.ask(rail.link)
            #expect(rail.gateway.requests.isEmpty && rail.lights.all.isEmpty)
            #expect(await rail.ledger.events == events)
        }
    }

    // MARK: - Other settings

    /// The same gateway, as somebody typed it when the settings were saved again.
    @Test(arguments: ["https://gateway.test/", "https://gateway.test/v1", "HTTPS://Gateway.Test:443/v1/"])
    func anotherSpellingOfTheGatewayIsTheSameGateway(gatewayURL: String) async throws {
        try await withRail([.succeeded], gatewayURL: gatewayURL, pursues: false) { rail in
            await rail.ledger.apply(.sending(attempt: 1))
            await rail.ledger.apply(.offered(attempt: 1, offer: RailUnderTest.offer))
            await rail.rail.ask(rail.link)
            #expect(await rail.ledger.charge.state == .succeeded)
            #expect(rail.lights.all == [.ready])
        }
    }

    @Test(arguments: [("https://other.test", "mrch_1"), ("https://gateway.test", "mrch_2")])
    func anotherGatewayOrMerchantIsNeverAskedAboutThisPayment(gatewayURL: String, merchantID: String) async throws {
        let known: [[Charge.Event]] = [
            [], [.sending(attempt: 1), .silent(attempt: 1, reason: "time-out")],
            [.sending(attempt: 1), .offered(attempt: 1, offer: RailUnderTest.offer)],
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
                #expect(rail.hindrances.last == .elsewhere && !rail.rail.canAsk(about: rail.link.terms))
            }
        }
    }
}

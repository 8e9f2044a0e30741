import Ethereum
import Locks
import Payments
import Testing
import TestSupport

@testable import Sandbox

struct LongPollTests {
    private static func status(_ id: String, _ milliseconds: Int) -> String {
        "/v1/payments/\(id)/status?maxPollMs=\(milliseconds)"
    }

    @Test func aQuestionIsHeldAndAnsweredInTheMomentOfTheChange() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        guard case .hold(let waiter) = bench.reply("GET", Self.status(id, 20_000), GatewayBench.merchant) else {
            Issue.record("not held")
            return
        }
        bench.pass(.seconds(19))
        #expect(bench.state.takeWakes().isEmpty)
        _ = try bench.pay(id)
        let wakes = bench.state.takeWakes()
        #expect(wakes.map(\.0) == [waiter])
        #expect(wakes.first?.1.json["status"]?.stringValue == "processing")
        #expect(bench.state.waiterTotal == 0)
    }

    @Test(arguments: [(1500, 1500), (60_000, 25_000)])
    func aQuestionIsHeldAsLongAsAskedButNeverLongerThanClientsWait(asked: Int, held: Int) {
        var bench = GatewayBench()
        let id = bench.newPayment()
        guard case .hold = bench.reply("GET", Self.status(id, asked), GatewayBench.merchant) else {
            Issue.record("not held")
            return
        }
        #expect(bench.state.nextDue == bench.now.advanced(by: .milliseconds(held)))
        bench.pass(.milliseconds(held - 1))
        #expect(bench.state.takeWakes().isEmpty)
        bench.pass(.milliseconds(1))
        #expect(bench.state.takeWakes().first?.1.json["status"]?.stringValue == "requires_action")
    }

    @Test func aFinalPaymentIsNeverWaitedFor() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        bench.pass(.seconds(300))
        #expect(bench.answer("GET", Self.status(id, 20_000)).json["status"]?.stringValue == "expired")
        #expect(bench.answer("GET", Self.status(id, -1)).status == 400)
    }

    @Test func aConfirmationWaitsForTheEndAndNotForTheStart() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let option = bench.option(id)
        let body = bench.confirmation(option, [try bench.signature(of: bench.typedDataText(id, option))])
        let path = "/v1/gateway/payment/\(id)/confirm?maxPollMs=20000"
        guard case .hold(let waiter) = bench.reply("POST", path, GatewayBench.wallet, body) else {
            Issue.record("not held")
            return
        }
        #expect(bench.state.takeWakes().isEmpty)
        bench.pass(.seconds(2))
        let wakes = bench.state.takeWakes()
        #expect(wakes.map(\.0) == [waiter])
        #expect(wakes.first?.1.json["status"]?.stringValue == "succeeded")
    }

    @Test func aClientWhoLeftIsForgotten() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        guard case .hold(let waiter) = bench.reply("GET", Self.status(id, 5000), GatewayBench.merchant) else { return }
        bench.state.abandon(waiter)
        bench.pass(.seconds(300))
        #expect(bench.state.takeWakes().isEmpty)
    }

    // MARK: - The running gateway

    /// A gateway that runs, with a payment in it.
    private func withGateway(
        _ configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (Gateway, ManualClock, String) async throws -> Void
    ) async throws {
        var configuration = GatewayConfiguration(merchantID: "mrch_bench", apiKey: "wcp_bench")
        configuration.controlToken = "control"
        configure(&configuration)
        let clock = ManualClock()
        let gateway = Gateway(
            GatewayState(configuration: configuration),
            clock: SandboxClock(now: clock.wallTime, sleep: clock.sleep)
        )
        let running = Task { try await gateway.run() }
        let amount = #""amount":{"unit":"iso4217/USD","value":"100"}"#
        let created = await gateway.answer(
            GatewayRequest("POST", "/v1/payments", headers: GatewayBench.merchant, body: Array("{\(amount)}".utf8))
        )
        try await body(gateway, clock, created?.json["paymentId"]?.stringValue ?? "")
        running.cancel()
        try await running.value
    }

    private func question(_ id: String, _ milliseconds: Int) -> GatewayRequest {
        GatewayRequest("GET", Self.status(id, milliseconds), headers: GatewayBench.merchant)
    }

    @Test(.timeLimit(.minutes(1))) func thousandsOfQuestionsAreAnsweredByOneChange() async throws {
        try await withGateway { gateway, _, id in
            try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<5000 {
                    group.addTask { await gateway.answer(question(id, 20_000))?.json["status"]?.stringValue }
                }
                while await gateway.openPolls < 5000 { await Task.yield() }
                let cancel = GatewayRequest(
                    "POST",
                    "/v1/payments/\(id)/cancel",
                    headers: GatewayBench.merchant,
                    body: Array("{}".utf8)
                )
                _ = await gateway.answer(cancel)
                for try await status in group { #expect(status == "cancelled") }
            }
            #expect(await gateway.openPolls == 0)
        }
    }

    @Test(.timeLimit(.minutes(1))) func theClockAloneEndsAHeldQuestionAndExpiresAPayment() async throws {
        try await withGateway { gateway, clock, id in
            async let first = gateway.answer(question(id, 5000))
            while await gateway.openPolls < 1 { await Task.yield() }
            // One sleeper for the payment's expiry, one for the question.
            while clock.sleeperCount < 2 { await Task.yield() }
            clock.advance(by: .seconds(5))
            #expect(await first?.json["status"]?.stringValue == "requires_action")
            clock.advance(by: .seconds(290))
            async let second = gateway.answer(question(id, 25_000))
            while await gateway.openPolls < 1 { await Task.yield() }
            clock.advance(by: .seconds(5))
            #expect(await second?.json["status"]?.stringValue == "expired")
        }
    }

    @Test(.timeLimit(.minutes(1))) func aQuestionWhoseClientIsCancelledEnds() async throws {
        try await withGateway { gateway, _, id in
            let client = Task { await gateway.answer(question(id, 20_000)) }
            while await gateway.openPolls < 1 { await Task.yield() }
            client.cancel()
            #expect(await client.value == nil)
            #expect(await gateway.openPolls == 0)
        }
    }

    @Test(.timeLimit(.minutes(1))) func aGatewayThatStopsLeavesNobodyWaiting() async throws {
        let client = Mutex<Task<GatewayAnswer?, Never>?>(nil)
        try await withGateway { gateway, _, id in
            let question = question(id, 20_000)
            client.withLock { $0 = Task { await gateway.answer(question) } }
            while await gateway.openPolls < 1 { await Task.yield() }
        }
        #expect(await client.withLock { $0 }?.value == nil)
    }

    @Test(.timeLimit(.minutes(1))) func aDroppedAnswerWasWorkedOnOrNotAsTheFaultSays() async throws {
        let amount = #"{"amount":{"unit":"iso4217/USD","value":"100"}}"#
        let create = GatewayRequest("POST", "/v1/payments", headers: GatewayBench.merchant, body: Array(amount.utf8))
        let list = GatewayRequest("GET", "/v1/merchants/payments", headers: GatewayBench.merchant)
        for (moment, count) in [(Fault.Moment.before, 1), (.after, 2)] {
            let fault = Fault(endpoint: .create, effect: .drop, moment: moment, fromCall: 2)
            try await withGateway({ $0.faults = [fault] }) { gateway, _, _ in
                #expect(await gateway.answer(create) == nil)
                #expect(await gateway.answer(list)?.json["data"]?.arrayValue?.count == count)
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func aFailureHappensOnTheSideOfTheWorkThatTheFaultNames() async throws {
        let amount = #"{"amount":{"unit":"iso4217/USD","value":"100"}}"#
        let create = GatewayRequest("POST", "/v1/payments", headers: GatewayBench.merchant, body: Array(amount.utf8))
        let list = GatewayRequest("GET", "/v1/merchants/payments", headers: GatewayBench.merchant)
        for (effect, moment, status, count) in [
            (Fault.Effect.failure(status: 502), Fault.Moment.before, 502, 1), (.failure(status: 500), .after, 500, 2),
            (.refuse(code: "rate_limited"), .before, 429, 1), (.refuse(code: "invalid_state"), .after, 400, 2),
        ] {
            let fault = Fault(endpoint: .create, effect: effect, moment: moment, fromCall: 2)
            try await withGateway({ $0.faults = [fault] }) { gateway, _, _ in
                let answer = await gateway.answer(create)
                #expect(answer?.status == status)
                #expect(answer?.headers["Retry-After"] == (status == 429 ? "1" : nil))
                #expect(await gateway.answer(list)?.json["data"]?.arrayValue?.count == count)
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func aDelayedAnswerComesWhenItsTimeHasCome() async throws {
        try await withGateway({ $0.faults = [Fault(endpoint: .status, effect: .delay(milliseconds: 700))] }) {
            gateway,
            clock,
            id in
            async let answer = gateway.answer(question(id, 0))
            while clock.sleeperCount < 2 { await Task.yield() }
            clock.advance(by: .milliseconds(700))
            #expect(await answer?.status == 200)
        }
    }
}

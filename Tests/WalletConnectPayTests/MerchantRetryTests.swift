import Testing

@testable import WalletConnectPay

/// Checkout, refunds and versions; then which call is repeated after what, and what the repetition may conclude.
struct MerchantRetryTests {
    private static let id = PaymentID("pay_1")
    private static let created = ScriptedGateway.Turn.answer(
        201,
        """
        {"paymentId":"pay_1","status":"requires_action","expiresAt":1,"isFinal":false,
         "gatewayUrl":"https://pay.walletconnect.com/?pid=pay_1"}
        """
    )
    private static let silence = ScriptedGateway.Turn.fail(.noAnswer(after: .seconds(15)))

    private static func refusal(_ status: Int, _ code: String) -> ScriptedGateway.Turn {
        .answer(status, #"{"code":"\#(code)","message":"no"}"#)
    }

    private func retrying(
        _ gateway: ScriptedGateway,
        _ clock: InstantClock = InstantClock(),
        policy: RetryPolicy = RetryPolicy()
    ) throws -> RetryingMerchant<InstantClock> {
        RetryingMerchant(try gateway.merchant(), policy: policy, clock: clock, spread: { 1 })
    }

    private func order(checkout: NewPayment.Checkout? = nil) throws -> NewPayment {
        try NewPayment(
            reference: "R-1",
            amount: .fiat(code: "EUR", minorUnits: 1250),
            expiresAtSeconds: nil,
            checkout: checkout
        )
    }

    // MARK: - What travels

    @Test func checkoutAddressesTravel() async throws {
        let gateway = ScriptedGateway(Self.created)
        let checkout = try NewPayment.Checkout(successURL: "https://shop.test/ok", errorURL: "https://shop.test/no?a=1")
        _ = try await gateway.merchant().create(order(checkout: checkout), idempotencyKey: "k")
        #expect(
            gateway.body(0).contains(
                #""checkout":{"errorUrl":"https://shop.test/no?a=1","successUrl":"https://shop.test/ok"}"#
            )
        )
    }

    @Test(arguments: ["http://shop.test/", "shop.test", "javascript:alert(1)", "", "https://"])
    func aCheckoutAddressThatIsNotHTTPSIsNone(url: String) {
        #expect(throws: MerchantError.self) { try NewPayment.Checkout(successURL: url, errorURL: "https://shop.test/") }
        #expect(throws: MerchantError.self) { try NewPayment.Checkout(successURL: "https://shop.test/", errorURL: url) }
    }

    @Test func aRefundIsMarkedOnceAndTheSecondTimeIsAnAnswer() async throws {
        let gateway = ScriptedGateway(
            .answer(200, #"{"paymentId":"pay_1"}"#),
            Self.refusal(409, "already_refunded"),
            Self.refusal(400, "payment_not_succeeded"),
            .answer(200, #"{"paymentId":"pay_2"}"#)
        )
        let (merchant, id) = (try gateway.merchant(), try #require(Self.id))
        #expect(try await merchant.markRefunded(id) == .marked)
        #expect(gateway.calls == ["POST /refunds"] && gateway.body(0) == #"{"paymentId":"pay_1"}"#)
        #expect(try await merchant.markRefunded(id) == .wasMarkedBefore)
        await #expect {
            _ = try await merchant.markRefunded(id)
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == false }
        await #expect {
            _ = try await merchant.markRefunded(id)
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
    }

    @Test(arguments: [
        ("invalid_api_version", GatewayRefusal.VersionProblem.malformed), ("unknown_api_version", .unknown),
        ("api_version_downgrade", .olderThanTheAccounts), ("params_validation", nil),
    ])
    func aRefusedVersionIsToldFromOtherRefusals(code: String, problem: GatewayRefusal.VersionProblem?) async throws {
        let gateway = ScriptedGateway(Self.refusal(400, code))
        let (merchant, id) = (try gateway.merchant(version: "2026-02-18"), try #require(Self.id))
        await #expect {
            _ = try await merchant.payment(id)
        } throws: { error in
            guard case MerchantError.refused(let refusal) = error else { return false }
            return refusal.versionProblem == problem
        }
        #expect(gateway.requests.first?.headers.contains(HTTPRequest.Header("WCP-Version", "2026-02-18")) == true)
        #expect(throws: MerchantError.self) { try gateway.merchant(version: "2026\r\nX: 1") }
    }

    @Test func whatIsWrongWithEachFieldArrives() async throws {
        let body = """
            {"code":"params_validation","message":"Bad","issues":[{"field":"amount","message":"too small"},{"x":1}]}
            """
        let gateway = ScriptedGateway(.answer(400, body), .answer(400, #"{"code":"c","message":"m","issues":"?"}"#))
        let merchant = try gateway.merchant()
        let issues = [GatewayRefusal.Issue(field: "amount", message: "too small"), .init(field: "", message: "")]
        await #expect(
            throws: MerchantError.refused(
                GatewayRefusal(httpStatus: 400, code: "params_validation", message: "Bad", issues: issues)
            )
        ) { try await merchant.payments(PaymentQuery()) }
        await #expect(throws: MerchantError.refused(GatewayRefusal(httpStatus: 400, code: "c", message: "m"))) {
            try await merchant.payments(PaymentQuery())
        }
    }

    // MARK: - The policy

    @Test(arguments: [
        (MerchantError.notSent(reason: "x"), true), (.noAnswer(after: .zero), true), (.unclear(detail: "x"), true),
        (.rateLimited(retryAfter: nil), true), (.rateLimited(retryAfter: .seconds(60)), true),
        (.rateLimited(retryAfter: .seconds(61)), false), (.invalid(field: "a", message: "b"), false),
        (.refused(GatewayRefusal(httpStatus: 404, code: "payment_not_found", message: "")), false),
        (.refused(GatewayRefusal(httpStatus: 401, code: "invalid_api_key", message: "")), false),
    ])
    func onlyWhatMayChangeIsTriedAgain(error: MerchantError, isRepeated: Bool) {
        #expect((RetryPolicy().pause(after: error, failures: 1, spread: 0.5) != nil) == isRepeated)
        #expect(RetryPolicy().pause(after: error, failures: 5, spread: 0.5) == nil)
        #expect(RetryPolicy.never.pause(after: error, failures: 1, spread: 0.5) == nil)
    }

    @Test func pausesGrowAndAreSpreadButNeverPassTheirBounds() {
        let policy = RetryPolicy(retries: 100)
        for failures in 1...100 {
            let whole = min(Duration.milliseconds(500) * (1 << min(failures - 1, 10)), .seconds(8))
            for spread in [-1.0, 0, 0.25, 1, 7] {
                let pause = policy.pause(after: .unclear(detail: ""), failures: failures, spread: spread) ?? .zero
                #expect((whole / 2...whole).contains(pause))
                let obeyed = policy.pause(
                    after: .rateLimited(retryAfter: .seconds(7)),
                    failures: failures,
                    spread: spread
                )
                #expect((Duration.seconds(7)...Duration.milliseconds(7500)).contains(obeyed ?? .zero))
            }
        }
    }

    // MARK: - Repeating

    @Test func aReadIsRepeatedUntilItIsAnswered() async throws {
        let clock = InstantClock()
        let gateway = ScriptedGateway(
            .fail(.notSent(reason: "refused")),
            Self.silence,
            .answer(502, "<html>"),
            .answer(429, "", [("Retry-After", "9")]),
            Answer.status("processing", pollInMs: 1000)
        )
        let report = try await retrying(gateway, clock).status(of: try #require(Self.id))
        #expect(report.status == .processing && gateway.requests.count == 5)
        #expect(clock.sleeps == [.milliseconds(500), .seconds(1), .seconds(2), .milliseconds(9500)])
    }

    @Test func anOrderIsRepeatedUnderItsKeyOnly() async throws {
        let gateway = ScriptedGateway(Self.silence, .answer(500, ""), Self.created)
        _ = try await retrying(gateway).create(order(), idempotencyKey: "sale-1")
        #expect(gateway.requests.count == 3 && Set(gateway.requests.map(\.body)).count == 1)
        for request in gateway.requests {
            #expect(request.headers.contains(HTTPRequest.Header("Idempotency-Key", "sale-1")))
        }
    }

    @Test(arguments: [Self.refusal(400, "params_validation")])
    func aNoAfterSilenceDoesNotSayThatNoPaymentExists(turn: ScriptedGateway.Turn) async throws {
        let (first, second) = (ScriptedGateway(turn), ScriptedGateway(Self.silence, turn))
        let (one, other, order) = (try retrying(first), try retrying(second), try order())
        await #expect {
            _ = try await one.create(order, idempotencyKey: "k")
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == false }
        #expect(first.requests.count == 1)
        await #expect {
            _ = try await other.create(order, idempotencyKey: "k")
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
        #expect(second.requests.count == 2)
    }

    @Test func aCancelWhoseFirstTryWorkedIsNotRefused() async throws {
        let gateway = ScriptedGateway(Self.silence, Self.refusal(400, "invalid_state"), Answer.status("cancelled"))
        #expect(try await retrying(gateway).cancel(try #require(Self.id)) == .cancelled)
        #expect(gateway.calls.last?.contains("/payments/pay_1/status") == true)
    }

    @Test func aCancelThatIsTooLateIsRefusedWithoutASecondTry() async throws {
        let gateway = ScriptedGateway(Self.refusal(400, "invalid_state"))
        let (merchant, id) = (try retrying(gateway), try #require(Self.id))
        await #expect(throws: MerchantError.self) { try await merchant.cancel(id) }
        #expect(gateway.requests.count == 1)
    }

    @Test func aRefundMarkWhoseAnswerGotLostIsMarked() async throws {
        let gateway = ScriptedGateway(Self.silence, Self.refusal(409, "already_refunded"))
        #expect(try await retrying(gateway).markRefunded(try #require(Self.id)) == .wasMarkedBefore)
    }

    @Test(arguments: [
        Self.refusal(401, "invalid_api_key"), .answer(409, "{\"code\":\"alr"),
    ])
    func aNoAfterSilenceDoesNotSayThatNothingIsMarkedOrCancelled(turn: ScriptedGateway.Turn) async throws {
        let id = try #require(Self.id)
        let (first, second) = (try retrying(ScriptedGateway(turn)), try retrying(ScriptedGateway(Self.silence, turn)))
        await #expect { _ = try await first.markRefunded(id) } throws: {
            ($0 as? MerchantError)?.mayHaveTakenEffect == false
        }
        await #expect { _ = try await second.markRefunded(id) } throws: {
            ($0 as? MerchantError)?.mayHaveTakenEffect == true
        }
        // The same no again, to the question how it stands.
        let third = try retrying(ScriptedGateway(Self.silence, turn, turn))
        await #expect { _ = try await third.cancel(id) } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
        // The first try may still be on its way.
        let fourth = try retrying(ScriptedGateway(Self.silence, turn, Answer.status("requires_action")))
        await #expect { _ = try await fourth.cancel(id) } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
    }

    @Test func aPauseThatIsTooLongIsPassedOn() async throws {
        let clock = InstantClock()
        let gateway = ScriptedGateway(.answer(429, "", [("Retry-After", "61")]))
        let merchant = try retrying(gateway, clock)
        await #expect(throws: MerchantError.rateLimited(retryAfter: .seconds(61))) {
            try await merchant.payments(PaymentQuery())
        }
        #expect(gateway.requests.count == 1 && clock.sleeps.isEmpty)
    }

    @Test func aWalkThroughPagesSurvivesAPageThatFailsOnce() async throws {
        let gateway = ScriptedGateway(
            .answer(200, MerchantListTests.page(MerchantListTests.item("pay_1"), next: "two")),
            .answer(503, ""),
            .answer(200, MerchantListTests.page(MerchantListTests.item("pay_2")))
        )
        var seen: [String] = []
        for try await page in try retrying(gateway).pages(PaymentQuery()) {
            seen += page.payments.map(\.paymentID.rawValue)
        }
        #expect(seen == ["pay_1", "pay_2"] && gateway.calls.filter { $0.hasSuffix("cursor=two") }.count == 2)
    }
}

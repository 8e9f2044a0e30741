import Testing

@testable import WalletConnectPay

/// Every refusal and every silence becomes the documents' error of the call it answers.
struct PayErrorTests {
    private static let link = "pay_1"
    private static let account = "eip155:1:0xab"

    private func optionsError(_ turn: ScriptedGateway.Turn) async throws -> GetPaymentOptionsError? {
        do throws(GetPaymentOptionsError) {
            let client = try? ScriptedGateway(turn).client()
            _ = try await client?.getPaymentOptions(paymentLink: Self.link, accounts: [Self.account])
            return nil
        } catch { return error }
    }

    private func requestError(_ turn: ScriptedGateway.Turn) async throws -> GetPaymentRequestError? {
        do throws(GetPaymentRequestError) {
            let client = try? ScriptedGateway(turn).client()
            _ = try await client?.getRequiredPaymentActions(paymentId: "pay_1", optionId: "o")
            return nil
        } catch { return error }
    }

    private func confirmError(_ turn: ScriptedGateway.Turn) async throws -> ConfirmPaymentError? {
        do throws(ConfirmPaymentError) {
            let client = try? ScriptedGateway(turn).client()
            _ = try await client?.confirmPayment(paymentId: "pay_1", optionId: "o", signatures: [])
            return nil
        } catch { return error }
    }

    @Test(
        arguments: [
            (404, "payment_not_found", .paymentNotFound("404: no")), (404, "x", .paymentNotFound("404: no")),
            (410, "payment_expired", .paymentExpired("410: no")), (410, "invalid_state", .paymentExpired("410: no")),
            (400, "payment_expired", .paymentExpired("400: no")), (400, "invalid_params", .invalidRequest("400: no")),
            (400, "params_validation", .invalidRequest("400: no")), (422, "x", .invalidAccount("422: no")),
            (451, "x", .complianceFailed("451: no")), (403, "sanctioned_user", .complianceFailed("403: no")),
            (401, "invalid_api_key", .http("401: no")), (409, "x", .http("409: no")),
            (500, "internal_error", .internalError("HTTP 500 internal_error")),
            (502, "b", .internalError("HTTP 502 b")),
            (429, "rate_limited", .rateLimited("429: too many requests")),
            (400, "invalid_account", .invalidAccount("400: no")),
            (403, "compliance_failed", .complianceFailed("403: no")),
        ] as [(Int, String, GetPaymentOptionsError)]
    )
    func refusedOptions(status: Int, code: String, error: GetPaymentOptionsError) async throws {
        #expect(try await optionsError(Answer.refusal(status, code)) == error)
    }

    @Test(
        arguments: [
            (404, "payment_not_found", "no", .paymentNotFound("404: no")),
            (
                400, "params_validation", "Validation error: Option not found",
                .optionNotFound("400: Validation error: Option not found")
            ),
            (422, "x", "no", .invalidAccount("422: no")), (409, "quote_expired", "no", .fetchError("409: no")),
            (
                400, "params_validation", "IC data required but not found",
                .fetchError("400: IC data required but not found")
            ),
            (410, "payment_expired", "no", .fetchError("410: no")), (401, "invalid_app_id", "no", .http("401: no")),
            (500, "internal_error", "no", .internalError("HTTP 500 internal_error")),
            (429, "rate_limited", "no", .rateLimited("429: too many requests")),
            (404, "option_not_found", "no", .optionNotFound("404: no")),
            (400, "invalid_account", "no", .invalidAccount("400: no")),
            (403, "compliance_failed", "no", .fetchError("403: no")),
            (400, "route_expired", "no", .fetchError("400: no")),
        ] as [(Int, String, String, GetPaymentRequestError)]
    )
    func refusedActions(status: Int, code: String, message: String, error: GetPaymentRequestError) async throws {
        #expect(try await requestError(Answer.refusal(status, code, message)) == error)
    }

    @Test(
        arguments: [
            (404, "payment_not_found", .paymentNotFound("404: no")),
            (410, "payment_expired", .paymentExpired("410: no")),
            (400, "params_validation", .invalidOption("400: no")),
            (422, "params_validation", .invalidSignature("422: no")),
            (409, "x", .routeExpired("409: no")), (409, "quote_expired", .quoteExpired("409: no")),
            (400, "quote_expired", .quoteExpired("400: no")), (401, "x", .http("401: no")),
            (451, "x", .http("451: no")),
            (500, "internal_error", .internalError("HTTP 500 internal_error")),
            (429, "rate_limited", .rateLimited("429: too many requests")),
            (400, "invalid_signature", .invalidSignature("400: no")), (400, "route_expired", .routeExpired("400: no")),
            (404, "option_not_found", .invalidOption("404: no")), (403, "compliance_failed", .http("403: no")),
        ] as [(Int, String, ConfirmPaymentError)]
    )
    func refusedConfirmations(status: Int, code: String, error: ConfirmPaymentError) async throws {
        #expect(try await confirmError(Answer.refusal(status, code)) == error)
    }

    @Test func silenceAndARefusedConnectionAreNotTheSame() async throws {
        let silence = ScriptedGateway.Turn.fail(.noAnswer(after: .seconds(30)))
        let unreachable = ScriptedGateway.Turn.fail(.notSent(reason: "no address"))
        #expect(try await optionsError(silence) == .requestTimeout("no answer after 30.0 seconds"))
        #expect(try await optionsError(unreachable) == .noConnection("no address"))
        #expect(try await requestError(silence) == .requestTimeout("no answer after 30.0 seconds"))
        #expect(try await requestError(unreachable) == .noConnection("no address"))
        #expect(try await confirmError(silence) == .requestTimeout("no answer after 30.0 seconds"))
        #expect(try await confirmError(silence)?.mayHavePaid == true)
        #expect(try await confirmError(unreachable) == .noConnection("no address"))
        #expect(try await confirmError(unreachable)?.mayHavePaid == false)
    }

    @Test(arguments: ["", "{}", "[]", "null", "<html>", #"{"actions":1,"options":1,"status":1}"#])
    func anAnswerThatIsNotAsDocumentedIsAnError(body: String) async throws {
        let error = "an answer with a body that is not as documented"
        if body != "{}" { #expect(try await optionsError(.answer(200, body)) == .internalError(error)) }
        #expect(try await requestError(.answer(200, body)) == .internalError(error))
        #expect(try await confirmError(.answer(200, body)) == .internalError(error))
        #expect(try await confirmError(.answer(200, body))?.mayHavePaid == true)
    }

    @Test func aCancelledTaskIsNoTrouble() async throws {
        let cancelled = ScriptedGateway.Turn.fail(.cancelled)
        #expect(try await optionsError(cancelled) == .cancelled)
        #expect(try await requestError(cancelled) == .cancelled)
        #expect(try await confirmError(cancelled) == .cancelled)
    }

    @Test(arguments: [
        "", "eip155", "eip155:1", "eip155:1:", ":1:0xab", "eip155::0xab", "eip155:1:0xab:x", "EIP155:1:0xab",
        "eip155:1:0xab ", "eip155:1:0xäb", "0xab",
    ])
    func anAccountThatIsNoneIsNotSent(account: String) async throws {
        let gateway = ScriptedGateway(Answer.options("[]"))
        await #expect {
            _ = try await gateway.client().getPaymentOptions(paymentLink: Self.link, accounts: [Self.account, account])
        } throws: {
            if case GetPaymentOptionsError.invalidAccount = $0 { true } else { false }
        }
        #expect(gateway.requests.isEmpty)
    }

    @Test(arguments: ["", "hello", "https://evil.test/pay_1", "wc:abc@2?symKey=1", "https://pay.wct.me/123"])
    func aLinkThatIsNoneIsNotSent(link: String) async throws {
        let gateway = ScriptedGateway(Answer.options("[]"))
        await #expect {
            _ = try await gateway.client().getPaymentOptions(paymentLink: link, accounts: [Self.account])
        } throws: {
            if case GetPaymentOptionsError.invalidRequest(let text) = $0 {
                text.hasPrefix("unsupported payment link format")
            } else {
                false
            }
        }
        #expect(gateway.requests.isEmpty)
    }

    @Test(arguments: ["", "pay_", "hello", "pay_1/../2", "pay_1?x=1"])
    func aPaymentIDThatIsNoneIsNotSent(id: String) async throws {
        let gateway = ScriptedGateway(Answer.status("succeeded"))
        let client = try gateway.client()
        await #expect(throws: GetPaymentRequestError.paymentNotFound("not a payment ID")) {
            _ = try await client.getRequiredPaymentActions(paymentId: id, optionId: "o")
        }
        await #expect(throws: ConfirmPaymentError.paymentNotFound("not a payment ID")) {
            _ = try await client.confirmPayment(paymentId: id, optionId: "o", signatures: [])
        }
        #expect(gateway.requests.isEmpty)
    }

    @Test func theGatewaysWordsAreCleanedAndBounded() async throws {
        let error = try await optionsError(
            Answer.refusal(400, "x", #"a\u001b[31m\n"# + String(repeating: "b", count: 1000))
        )
        guard case .invalidRequest(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.hasPrefix("400: a [31m b") && text.unicodeScalars.count == 305)
    }
}

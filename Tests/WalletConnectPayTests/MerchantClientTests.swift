import Foundation
import Locks
import Testing

@testable import WalletConnectPay

/// What the merchant side concludes from each answer and each silence.
struct MerchantClientTests {
    /// Answers with one response or error and remembers what was asked.
    private final class Script: HTTPTransport {
        let answer: Result<HTTPResponse, TransportError>
        private let log = Mutex<[HTTPRequest]>([])

        init(_ answer: Result<HTTPResponse, TransportError>) { self.answer = answer }

        var requests: [HTTPRequest] { log.withLock { $0 } }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            log.withLock { $0.append(request) }
            await Task.yield()
            return try answer.get()
        }
    }

    private func client(_ script: Script) throws -> MerchantClient {
        try MerchantClient(
            baseURL: "https://gateway.test/v1",
            credentials: MerchantCredentials(merchantID: "mrch_1", apiKey: Secret("wcp_key")),
            transport: script
        )
    }

    private func json(_ status: Int, _ text: String, _ headers: [(name: String, value: String)] = []) -> Script {
        Script(.success(HTTPResponse(status: status, headers: headers, body: Array(text.utf8))))
    }

    private static let order = """
        {"paymentId":"pay_1","status":"requires_action","expiresAt":1790000300,"isFinal":false,"pollInMs":1000,
         "gatewayUrl":"https://pay.walletconnect.com/?pid=pay_1","added":{"later":[1]}}
        """

    @Test func anOrderCarriesItsKeyAndReturnsTheLinkAsItIs() async throws {
        let script = json(201, Self.order)
        let payment = try NewPayment(
            reference: "TILL-4",
            amount: .fiat(code: "EUR", minorUnits: 1250),
            expiresAtSeconds: 9
        )
        let created = try await client(script).create(payment, idempotencyKey: "key-1")
        #expect(created.link == "https://pay.walletconnect.com/?pid=pay_1" && created.paymentID.rawValue == "pay_1")
        let request = try #require(script.requests.first)
        #expect(request.url == "https://gateway.test/v1/payments")
        #expect(request.headers.contains(HTTPRequest.Header("Idempotency-Key", "key-1")))
        #expect(
            String(decoding: request.body ?? [], as: UTF8.self)
                == #"{"amount":{"unit":"iso4217/EUR","value":"1250"},"expiresAt":9,"referenceId":"TILL-4"}"#
        )
    }

    @Test(arguments: [
        "https://evil.test/?pid=pay_1", "http://pay.walletconnect.com/?pid=pay_1",
        "https://pay.walletconnect.com.evil.test/",
        "javascript:alert(1)", "",
    ])
    func aLinkToAnotherHostIsNeverOffered(link: String) async throws {
        let script = json(201, Self.order.replacing("https://pay.walletconnect.com/?pid=pay_1", with: link))
        let payment = try NewPayment(reference: "A", amount: .fiat(code: "EUR", minorUnits: 1), expiresAtSeconds: nil)
        await #expect {
            _ = try await self.client(script).create(payment, idempotencyKey: "k")
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
    }

    /// One with this ID in the answer, and another one in the code that the customer scans.
    @Test(arguments: [
        "https://pay.walletconnect.com/?pid=pay_2", "https://pay.walletconnect.com/?pid=pay_1&pid=pay_2",
        "https://pay.walletconnect.com/?pid=pay_2&pid=pay_1", "https://pay.walletconnect.com/?pid=pay%5F2",
        "https://pay.walletconnect.com/?pid=%", "https://pay.walletconnect.com/pay_2",
        "https://pay.walletconnect.com/pay_2?pid=pay_1", "https://pay.walletconnect.com/?pid=PAY_1",
    ])
    func aLinkThatNamesAnotherPaymentIsNeverOffered(link: String) async throws {
        let script = json(201, Self.order.replacing("https://pay.walletconnect.com/?pid=pay_1", with: link))
        let payment = try NewPayment(reference: "A", amount: .fiat(code: "EUR", minorUnits: 1), expiresAtSeconds: nil)
        await #expect {
            _ = try await self.client(script).create(payment, idempotencyKey: "k")
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
    }

    @Test(arguments: [
        "https://pay.walletconnect.com/", "https://pay.walletconnect.com/s/3fK9", "https://pay.walletconnect.com/pay_1",
        "https://pay.walletconnect.com/?pid=pay_1&preferUniversalLinks=1", "https://pay.wct.me/?a=b&pid=pay%5F1",
    ])
    func aLinkThatNamesThisPaymentOrNoneIsOffered(link: String) async throws {
        let script = json(201, Self.order.replacing("https://pay.walletconnect.com/?pid=pay_1", with: link))
        let payment = try NewPayment(reference: "A", amount: .fiat(code: "EUR", minorUnits: 1), expiresAtSeconds: nil)
        #expect(try await client(script).create(payment, idempotencyKey: "k").link == link)
    }

    /// The order was carried out, and something between the gateway and the terminal answered in its place.
    @Test(
        arguments: [400, 401, 403, 404, 405, 407, 421, 425, 451, 499],
        ["", "<html>no</html>", "{}", #"{"error":"no"}"#]
    )
    func aNoThatIsNotTheGatewaysIsNoRefusal(status: Int, body: String) async throws {
        let payment = try NewPayment(reference: "A", amount: .fiat(code: "EUR", minorUnits: 1), expiresAtSeconds: nil)
        await #expect {
            _ = try await self.client(self.json(status, body)).create(payment, idempotencyKey: "k")
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
    }

    @Test(arguments: [
        #"{"status":"failed","isFinal":true,"status":"succeeded"}"#, #"{"status":"succeeded","status":"failed"}"#,
        #"{"status":"succeeded","isFinal":true,"info":{"txId":"0x1","txId":"0x2"}}"#,
    ])
    func anAnswerThatSaysTwoThingsUnderOneNameIsNoAnswer(body: String) async throws {
        let id = try #require(PaymentID("pay_1"))
        await #expect {
            _ = try await self.client(self.json(200, body)).status(of: id, waitingUpTo: nil)
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
    }

    /// The word is the authority's; what stands beside it may be of a form that nobody documented.
    @Test(arguments: [
        #""pollInMs":"1000""#, #""pollInMs":1.5"#, #""info":"0x1""#, #""info":[]"#, #""info":{"txId":7}"#,
        #""info":{"optionAmount":"5 USDC"}"#, #""failureCode":{"code":1}"#, #""info":{"optionAmount":{"unit":7}}"#,
    ])
    func anotherFormBesideTheWordLeavesTheWordReadable(fact: String) async throws {
        let id = try #require(PaymentID("pay_1"))
        let report = try await client(json(200, #"{"status":"succeeded","isFinal":true,\#(fact)}"#))
            .status(of: id, waitingUpTo: nil)
        #expect(report.status == .succeeded && report.isFinal && report.pollAfter == nil)
    }

    @Test(arguments: [
        ("https://gateway.test", true), ("https://gateway.test/", true), ("https://gateway.test/v1", true),
        ("https://gateway.test/v1/", true), ("https://gateway.test//", true), ("HTTPS://Gateway.TEST", true),
        ("https://gateway.test:443/v1", true), ("https://gateway.test:0443", true), ("https://gateway.test/V1", false),
        ("https://gateway.test:8443", false), ("https://gateway.test/pay", false), ("https://gateway.tests", false),
        ("http://127.0.0.1", false),
    ])
    func oneGatewayIsOneValueHoweverItsAddressIsWritten(text: String, isSame: Bool) throws {
        let address = try #require(GatewayAddress(text))
        let plain = try #require(GatewayAddress("https://gateway.test"))
        #expect((address == plain) == isSame && (address.url("/payments") == plain.url("/payments")) == isSame)
        #expect(GatewayAddress(address.text) == address, "the canonical form is one")
    }

    @Test func aPortThatIsNotTheSchemesOwnStaysAndLoopbackNamesStayApart() {
        #expect(GatewayAddress("http://localhost:80/v1/v1/")?.text == "http://localhost")
        #expect(GatewayAddress("http://127.0.0.1:443")?.text == "http://127.0.0.1:443")
        #expect(GatewayAddress("http://localhost:8455") != GatewayAddress("http://127.0.0.1:8455"))
        #expect(GatewayAddress("https://gateway.test/?x=1") == nil && GatewayAddress("http://gateway.test") == nil)
    }

    @Test(arguments: [
        (400, "params_validation", false), (401, "invalid_api_key", false), (404, "payment_not_found", false),
        (409, "idempotency_conflict", false), (410, "payment_expired", false), (429, "rate_limited", true),
        (408, "x", true), (500, "internal_error", true), (502, "bad_gateway", true), (302, "x", true), (100, "x", true),
    ])
    func anAnswerSaysWhetherTheCallMayHaveTakenEffect(status: Int, code: String, mayHave: Bool) async throws {
        let script = json(status, #"{"code":"\#(code)","message":"m"}"#)
        let id = try #require(PaymentID("pay_1"))
        await #expect {
            _ = try await self.client(script).status(of: id, waitingUpTo: nil)
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == mayHave }
    }

    @Test func silenceAndARefusedConnectionAreNotTheSame() async throws {
        let id = try #require(PaymentID("pay_1"))
        await #expect(throws: MerchantError.noAnswer(after: .seconds(3))) {
            _ = try await self.client(Script(.failure(.noAnswer(after: .seconds(3))))).cancel(id)
        }
        await #expect(throws: MerchantError.notSent(reason: "refused")) {
            _ = try await self.client(Script(.failure(.notSent(reason: "refused")))).cancel(id)
        }
    }

    @Test(arguments: ["", "{}", "[]", "null", "<html>", #"{"status":1}"#])
    func anAnswerThatIsNotAsDocumentedIsNoAnswer(body: String) async throws {
        let id = try #require(PaymentID("pay_1"))
        await #expect {
            _ = try await self.client(self.json(200, body)).status(of: id, waitingUpTo: nil)
        } throws: { ($0 as? MerchantError)?.mayHaveTakenEffect == true }
    }

    @Test func aWordNobodyKnowsIsKeptAndIsNotFinal() async throws {
        let id = try #require(PaymentID("pay_1"))
        let report = try await client(json(200, #"{"status":"reviewing","isFinal":false,"pollInMs":null}"#))
            .status(of: id, waitingUpTo: .seconds(20))
        #expect(report.status == .unrecognised("reviewing") && !report.status.isFinal && report.pollAfter == nil)
    }

    @Test func amountsOfAnySizeStayWhole() async throws {
        let digits = String(repeating: "9", count: 78)
        let body = """
            {"status":"succeeded","isFinal":true,"pollInMs":null,"info":{"txId":"0x1","optionAmount":{"unit":"caip19/x",
            "value":"\(digits)","display":{"assetSymbol":"T","assetName":"T","decimals":18}}}}
            """
        let id = try #require(PaymentID("pay_1"))
        let report = try await client(json(200, body)).status(of: id, waitingUpTo: nil)
        #expect(report.result?.paid?.value == digits)
    }

    @Test func theKeyIsPrintedNowhere() throws {
        let credentials = MerchantCredentials(merchantID: "m", apiKey: Secret("wcp_canary"))
        var dumped = ""
        dump(credentials, to: &dumped)
        let header = HTTPRequest.Header("Api-Key", "wcp_canary")
        for text in [
            "\(credentials)", String(reflecting: credentials), dumped, "\(header)",
            "\(HTTPRequest(method: .get, url: "x", headers: [header]))",
        ] {
            #expect(!text.contains("wcp_canary"), "\(text)")
        }
    }

    @Test(arguments: [
        ("", "1"), (String(repeating: "a", count: 36), "1"), ("A_1", "1"), ("A", ""), ("A", "0"), ("A", "012"),
        ("A", "-1"),
        ("A", "1.5"), ("A", String(repeating: "1", count: 101)),
    ])
    func anOrderThatBreaksARuleIsNotSent(reference: String, value: String) {
        #expect(throws: MerchantError.self) {
            try NewPayment(
                reference: reference,
                amount: PayAmount(unit: "iso4217/EUR", value: value),
                expiresAtSeconds: nil
            )
        }
    }
}

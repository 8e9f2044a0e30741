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

    @Test(arguments: [
        (400, "params_validation", false), (401, "invalid_api_key", false), (404, "payment_not_found", false),
        (409, "idempotency_conflict", false), (410, "payment_expired", false), (429, "rate_limited", false),
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

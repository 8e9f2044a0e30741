import Ethereum
import Foundation
import Payments
import StrictJSON

@testable import Sandbox

/// A gateway held in the hand: no socket, no clock but the one that the test turns.
struct GatewayBench {
    var state: GatewayState
    var now = WallTime(millisecondsSince1970: 1_789_586_833_440)
    let key = GatewayBench.key(1)

    static let merchant = ["Api-Key": "wcp_bench", "Merchant-Id": "mrch_bench", "WCP-Version": "2026-02-19.preview"]
    static let wallet = [
        "App-Id": "bench", "Client-Id": "c1", "WCP-Version": "2026-02-19.preview", "Sdk-Name": "bench",
    ]

    init(_ change: (inout GatewayConfiguration) -> Void = { _ in }) {
        var configuration = GatewayConfiguration(merchantID: "mrch_bench", apiKey: "wcp_bench")
        configuration.seed = 7
        configuration.controlToken = "control"
        change(&configuration)
        state = GatewayState(configuration: configuration)
    }

    static func key(_ number: UInt8) -> PrivateKey {
        guard let key = try? PrivateKey([UInt8](repeating: 0, count: 31) + [number]) else { return PrivateKey() }
        return key
    }

    mutating func pass(_ duration: Duration) {
        now = now.advanced(by: duration)
        state.advance(to: now)
    }

    /// The reply, which may be a hold.
    mutating func reply(
        _ method: String,
        _ target: String,
        _ headers: [String: String],
        _ body: String = ""
    ) -> GatewayState.Reply {
        let request = GatewayRequest(method, target, headers: headers, body: Array(body.utf8))
        if let answer = state.control(request, at: now) { return .answer(answer) }
        guard let handling = state.receive(request, at: now) else { return .answer(GatewayAnswer(.routeNotFound)) }
        let reply = state.perform(request, handling, at: now)
        if case .answer(let answer) = reply { state.finish(handling, answer) }
        return reply
    }

    /// The answer, where the test knows that there is one at once.
    mutating func answer(
        _ method: String,
        _ target: String,
        _ headers: [String: String] = GatewayBench.merchant,
        _ body: String = ""
    ) -> GatewayAnswer {
        guard case .answer(let answer) = reply(method, target, headers, body) else {
            return GatewayAnswer(599, .string("held"))
        }
        return answer
    }

    mutating func create(
        _ cents: String = "1250",
        _ currency: String = "USD",
        reference: String = "A-1",
        key: String? = nil,
        extra: String = ""
    ) -> GatewayAnswer {
        var headers = Self.merchant
        headers["Idempotency-Key"] = key
        let amount = #"{"unit":"iso4217/\#(currency)","value":"\#(cents)"}"#
        return answer("POST", "/v1/payments", headers, #"{"referenceId":"\#(reference)","amount":\#(amount)\#(extra)}"#)
    }

    mutating func newPayment(_ cents: String = "1250", _ currency: String = "USD") -> String {
        create(cents, currency).json["paymentId"]?.stringValue ?? "none"
    }

    /// The options for one account, USDC on Base unless the test wants another.
    mutating func options(_ id: String, chain: UInt64 = 8453, key: PrivateKey? = nil) -> [ExactJSON] {
        let account = "eip155:\(chain):\((key ?? self.key).address.checksummed)"
        let answer = answer(
            "POST",
            "/v1/gateway/payment/\(id)/options?includePaymentInfo=true",
            Self.wallet,
            #"{"accounts":["\#(account)"],"refresh":null}"#
        )
        return answer.json["options"]?.arrayValue ?? []
    }

    mutating func option(_ id: String, chain: UInt64 = 8453, symbol: String = "USDC") -> ExactJSON {
        options(id, chain: chain).first { $0["amount"]?["display"]?["assetSymbol"]?.stringValue == symbol } ?? .null
    }

    mutating func actions(_ id: String, _ option: ExactJSON) -> [ExactJSON] {
        let body = ExactJSON.members(["optionId": option["id"] ?? .null, "data": .string("")]).text
        return answer("POST", "/v1/gateway/payment/\(id)/fetch", Self.wallet, body).json["actions"]?.arrayValue ?? []
    }

    /// The typed data that the option asks to sign.
    mutating func typedDataText(_ id: String, _ option: ExactJSON) -> String {
        actions(id, option).last?["data"]?["params"]?.arrayValue?.last?.stringValue ?? ""
    }

    /// The confirmation's body with these results.
    func confirmation(_ option: ExactJSON, _ results: [String]) -> String {
        ExactJSON.members([
            "optionId": option["id"] ?? .null,
            "results": .array(
                results.map { .members(["type": .string("walletRpc"), "data": .array([.string($0)])]) }
            ),
        ]).text
    }

    func signature(of typedData: String, by key: PrivateKey? = nil) throws -> String {
        (key ?? self.key).sign(try TypedData(json: typedData).digest).hexadecimal
    }

    mutating func confirm(_ id: String, _ option: ExactJSON, _ results: [String], query: String = "") -> GatewayAnswer {
        answer("POST", "/v1/gateway/payment/\(id)/confirm\(query)", Self.wallet, confirmation(option, results))
    }

    /// Pays with USDC on Base up to the confirmation.
    mutating func pay(_ id: String) throws -> GatewayAnswer {
        let option = option(id)
        return confirm(id, option, [try signature(of: typedDataText(id, option))])
    }

    mutating func word(_ id: String) -> String? {
        answer("GET", "/v1/payments/\(id)/status").json["status"]?.stringValue
    }

    mutating func control(_ method: String, _ word: String, _ body: String = "") -> GatewayAnswer {
        answer(method, "/control/\(word)", ["Authorization": "Bearer control"], body)
    }
}

/// A file of the vectors beside these tests.
func vectors(_ name: String) throws -> ExactJSON {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/\(name)")
    return try ExactJSON(parsing: [UInt8](Data(contentsOf: url)))
}

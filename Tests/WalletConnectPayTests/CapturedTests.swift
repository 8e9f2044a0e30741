import Foundation
import Testing

@testable import WalletConnectPay

/// What production was seen to say. Source: `captured-payloads.json`, which names where each was published.
struct CapturedTests {
    private let captured: [String: Any]

    init() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appending(path: "SandboxTests/Vectors/captured-payloads.json")
        captured = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    }

    private func text(_ object: Any) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }

    private func answer(_ name: String, _ status: Int = 200) throws -> ScriptedGateway.Turn {
        .answer(status, try text(try #require(captured[name])))
    }

    private func options(_ names: String...) throws -> ScriptedGateway.Turn {
        let amount = (captured["option_eip3009_build"] as? [String: Any])?["amount"]
        let options = try names.map { name in
            var option = try #require(captured[name] as? [String: Any])
            if option["amount"] == nil { option["amount"] = amount }  // Left out where it was stored.
            return option
        }
        let body: [String: Any] = [
            "info": try #require(captured["info"]), "options": options,
            "collectData": try #require(captured["collectData_full"]),
        ]
        return .answer(200, try text(body))
    }

    private func ask(_ client: PayClient) async throws -> PaymentOptionsResponse {
        try await client.getPaymentOptions(paymentLink: "pay_1", accounts: [])
    }

    @Test func everyKindOfOptionIsReadAndSpelledOut() async throws {
        let gateway = ScriptedGateway(
            try options(
                "option_permit2_allowance_ok",
                "option_permit2_needs_approve",
                "option_eip3009_build",
                "option_native_build"
            ),
            try answer("fetch_response_for_option_eip3009_build"),
            try answer("fetch_response_native")
        )
        let client = try gateway.client()
        let response = try await ask(client)
        #expect(response.info?.merchant.name == "Gem Wallet Test Merchant" && response.info?.amount.value == "10")
        #expect(response.options.map(\.actions.count) == [1, 2, 0, 0])
        #expect(response.options[0].amount.display.assetName == "Tether USD" && response.options[0].etaS == 5)
        #expect(response.options[0].expiresAt == nil && response.options[3].expiresAt != nil)
        #expect(DataCollection.requirement(for: response.options[0], in: response) == .none)
        var methods: [[String]] = []
        for option in response.options {
            let actions = try await client.getRequiredPaymentActions(paymentId: "pay_1", optionId: option.id)
            methods.append(actions.map(\.walletRpc.method))
            for action in actions where action.walletRpc.method == "eth_signTypedData_v4" {
                let params = try JSONDecoder().decode([String].self, from: Data(action.walletRpc.params.utf8))
                #expect(
                    params.count == 2 && params[0].lowercased() == option.account.split(separator: ":")[2].lowercased()
                )
            }
        }
        let permit = ["eth_signTypedData_v4"]
        let send = ["eth_sendTransaction"]
        #expect(methods == [permit, send + permit, permit, send])
    }

    @Test func theFormAndItsSchemaAreRead() async throws {
        let response = try await ask(try ScriptedGateway(try options()).client())
        let collect = try #require(response.collectData)
        let url = try #require(collect.url)
        #expect(DataCollection.staysInside(url))
        #expect(DataCollection.requiredNames(schema: collect.schema ?? "").contains("dob"))
        #expect(collect.fields.contains { $0.fieldType == .date })
    }

    @Test func aFailedPaymentSaysSoWithoutOptions() async throws {
        var body = try #require(captured["options_failed_response"] as? [String: Any])
        var info = try #require(captured["info"] as? [String: Any])
        info["status"] = "failed"  // Stored without the rest of it.
        body["info"] = info
        let response = try await ask(try ScriptedGateway(.answer(200, try text(body))).client())
        #expect(response.options.isEmpty && response.info?.status == .failed)
    }

    @Test func refusalsAreTheDocumentsErrors() async throws {
        let client = try ScriptedGateway(
            try answer("fetch_error_identity_required", 400),
            try answer("error_stale_option", 400)
        ).client()
        await #expect(throws: GetPaymentRequestError.fetchError("400: IC data required but not found")) {
            _ = try await client.getRequiredPaymentActions(paymentId: "pay_1", optionId: "o")
        }
        await #expect(throws: GetPaymentRequestError.optionNotFound("400: Validation error: Option not found")) {
            _ = try await client.getRequiredPaymentActions(paymentId: "pay_1", optionId: "o")
        }
    }

    @Test func aSolanaTransactionIsHandedOverAsItCame() async throws {
        let action = try #require(captured["solana_action"])
        let client = try ScriptedGateway(.answer(200, try text(["actions": [action]]))).client()
        let call = try await client.getRequiredPaymentActions(paymentId: "pay_1", optionId: "o").first?.walletRpc
        #expect(call?.method == "solana_signTransaction" && call?.chainId.hasPrefix("solana:") == true)
        #expect(call?.params.hasPrefix(#"[{"transaction":""#) == true)
    }

    @Test func aConfirmationIsFollowedThroughTheStatusesThatWereSeen() async throws {
        let statuses = try #require(captured["statuses"] as? [String: Any])
        let turns = try ["requires_action", "processing", "succeeded"].map { word in
            ScriptedGateway.Turn.answer(200, try text(try #require(statuses[word])))
        }
        let gateway = ScriptedGateway(turns[0], turns[1], turns[2])
        let clock = InstantClock()
        let result = try await gateway.client(clock: clock).confirmPayment(
            paymentId: "pay_1",
            optionId: "opt_1",
            signatures: ["0xsignature"]
        )
        #expect(clock.sleeps == [.seconds(1), .seconds(2)])
        #expect(result.status == .succeeded && result.info?.txId.hasPrefix("0x46fc") == true)
        #expect(result.info?.optionAmount.value == "100000000000000000")
        let sent = try JSONSerialization.jsonObject(with: Data(gateway.body(0).utf8)) as? NSDictionary
        #expect(try sent == #require(captured["confirm_request"] as? NSDictionary))
    }
}

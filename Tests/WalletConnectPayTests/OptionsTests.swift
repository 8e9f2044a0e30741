import Foundation
import Testing

@testable import WalletConnectPay

/// `getPaymentOptions` and `getRequiredPaymentActions`.
struct OptionsTests {
    private static let link = "https://pay.walletconnect.com/?pid=pay_1"
    private static let account = "eip155:8453:0xAbCd00000000000000000000000000000000AbCd"

    private func options(_ gateway: ScriptedGateway, isInfoAsked: Bool = true) async throws -> PaymentOptionsResponse {
        try await gateway.client().getPaymentOptions(
            paymentLink: Self.link,
            accounts: [Self.account],
            includePaymentInfo: isInfoAsked
        )
    }

    @Test func everyFieldOfAnAnswerArrives() async throws {
        let info = """
            {"status":"succeeded","amount":\(Answer.price),"expiresAt":1790000300,
             "merchant":{"name":"Corner Shop","iconUrl":"https://icons.test/m"},
             "buyer":{"accountCaip10":"eip155:1:0x1","accountProviderName":"W","accountProviderIcon":"https://icons.test/w"}}
            """
        let collect = """
            {"fields":[{"type":"text","id":"fullName","name":"Full name","required":true},
             {"type":"date","id":"dob","name":"Date of birth","required":false},
             {"type":"checkbox","id":"tos","name":"Terms","required":true}],
             "schema":{"required":["fullName"]},"url":"https://pay.walletconnect.com/collect/?pid=pay_1"}
            """
        let display = """
            {"assetSymbol":"USDC","assetName":"USD Coin","decimals":6,"iconUrl":"https://icons.test/t",
             "networkName":"Base","networkIconUrl":"https://icons.test/n"}
            """
        let option = """
            {"id":"opt-1","account":"eip155:8453:0xAb","etaS":7,"expiresAt":1790000200,
             "amount":{"unit":"caip19/x","value":"13500000","display":\(display)},
             "actions":[\(Answer.call("eth_signTypedData_v4", #"["0xab","{}"]"#)),\(Answer.build("00"))],
             "collectData":\(collect)}
            """
        let gateway = ScriptedGateway(
            Answer.options(
                "[\(option)]",
                info: info,
                collectData: collect,
                more: #","resultInfo":{"txId":"0x9","optionAmount":\#(Answer.amount)}"#
            )
        )
        let response = try await options(gateway)
        #expect(response.paymentId == "pay_1")
        let found = try #require(response.info)
        #expect(found.status == .succeeded && found.expiresAt == 1_790_000_300 && found.amount.value == "1250")
        #expect(found.merchant == MerchantInfo(name: "Corner Shop", iconUrl: "https://icons.test/m"))
        #expect(
            found.buyer
                == BuyerInfo(
                    accountCaip10: "eip155:1:0x1",
                    accountProviderName: "W",
                    accountProviderIcon: "https://icons.test/w"
                )
        )
        let first = try #require(response.options.first)
        #expect(first.id == "opt-1" && first.account == "eip155:8453:0xAb" && first.etaS == 7)
        #expect(first.expiresAt == 1_790_000_200 && first.amount.unit == "caip19/x")
        #expect(first.amount.display.assetSymbol == "USDC" && first.amount.display.assetName == "USD Coin")
        #expect(first.amount.display?.decimals == 6 && first.amount.display.networkName == "Base")
        #expect(first.amount.display.iconUrl == "https://icons.test/t")
        #expect(first.amount.display.networkIconUrl == "https://icons.test/n")
        let sign = WalletRpcAction(chainId: "eip155:8453", method: "eth_signTypedData_v4", params: #"["0xab","{}"]"#)
        #expect(first.actions == [Action(walletRpc: sign)])
        #expect(first.collectData == response.collectData)
        let wanted = try #require(response.collectData)
        #expect(wanted.url == "https://pay.walletconnect.com/collect/?pid=pay_1")
        #expect(wanted.schema == #"{"required":["fullName"]}"#)
        #expect(
            wanted.fields == [
                CollectDataField(id: "fullName", name: "Full name", required: true, fieldType: .text),
                CollectDataField(id: "dob", name: "Date of birth", required: false, fieldType: .date),
                CollectDataField(id: "tos", name: "Terms", required: true, fieldType: .checkbox),
            ]
        )
        #expect(response.resultInfo?.txId == "0x9" && response.resultInfo?.optionAmount.value == "13500000")
    }

    @Test(arguments: [true, false])
    func accountsTravelAsTheyAreAndInfoIsAskedForByChoice(isInfoAsked: Bool) async throws {
        let gateway = ScriptedGateway(Answer.options("[]"))
        _ = try await options(gateway, isInfoAsked: isInfoAsked)
        #expect(gateway.calls == ["POST /gateway/payment/pay_1/options?includePaymentInfo=\(isInfoAsked)"])
        #expect(gateway.body(0) == #"{"accounts":["\#(Self.account)"]}"#)
        let headers = gateway.requests[0].headers
        #expect(headers.contains(HTTPRequest.Header("App-Id", "app-1")))
        #expect(headers.contains(HTTPRequest.Header("Client-Id", "client-1")))
        #expect(headers.contains(HTTPRequest.Header("WCP-Version", "2026-02-19.preview")))
        #expect(!headers.contains { $0.name == "Api-Key" || $0.name.hasPrefix("Sdk-") })
    }

    @Test func aPaymentThatIsOverHasNoOptionsAndSaysHowItEnded() async throws {
        let info = Answer.info.replacing("requires_action", with: "failed")
        let response = try await options(ScriptedGateway(Answer.options("null", info: info)))
        #expect(response.options.isEmpty && response.info?.status == .failed && response.collectData == nil)
    }

    @Test func whatAGatewayLeavesOutOrAddsIsNoReasonToFail() async throws {
        let bare = #"[{"id":"o","account":"a:b:c","amount":{"unit":"x","value":"1"},"added":[1.5e3]}]"#
        let response = try await options(ScriptedGateway(.answer(200, #"{"options":\#(bare),"later":{"x":[]}}"#)))
        let option = try #require(response.options.first)
        #expect(response.info == nil && option.actions.isEmpty && option.etaS == 0 && option.collectData == nil)
        #expect(option.amount.display == nil && option.amount.display.assetSymbol.isEmpty)
        #expect(option.amount.display.networkName ?? "Unknown" == "Unknown" && option.amount.display.decimals == nil)
    }

    /// A customer with one good option can pay, whatever the gateway wrote beside it.
    @Test(arguments: [
        Answer.option("bad", actions: "[]").replacing(#""account":"eip155:8453:0xAb","#, with: ""),
        Answer.option("bad", actions: "[]").replacing(#""value":"13500000""#, with: #""value":13500000"#),
        Answer.option("bad", actions: #"[{"type":"walletRpc","data":{"chain_id":"eip155:1"}}]"#),
        Answer.option("bad", actions: "[7]"), Answer.option("bad", actions: "[]", collectData: #"{"fields":"all"}"#),
        Answer.option("bad", actions: "[]", collectData: "7"), "7", "null", "[]", "{}",
    ])
    func anOptionThatIsNotAsDocumentedIsLeftOutAndCounted(bad: String) async throws {
        let good = Answer.option(actions: "[\(Answer.call("a"))]")
        for list in ["[\(good),\(bad)]", "[\(bad),\(good)]"] {
            let response = try await options(ScriptedGateway(Answer.options(list)))
            #expect(response.options.map(\.id) == ["opt-1"] && response.unreadableOptions == 1, "\(list)")
            #expect(response.options.first?.actions.map(\.walletRpc.method) == ["a"])
        }
        // Without any good one there is nothing to choose from, and that is not the customer's lack of money.
        await #expect(throws: GetPaymentOptionsError.internalError("none of the 2 options is as documented")) {
            _ = try await self.options(ScriptedGateway(Answer.options("[\(bad),\(bad)]")))
        }
    }

    @Test func whatOnlyDecoratesAnAnswerSpoilsNothing() async throws {
        let info = Answer.info.replacing(#""name":"Corner Shop","iconUrl":null"#, with: #""iconUrl":7"#)
            .replacing(#""buyer":null"#, with: #""buyer":{}"#)
        let odd = Answer.option(actions: "[]").replacing(#""etaS":5"#, with: #""etaS":5.5"#)
            .replacing(#""decimals":6"#, with: #""decimals":"six""#)
        let turn = Answer.options("[\(odd)]", info: info, collectData: "7", more: #","resultInfo":[]"#)
        let response = try await options(ScriptedGateway(turn))
        #expect(response.info?.merchant == MerchantInfo(name: "", iconUrl: nil) && response.info?.buyer == nil)
        #expect(response.options.first?.etaS == 6 && response.options.first?.amount.display == nil)
        #expect(response.options.first?.amount.value == "13500000" && response.resultInfo == nil)
        #expect(response.collectData == CollectDataAction(), "a question that cannot be read is not taken for none")
        for eta in ["-1", "1e300", #""soon""#, "null"] {
            let odd = Answer.option(actions: "[]").replacing(#""etaS":5"#, with: #""etaS":\#(eta)"#)
            #expect(try await options(ScriptedGateway(Answer.options("[\(odd)]"))).options.first?.etaS == 0)
        }
    }

    /// A wallet's own tests and previews need no gateway.
    @Test func answersCanBeMadeByHand() async throws {
        let amount = PayAmount(unit: "x", value: "1")
        let call = Action(walletRpc: WalletRpcAction(chainId: "eip155:1", method: "m", params: "[]"))
        let option = PaymentOption(id: "o", account: "eip155:1:0xab", amount: amount, actions: [call])
        let response = PaymentOptionsResponse(
            paymentId: "pay_1",
            info: PaymentInfo(status: .requiresAction, amount: amount, expiresAt: 1, merchant: MerchantInfo(name: "M")),
            options: [option]
        )
        #expect(response.options[0].actions == [call] && response.info?.buyer == nil)
        #expect(DataCollection.requirement(for: option, in: response) == .none)
        #expect(ConfirmPaymentResultResponse(status: .succeeded, isFinal: true).info == nil)
        #expect(BuyerInfo(accountCaip10: "eip155:1:0xab").accountProviderName.isEmpty)
        #expect(PaymentResultInfo(txId: "0x1", optionAmount: amount).optionAmount == amount)
    }

    @Test func wordsThatNobodyKnowsSurviveReadingAndWriting() async throws {
        let info = Answer.info.replacing("requires_action", with: "in_review")
        let collect = #"{"fields":[{"type":"signature","id":"s","name":"S","required":true}]}"#
        let response = try await options(ScriptedGateway(Answer.options("[]", info: info, collectData: collect)))
        let status = try #require(response.info?.status)
        let kind = try #require(response.collectData?.fields.first?.fieldType)
        #expect(status == .unrecognised("in_review") && !status.isFinal && kind == .unrecognised("signature"))
        #expect(String(decoding: try JSONEncoder().encode([status]), as: UTF8.self) == #"["in_review"]"#)
        #expect(String(decoding: try JSONEncoder().encode([kind]), as: UTF8.self) == #"["signature"]"#)
    }

    @Test(arguments: [
        PaymentStatus.requiresAction, .processing, .succeeded, .failed, .expired, .cancelled, .unrecognised("x"),
    ])
    func aStatusIsWrittenAsItWasRead(status: PaymentStatus) throws {
        let text = try JSONEncoder().encode([status])
        #expect(try JSONDecoder().decode([PaymentStatus].self, from: text) == [status])
        #expect(String(decoding: text, as: UTF8.self) == "[\"\(status.word)\"]")
    }

    @Test(arguments: [CollectDataFieldType.text, .date, .checkbox, .unrecognised("x")])
    func aKindOfQuestionIsWrittenAsItWasRead(kind: CollectDataFieldType) throws {
        let text = try JSONEncoder().encode([kind])
        #expect(try JSONDecoder().decode([CollectDataFieldType].self, from: text) == [kind])
    }

    /// No number is read as a machine number on its way to the signer: 2^53 + 1 and 78 digits stay whole, keys in order.
    @Test(arguments: [
        #"["0xab",{"z":9007199254740993,"a":0.10,"n":-1E+400}]"#,
        #"[{"value":\#(String(repeating: "7", count: 78))}]"#, #"["é\u00e9\"\\ [{,:"]"#, "{}", "\"text\"", "null", "17",
        "[ 1 , { \"a\" : [ ] } ]",
    ])
    func whatIsToBeSignedArrivesAsItWasWritten(params: String) async throws {
        let actions = "[\(Answer.call("first")),\(Answer.call("m", params)),\(Answer.call("last", "[1]"))]"
        let others = Answer.option("other", actions: "[\(Answer.call("m", #"["]}"]"#))]")
        let gateway = ScriptedGateway(Answer.options("[\(others),\(Answer.option(actions: actions))]"))
        let option = try #require(try await options(gateway).options.last)
        #expect(option.actions.map(\.walletRpc.params) == ["[]", params == "null" ? "[]" : params, "[1]"])
    }

    @Test func aKeyThatStandsTwiceOnTheWayToWhatIsSignedIsRefused() async throws {
        let twice = #"{"type":"walletRpc","data":{"chain_id":"c","method":"m","params":["a"],"par\u0061ms":["b"]}}"#
        let gateway = ScriptedGateway(Answer.options("[\(Answer.option(actions: "[\(twice)]"))]"))
        await #expect {
            _ = try await self.options(gateway)
        } throws: {
            if case GetPaymentOptionsError.internalError = $0 { true } else { false }
        }
    }

    @Test func amountsOfAnySizeStayWhole() async throws {
        let digits = String(repeating: "9", count: 78)
        let option = Answer.option(actions: "[]").replacing("13500000", with: digits)
        #expect(try await options(ScriptedGateway(Answer.options("[\(option)]"))).options.first?.amount.value == digits)
    }

    /// The gateway's clock decides. By this machine's, these payments ended in 1970 or have centuries left.
    @Test(arguments: [0, 1, 32_503_680_000])
    func aClockThatIsWrongChangesNothing(expiresAt: Int64) async throws {
        let info = Answer.info.replacing("1790000300", with: "\(expiresAt)")
        let gateway = ScriptedGateway(Answer.options("[\(Answer.option(actions: "[]"))]", info: info))
        let response = try await options(gateway)
        #expect(response.info?.expiresAt == expiresAt && response.options.count == 1)
    }

    // MARK: - Actions

    @Test func actionsComeInTheirOrderWithEveryBuildStepSpelledOut() async throws {
        let actions = "[\(Answer.call("a")),\(Answer.build("01")),\(Answer.call("d")),\(Answer.build(""))]"
        let gateway = ScriptedGateway(
            Answer.options("[\(Answer.option(actions: actions))]"),
            .answer(200, #"{"actions":[\#(Answer.call("b")),\#(Answer.call("c"))]}"#),
            .answer(200, #"{"actions":[\#(Answer.call("e", "[12345678901234567890123]"))]}"#)
        )
        let client = try gateway.client()
        let response = try await client.getPaymentOptions(paymentLink: Self.link, accounts: [Self.account])
        let found = try await client.getRequiredPaymentActions(paymentId: "pay_1", optionId: response.options[0].id)
        #expect(found.map(\.walletRpc.method) == ["a", "b", "c", "d", "e"])
        #expect(found.last?.walletRpc.params == "[12345678901234567890123]")
        #expect(
            gateway.calls.dropFirst() == ["POST /gateway/payment/pay_1/fetch", "POST /gateway/payment/pay_1/fetch"]
        )
        #expect(gateway.body(1) == #"{"data":"01","optionId":"opt-1"}"#)
        #expect(gateway.body(2) == #"{"data":"","optionId":"opt-1"}"#)
    }

    @Test func actionsThatAreKnownNeedNoQuestion() async throws {
        let gateway = ScriptedGateway(Answer.options("[\(Answer.option(actions: "[\(Answer.call("a"))]"))]"))
        let client = try gateway.client()
        _ = try await client.getPaymentOptions(paymentLink: Self.link, accounts: [Self.account])
        let copy = client
        #expect(try await copy.getRequiredPaymentActions(paymentId: "pay_1", optionId: "opt-1").count == 1)
        #expect(gateway.requests.count == 1)
    }

    @Test func withoutHavingAskedForOptionsTheGatewayIsAskedForAllOfIt() async throws {
        let gateway = ScriptedGateway(.answer(200, #"{"actions":[\#(Answer.call("a"))]}"#))
        let found = try await gateway.client().getRequiredPaymentActions(paymentId: "pay_9", optionId: "opt \"9\"")
        #expect(found.map(\.walletRpc.method) == ["a"])
        #expect(gateway.calls == ["POST /gateway/payment/pay_9/fetch"])
        #expect(gateway.body(0) == #"{"data":"","optionId":"opt \"9\""}"#)
    }

    @Test func newOptionsTakeThePlaceOfOldOnes() async throws {
        let gateway = ScriptedGateway(
            Answer.options("[\(Answer.option("old", actions: "[\(Answer.call("old"))]"))]"),
            Answer.options("[\(Answer.option("new", actions: "[\(Answer.call("new"))]"))]"),
            Answer.refusal(400, "params_validation", "Validation error: Option not found")
        )
        let client = try gateway.client()
        for _ in 0..<2 { _ = try await client.getPaymentOptions(paymentLink: Self.link, accounts: [Self.account]) }
        await #expect(throws: GetPaymentRequestError.optionNotFound("400: Validation error: Option not found")) {
            _ = try await client.getRequiredPaymentActions(paymentId: "pay_1", optionId: "old")
        }
    }

    @Test func whatIsRememberedIsBounded() throws {
        let memory = OptionMemory()
        let step = PaymentStep.build(data: "1")
        let option = PaymentOption(
            id: "o",
            account: "",
            amount: PayAmount(unit: "", value: ""),
            etaS: 0,
            expiresAt: nil,
            collectData: nil,
            steps: [step]
        )
        let ids = try (0...16).map { try #require(PaymentID("pay_\($0)")) }
        for id in ids { memory.keep([option], of: id) }
        #expect(memory.steps(of: "o", ids[0]).isEmpty)
        #expect(memory.steps(of: "o", ids[1]) == [step] && memory.steps(of: "o", ids[16]) == [step])
    }

    /// Skipped, it would shift every result behind it to the wrong action.
    @Test func aStepOfAnUnknownKindIsNeverSkipped() async throws {
        let actions = #"[{"type":"hologram","data":{"x":1}},\#(Answer.call("a"))]"#
        let gateway = ScriptedGateway(
            Answer.options("[\(Answer.option("odd", actions: actions)),\(Answer.option(actions: "[]"))]")
        )
        let client = try gateway.client()
        let response = try await client.getPaymentOptions(paymentLink: Self.link, accounts: [Self.account])
        #expect(response.options.count == 2, "the other options can be paid")
        await #expect(throws: GetPaymentRequestError.internalError("a step of the unknown kind 'hologram'")) {
            _ = try await client.getRequiredPaymentActions(paymentId: "pay_1", optionId: "odd")
        }
    }
}

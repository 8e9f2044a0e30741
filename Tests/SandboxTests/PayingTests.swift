import StrictJSON
import Ethereum
import Payments
import Testing

@testable import Sandbox

struct PayingTests {
    @Test(arguments: [1, 10, 137, 8453, 42161] as [UInt64])
    func usdcOnEveryNetworkIsPaidWithOneSignature(chain: UInt64) throws {
        var bench = GatewayBench()
        let id = bench.newPayment("1250")
        let option = bench.option(id, chain: chain)
        #expect(option["actions"]?.arrayValue?.first?["type"]?.stringValue == "build")
        #expect(option["amount"]?["value"]?.stringValue == "12500000")
        let signature = try bench.signature(of: bench.typedDataText(id, option))
        #expect(bench.confirm(id, option, [signature]).json["status"]?.stringValue == "processing")
        bench.pass(.seconds(2))
        let status = bench.answer("GET", "/v1/payments/\(id)/status").json
        #expect(status["status"]?.stringValue == "succeeded")
        #expect(status["pollInMs"] == nil)
        #expect(status["info"]?["optionAmount"]?["value"]?.stringValue == "12500000")
        #expect(status["info"]?["txId"]?.stringValue?.utf8.count == 66)
    }

    @Test func theTypedDataIsProductionsToTheLastCharacter() throws {
        let captured = try vectors("captured-payloads.json")
        let text = try #require(
            captured["fetch_response_for_option_eip3009_build"]?["actions"]?.arrayValue?.first?["data"]?["params"]?
                .arrayValue?.last?.stringValue
        )
        let build = captured["option_eip3009_build"]?["actions"]?.arrayValue?.first?["data"]?["data"]?.stringValue
        let nonce = try #require(TypedData(json: text).message["nonce"]?.stringValue)
        let token = try #require(TokenCatalog.token(chainID: 1, symbol: "PYUSD"))
        let owner = try EthereumAddress(parsing: "0xf977814e90da44bfa03b6295a0616a897441acec")
        let order = try TransferOrder(
            token: token,
            owner: owner,
            value: 100_000,
            paymentExpiresAtSeconds: 0x6aaa_f309 - 300,
            nonce: Bytes32(parsing: nonce)
        )
        #expect(order.typedData.json == text)
        #expect(hex(order.signing.text.utf8) == build)
    }

    @Test func thePermitsTypedDataIsProductionsToo() throws {
        let captured = try vectors("captured-payloads.json")
        let actions = try #require(captured["option_permit2_needs_approve"]?["actions"]?.arrayValue)
        let text = try #require(actions[1]["data"]?["params"]?.arrayValue?.last?.stringValue)
        let order = try TransferOrder(
            token: #require(TokenCatalog.token(chainID: 1, symbol: "USDT")),
            owner: EthereumAddress(parsing: "0xf977814e90da44bfa03b6295a0616a897441acec"),
            value: 100_000,
            paymentExpiresAtSeconds: 0x6aaa_f309 - 300,
            nonce: Bytes32(parsing: #require(TypedData(json: text).message["nonce"]?.stringValue))
        )
        #expect(order.typedData.json == text)
        #expect(order.approval == actions[0]["data"])
    }

    @Test func aPermitTokenNeedsItsApprovalOnceAndNoLongerAfterThat() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let option = bench.option(id, chain: 1, symbol: "USDT")
        let methods = option["actions"]?.arrayValue?.compactMap { $0["data"]?["method"]?.stringValue }
        #expect(methods == ["eth_sendTransaction", "eth_signTypedData_v4"])
        let signature = try bench.signature(of: bench.typedDataText(id, option))
        #expect(bench.confirm(id, option, [signature]).status == 400)
        #expect(bench.confirm(id, option, ["0x12", signature]).status == 400)
        let hash = "0x" + String(repeating: "ab", count: 32)
        #expect(bench.confirm(id, option, [hash, signature]).json["status"]?.stringValue == "processing")
        bench.pass(.seconds(2))
        #expect(bench.word(id) == "succeeded")
        let next = bench.newPayment()
        #expect(bench.option(next, chain: 1, symbol: "USDT")["actions"]?.arrayValue?.count == 1)
    }

    @Test func eighteenDecimalsAndAnExchangeRateAreCountedExactly() {
        var bench = GatewayBench()
        let dollars = bench.newPayment("1")
        #expect(bench.option(dollars, chain: 56)["amount"]?["value"]?.stringValue == "10000000000000000")
        #expect(bench.option(dollars)["expiresAt"] == nil)
        let euros = bench.newPayment("1250", "EUR")
        let option = bench.option(euros)
        #expect(option["amount"]?["value"]?.stringValue == "13500000")
        #expect(option["expiresAt"]?.integerValue == bench.now.secondsSince1970 + 300)
        #expect(bench.option(euros, symbol: "EURC")["amount"]?["value"]?.stringValue == "12500000")
        // 1 cent is 0.0092592… euro: rounded up, in the merchant's favour.
        #expect(bench.option(dollars, symbol: "EURC")["amount"]?["value"]?.stringValue == "9260")
    }

    @Test func moneyMovesOnceFromTheCustomerToTheCollector() throws {
        var bench = GatewayBench()
        let id = bench.newPayment("1250")
        _ = try bench.pay(id)
        bench.pass(.seconds(2))
        let token = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        #expect(bench.state.ledger.balances[.init(token, bench.key.address)] == 987_500_000)
        #expect(bench.state.ledger.balances[.init(token, PaymentContracts.collector)] == 12_500_000)
    }

    @Test func theSameMoneyIsNotPromisedTwice() throws {
        var bench = GatewayBench()
        let first = bench.newPayment("60000")
        let second = bench.newPayment("60000")
        let (one, other) = (bench.option(first), bench.option(second))
        let otherSignature = try bench.signature(of: bench.typedDataText(second, other))
        #expect(bench.confirm(first, one, [try bench.signature(of: bench.typedDataText(first, one))]).status == 200)
        let refused = bench.confirm(second, other, [otherSignature])
        #expect(refused.json["message"]?.stringValue == "Validation error: Insufficient balance")
        #expect(bench.word(second) == "requires_action")
        #expect(bench.options(second).allSatisfy { $0["amount"]?["display"]?["assetSymbol"]?.stringValue != "USDC" })
    }

    @Test func anOrderThatWasUsedMovesNothingASecondTime() throws {
        var ledger = TokenLedger(faucetTokens: 1000)
        let key = GatewayBench.key(3)
        let order = try TransferOrder(
            token: #require(TokenCatalog.token(chainID: 8453, symbol: "USDC")),
            owner: key.address,
            value: 5,
            paymentExpiresAtSeconds: 1000,
            nonce: Bytes32(7)
        )
        let signature = key.sign(order.typedData.digest)
        let before = WallTime(millisecondsSince1970: 1_299_999)
        try ledger.promise(order, at: before)
        try ledger.transfer(order, signature: signature, at: before)
        #expect(throws: TokenLedger.Refusal.nonceUsed) { try ledger.transfer(order, signature: signature, at: before) }
        #expect(throws: TokenLedger.Refusal.nonceUsed) { try ledger.promise(order, at: before) }
        #expect(ledger.balance(order.token, of: key.address) == 999_999_995)
        // From the second that the order names on, it is worthless.
        #expect(throws: TokenLedger.Refusal.outsideValidity) {
            try ledger.promise(order, at: WallTime(millisecondsSince1970: 1_300_000))
        }
    }

    @Test func anEmptyPurseIsOfferedNothing() {
        var bench = GatewayBench { $0.faucetTokens = 11 }
        let id = bench.newPayment("1250")
        #expect(bench.options(id).isEmpty)
        #expect(!bench.options(bench.newPayment("1100")).isEmpty)
    }

    @Test func aFinalPaymentHasNoOptionsAndThatIsNoError() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        bench.pass(.seconds(300))
        let account = "eip155:8453:\(bench.key.address.checksummed)"
        let answer = bench.answer(
            "POST",
            "/v1/gateway/payment/\(id)/options?includePaymentInfo=true",
            GatewayBench.wallet,
            #"{"accounts":["\#(account)"]}"#
        )
        #expect(answer.status == 200)
        #expect(answer.json.value(named: "options") == .null)
        #expect(answer.json["info"]?["status"]?.stringValue == "expired")
    }

    @Test func accountsOfOtherKindsAreSkippedAndMalformedOnesRefused() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        func ask(_ accounts: String) -> GatewayAnswer {
            bench.answer(
                "POST",
                "/v1/gateway/payment/\(id)/options",
                GatewayBench.wallet,
                #"{"accounts":\#(accounts)}"#
            )
        }
        #expect(ask(#"["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:7S3P4H"]"#).json["options"] == .array([]))
        #expect(ask(#"["eip155:8453:0x12"]"#).status == 422)
        #expect(ask(#"["nonsense"]"#).status == 422)
        #expect(ask("7").status == 400)
        #expect(ask("[]").json.value(named: "info") == .null)
    }
}

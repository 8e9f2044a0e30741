import Ethereum
import Testing
import StrictJSON

@testable import Sandbox

/// A signature is worth something only for exactly what was issued.
struct ForgeryTests {
    /// Every field that is signed, and another value for it.
    static let authorization: [(String, String)] = [
        (#""name":"USD Coin""#, #""name":"USD coin""#), (#""version":"2""#, #""version":"3""#),
        (#""chainId":"0x2105""#, #""chainId":"0x2106""#),
        (#""verifyingContract":"0x833589"#, #""verifyingContract":"0x833588"#), (#""from":"0x7e"#, #""from":"0x7d"#),
        (#""nonce":"0x"#, #""nonce":"0x1"#), (#""to":"0x35e6"#, #""to":"0x35e7"#),
        (#""validAfter":"0x0""#, #""validAfter":"0x1""#), (#""validBefore":"0x6"#, #""validBefore":"0x7"#),
        (#""value":"0xbebc20""#, #""value":"0xbebc1f""#),
        ("ReceiveWithAuthorization", "TransferWithAuthorization"),
    ]

    @Test(arguments: authorization)
    func anAuthorizationAlteredInOneFieldIsRefused(field: String, forged: String) throws {
        try check(chain: 8453, symbol: "USDC", field, forged)
    }

    static let permit: [(String, String)] = [
        (#""name":"Permit2""#, #""name":"Permit3""#), (#""chainId":"0x38""#, #""chainId":"0x1""#),
        (#""verifyingContract":"0x000000000022"#, #""verifyingContract":"0x000000000023"#),
        (#""deadline":"0x6"#, #""deadline":"0x7"#), (#""nonce":"0x"#, #""nonce":"0x1"#),
        (#""token":"0x8ac7"#, #""token":"0x8ac8"#), (#""amount":"0xad"#, #""amount":"0xac"#),
        (#""spender":"0x5fae"#, #""spender":"0x5faf"#),
    ]

    @Test(arguments: permit)
    func aPermitAlteredInOneFieldIsRefused(field: String, forged: String) throws {
        try check(chain: 56, symbol: "USDC", field, forged)
    }

    private func check(chain: UInt64, symbol: String, _ field: String, _ forged: String) throws {
        var bench = GatewayBench()
        let id = bench.newPayment("1250")
        let option = bench.option(id, chain: chain, symbol: symbol)
        let issued = bench.typedDataText(id, option)
        var altered = issued.replacing(field, with: forged)
        if field.contains("nonce") {  // A digit more at the front, one less at the end: still 32 bytes.
            let end = try #require(altered.firstRange(of: #""nonce":"0x1"#)?.upperBound)
            altered.remove(at: altered.index(end, offsetBy: 62))
        }
        #expect(altered != issued)
        let approval = option["actions"]?.arrayValue?.count == 2 ? ["0x" + String(repeating: "ab", count: 32)] : []
        let refused = bench.confirm(id, option, approval + [try bench.signature(of: altered)])
        #expect(refused.status == 422)
        #expect(refused.json["message"]?.stringValue == "Invalid signature")
        #expect(bench.word(id) == "requires_action")
        // The true one is still welcome.
        #expect(bench.confirm(id, option, approval + [try bench.signature(of: issued)]).status == 200)
    }

    @Test func someoneElsesSignatureIsRefused() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let option = bench.option(id)
        let other = try bench.signature(of: bench.typedDataText(id, option), by: GatewayBench.key(2))
        #expect(bench.confirm(id, option, [other]).status == 422)
    }

    @Test(arguments: ["", "0x", "0x00", "zz", String(repeating: "0", count: 130)])
    func whatIsNoSignatureIsRefused(text: String) throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let option = bench.option(id)
        #expect(bench.confirm(id, option, [text]).status == 422)
        #expect(bench.confirm(id, option, []).status == 400)
        #expect(bench.word(id) == "requires_action")
    }

    @Test func theSignatureForOneOptionDoesNotPayAnother() throws {
        var bench = GatewayBench()
        let (id, other) = (bench.newPayment(), bench.newPayment())
        let option = bench.option(id)
        let signature = try bench.signature(of: bench.typedDataText(id, option))
        #expect(
            bench.confirm(other, option, [signature]).json["message"]?.stringValue
                == "Validation error: Option not found"
        )
        let otherOption = bench.option(other)
        #expect(bench.confirm(other, otherOption, [signature]).status == 422)
    }

    @Test func optionsOfAnEarlierQuestionAreNotFound() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let old = bench.option(id)
        let signature = try bench.signature(of: bench.typedDataText(id, old))
        _ = bench.options(id)
        #expect(bench.confirm(id, old, [signature]).status == 400)
        // Another customer's question leaves them alone.
        let option = bench.option(id)
        _ = bench.options(id, key: GatewayBench.key(2))
        #expect(bench.confirm(id, option, [try bench.signature(of: bench.typedDataText(id, option))]).status == 200)
    }

    @Test func aForeignBuildIsNotSpelledOut() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let option = bench.option(id)
        let body = ExactJSON.members(["optionId": option["id"] ?? .null, "data": .string("7b7d")]).text
        #expect(bench.answer("POST", "/v1/gateway/payment/\(id)/fetch", GatewayBench.wallet, body).status == 400)
    }
}

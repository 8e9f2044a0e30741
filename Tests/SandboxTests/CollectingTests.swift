import Ethereum
import Testing
import StrictJSON

@testable import Sandbox

struct CollectingTests {
    private func options(_ bench: inout GatewayBench, _ id: String) -> ExactJSON {
        let body = #"{"accounts":["eip155:8453:\#(bench.key.address.checksummed)"]}"#
        return bench.answer("POST", "/v1/gateway/payment/\(id)/options", GatewayBench.wallet, body).json
    }

    private func fetch(_ bench: inout GatewayBench, _ id: String, _ option: ExactJSON) -> GatewayAnswer {
        let body = ExactJSON.members(["optionId": option["id"] ?? .null, "data": .string("")]).text
        return bench.answer("POST", "/v1/gateway/payment/\(id)/fetch", GatewayBench.wallet, body)
    }

    @Test func nothingIsSpelledOutBeforeTheFormIsFilledIn() throws {
        var bench = GatewayBench { $0.collectsData = true }
        let id = bench.newPayment()
        let answer = options(&bench, id)
        let account = "eip155%3A8453%3A\(bench.key.address.checksummed)"
        let url = "https://pay.walletconnect.com/collect/?pid=\(id)&accounts=\(account)"
        #expect(answer["collectData"]?["url"]?.stringValue == url)
        #expect(answer["collectData"] == answer["options"]?.arrayValue?.first?["collectData"])
        let option = bench.option(id)
        let refused = fetch(&bench, id, option)
        #expect(
            refused
                == GatewayAnswer(400, try #require(vectors("captured-payloads.json")["fetch_error_identity_required"]))
        )
        #expect(bench.control("POST", "collect", #"{"paymentId":"\#(id)"}"#).status == 200)
        #expect(fetch(&bench, id, option).status == 200)
        #expect(options(&bench, id)["collectData"] == nil)
        #expect(try bench.pay(id).status == 200)
    }

    @Test func theFieldsMayComeWithTheConfirmationInstead() throws {
        var bench = GatewayBench { $0.collectsData = true }
        let id = bench.newPayment()
        let option = bench.option(id, chain: 56)
        let typedData = try #require(
            option["actions"]?.arrayValue?.last?["data"]?["params"]?.arrayValue?.last?.stringValue
        )
        let results = ["0x" + String(repeating: "ab", count: 32), try bench.signature(of: typedData)]
        #expect(bench.confirm(id, option, results).json["message"]?.stringValue == "IC data required but not found")
        func confirm(_ fields: String) -> GatewayAnswer {
            let body = bench.confirmation(option, results).dropLast() + #","collectedData":{"fields":\#(fields)}}"#
            return bench.answer("POST", "/v1/gateway/payment/\(id)/confirm", GatewayBench.wallet, String(body))
        }
        #expect(confirm(#"[{"id":"fullName","value":"A"},{"id":"dob","value":"yesterday"}]"#).status == 400)
        #expect(confirm(#"[{"id":"fullName"}]"#).status == 400)
        #expect(confirm(#"[{"id":"fullName","value":"A"},{"id":"dob","value":"1990-01-01"}]"#).status == 200)
    }

    /// The older way: one question for all options, answered with the confirmation, after there was something to sign.
    @Test func fieldsAloneAreAskedOnceAndAnsweredInTheEnd() throws {
        var bench = GatewayBench { $0.collectsFields = true }
        let id = bench.newPayment()
        let answer = options(&bench, id)
        #expect(answer["collectData"]?["url"] == nil && answer["collectData"]?["schema"] == nil)
        let fields = answer["collectData"]?["fields"]?.arrayValue ?? []
        #expect(fields.map { $0["id"]?.stringValue } == ["fullName", "dob"])
        #expect(answer["options"]?.arrayValue?.allSatisfy { $0["collectData"] == nil } == true)
        let option = bench.option(id)
        #expect(fetch(&bench, id, option).status == 200)
        let results = [try bench.signature(of: bench.typedDataText(id, option))]
        #expect(bench.confirm(id, option, results).json["message"]?.stringValue == "IC data required but not found")
        let given = #"[{"id":"fullName","value":"A"},{"id":"dob","value":"1990-01-01"}]"#
        let body = bench.confirmation(option, results).dropLast() + #","collectedData":{"fields":\#(given)}}"#
        #expect(
            bench.answer("POST", "/v1/gateway/payment/\(id)/confirm", GatewayBench.wallet, String(body)).status == 200
        )
    }

    /// As the SDK's complete example goes: there is something to sign first, and the form comes before the confirmation.
    @Test func aGatewayThatAsksLateSpellsOutAndWaitsWithTheConfirmation() throws {
        var bench = GatewayBench {
            $0.collectsData = true
            $0.collectsLate = true
        }
        let id = bench.newPayment()
        #expect(options(&bench, id)["collectData"]?["url"] != nil)
        let option = bench.option(id)
        #expect(fetch(&bench, id, option).status == 200)
        let results = [try bench.signature(of: bench.typedDataText(id, option))]
        #expect(bench.confirm(id, option, results).json["message"]?.stringValue == "IC data required but not found")
        #expect(bench.answer("POST", "/collect/?pid=\(id)", [:], "{\(Self.details)}").status == 200)
        #expect(bench.confirm(id, option, results).status == 200)
    }

    private static let details =
        #""fullName":"Ada","dob":"1990-01-31","tosConfirmed":true,"porCountry":"CH","porAddress":"Bern""#

    @Test func theFormLetsThePaymentGoOn() throws {
        var bench = GatewayBench { $0.collectsData = true }
        let id = bench.newPayment()
        let page = bench.answer("GET", "/collect/?pid=\(id)", [:])
        #expect(page.status == 200)
        #expect(page.contentType == "text/html; charset=utf-8")
        #expect(String(decoding: page.body, as: UTF8.self).contains(#"data-start="open""#))
        let sent = bench.answer("POST", "/collect/?pid=\(id)", [:], "{\(Self.details)}")
        #expect(sent.json["success"] == .bool(true))
        #expect(options(&bench, id)["collectData"] == nil)
        #expect(try bench.pay(id).status == 200)
        #expect(bench.answer("POST", "/collect/?pid=\(id)", [:], "{\(Self.details)}").status == 400)
    }

    @Test(arguments: [
        ("1990-01-31", "1990-02-31", "dob"), ("\"Ada\"", "\"\"", "fullName"), ("true", "false", "tosConfirmed"),
        ("\"CH\"", "\"ch\"", "porCountry"), ("\"Bern\"", "\"\"", "porAddress"),
        ("\"dob\"", "\"more\":1,\"dob\"", "more"),
    ])
    func theFormNamesWhatIsMissing(good: String, bad: String, field: String) {
        var bench = GatewayBench { $0.collectsData = true }
        let id = bench.newPayment()
        let body = "{\(Self.details)}".replacing(good, with: bad)
        let answer = bench.answer("POST", "/collect/?pid=\(id)", [:], body)
        #expect(answer.status == 400)
        #expect(answer.json["issues"]?.arrayValue?.map { $0["field"]?.stringValue } == [field])
        #expect(options(&bench, id)["collectData"] != nil)
    }

    @Test func theFormIsWhereTheWalletReachesTheGateway() {
        var bench = GatewayBench { $0.collectsData = true }
        let id = bench.newPayment()
        func url(_ host: String) -> String? {
            let headers = GatewayBench.wallet.merging(["Host": host]) { $1 }
            let body = #"{"accounts":["eip155:8453:\#(bench.key.address.checksummed)"]}"#
            let answer = bench.answer("POST", "/v1/gateway/payment/\(id)/options", headers, body)
            return answer.json["collectData"]?["url"]?.stringValue
        }
        #expect(url("127.0.0.1:4021")?.hasPrefix("http://127.0.0.1:4021/collect/?pid=\(id)&") == true)
        #expect(url("evil.test/x?")?.hasPrefix("https://pay.walletconnect.com/collect/?") == true)
    }

    @Test func aPaymentThatIsOverHasNoForm() {
        var bench = GatewayBench { $0.collectsData = true }
        for path in ["/collect/?pid=none", "/collect/"] { #expect(bench.answer("GET", path, [:]).status == 404) }
        let id = bench.newPayment()
        bench.pass(.seconds(300))
        #expect(bench.answer("GET", "/collect/?pid=\(id)", [:]).status == 404)
        #expect(bench.answer("POST", "/collect/?pid=\(id)", [:], "{\(Self.details)}").status == 410)
    }

    @Test func aGatewayThatIsNotToldToAskDoesNot() {
        var bench = GatewayBench()
        #expect(options(&bench, bench.newPayment())["collectData"] == nil)
    }
}

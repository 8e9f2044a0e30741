import StrictJSON
import Ethereum
import Payments
import Testing

@testable import Sandbox

struct CreateTests {
    @Test func everyAmountOfTheVectorsIsJudgedInTheGatewaysWords() throws {
        for rule in try vectors("create-payment-validation.json")["rules"]?.arrayValue ?? [] {
            let value = try #require(rule["value"]?.stringValue)
            var bench = GatewayBench()
            let answer = bench.create(value)
            if let message = rule["error"]?.stringValue {
                #expect(answer == GatewayAnswer(400, APIError.invalid(message).body), "\(value.prefix(20))")
            } else {
                #expect(answer.status == 201)
            }
        }
    }

    @Test func everyReferenceOfTheVectorsIsJudgedInTheGatewaysWords() throws {
        for rule in try vectors("create-payment-validation.json")["referenceId"]?.arrayValue ?? [] {
            let reference = try #require(rule["value"]?.stringValue)
            var bench = GatewayBench()
            let answer = bench.create(reference: reference)
            if let message = rule["error"]?.stringValue {
                #expect(answer.json["message"]?.stringValue == message)
                #expect(answer.json["code"]?.stringValue == "params_validation")
            } else {
                #expect(answer.status == 201, "\(reference)")
            }
        }
    }

    @Test func anAmountBelowTheMinimumIsRefusedInTheSentenceThatTillsLookFor() throws {
        var bench = GatewayBench { $0.minimumMinorUnits = 14 }
        let message = try vectors("create-payment-validation.json")["minimum"]?["message"]
        #expect(bench.create("13").json["message"] == message)
        #expect(bench.create("14").status == 201)
    }

    @Test func aCurrencyThatTheGatewayDoesNotSettleIsRefusedByName() {
        var bench = GatewayBench()
        #expect(bench.create("1250", "CHF").json["message"]?.stringValue == "Currency 'CHF' is not supported")
    }

    @Test(arguments: [
        (#""amount":{"unit":"iso4217/USD","value":1250}"#, "invalid_params"),
        (#""amount":null"#, "invalid_params"),
        (#""amount":{"unit":"iso4217/USD","value":"1250"},"referenceId":7"#, "invalid_params"),
        (#""amount":{"unit":"USD","value":"1250"}"#, "params_validation"),
        (#""amount":{"unit":"iso4217/USD","value":"1250"},"expiresAt":"soon""#, "invalid_params"),
        (#""amount":{"unit":"iso4217/USD","value":"1250"},"expiresAt":1"#, "params_validation"),
        (#""amount":{"unit":"iso4217/USD","value":"1250"},"expiresAt":1789586999000"#, "params_validation"),
        (
            #""amount":{"unit":"iso4217/USD","value":"1250"},"checkout":{"successUrl":"http://a.test"}"#,
            "params_validation"
        ),
        (#""amount":{"unit":"iso4217/USD","value":"18446744073709551616"}"#, "params_validation"),
    ])
    func aBodyOfTheWrongShapeMakesNoPayment(members: String, code: String) {
        var bench = GatewayBench()
        let answer = bench.answer("POST", "/v1/payments", GatewayBench.merchant, "{\(members)}")
        #expect(answer.status == 400)
        #expect(answer.json["code"]?.stringValue == code)
        #expect(bench.state.names.isEmpty)
    }

    @Test func theNameTellsTheMomentOfCreationAsProductionsNamesDo() throws {
        var bench = GatewayBench()
        bench.now = .init(millisecondsSince1970: 1_789_587_033_440)
        let id = bench.newPayment()
        // The captured name pay_aca2ecc101M2NV63B0VGX7DD8QEN90G1WH was made at that very moment.
        #expect(id.wholeMatch(of: /pay_[0-9a-f]{2}a2ecc101M2NV63B0[0-9A-HJKMNP-TV-Z]{16}/) != nil, "\(id)")
    }

    @Test func theAnswerHoldsALinkForTheCustomerAndFiveMinutes() {
        var bench = GatewayBench()
        let answer = bench.create()
        let id = answer.json["paymentId"]?.stringValue ?? ""
        #expect(answer.json["gatewayUrl"]?.stringValue == "https://pay.walletconnect.com/?pid=\(id)")
        #expect(answer.json["expiresAt"]?.integerValue == bench.now.secondsSince1970 + 300)
        #expect(answer.json["isFinal"] == .bool(false))
        #expect(answer.headers["WCP-Version"] == "2026-02-19.preview")
    }

    @Test func theSameKeyAndBodyGiveTheSamePaymentAndTheSameKeyWithAnotherBodyAConflict() {
        var bench = GatewayBench()
        let first = bench.create(key: "k1")
        bench.pass(.seconds(60))
        #expect(bench.create(key: "k1") == first)
        #expect(bench.state.names.count == 1)
        let conflict = bench.create("1251", key: "k1")
        #expect(conflict.status == 409)
        #expect(conflict.json["code"]?.stringValue == "idempotency_conflict")
        #expect(bench.create(key: "k2").json["paymentId"] != first.json["paymentId"])
    }

    @Test func aRefusedCreateDoesNotUseUpItsKey() {
        var bench = GatewayBench()
        #expect(bench.create("0", key: "k1").status == 400)
        #expect(bench.create("100", key: "k1").status == 201)
    }

    @Test func bothGenerationsOfPathsWork() {
        var bench = GatewayBench()
        let body = #"{"referenceId":"A-1","amount":{"unit":"iso4217/USD","value":"100"}}"#
        let created = bench.answer("POST", "/v1/merchant/payment", GatewayBench.merchant, body)
        #expect(created.status == 201)
        let id = created.json["paymentId"]?.stringValue ?? ""
        let status = bench.answer("GET", "/v1/merchant/payment/\(id)/status")
        #expect(status.json["status"]?.stringValue == "requires_action")
    }
}

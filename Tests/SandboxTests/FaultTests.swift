import StrictJSON
import Ethereum
import Payments
import Testing

@testable import Sandbox

struct FaultTests {
    @Test(arguments: [
        ("create:drop", Fault(endpoint: .create, effect: .drop, moment: .after)),
        ("create:drop,when=before,times=1", Fault(endpoint: .create, effect: .drop, moment: .before, times: 1)),
        ("*:delay=250", Fault(endpoint: nil, effect: .delay(milliseconds: 250), moment: .after)),
        ("status:error=502,from=3", Fault(endpoint: .status, effect: .failure(status: 502), fromCall: 3)),
        ("gateway-status:unknown-status=held", Fault(endpoint: .gatewayStatus, effect: .unknownStatus(word: "held"))),
        ("confirm:outcome=declined_user", Fault(endpoint: .confirm, effect: .outcome("declined_user"))),
        ("list:refuse=rate_limited", Fault(endpoint: .list, effect: .refuse(code: "rate_limited"))),
        ("create:clock-skew=-90", Fault(endpoint: .create, effect: .clockSkew(seconds: -90))),
    ])
    func aFaultIsReadFromOneWordOfTheCommandLine(text: String, fault: Fault) throws {
        #expect(try Fault(parsing: text) == fault)
        #expect(try Fault(fault.json) == fault)
    }

    @Test(arguments: [
        "create", "nowhere:drop", "create:explode", "create:drop,when=during", "create:drop,from=0", "status:error=404",
        "create:drop,always", "create:outcome=succeeded", "create:delay=-1", "",
    ])
    func aFaultThatCannotBeMeantIsExplained(text: String) {
        #expect(throws: FaultError.self) { try Fault(parsing: text) }
    }

    @Test func aFaultMeetsTheCallsItNamesAndNoOthers() {
        var bench = GatewayBench { $0.faults = [Fault(endpoint: .status, effect: .drop, fromCall: 2, times: 2)] }
        let id = bench.newPayment()
        let met = (1...5).map { _ in
            let request = GatewayRequest("GET", "/v1/payments/\(id)/status", headers: GatewayBench.merchant)
            return bench.state.receive(request, at: bench.now)?.faults.count ?? -1
        }
        #expect(met == [0, 1, 1, 0, 0])
    }

    @Test func aFaultMayMeanOneAmountOnly() throws {
        let fault = try Fault(parsing: "create:outcome=declined_user,amount=1337")
        var bench = GatewayBench { $0.faults = [fault] }
        let (other, magic) = (bench.newPayment("1338"), bench.newPayment("1337"))
        for id in [other, magic] { _ = try bench.pay(id) }
        bench.pass(.seconds(2))
        #expect(bench.word(other) == "succeeded")
        let status = bench.answer("GET", "/v1/payments/\(magic)/status").json
        #expect(status["failureCode"]?.stringValue == "declined_user")
        #expect(try Fault(fault.json) == fault)
    }

    @Test func aFaultMayGoOnForSomeTimeFromItsFirstCall() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        bench.state.faults.set(try Fault(parsing: "status:drop,from=2,for=30"))
        func meets() -> Bool {
            let request = GatewayRequest("GET", "/v1/payments/\(id)/status", headers: GatewayBench.merchant)
            return bench.state.receive(request, at: bench.now)?.faults.isEmpty == false
        }
        #expect(!meets())
        bench.pass(.seconds(100))
        #expect(meets())
        bench.pass(.milliseconds(29_999))
        #expect(meets())
        bench.pass(.milliseconds(1))
        #expect(!meets())
    }

    @Test func aFaultMayMeanOneAccountOnly() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let account = "eip155:8453:\(bench.key.address.checksummed)"
        bench.state.faults.set(try Fault(parsing: "options:refuse=sanctioned_user,account=\(account)"))
        func faults(_ account: String) -> [Fault]? {
            let body = Array(#"{"accounts":["\#(account)"]}"#.utf8)
            let path = "/v1/gateway/payment/\(id)/options"
            return bench.state.receive(GatewayRequest("POST", path, headers: [:], body: body), at: bench.now)?.faults
        }
        #expect(faults(account.lowercased())?.map(\.effect) == [.refuse(code: "sanctioned_user")])
        #expect(faults("eip155:1:\(bench.key.address.checksummed)") == [])
        #expect(GatewayState.refusal("sanctioned_user").status == 451)
    }

    @Test func aMemberThatNoFaultHasIsExplained() throws {
        let json = try ExactJSON(parsing: #"{"endpoint":"create","effect":"drop","tmies":1}"#)
        #expect(throws: FaultError(description: "'tmies' is nothing that a fault has")) { _ = try Fault(json) }
    }

    @Test func faultsAreSetListedAndClearedThroughTheControlApi() {
        var bench = GatewayBench()
        let set = bench.control("POST", "faults", #"{"endpoint":"create","effect":"refuse=internal_error","times":1}"#)
        #expect(set.status == 201)
        #expect(bench.control("GET", "faults").json["faults"]?.arrayValue?.count == 1)
        #expect(bench.control("POST", "faults", #"{"endpoint":"create"}"#).status == 400)
        #expect(bench.control("DELETE", "faults").json["faults"] == .array([]))
    }

    @Test func aStatusThatNobodyKnowsIsNeverFinal() throws {
        let fault = Fault(endpoint: .status, effect: .unknownStatus(word: "under_review"))
        var bench = GatewayBench { $0.faults = [fault] }
        let id = bench.newPayment()
        _ = try bench.pay(id)
        bench.pass(.seconds(5))
        let request = GatewayRequest("GET", "/v1/payments/\(id)/status", headers: GatewayBench.merchant)
        let received = bench.state.receive(request, at: bench.now)
        let handling = try #require(received)
        guard case .answer(let answer) = bench.state.perform(request, handling, at: bench.now) else { return }
        let spoiled = try #require(bench.state.spoiled(answer, handling))
        #expect(spoiled.json["status"]?.stringValue == "under_review")
        #expect(spoiled.json["isFinal"] == .bool(false))
        #expect(spoiled.json["info"] == nil)
        // The truth is untouched: the customer's own question learns it.
        let path = "/v1/gateway/payment/\(id)/status"
        #expect(bench.answer("GET", path, GatewayBench.wallet).json["status"]?.stringValue == "succeeded")
    }

    @Test func aForgottenKeyMakesASecondPaymentAndARepeatedRequestDoesNot() {
        var forgetful = GatewayBench { $0.faults = [Fault(endpoint: .create, effect: .forgetKey, fromCall: 2)] }
        let first = forgetful.create(key: "k")
        #expect(forgetful.create(key: "k").json["paymentId"] != first.json["paymentId"])
        var repeating = GatewayBench { $0.faults = [Fault(endpoint: .create, effect: .duplicate)] }
        #expect(repeating.create(key: "k").status == 201)
        #expect(repeating.state.names.count == 1)
        // Without a key, a request that the network repeats makes two payments. That is what keys are for.
        _ = repeating.create()
        #expect(repeating.state.names.count == 3)
    }

    @Test func aRepeatedConfirmationMovesTheMoneyOnce() throws {
        var bench = GatewayBench { $0.faults = [Fault(endpoint: .confirm, effect: .duplicate)] }
        let id = bench.newPayment("1250")
        #expect(try bench.pay(id).json["status"]?.stringValue == "processing")
        bench.pass(.seconds(2))
        let token = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        #expect(bench.state.ledger.balances[.init(token, bench.key.address)] == 987_500_000)
    }

    @Test(
        arguments: [
            ("failed", "failed", nil), ("declined_user", "failed", "declined_user"), ("expired", "expired", nil),
        ]
            as [(String, String, String?)]
    )
    func aPaymentEndsAsOrderedAndTheCustomerKeepsTheMoney(order: String, word: String, code: String?) throws {
        var bench = GatewayBench { $0.faults = [Fault(endpoint: .create, effect: .outcome(order))] }
        let id = bench.newPayment()
        #expect(try bench.pay(id).json["status"]?.stringValue == "processing")
        bench.pass(.seconds(2))
        let status = bench.answer("GET", "/v1/payments/\(id)/status").json
        #expect(status["status"]?.stringValue == word)
        #expect(status["failureCode"]?.stringValue == code)
        #expect(bench.answer("GET", "/v1/payments/\(id)").json["failureCode"]?.stringValue == code)
        let token = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        #expect(bench.state.ledger.spendable(token, of: bench.key.address) == 1_000_000_000)
    }

    @Test func aPaymentCanHangForEver() throws {
        var bench = GatewayBench { $0.faults = [Fault(endpoint: .confirm, effect: .outcome("stuck"))] }
        let id = bench.newPayment()
        _ = try bench.pay(id)
        bench.pass(.seconds(86_400))
        #expect(bench.word(id) == "processing")
    }

    @Test func aClockThatIsWrongShowsInWhatTheGatewayPromises() {
        var bench = GatewayBench { $0.faults = [Fault(endpoint: .create, effect: .clockSkew(seconds: -120), times: 1)] }
        #expect(bench.create().json["expiresAt"]?.integerValue == bench.now.secondsSince1970 + 180)
        #expect(bench.create().json["expiresAt"]?.integerValue == bench.now.secondsSince1970 + 300)
    }

    @Test func theLogTellsEachCallAndNoSecret() throws {
        var bench = GatewayBench()
        let id = bench.create(key: "key-1").json["paymentId"]?.stringValue ?? ""
        _ = bench.create("0", key: "key-2")
        _ = try bench.pay(id)
        let log = bench.control("GET", "log").json
        let calls = log["calls"]?.arrayValue ?? []
        #expect(calls.map { $0["endpoint"]?.stringValue } == ["create", "create", "options", "fetch", "confirm"])
        #expect(calls[0]["idempotencyKey"]?.stringValue == "key-1")
        #expect(calls[0]["paymentId"]?.stringValue == id)
        #expect(calls[1]["code"]?.stringValue == "params_validation")
        #expect(!log.text.contains("wcp_bench"))
        #expect(!log.text.contains("control\""))
    }
}

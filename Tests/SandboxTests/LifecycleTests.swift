import StrictJSON
import Ethereum
import Payments
import Testing

@testable import Sandbox

struct LifecycleTests {
    @Test func aPaymentNobodyPaysExpiresInItsSecond() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        bench.pass(.milliseconds(299_559))
        #expect(bench.word(id) == "requires_action")
        bench.pass(.milliseconds(1))
        #expect(bench.word(id) == "expired")
        #expect(bench.answer("GET", "/v1/payments/\(id)/status").json["isFinal"] == .bool(true))
    }

    @Test func theExpiryHappensEvenWhenNobodyTurnedTheClock() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        bench.now = bench.now.advanced(by: .seconds(400))  // No alarm rang: the next call finds it due.
        #expect(bench.word(id) == "expired")
    }

    @Test func aPaymentThatWasSignedInTimeSettlesAfterItsExpiry() throws {
        var bench = GatewayBench { $0.settleAfter = .seconds(30) }
        let id = bench.newPayment()
        bench.pass(.seconds(290))
        _ = try bench.pay(id)
        bench.pass(.seconds(29))
        #expect(bench.word(id) == "processing")
        bench.pass(.seconds(1))
        #expect(bench.word(id) == "succeeded")
        #expect(bench.state.payments[id]?.story == [.requiresAction, .processing, .succeeded])
    }

    @Test func anExpiredPaymentTakesNoSignature() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let option = bench.option(id)
        let signature = try bench.signature(of: bench.typedDataText(id, option))
        bench.pass(.seconds(300))
        let refused = bench.confirm(id, option, [signature])
        #expect(refused.status == 410)
        #expect(refused.json["code"]?.stringValue == "payment_expired")
    }

    @Test func aSettlementThatComesTooLateForTheSignatureFailsAndReturnsTheMoney() throws {
        var bench = GatewayBench { $0.settleAfter = .seconds(900) }
        let id = bench.newPayment()
        _ = try bench.pay(id)
        bench.pass(.seconds(900))
        #expect(bench.word(id) == "failed")
        let token = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        #expect(bench.state.ledger.balance(token, of: bench.key.address) == 1_000_000_000)
        #expect(bench.state.ledger.spendable(token, of: bench.key.address) == 1_000_000_000)
    }

    @Test func aQuoteWithAnExchangeRateGoesStale() throws {
        var bench = GatewayBench { $0.defaultExpiry = .seconds(900) }
        let id = bench.newPayment("1250", "EUR")
        let option = bench.option(id)
        let signature = try bench.signature(of: bench.typedDataText(id, option))
        bench.pass(.seconds(300))
        #expect(bench.confirm(id, option, [signature]).json["code"]?.stringValue == "quote_expired")
        let fresh = bench.option(id)
        #expect(bench.confirm(id, fresh, [try bench.signature(of: bench.typedDataText(id, fresh))]).status == 200)
    }

    @Test func theSameConfirmationAgainChangesNothingAndAnotherIsRefused() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let option = bench.option(id)
        let usdt = bench.option(id, chain: 42161, symbol: "USDT")
        let results = [try bench.signature(of: bench.typedDataText(id, option))]
        let first = bench.confirm(id, option, results)
        #expect(bench.confirm(id, option, results) == first)
        #expect(bench.confirm(id, usdt, results).json["code"]?.stringValue == "invalid_state")
        let others = ["0x" + String(repeating: "11", count: 65)]
        #expect(bench.confirm(id, option, others).json["code"]?.stringValue == "invalid_state")
        bench.pass(.seconds(2))
        let again = bench.confirm(id, option, results)
        #expect(again.json["status"]?.stringValue == "succeeded")
        let token = try #require(TokenCatalog.token(chainID: 8453, symbol: "USDC"))
        #expect(bench.state.ledger.balances[.init(token, bench.key.address)] == 987_500_000)
    }

    @Test func cancellingWorksOnlyWhileNobodyHasPaid() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let cancelled = bench.answer("POST", "/v1/payments/\(id)/cancel", GatewayBench.merchant, "{}")
        #expect(cancelled.json["status"]?.stringValue == "cancelled")
        #expect(cancelled.json["cancelledReason"]?.stringValue == "cancelled_by_merchant")
        #expect(cancelled.json["cancelledAt"]?.stringValue == "2026-09-16T19:27:13.440Z")
        for id in [
            id,
            try {
                let id = bench.newPayment(); _ = try bench.pay(id); return id
            }(),
        ] {
            let refused = bench.answer("POST", "/v1/payments/\(id)/cancel", GatewayBench.merchant, "{}")
            #expect(refused.status == 400)
            #expect(refused.json["code"]?.stringValue == "invalid_state")
        }
        bench.pass(.seconds(600))
        #expect(bench.word(id) == "cancelled")
    }

    @Test func theCustomerCanCancelToo() {
        var bench = GatewayBench()
        let id = bench.newPayment()
        let path = "/v1/gateway/payment/\(id)/cancel"
        let answer = bench.answer("POST", path, GatewayBench.wallet, "{}")
        #expect(answer.json["cancelledReason"]?.stringValue == "cancelled_by_user")
        #expect(bench.word(id) == "cancelled")
    }

    @Test func aPaymentIsGivenBackOnceAndOnlyIfItWasPaid() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        func refund(_ id: String) -> String? {
            bench.answer("POST", "/v1/refunds", GatewayBench.merchant, #"{"paymentId":"\#(id)"}"#).json["code"]?
                .stringValue
        }
        #expect(refund(id) == "payment_not_succeeded")
        _ = try bench.pay(id)
        bench.pass(.seconds(2))
        #expect(refund(id) == nil)
        #expect(refund(id) == "already_refunded")
        #expect(refund("pay_unknown") == "not_found")
        #expect(refund("../x") == "params_validation")
    }

    @Test func theDetailsTellTheReferenceAndWhatSettled() throws {
        var bench = GatewayBench()
        let id = bench.newPayment()
        var details = bench.answer("GET", "/v1/payments/\(id)").json
        #expect(details["referenceId"]?.stringValue == "A-1")
        #expect(details["settlement"] == nil)
        _ = try bench.pay(id)
        bench.pass(.seconds(2))
        details = bench.answer("GET", "/v1/payments/\(id)").json
        #expect(details["settlement"]?["successful"]?["txId"] == details["info"]?["txId"])
    }

    @Test func theControlApiSettlesWhatOtherwiseNeverWould() throws {
        var bench = GatewayBench { $0.settleAfter = nil }
        let id = bench.newPayment()
        _ = try bench.pay(id)
        bench.pass(.seconds(3000))
        #expect(bench.word(id) == "processing")
    }

    @Test func theControlApiSettlesAtOnce() throws {
        var bench = GatewayBench { $0.settleAfter = nil }
        let (id, other) = (bench.newPayment(), bench.newPayment())
        _ = try bench.pay(id)
        let settled = bench.control("POST", "settle", #"{"paymentId":"\#(id)"}"#)
        #expect(settled.json["settled"] == .array([.string(id)]))
        #expect(bench.word(id) == "succeeded")
        #expect(bench.word(other) == "requires_action")
        #expect(bench.control("POST", "expire", #"{"paymentId":"\#(other)"}"#).json["status"]?.stringValue == "expired")
        let balances = bench.control("GET", "ledger").json["balances"]?.arrayValue ?? []
        #expect(balances.contains { $0["collector"] == .bool(true) && $0["value"]?.stringValue == "12500000" })
    }

    @Test func theControlApiEmptiesAPurse() {
        var bench = GatewayBench()
        let account = "eip155:8453:\(bench.key.address.checksummed)"
        for token in ["USDC", "EURC"] {
            let body = #"{"account":"\#(account)","token":"\#(token)","value":"1"}"#
            #expect(bench.control("POST", "balance", body).status == 200)
        }
        #expect(bench.options(bench.newPayment()).isEmpty)
        #expect(bench.control("POST", "balance", #"{"account":"\#(account)","token":"XYZ","value":"1"}"#).status == 400)
    }

    @Test func agendaGivesEverythingBackInItsOrder() {
        var random = Randomness(seed: 3)
        for _ in 0..<200 {
            var agenda = Agenda<Int>()
            var times = (0..<Int.random(in: 0..<60, using: &random)).map { _ in Int64.random(in: 0..<40, using: &random)
            }
            for time in times { agenda.add(Int(time), at: WallTime(millisecondsSince1970: time)) }
            times.sort()
            #expect(agenda.next?.millisecondsSince1970 == times.first)
            let due = times.filter { $0 <= 20 }
            var taken: [Int64] = []
            while let item = agenda.takeDue(at: WallTime(millisecondsSince1970: 20)) { taken.append(Int64(item.item)) }
            #expect(taken == due)
        }
    }
}

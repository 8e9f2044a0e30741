import StrictJSON
import Testing

@testable import Sandbox

struct RateLimitTests {
    @Test func aKeyThatCallsTooOftenIsToldWhenToCallAgain() {
        var bench = GatewayBench { $0.rateLimit = RateLimit(calls: 2, seconds: 10) }
        let path = "/v1/merchants/payments"
        #expect(bench.answer("GET", path).status == 200)
        bench.pass(.milliseconds(2500))
        #expect(bench.answer("GET", path).status == 200)
        let refused = bench.answer("GET", path)
        #expect(refused.status == 429)
        #expect(refused.json["code"]?.stringValue == "rate_limited")
        #expect(refused.headers["Retry-After"] == "8")
        bench.pass(.seconds(8))
        #expect(bench.answer("GET", path).status == 200)
    }

    @Test func eachKeyHasALimitOfItsOwnAndARefusedCallDoesNothing() {
        var bench = GatewayBench { $0.rateLimit = RateLimit(calls: 1, seconds: 10) }
        let id = bench.newPayment()
        #expect(bench.create().status == 429)
        #expect(bench.state.names == [id])
        #expect(bench.answer("GET", "/v1/gateway/payment/\(id)", GatewayBench.wallet).status == 200)
        #expect(bench.answer("GET", "/v1/gateway/payment/\(id)", GatewayBench.wallet).status == 429)
    }

    @Test(arguments: ["20", "0/1", "1/0", "a/b", "-1/5", "1/2/3", ""])
    func aLimitThatMeansNothingIsNotRead(text: String) { #expect(RateLimit(parsing: text) == nil) }

    @Test func withoutALimitNobodyIsRefused() {
        var bench = GatewayBench()
        for _ in 0..<200 { #expect(bench.answer("GET", "/v1/merchants").status == 200) }
        #expect(RateLimit(parsing: "20/10") == RateLimit(calls: 20, seconds: 10))
    }
}

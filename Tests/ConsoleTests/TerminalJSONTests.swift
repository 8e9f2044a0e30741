import Payments
import Terminal
import Testing

@testable import Console

/// What the page's events say.
struct TerminalJSONTests {
    @Test func aPaymentThatNobodyWaitedForIsSaid() throws {
        let id = try #require(ChargeID("01941f29-7c00-7000-8000-000000000001"))
        var generator = SystemRandomNumberGenerator()
        let code = ChargeCode(using: &generator)
        let at = WallTime(millisecondsSince1970: 1_790_000_000_000)
        let snapshot = TerminalSnapshot(
            phase: .idle,
            gateway: .ready,
            merchantName: "Kiosk",
            notices: [PaymentNotice(id: id, kind: .paidTwice, code: code, amountText: "€12.50", at: at)],
            at: at
        )
        let notice = """
            "notices":[{"amountText":"€12.50","at":"2026-09-21T14:13:20.000Z","code":"\(code.rawValue)",\
            "id":"01941f29-7c00-7000-8000-000000000001","kind":"paidTwice"}]
            """
        #expect(JSON.terminal(snapshot).text.contains(notice), "\(JSON.terminal(snapshot).text)")
    }

    /// Whoever may charge may also say that they have seen it.
    @Test func sayingThatItWasSeenIsAChange() throws {
        let route = try Route("POST", "/api/v1/charges/01941f29-7c00-7000-8000-000000000001/seen", query: [:])
        #expect(route.changesState && !route.isOpen && route.roles == [.owner, .manager, .cashier])
        #expect(throws: Problem.self) {
            try Route("GET", "/api/v1/charges/01941f29-7c00-7000-8000-000000000001/seen", query: [:])
        }
    }
}

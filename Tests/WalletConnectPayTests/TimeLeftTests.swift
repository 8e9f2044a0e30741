import Testing
import WalletConnectPay

struct TimeLeftTests {
    /// The payment expires at 1790000300.
    @Test(
        arguments: [
            (0, .enough), (1_790_000_240, .enough), (1_790_000_241, .low), (1_790_000_290, .low),
            (1_790_000_291, .almostNone), (1_790_000_300, .almostNone), (4_000_000_000, .almostNone),
            (.min, .enough), (.max, .almostNone),
        ] as [(Int64, TimeLeft)]
    )
    func aCustomerIsWarnedInTheLastMinute(now: Int64, left: TimeLeft) async throws {
        let gateway = ScriptedGateway(Answer.options("[]"))
        let response = try await gateway.client().getPaymentOptions(paymentLink: "pay_1", accounts: [])
        #expect(response.info?.timeLeft(nowSeconds: now) == left)
    }

    /// From a gateway that writes nonsense.
    @Test(arguments: [(Int64.min, TimeLeft.almostNone), (.max, .enough)])
    func aTimeOutOfRangeIsNoTrap(expiresAt: Int64, left: TimeLeft) async throws {
        let info = Answer.info.replacing("1790000300", with: "\(expiresAt)")
        let gateway = ScriptedGateway(Answer.options("[]", info: info))
        let response = try await gateway.client().getPaymentOptions(paymentLink: "pay_1", accounts: [])
        for now in [Int64.min, 0, .max] where now != expiresAt {
            #expect(response.info?.timeLeft(nowSeconds: now) == left)
        }
    }
}

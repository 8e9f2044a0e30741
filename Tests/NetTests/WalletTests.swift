import Net
import Testing
import WalletConnectPay

/// The wallet's calls over this module's HTTP client.
@Suite(.timeLimit(.minutes(1)))
struct WalletTests {
    @Test func aCancelledConfirmationClosesItsConnection() async throws {
        let server = try ScriptedServer(.silence)
        defer { server.stop() }
        let transport = try HTTPClientTransport(hosts: .only(["127.0.0.1"], allowsLoopbackHTTP: true))
        let client = try PayClient(
            baseURL: "http://127.0.0.1:\(server.port)",
            credentials: .apiKey(Secret("k")),
            transport: transport
        )
        let confirming = Task {
            try await client.confirmPayment(paymentId: "pay_1", optionId: "o", signatures: ["0x1"])
        }
        while server.requests.first?.contains("POST /v1/gateway/payment/pay_1/confirm") != true { await Task.yield() }
        #expect(server.openConnections == 1)
        confirming.cancel()
        await #expect(throws: ConfirmPaymentError.cancelled) { try await confirming.value }
        while server.openConnections > 0 { await Task.yield() }
        #expect(server.requests.count == 1, "and asked no more")
        try await transport.shutdown()
    }
}

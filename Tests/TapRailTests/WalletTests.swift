import Ethereum
import Payments
import Sandbox
import TapProtocol
import Terminal
import Testing
import WalletConnectPay

/// A wallet without network pays through the terminal: with the sandbox's WalletConnect Pay gateway behind both rails.
struct WalletTests {
    /// Asks the gateway without a socket.
    struct Line: HTTPTransport {
        let gateway: Gateway
        static let baseURL = "http://127.0.0.1:1"

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            let question = GatewayRequest(
                request.method.rawValue,
                String(request.url.dropFirst(Self.baseURL.count)),
                headers: Dictionary(
                    request.headers.map { ($0.name, $0.value) },
                    uniquingKeysWith: { first, _ in first }
                ),
                body: request.body ?? []
            )
            guard let answer = await gateway.answer(question) else { throw .noAnswer(after: request.timeout) }
            return HTTPResponse(
                status: answer.status,
                headers: answer.headers.map { (name: $0.key, value: $0.value) },
                body: answer.body
            )
        }
    }

    /// The test's clock for clients that want one of Swift's.
    struct TurnedClock: Clock {
        struct Instant: InstantProtocol {
            let elapsed: Duration

            func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
            func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
            static func < (one: Instant, other: Instant) -> Bool { one.elapsed < other.elapsed }
        }

        let clock: ManualClock

        var now: Instant { Instant(elapsed: clock.now) }
        var minimumResolution: Duration { .zero }

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            try await clock.terminalClock.sleep(deadline.elapsed - clock.now)
        }
    }

    private func play(
        _ stall: Stall,
        _ body: @escaping @Sendable (Shift) async throws -> Void
    ) async throws {
        let configuration = GatewayConfiguration(merchantID: "m1", apiKey: "wcp_test")
        let gateway = Gateway(GatewayState(configuration: configuration), clock: stall.wall)
        let line = Line(gateway: gateway)
        let clock = stall.clock.terminalClock
        let merchant = try MerchantClient(
            baseURL: Line.baseURL,
            credentials: MerchantCredentials(merchantID: "m1", apiKey: Secret("wcp_test")),
            transport: line
        )
        // The charge names its gateway as the desk's settings do.
        let scan = ScanRail(
            merchant: merchant,
            gatewayURL: "https://gateway.example",
            merchantID: "m1",
            clock: clock,
            pace: GatewayPace(clock: clock)
        )
        let client = try PayClient(
            baseURL: Line.baseURL,
            credentials: .app(id: "till", clientID: "till"),
            transport: line,
            clock: TurnedClock(clock: stall.clock),
            retries: 0
        )
        let wallet = TapWalletClient(client: client, host: "gateway.example") {
            Int(clock.wallTime().secondsSince1970)
        }
        try await withThrowingTaskGroup { group in
            group.addTask { try await gateway.run() }
            defer { group.cancelAll() }
            try await stall.run(scan: scan, wallet: wallet, body)
        }
    }

    private static let user = PhoneUser(answer: .accept(after: .milliseconds(300)), means: .wallet, instruments: [])

    @Test func aWalletWithoutNetworkPaysThroughTheTerminal() async throws {
        let stall = try Stall()
        try stall.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(stall) { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .scan)
            #expect(charge.surplusAttempts.isEmpty)
            try await shift.until("the terminal has reported it to anna") {
                stall.heard("anna").contains { if case .reported(.completed, _) = $0 { true } else { false } }
            }
            try await shift.until("no link stays") { stall.air.openLinks == 0 }
        }
        #expect(await stall.bank.executions == 0)
    }

    @Test func anotherPhoneIsHeldWhileAWalletPaysAndHearsThatSomebodyPaid() async throws {
        let stall = try Stall()
        try stall.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try stall.phone("ben", user: PhoneUser(answer: .never))
        try await play(stall) { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("ben hears it, or was never asked") {
                stall.heardOtherPaid("ben") || !stall.wasAsked("ben")
            }
        }
        #expect(await stall.bank.executions == 0)
    }

    @Test func aWalletWhoseLinkFallsAfterItsSignaturesIsPaidForOnce() async throws {
        for values in [14, 22, 26] {
            let stall = try Stall()
            try stall.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
            stall.air.cut(after: values)
            try await play(stall) { shift in
                let id = try await shift.charge()
                try await shift.until("it has ended") { try await shift.state(id).isFinal }
                let charge = try await shift.snapshot(id)
                #expect(charge.surplusAttempts.isEmpty)
            }
        }
    }
}

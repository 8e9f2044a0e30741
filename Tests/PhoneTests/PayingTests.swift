import Sandbox
import TapProtocol
import Testing

/// What a person with a phone and a terminal live through together.
@Suite(.timeLimit(.minutes(1)))
struct PayingTests {
    let bench: Bench
    var shop: Shop { bench.shop }

    init() throws { bench = try Bench() }

    @Test(arguments: [20, 182, 244, 512])
    func aPaymentIsShownAcceptedAndPaid(bytes: Int) async throws {
        let request = try shop.request()
        let id = request.payload.paymentID
        let user = PhoneUser(tip: .preset(0), instruments: ["visa"])
        try await bench.run(bench.configuration(user)) { phone in
            let terminal = Stranger(phone, shop, bytes: bytes)
            try await terminal.connect(request)
            let notice = try await terminal.received()
            #expect(notice.state == .prompting && notice.isOnline && notice.paymentID == id)
            let (accept, pass) = try await terminal.accept()
            #expect(accept.payload.total == 28_05 && accept.payload.instrumentID == "visa")
            let check = AcceptanceCheck(
                trusted: {
                    var keys = GatewayKeys()
                    for key in shop.trusted { keys.add(issuer: key.issuer, keyID: key.keyID, ed25519: key.publicKey) }
                    return keys
                }(),
                request: request,
                maximumTotal: 500_00,
                isOpen: true,
                isTerminalOnline: true,
                vouchers: VoucherBook(floor: 0, merchantLimit: 0, lastOnlineMilliseconds: nil, isClockSet: true)
            )
            #expect(try check.check(accept, pass: pass, nowMilliseconds: bench.clock.now) == .online)
            try await terminal.send(.claim(shop.claim(accept.hash, of: request)), answering: 2)
            guard case .result(id, .completed, let receipt?, nil) = try await terminal.message().body else {
                Issue.record("no result")
                return
            }
            #expect(receipt.payload.acceptHash == accept.hash)
            try await terminal.send(.acknowledge(id), answering: 3)
            guard case .bye = try await terminal.message().body else {
                Issue.record("no BYE")
                return
            }
        }
        #expect(
            bench.diary.events.contains {
                if case .asked(id, merchant: "Coffee Shop", amount: "25.50 USD", terminal: "T-1", _) = $0 {
                    true
                } else {
                    false
                }
            }
        )
        #expect(bench.diary.outcomes == [.paid])
        #expect(await bench.acquirer.charges(id) == 1)
    }
}

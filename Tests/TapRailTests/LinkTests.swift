import Ethereum
import Locks
import Payments
import Sandbox
import TapProtocol
import Terminal
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnectPay

/// Rail 2: a phone with a network of its own is told the code's payment link over BLE, and pays it itself.
extension WalletTests {
    /// The phone's own way to the gateway.
    struct OwnLine: HTTPTransport {
        let inner: Line
        /// What does not get through.
        let loses: @Sendable (HTTPRequest) -> Bool

        init(_ gateway: Gateway, losing loses: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false }) {
            (inner, self.loses) = (Line(gateway: gateway), loses)
        }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            // Nobody can tell whether it arrived.
            guard !loses(request) else { throw .noAnswer(after: request.timeout) }
            return try await inner.send(request)
        }
    }

    private static let payingUser = PhoneUser(answer: .accept(after: .milliseconds(300)), means: .link)

    @discardableResult
    private func payer(
        _ shift: Shift,
        _ line: OwnLine,
        name: String = "anna",
        user: PhoneUser = WalletTests.payingUser
    ) async throws -> TapPhone {
        let bed = shift.bed
        let clock = bed.clock.terminalClock
        let client = try PayClient(
            baseURL: Line.baseURL,
            credentials: .app(id: "phone", clientID: "phone"),
            transport: line,
            clock: TurnedClock(clock: bed.clock),
            retries: 0
        )
        let wallet = LinkWallet(key: PrivateKey(), client: client, now: clock.wallTime)
        let passes = await bed.acquirer.passes + 4
        let phone = try bed.phone(name, user: user, linkWallet: wallet)
        try await shift.until("\(name) has passes") { await bed.acquirer.passes >= passes }
        return phone
    }

    private func place(_ bed: TapTestBed, _ name: String, _ isIt: (PhoneEvent) -> Bool) -> Int? {
        bed.heard(name).firstIndex(where: isIt)
    }

    @Test func aPhonePaysTheTerminalsLinkItselfOnceItHoldsTheClaim() async throws {
        let bed = try TapTestBed()
        try await play(bed, formBase: nil) { shift, gateway in
            try await payer(shift, OwnLine(gateway))
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded, within: .seconds(30))
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .scan)
            #expect(charge.surplusAttempts.isEmpty)
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        let claim = place(bed, "anna") { if case .heard(.claim) = $0 { true } else { false } }
        let signature = place(bed, "anna") { if case .signing = $0 { true } else { false } }
        #expect(try #require(claim) < #require(signature))
        // It is the gateway's payment: the acquirer is asked for nothing.
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func whileAPhonePaysTheLinkOthersAreHeldAndThenHearThatSomebodyPaid() async throws {
        let bed = try TapTestBed()
        try await play(bed, formBase: nil) { shift, gateway in
            let isHeld: @Sendable () -> Bool = {
                bed.heard("ben").contains { if case .heard(.hold) = $0 { true } else { false } }
            }
            // The signature does not get through before ben has been held.
            let line = OwnLine(gateway) { $0.url.contains("/confirm") && !isHeld() }
            try bed.phone("ben", user: PhoneUser(answer: .never))
            try await payer(shift, line, user: PhoneUser(answer: .accept(after: .seconds(4)), means: .link))
            let id = try await shift.charge()
            try await shift.until("both are asked") { bed.wasAsked("ben") && bed.wasAsked("anna") }
            try await shift.until(id, is: .succeeded, within: .seconds(60))
            try await shift.until("ben hears it") { bed.heardOtherPaid("ben") }
            #expect(isHeld())
            try await shift.until("anna knows") { bed.outcome("anna") == .paid }
        }
    }

    @Test func aPhoneThatAgreedToPayTheLinkAndPaysNothingDoesNotKeepOthersFromPaying() async throws {
        let bed = try TapTestBed()
        try await play(bed, formBase: nil) { shift, gateway in
            try await payer(shift, OwnLine(gateway) { _ in true })
            let id = try await shift.charge()
            try await shift.until("anna holds the claim") {
                bed.heard("anna").contains { if case .heard(.claim) = $0 { true } else { false } }
            }
            try bed.phone("ben")
            try await shift.until(id, is: .succeeded, within: .seconds(100))
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .tap)
            #expect(charge.surplusAttempts.isEmpty)
            #expect(bed.outcome("anna") != .paid)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    /// The second one has its own word from the gateway, although the first one was let go a moment before.
    @Test func whereASecondPhonesLinkFailsAtTheGatewayAThirdOneMayPay() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine()
        let claims = Mutex<[Duration]>([])
        let clock = bed.clock
        bed.whenever.withLock { hook in
            hook.act = { _, event in
                if case .heard(.claim) = event { claims.withLock { $0.append(clock.now) } }
            }
        }
        try await play(bed, swallowing: desk, formBase: nil) { shift, _ in
            let refusing = Gateway(
                GatewayState(configuration: GatewayConfiguration(merchantID: "m1", apiKey: "wcp_test")),
                clock: bed.wall
            )
            let anna = PhoneUser(answer: .accept(after: .seconds(4)), secondAnswer: .never, means: .link)
            let ben = PhoneUser(
                answer: .accept(after: .seconds(90)),
                secondAnswer: .accept(after: .zero),
                means: .link
            )
            try await payer(shift, OwnLine(refusing), user: anna)
            try await payer(shift, OwnLine(refusing) { _ in true }, name: "ben", user: ben)
            let id = try await shift.charge()
            try await shift.until("both are asked") { bed.wasAsked("ben") && bed.wasAsked("anna") }
            try await shift.until("ben holds the claim") {
                place(bed, "ben") { if case .heard(.claim) = $0 { true } else { false } } != nil
            }
            let (first, last) = claims.withLock { ($0.first, $0.last) }
            #expect(try #require(last) - #require(first) < .seconds(1))
            await desk.report(.processing)
            // Longer than a phone that pays nothing keeps its place.
            try await shift.passes(.seconds(50))
            await desk.report(.failed(code: "reverted"))
            try bed.phone("cem")
            try await shift.until(id, is: .succeeded, within: .seconds(30))
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .tap)
            #expect(charge.surplusAttempts.isEmpty)
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test func aPhoneWhoseGatewayRefusesTheLinkSaysSoAndIsAskedAgain() async throws {
        let bed = try TapTestBed()
        try await play(bed, formBase: nil) { shift, _ in
            // Its gateway knows nothing of this payment.
            var configuration = GatewayConfiguration(merchantID: "m1", apiKey: "wcp_test")
            configuration.controlToken = "control"
            let other = Gateway(GatewayState(configuration: configuration), clock: bed.wall)
            try await payer(shift, OwnLine(other))
            let id = try await shift.charge()
            // The second time it pays with its card.
            try await shift.until(id, is: .succeeded, within: .seconds(30))
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .tap)
            #expect(bed.heard("anna").contains { if case .signingRefused = $0 { true } else { false } })
        }
        #expect(await bed.acquirer.executions == 1)
    }

    @Test func aTerminalThatStartsAgainWhileThePhonePaysTheLinkBooksItOnce() async throws {
        let bed = try TapTestBed()
        let charge = Mutex<ChargeID?>(nil)
        let isUp = Mutex(false)
        try await playing(bed, swallowing: nil) { open, gateway in
            try await bed.play {
                try await open { shift in
                    try await payer(shift, OwnLine(gateway) { _ in !isUp.withLock { $0 } })
                    let id = try await shift.charge()
                    charge.withLock { $0 = id }
                    try await shift.until("anna holds the claim") {
                        bed.heard("anna").contains { if case .heard(.claim) = $0 { true } else { false } }
                    }
                }
                try await open { shift in
                    let id = try #require(charge.withLock { $0 })
                    isUp.withLock { $0 = true }
                    try await shift.until(id, is: .succeeded, within: .seconds(60))
                    #expect(try await shift.snapshot(id).surplusAttempts.isEmpty)
                    try await shift.until("anna knows") { bed.outcome("anna") == .paid }
                }
            }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func staffCancelWhileThePhoneHasNotPaidTheLinkYet() async throws {
        let bed = try TapTestBed()
        try await play(bed, formBase: nil) { shift, gateway in
            try await payer(shift, OwnLine(gateway) { _ in true })
            let id = try await shift.charge()
            try await shift.until("anna holds the claim") {
                bed.heard("anna").contains { if case .heard(.claim) = $0 { true } else { false } }
            }
            _ = try await shift.desk.cancel(id, by: .staff(name: "Ada"))
            try await shift.until(id, is: .cancelled, within: .seconds(30))
            // It has signed nothing, so the terminal's word is enough.
            try await shift.until("anna knows") { bed.outcome("anna") == .failed }
        }
    }

    /// The terminal says that nothing was paid; the phone's signature is out, and only the gateway knows.
    @Test func aPhoneWhoseSignatureIsOutBelievesNobodyButTheGatewayThatNothingWasPaid() async throws {
        let bed = try TapTestBed()
        let hasSigned = Mutex(false)
        let isUp = Mutex(false)
        try await play(bed, formBase: nil) { shift, gateway in
            let line = OwnLine(gateway) { request in
                if request.url.contains("/confirm") { hasSigned.withLock { $0 = true } }
                return hasSigned.withLock { $0 } && !isUp.withLock { $0 }
            }
            try await payer(shift, line)
            let id = try await shift.charge()
            try await shift.until("anna has signed") { hasSigned.withLock { $0 } }
            _ = try await shift.desk.cancel(id, by: .staff(name: "Ada"))
            try await shift.until(id, is: .cancelled, within: .seconds(30))
            try await shift.until("anna does not take the terminal's word") {
                bed.heard("anna").contains {
                    if case .sent(.error(_, .receiptInvalid, _)) = $0 { true } else { false }
                }
            }
            #expect(bed.outcome("anna") == nil || bed.outcome("anna") == .unknown)
            isUp.withLock { $0 = true }
            try await shift.until("anna knows", within: .seconds(60)) { bed.outcome("anna") == .failed }
        }
    }
}

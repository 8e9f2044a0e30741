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

/// A wallet without network pays through the terminal: with the sandbox's WalletConnect Pay gateway behind both rails.
struct WalletTests {
    /// Asks the gateway without a socket.
    struct Line: HTTPTransport {
        let gateway: Gateway
        var isDown: @Sendable () -> Bool = { false }
        /// The status with which what is asked is answered in the gateway's place.
        var fault: @Sendable (_ url: String) -> Int? = { _ in nil }
        static let baseURL = "http://127.0.0.1:1"

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            guard !isDown() else { throw .noAnswer(after: request.timeout) }
            if let status = fault(request.url) { return HTTPResponse(status: status, headers: [], body: []) }
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

    /// What the test says in the gateway's place, and what becomes of the signatures.
    final class DeskLine: Sendable {
        enum Fate { case swallowed, unheard, tooMany, beaten, kept, passedOn }

        let link = Mutex<AttemptLink?>(nil)
        let isSigned = Mutex(false)
        let fate: Mutex<Fate>
        /// What is kept goes on.
        let isLetGo = Latch()
        /// Nobody answers the terminal.
        let isDown = Mutex(false)
        /// What the gateway answers to signatures itself; nil: its own answer.
        let confirms = Mutex<Int?>(nil)
        /// For the gateway it is too late to take the payment back.
        let isTooLate = Mutex(false)
        /// The terminal finds no way to the gateway when it starts; it is here instead.
        let isLate = Mutex(false)
        let wallet = Mutex<(any TapWalletGateway)?>(nil)

        init(_ fate: Fate = .swallowed) { self.fate = Mutex(fate) }

        func report(_ report: Report) async {
            guard let link = link.withLock({ $0 }) else { return }
            await link.record(.reported(attempt: link.id, report: report))
        }
    }

    /// Takes the signatures and does not say what became of them, unless they are passed on.
    struct SilentGateway: TapWalletGateway {
        let inner: TapWalletClient
        let desk: DeskLine
        var host: String { inner.host }
        func options(
            link: String,
            accounts: [String],
            for phone: TapWalletPhone
        ) async -> TapWalletAnswer<TapWalletOptions> {
            await inner.options(link: link, accounts: accounts, for: phone)
        }
        func actions(
            gatewayPayment: String,
            optionID: String,
            for phone: TapWalletPhone
        ) async -> TapWalletAnswer<[TapWalletAction]> {
            await inner.actions(gatewayPayment: gatewayPayment, optionID: optionID, for: phone)
        }
        func confirm(
            gatewayPayment: String,
            optionID: String,
            signatures: [String],
            for phone: TapWalletPhone
        ) async -> TapWalletOutcome {
            desk.isSigned.withLock { $0 = true }
            await Task.yield()
            // The test says when: by no clock.
            if desk.fate.withLock({ $0 == .kept }) { await desk.isLetGo.pass() }
            switch desk.fate.withLock({ $0 }) {
            case .swallowed, .kept: return .unclear("silence")
            case .unheard: return .again("nobody is there")
            case .tooMany: return .later("too many requests", after: .seconds(3))
            case .beaten: return .beaten("payment_not_payable")
            case .passedOn:
                return await inner.confirm(
                    gatewayPayment: gatewayPayment,
                    optionID: optionID,
                    signatures: signatures,
                    for: phone
                )
            }
        }
    }

    /// Hands over the link that the desk gave to a rail.
    struct Overheard: RailDriver {
        let inner: ScanRail
        let desk: DeskLine
        var rail: Rail { inner.rail }

        func pursue(_ attempt: AttemptLink) async {
            desk.link.withLock { $0 = attempt }
            await inner.pursue(attempt)
        }
        func withdraw(_ attempt: AttemptLink) async {
            guard desk.isTooLate.withLock({ $0 }) else { return await inner.withdraw(attempt) }
            await attempt.record(.reported(attempt: attempt.id, report: .processing))
        }
        func ask(_ attempt: AttemptLink) async { await inner.ask(attempt) }
    }

    typealias Opening = @Sendable (@escaping @Sendable (Shift) async throws -> Void) async throws -> Void

    func play(
        _ bed: TapTestBed,
        swallowing desk: DeskLine? = nil,
        formBase: String? = nil,
        _ body: @escaping @Sendable (Shift) async throws -> Void
    ) async throws {
        try await play(bed, swallowing: desk, formBase: formBase) { shift, _ in try await body(shift) }
    }

    func play(
        _ bed: TapTestBed,
        swallowing desk: DeskLine? = nil,
        formBase: String?,
        _ body: @escaping @Sendable (Shift, Gateway) async throws -> Void
    ) async throws {
        try await playing(bed, swallowing: desk, formBase: formBase) { open, gateway in
            try await bed.play { try await open { try await body($0, gateway) } }
        }
    }

    /// - Parameters:
    ///   - formBase: Where the gateway's form is, which it asks everybody to fill in; nil where it asks for nothing.
    ///   - body: Opens the terminal with gateway and wallets, as often as it likes.
    func playing(
        _ bed: TapTestBed,
        swallowing desk: DeskLine?,
        formBase: String? = nil,
        _ body: @escaping @Sendable (@escaping Opening, Gateway) async throws -> Void
    ) async throws {
        var configuration = GatewayConfiguration(merchantID: "m1", apiKey: "wcp_test")
        (configuration.collectsData, configuration.formBase) = (formBase != nil, formBase)
        configuration.controlToken = "control"
        let gateway = Gateway(GatewayState(configuration: configuration), clock: bed.wall)
        let line = Line(
            gateway: gateway,
            isDown: { desk?.isDown.withLock { $0 } ?? false },
            fault: { url in url.contains("/confirm") ? desk?.confirms.withLock { $0 } : nil }
        )
        let clock = bed.clock.terminalClock
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
            clock: TurnedClock(clock: bed.clock),
            retries: 0
        )
        try await withTaskExecutorPreference(bed.executor) {
            try await withThrowingTaskGroup { group in
                group.addTask { try await gateway.run() }
                defer { group.cancelAll() }
                let open: Opening = { work in
                    // A terminal that starts has forgotten what its last run offered.
                    let wallet = TapWalletClient(client: client, host: "gateway.example") {
                        Int(clock.wallTime().secondsSince1970)
                    }
                    if let desk {
                        let silent = SilentGateway(inner: wallet, desk: desk)
                        desk.wallet.withLock { $0 = silent }
                        let found = desk.isLate.withLock { $0 } ? nil : silent
                        try await bed.open(scan: Overheard(inner: scan, desk: desk), wallet: found, work)
                    } else {
                        try await bed.open(scan: scan, wallet: wallet, work)
                    }
                }
                try await body(open, gateway)
            }
        }
    }

    static let user = PhoneUser(answer: .accept(after: .milliseconds(300)), means: .wallet, instruments: [])

    @Test func aWalletWithoutNetworkPaysThroughTheTerminal() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try await play(bed) { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            let charge = try await shift.snapshot(id)
            #expect(charge.attempts.first { $0.id == charge.paidAttempt }?.rail == .scan)
            #expect(charge.surplusAttempts.isEmpty)
            try await shift.until("the terminal has reported it to anna") {
                bed.heard("anna").contains { if case .reported(.completed, _) = $0 { true } else { false } }
            }
            try await shift.until("no link stays") { bed.radio.openLinks == 0 }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test(arguments: [true, false])
    func aWalletsPhoneHearsOfMoneyOnlyAfterTheGatewaysLastWord(isPaid: Bool) async throws {
        let bed = try TapTestBed()
        let desk = DeskLine()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        let heard: @Sendable () -> [TapProtocol.PaymentStatus] = {
            bed.heard("anna").compactMap { if case .reported(let status, _) = $0 { status } else { nil } }
        }
        try await play(bed, swallowing: desk) { shift in
            let id = try await shift.charge()
            try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
            await desk.report(.processing)
            try await shift.passes(.seconds(5))
            #expect(heard() == [])
            await desk.report(
                isPaid
                    ? .succeeded(Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil))
                    : .failed(code: "reverted")
            )
            try await shift.until("anna hears the end", within: .seconds(20)) { !heard().isEmpty }
            #expect(heard().first == (isPaid ? .completed : .failed))
            if isPaid { #expect(try await shift.state(id) == .succeeded) }
        }
    }

    @Test func anotherPhoneIsHeldWhileAWalletPaysAndHearsThatSomebodyPaid() async throws {
        let bed = try TapTestBed()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        try bed.phone("ben", user: PhoneUser(answer: .never))
        try await play(bed) { shift in
            let id = try await shift.charge()
            try await shift.until(id, is: .succeeded)
            try await shift.until("ben hears it, or was never asked") {
                bed.heardOtherPaid("ben") || !bed.wasAsked("ben")
            }
        }
        #expect(await bed.acquirer.executions == 0)
    }

    @Test func twoPhonesAreEachAskedToSignForAnOptionOfTheirOwn() async throws {
        let bed = try TapTestBed()
        try await play(bed, formBase: nil) { shift, gateway in
            let id = try await shift.charge()
            try await shift.until("the code is there") {
                let attempts = try await shift.snapshot(id).attempts
                return attempts.contains { $0.offer?.link != nil } && attempts.allSatisfy { $0.offer != nil }
            }
            let offer = try #require(
                try await shift.snapshot(id).attempts.lazy.compactMap(\.offer).first { $0.link != nil }
            )
            let link = try #require(offer.link)
            let client = try PayClient(
                baseURL: Line.baseURL,
                credentials: .app(id: "till", clientID: "till"),
                transport: Line(gateway: gateway),
                clock: TurnedClock(clock: bed.clock),
                retries: 0
            )
            let wallet = TapWalletClient(client: client, host: "gateway.example") { 0 }
            let payment = try await shift.payment(id)
            var asked: [(phone: TapWalletPhone, address: String, option: String)] = []
            for number in 1...2 {
                let phone = TapWalletPhone(payment: payment, link: LinkID(rawValue: number))
                let address = PrivateKey().address.checksummed
                let answer = await wallet.options(link: link, accounts: ["eip155:8453:\(address)"], for: phone)
                guard case .answer(let found) = answer else { return _ = Issue.record("\(answer)") }
                asked.append((phone, address, try #require(found.options.first).id))
            }
            for (phone, address, option) in asked {
                let answer = await wallet.actions(gatewayPayment: offer.paymentID, optionID: option, for: phone)
                guard case .answer(let actions) = answer else { return _ = Issue.record("\(answer)") }
                #expect(actions.first?.parameters.lowercased().contains(address.lowercased()) == true)
            }
            // Neither can have the other's option confirmed.
            let outcome = await wallet.confirm(
                gatewayPayment: offer.paymentID,
                optionID: asked[0].option,
                signatures: ["0x00"],
                for: asked[1].phone
            )
            #expect(outcome == .failed("option_not_found"))
        }
    }

    /// Money may be moving for the signatures: a phone that hears "time is up" then would sign again elsewhere.
    @Test func aTerminalThatStartsAgainLongAfterTheSignaturesWaitsForTheGatewaysWord() async throws {
        let bed = try TapTestBed()
        let desk = DeskLine()
        try bed.phone("anna", user: Self.user, isOnline: false, wallet: PrivateKey())
        let charge = Mutex<ChargeID?>(nil)
        let scan = ScriptedRail(.scan)
        try await playing(bed, swallowing: desk) { open, _ in
            try await bed.play {
                try await open { shift in
                    let id = try await shift.charge()
                    charge.withLock { $0 = id }
                    try await shift.until("anna has signed") { desk.isSigned.withLock { $0 } }
                    await desk.report(.processing)
                }
                bed.clock.advance(by: .seconds(300))
                try await bed.open(scan: scan) { shift in
                    let id = try #require(charge.withLock { $0 })
                    try await shift.passes(.seconds(5))
                    let tap = try await shift.snapshot(id).attempts.first { $0.rail == .tap }
                    #expect(tap?.isOpen == true)
                    let link = try #require(scan.link(id))
                    let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
                    await link.record(.reported(attempt: link.id, report: .succeeded(evidence)))
                    try await shift.until(id, is: .succeeded, within: .seconds(20))
                    try await shift.until("nothing of it is open") {
                        try await shift.snapshot(id).attempts.allSatisfy { !$0.isOpen }
                    }
                }
            }
        }
        #expect(
            !bed.heard("anna").contains {
                if case .heard(.cancelledByTerminal) = $0 { true } else { false }
            }
        )
    }
}

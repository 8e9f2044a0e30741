import Locks
import Payments
import Terminal
import TerminalTestSupport
import Testing
import TestSupport
import WalletConnectPay

/// What the gateway says to one request.
enum Answer: Sendable, Equatable, CustomTestStringConvertible {
    /// `$REFERENCE` in the body stands for the charge's own.
    case status(Int, String)
    /// Too many requests: wait for so many seconds.
    case slowDown(Int)
    /// No byte left: refused connection.
    case notSent
    /// The certificate was not believed, by a clock that nobody has set.
    case clockIsNotSet
    /// It left and nothing came back.
    case silence
    /// Still waiting for the customer, said after the gateway held the question for so long. Names no pace.
    case held(Duration)

    static let created = created(as: "requires_action", isFinal: false)
    /// Final or not as the word says, unless `isFinal` says otherwise.
    static func created(as word: String, isFinal: Bool? = nil) -> Answer {
        .status(
            201,
            """
            {"paymentId":"pay_1","status":"\(word)","expiresAt":1790000300,"pollInMs":1000,
             "isFinal":\(isFinal ?? (word != "processing")),"gatewayUrl":"https://pay.walletconnect.com/?pid=pay_1"}
            """
        )
    }
    /// Says nothing about what is known under the key.
    static let refusal = Answer.status(400, #"{"code":"params_validation","message":"no"}"#)
    static let conflict = Answer.status(409, #"{"code":"conflict","message":"no"}"#)
    static let succeeded = Answer.status(
        200,
        #"{"status":"succeeded","isFinal":true,"pollInMs":null,"info":{"txId":"0x1"}}"#
    )

    static func waiting(pollInMs: String) -> Answer {
        .status(200, #"{"status":"requires_action","isFinal":false,"pollInMs":\#(pollInMs)}"#)
    }

    static func list(
        _ payments: [(id: String, reference: String, value: String)],
        currency: String = "EUR",
        merchant: String = "mrch_1"
    ) -> Answer {
        let items = payments.map { payment in
            """
            {"paymentId":"\(payment.id)","merchant":{"id":"\(merchant)","name":"Kiosk"},"referenceId":"\(payment.reference)","status":"requires_action","fiatAmount":
             {"unit":"iso4217/\(currency)","value":"\(payment.value)","display":
              {"assetSymbol":"\(currency)","assetName":"Money","decimals":2}}}
            """
        }
        return .status(200, #"{"data":[\#(items.joined(separator: ","))],"nextCursor":null}"#)
    }

    var testDescription: String {
        switch self {
        case .status(let status, let body): "\(status) \(body.prefix(60))"
        case .slowDown(let seconds): "429, wait \(seconds) s"
        case .notSent: "not sent"
        case .clockIsNotSet: "the clock is not set"
        case .silence: "silence"
        case .held(let duration): "held for \(duration)"
        }
    }
}

/// Gives its answers one after the other and then holds every request until it is cancelled.
final class ScriptedGateway: HTTPTransport {
    private struct State {
        var answers: ArraySlice<Answer>
        var requests: [HTTPRequest] = []
        var eventsAtSending: [[Charge.Event]] = []
    }

    private let state: Mutex<State>
    private let ledger: Ledger
    private let clock: ManualClock

    init(_ answers: [Answer], _ ledger: Ledger, _ clock: ManualClock) {
        state = Mutex(State(answers: answers[...]))
        (self.ledger, self.clock) = (ledger, clock)
    }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    /// What the journal held when each request left.
    var eventsAtSending: [[Charge.Event]] { state.withLock { $0.eventsAtSending } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let (events, reference) = await (ledger.events, ledger.charge.id.compact)
        let answer = state.withLock { state in
            state.requests.append(request)
            state.eventsAtSending.append(events)
            return state.answers.popFirst()
        }
        switch answer {
        case .status(let status, let body):
            let text = body.replacing("$REFERENCE", with: reference)
            return HTTPResponse(status: status, body: Array(text.utf8))
        case .slowDown(let seconds):
            return HTTPResponse(status: 429, headers: [("Retry-After", String(seconds))], body: [])
        case .notSent: throw .notSent(reason: "connection refused")
        case .clockIsNotSet: throw .notSent(reason: GatewayLight.clockIsNotSet)
        case .silence: throw .noAnswer(after: .seconds(15))
        case .held(let duration):
            clock.advance(by: duration)
            let body = #"{"status":"requires_action","isFinal":false,"pollInMs":null}"#
            return HTTPResponse(status: 200, body: Array(body.utf8))
        case nil:
            let (never, continuation) = AsyncStream<Never>.makeStream()
            await withTaskCancellationHandler {
                for await _ in never {}
            } onCancel: {
                continuation.finish()
            }
            throw .cancelled
        }
    }
}

/// Keeps one charge as the desk does: an event that is not recorded has not happened.
actor Ledger {
    private(set) var charge: Charge
    private(set) var events: [Charge.Event] = []
    private var takes: @Sendable (Charge.Event) -> Bool

    init(_ terms: ChargeTerms, recording takes: @escaping @Sendable (Charge.Event) -> Bool) {
        charge = Charge(terms: terms)
        self.takes = takes
        let started = Charge.Event.attemptStarted(attempt: 1, rail: .scan)
        _ = charge.handle(started)
        events = [started]
    }

    func record(_ takes: @escaping @Sendable (Charge.Event) -> Bool) { self.takes = takes }

    @discardableResult
    func apply(_ event: Charge.Event) -> Attempt? {
        guard takes(event) else { return charge.attempt(1) }
        _ = charge.handle(event)
        events.append(event)
        return charge.attempt(1)
    }
}

/// Keeps what was said of the gateway.
final class Lights: Sendable {
    private let lights = Mutex<[GatewayLight]>([])

    var all: [GatewayLight] { lights.withLock { $0 } }
    func note(_ light: GatewayLight) { lights.withLock { $0.append(light) } }
}

/// Keeps why nobody answers.
final class Hindrances: Sendable {
    private let state = Mutex<AskingHindrance?>(nil)

    var last: AskingHindrance? { state.withLock { $0 } }
    func note(_ hindrance: AskingHindrance?) { state.withLock { $0 = hindrance } }
}

struct RailUnderTest: Sendable {
    let rail: ScanRail
    let link: AttemptLink
    let ledger: Ledger
    let gateway: ScriptedGateway
    let clock: ManualClock
    let pace: GatewayPace
    /// What the rail said of the gateway, in order.
    let lights: Lights
    /// Why nobody answers, as the rail said it last.
    let hindrances: Hindrances

    /// Throws where the test's time is over first, like the other two.
    /// - Parameter orOver: Whether to stop waiting also where the attempt has ended.
    func untilRequests(_ count: Int, orOver: Bool = false) async throws {
        while gateway.requests.count < count {
            if orOver, await link.current()?.isOpen == false { return }
            try await pause()
        }
    }

    /// Waits until the rail waits for this much time to pass, or has sent so many requests instead.
    func untilSleeping(for duration: Duration, orRequests most: Int = .max, orOver: Bool = false) async throws {
        while !clock.hasSleeper(for: duration), gateway.requests.count < most {
            if orOver, await link.current()?.isOpen == false { return }
            try await pause()
        }
    }

    func untilOver() async throws {
        while await link.current()?.isOpen == true { try await pause() }
    }

    private func pause() async throws {
        try Task.checkCancellation()
        await Task.yield()
    }
}

extension RailUnderTest {
    static let started = Charge.Event.attemptStarted(attempt: 1, rail: .scan)
    static let offer = Offer(paymentID: "pay_1", link: "https://pay.walletconnect.com/", expiresAt: nil)
    static let evidence = Evidence(paymentID: "pay_1", transactionID: "0x1", paid: nil)
}

/// A rail whose payment is offered and that nobody follows.
func withOffered(_ answers: [Answer], _ body: @Sendable (RailUnderTest) async throws -> Void) async throws {
    try await withRail(answers, pursues: false) { rail in
        await rail.ledger.apply(.sending(attempt: 1))
        await rail.ledger.apply(.offered(attempt: 1, offer: RailUnderTest.offer))
        try await body(rail)
    }
}

/// - Parameters:
///   - gatewayURL: What the settings say now; the charge was opened at `https://gateway.test`.
///   - recording: Which events the journal takes.
///   - pursues: Whether the rail follows the attempt for as long as `body` runs.
func withRail(
    _ answers: [Answer],
    gatewayURL: String = "https://gateway.test",
    merchantID: String = "mrch_1",
    recording takes: @escaping @Sendable (Charge.Event) -> Bool = { _ in true },
    pursues: Bool = true,
    gatewayAheadSeconds: Int64 = 0,
    _ body: @Sendable (RailUnderTest) async throws -> Void
) async throws {
    let clock = ManualClock()
    var generator = SystemRandomNumberGenerator()
    let now = clock.terminalClock.wallTime()
    let terms = ChargeTerms(
        id: ChargeID(at: now, using: &generator),
        code: ChargeCode(using: &generator),
        amount: Money(minorUnits: 1250, currency: .euro),
        reference: nil,
        merchantID: "mrch_1",
        merchantName: "Kiosk",
        operatorID: "op-1",
        gatewayURL: "https://gateway.test",
        openedBy: .staff(name: "Ada"),
        openedAt: now,
        timeLimitSeconds: 300,
        gatewayAheadSeconds: gatewayAheadSeconds
    )
    let ledger = Ledger(terms, recording: takes)
    let gateway = ScriptedGateway(answers, ledger, clock)
    let merchant = try MerchantClient(
        baseURL: gatewayURL,
        credentials: MerchantCredentials(merchantID: merchantID, apiKey: Secret("wcp_key")),
        transport: gateway
    )
    let pace = GatewayPace(clock: clock.terminalClock)
    let rail = ScanRail(
        merchant: merchant,
        gatewayURL: gatewayURL,
        merchantID: merchantID,
        clock: clock.terminalClock,
        pace: pace
    )
    let (lights, hindrances) = (Lights(), Hindrances())
    let link = AttemptLink(
        terms: terms,
        id: 1,
        read: { await ledger.charge.attempt(1) },
        write: { await ledger.apply($0) },
        light: { lights.note($0) },
        hinder: { hindrances.note($0) }
    )
    let under = RailUnderTest(
        rail: rail,
        link: link,
        ledger: ledger,
        gateway: gateway,
        clock: clock,
        pace: pace,
        lights: lights,
        hindrances: hindrances
    )
    try await withThrowingTaskGroup(of: Void.self) { group in
        if pursues { group.addTask { await rail.pursue(link) } }
        try await body(under)
        group.cancelAll()
    }
}

import Ethereum
public import Payments
import StrictJSON

/// The gateway as a value: payments, ledger, what is due and who waits. It decides everything and touches nothing.
///
/// Time comes in with each call; first everything that was due by then happens. Answers to held questions leave through
/// ``takeWakes()``.
public struct GatewayState: Sendable {
    /// A held question, by number.
    public typealias Waiter = Int

    /// What a call leads to.
    public enum Reply: Sendable, Equatable {
        case answer(GatewayAnswer)
        /// The answer follows through ``takeWakes()``.
        case hold(Waiter)
    }

    var configuration: GatewayConfiguration
    var random: Randomness
    /// What `random` is when no call with recorded chance is worked on.
    var chance = Randomness()
    var isRecording = false
    /// Written and not yet taken.
    var records: [String] = []
    /// As the last record of settings has them.
    var knownSettings: ExactJSON?
    var meter = RateMeter()
    /// By name.
    var payments: [String: SandboxPayment] = [:]
    /// The partner's, in the order of creation; the configured one is the first.
    var merchants: [SandboxMerchant] = []
    /// Names in the order of creation.
    var names: [String] = []
    var ledger: TokenLedger
    var faults = FaultPlan<Endpoint>()
    var log = CallLog()
    /// How far the gateway's clock is ahead of the machine's.
    var skewSeconds: Int
    private var agenda = Agenda<Due>()
    private var remembered: [String: Remembered] = [:]
    private var waiters: [Waiter: Waiting] = [:]
    private var waitersOfPayment: [String: Set<Waiter>] = [:]
    private var waiterCount = 0
    private var wakes: [(Waiter, GatewayAnswer)] = []

    private enum Due: Sendable {
        case expiry(String)
        case settlement(String)
        case release(Waiter)
    }

    /// What a held question waits for.
    private struct Waiting: Sendable {
        let payment: String
        /// A confirmation waits for the end, a question about the status for any change.
        let untilFinal: Bool
    }

    /// A request with an idempotency key that was answered.
    private struct Remembered: Sendable {
        let body: String
        let answer: GatewayAnswer
    }

    public init(configuration: GatewayConfiguration) {
        self.configuration = configuration
        random = Randomness(seed: configuration.seed)
        skewSeconds = configuration.skewSeconds
        ledger = TokenLedger(faucetTokens: configuration.faucetTokens)
        for fault in configuration.faults { faults.set(fault) }
        adoptConfiguration()
    }

    /// Brings the configured merchant and the faucet to what the configuration says.
    mutating func adoptConfiguration() {
        ledger.faucetTokens = configuration.faucetTokens
        if let index = merchants.firstIndex(where: { $0.id == configuration.merchantID }) {
            merchants[index].name = configuration.merchantName
        } else {
            let birth = WallTime(millisecondsSince1970: 1_767_225_600_000)  // The year 2026: before every payment.
            merchants.insert(
                SandboxMerchant(id: configuration.merchantID, name: configuration.merchantName, createdAt: birth),
                at: 0
            )
        }
    }

    /// How many questions are held.
    public var waiterTotal: Int { waiters.count }

    /// When ``advance(to:)`` should be called at the latest.
    public var nextDue: WallTime? { agenda.next }

    // MARK: - Time

    /// Does what was due up to `now`: payments expire, transfers settle, questions that waited long enough are answered.
    public mutating func advance(to now: WallTime) {
        // Each thing happens at its own moment, whenever it is looked at: the story is the same however often.
        while let (moment, due) = agenda.takeDue(at: now) {
            switch due {
            case .expiry(let id):
                if payments[id]?.word == .requiresAction { change(id, to: .expired, at: moment) }
            case .settlement(let id): settle(id, at: moment)
            case .release(let waiter): release(waiter)
            }
        }
    }

    /// Answers for held questions, each once.
    public mutating func takeWakes() -> [(Waiter, GatewayAnswer)] {
        defer { wakes = [] }
        return wakes
    }

    /// Forgets a held question whose client has gone.
    public mutating func abandon(_ waiter: Waiter) {
        guard let waiting = waiters.removeValue(forKey: waiter) else { return }
        waitersOfPayment[waiting.payment]?.remove(waiter)
    }

    /// Answers a question now or, when nothing is final and the client lets it wait, later.
    mutating func answerStatus(
        of id: String,
        waitingUpTo limit: Duration,
        untilFinal: Bool = false,
        at now: WallTime
    ) -> Reply {
        guard limit > .zero, let payment = payments[id], !payment.word.isFinal else {
            return .answer(statusAnswer(of: id))
        }
        waiterCount += 1
        waiters[waiterCount] = Waiting(payment: id, untilFinal: untilFinal)
        waitersOfPayment[id, default: []].insert(waiterCount)
        agenda.add(.release(waiterCount), at: now.advanced(by: limit))
        return .hold(waiterCount)
    }

    private mutating func release(_ waiter: Waiter) {
        guard let waiting = waiters[waiter] else { return }
        abandon(waiter)
        wakes.append((waiter, statusAnswer(of: waiting.payment)))
    }

    // MARK: - Payments

    mutating func add(_ payment: SandboxPayment) {
        payments[payment.id] = payment
        names.append(payment.id)
        agenda.add(.expiry(payment.id), at: WallTime(millisecondsSince1970: payment.expiresAtSeconds * 1000))
    }

    mutating func change(_ id: String, to word: PaymentWord, at now: WallTime) {
        payments[id]?.become(word, at: now)
        for waiter in waitersOfPayment[id] ?? [] where word.isFinal || waiters[waiter]?.untilFinal == false {
            release(waiter)
        }
        if word.isFinal { waitersOfPayment[id] = nil }
    }

    mutating func scheduleSettlement(of id: String, at time: WallTime) { agenda.add(.settlement(id), at: time) }

    /// Sends the transfer of a payment that the customer signed. It succeeds once; a second time nothing happens.
    mutating func settle(_ id: String, at now: WallTime) {
        guard let payment = payments[id], payment.word == .processing, let confirmation = payment.confirmation else {
            return
        }
        let order = confirmation.option.order
        switch payment.ordered {
        case .stuck: return
        case .expired:
            ledger.release(order)
            change(id, to: .expired, at: now)
        case .failed, .declinedUser:
            ledger.release(order)
            if payment.ordered == .declinedUser { payments[id]?.failureCode = "declined_user" }
            change(id, to: .failed, at: now)
        case nil:
            do throws(TokenLedger.Refusal) {
                try ledger.transfer(order, signature: confirmation.signature, at: now)
                change(id, to: .succeeded, at: now)
            } catch {
                change(id, to: .failed, at: now)
            }
        }
    }

    /// A payment's status in the words of the API; `status` is the same for merchants and wallets.
    func statusAnswer(of id: String) -> GatewayAnswer {
        guard let payment = payments[id] else { return GatewayAnswer(.paymentNotFound) }
        return GatewayAnswer(
            200,
            .members([
                "status": .string(payment.word.rawValue), "isFinal": .bool(payment.word.isFinal),
                "pollInMs": payment.pollInMs, "info": payment.information, "failureCode": .text(payment.failureCode),
            ])
        )
    }

    // MARK: - Idempotency

    /// The answer that a key was given before. Source: WalletConnect Pay API, `idempotency_conflict`.
    /// - Parameter scope: What the key belongs to: the same key elsewhere is another one.
    /// - Throws: 409 when the key came with another body.
    func rememberedAnswer(scope: String, key: String, body: ExactJSON) throws(APIError) -> GatewayAnswer? {
        guard let known = remembered[scope + "\n" + key] else { return nil }
        guard known.body == body.canonical.text else {
            throw APIError(409, "idempotency_conflict", "Idempotency key was used with another request body")
        }
        return known.answer
    }

    mutating func remember(_ answer: GatewayAnswer, scope: String, key: String, body: ExactJSON) {
        remembered[scope + "\n" + key] = Remembered(body: body.canonical.text, answer: answer)
    }
}

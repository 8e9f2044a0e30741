public import Payments
public import WalletConnectPay

/// Pay by scanning: makes the payment at the WalletConnect Pay gateway and follows its status by long poll.
///
/// Every request that could make a payment is announced to the journal before it leaves, and repeated after silence
/// with the same key and body. Source: WalletConnect Pay API 2026-02-19.preview, create payment, `Idempotency-Key`.
public struct ScanRail: RailDriver {
    /// Whose payments these are: another rail uses the same way to the gateway, under references of its own.
    public let rail: Rail
    /// The gateway and merchant of the settings in force; nil where they name no usable address.
    private let place: PaymentPlace?
    private let merchant: MerchantClient
    /// Clients of the places that earlier settings named. Each attempt is asked about where its charge was opened.
    private let earlier: [PaymentPlace: MerchantClient]
    private let clock: TerminalClock
    private let pace: GatewayPace

    /// How long a single question waits for the end of a pause that the gateway asked for. As long as for an answer.
    private static let patience = Duration.seconds(15)
    /// How long the gateway may hold a question open. Below the 30 seconds after which its own clients give up.
    private static let longPoll = Duration.seconds(20)
    /// Between questions where the gateway names no pace. Source: WalletConnect Pay POS, fallback interval.
    private static let pace = Duration.seconds(2)
    /// Between questions where the gateway names no pause at all and does not hold them either.
    private static let shortestPace = Duration.milliseconds(500)
    /// How long past its deadline an order may still be on its way. Longer than any request is waited for.
    private static let grace = Duration.seconds(30)

    /// - Parameters:
    ///   - merchant: Asks as the merchant of the settings in force.
    ///   - earlier: Asks where earlier settings made payments.
    ///   - pace: What the gateway asked of all who ask it; shared with them.
    public init(
        merchant: MerchantClient,
        gatewayURL: String,
        merchantID: String,
        earlier: [PaymentPlace: MerchantClient] = [:],
        clock: TerminalClock,
        pace: GatewayPace,
        rail: Rail = .scan
    ) {
        self.rail = rail
        place = PaymentPlace(gatewayURL: gatewayURL, merchantID: merchantID)
        (self.merchant, self.earlier, self.clock, self.pace) = (merchant, earlier, clock, pace)
    }

    public func pursue(_ attempt: AttemptLink) async {
        var backoff = Backoff()
        let gateway = attempt.terms.gatewayURL
        while !Task.isCancelled, let now = await attempt.current(), now.isOpen {
            var wait: Duration
            // A gateway that cannot be asked for this payment has no pace that it could be asked at.
            let pause = way(to: attempt) == nil ? .zero : await pace.remaining(gateway)
            if pause > .zero {
                await recordPause(attempt)
                do { try await clock.sleep(pause) } catch { return }  // As below.
                continue
            }
            switch now.phase {
            case .idle, .unanswered, .sending:
                wait = await makePayment(attempt) ? .zero : backoff.next()
            case .offered(let offer, _):
                let began = clock.elapsed()
                if let pace = await question(offer, attempt, waitingUpTo: Self.longPoll) {
                    backoff = Backoff()
                    // The pace counts from the question: one that was held for longer than it has waited already.
                    wait = max(.zero, pace - (clock.elapsed() - began))
                } else {
                    wait = backoff.next()
                }
            case .ended: return
            }
            // Where the gateway has just named its own pause, that one counts and nothing of ours is added to it.
            if await pace.remaining(gateway) > .zero { wait = .zero }
            do { try await clock.sleep(wait) } catch { return }  // The attempt is over, or the terminal stops.
        }
    }

    public func ask(_ attempt: AttemptLink) async {
        guard let now = await attempt.current(), now.evidence == nil else { return }
        guard way(to: attempt) != nil else {
            // Of one that has ended nothing is open that could be said to be so.
            if now.isOpen { await recordElsewhere(attempt) }
            return
        }
        guard await pace.waits(for: attempt.terms.gatewayURL, upTo: Self.patience) else {
            await recordPause(attempt)
            return
        }
        switch now.phase {
        case .idle: break  // Nothing has left, so there is nothing to ask about.
        case .sending, .unanswered: _ = await makePayment(attempt)
        case .offered(let offer, _), .ended(_, let offer?): _ = await question(offer, attempt, waitingUpTo: nil)
        case .ended(_, nil): _ = await lookUp(attempt, believesNothing: true)
        }
    }

    public func withdraw(_ attempt: AttemptLink) async {
        var backoff = Backoff()
        // A bounded number of tries: whoever follows the payment asks for the withdrawal again if it still waits.
        for _ in 0..<5 {
            guard let offer = await waitingOffer(attempt) else { return }
            guard way(to: attempt) != nil else {
                await recordElsewhere(attempt)
                return
            }
            if await pace.waits(for: attempt.terms.gatewayURL, upTo: Self.patience) {
                await cancel(offer, attempt)
            } else {
                await recordPause(attempt)
            }
            // Still waiting, whatever was answered: once more, after a pause.
            guard await waitingOffer(attempt) != nil else { return }
            do { try await clock.sleep(backoff.next()) } catch { return }  // The terminal stops; the next run asks.
        }
    }

    public func markRefunded(_ attempt: AttemptLink) async -> RefundAnswer {
        guard let way = way(to: attempt), let evidence = await attempt.current()?.evidence,
            let payment = PaymentID(evidence.paymentID)
        else { return .silent(Self.elsewhere) }
        guard await pace.waits(for: attempt.terms.gatewayURL, upTo: Self.patience) else {
            return .silent(Self.paused)
        }
        do throws(MerchantError) {
            let mark = try await exchange(for: attempt, way) { () throws(MerchantError) in
                try await way.merchant.markRefunded(payment)
            }
            return .marked(mark == .marked ? .marked : .markedBefore)
        } catch {
            switch error {
            // Says nothing of an earlier request that got no answer.
            case .refused(let refusal) where ChargeDesk.isAboutCredentials(refusal.code): return .silent(error.summary)
            case .refused(let refusal): return .denied(code: refusal.code)
            case .invalid(let field, _): return .denied(code: field)
            case .notSent, .rateLimited, .noAnswer, .unclear, .strange: return .silent(error.summary)
            }
        }
    }

    public func canAsk(about terms: ChargeTerms) -> Bool { way(to: terms) != nil }

    /// The offer that the customer could still pay; nil where there is none.
    private func waitingOffer(_ attempt: AttemptLink) async -> Offer? {
        guard case .offered(let offer, let progress)? = await attempt.current()?.phase, !progress.isProcessing else {
            return nil
        }
        return offer
    }

    // MARK: - One call each

    /// One request to make the payment, or to learn its name if an earlier request made it. True when that is settled.
    private func makePayment(_ attempt: AttemptLink) async -> Bool {
        guard let way = way(to: attempt) else {
            await recordElsewhere(attempt)
            return false
        }
        let overdue = attempt.terms.deadline.duration(to: clock.wallTime())
        if overdue >= .zero { return await leaveUnmade(attempt, overdue: overdue) }
        guard case .sending(let afterSilence)? = await attempt.record(.sending(attempt: attempt.id))?.phase else {
            return false  // Not in the journal, so it must not leave; or the attempt has ended meanwhile.
        }
        let terms = attempt.terms
        do throws(MerchantError) {
            let payment = try NewPayment(
                reference: terms.reference(on: rail),
                amount: .fiat(terms.amount),
                // By its own clock: by the terminal's the customer would have another time than the screen says, or none.
                expiresAtSeconds: terms.gatewayDeadline.secondsSince1970
            )
            let key = terms.idempotencyKey(attempt: attempt.id)
            let created = try await exchange(for: attempt, way) { () throws(MerchantError) in
                try await way.merchant.create(payment, idempotencyKey: key)
            }
            return await take(created, attempt)
        } catch {
            return await settle(error, afterSilence: afterSilence, attempt)
        }
    }

    /// An order whose time is over is not sent again: the gateway would refuse it, or make a payment nobody waits for.
    /// What an earlier one made is looked up.
    private func leaveUnmade(_ attempt: AttemptLink, overdue: Duration) async -> Bool {
        switch await attempt.current()?.phase {
        case .idle:
            await attempt.record(.silent(attempt: attempt.id, reason: Self.overdue), because: .overdue)
            return false
        case .sending, .unanswered: return await lookUp(attempt, believesNothing: overdue >= Self.grace)
        case .offered, .ended, nil: return true
        }
    }

    /// Records the payment the gateway made, or had made already. Only the code of one that waits is ever shown.
    private func take(_ created: CreatedPayment, _ attempt: AttemptLink) async -> Bool {
        let waits = created.report == .requiresAction
        let offer = waits ? created.offer : created.offer.withoutLink
        guard await conclude(.offered(attempt: attempt.id, offer: offer), attempt) else { return false }
        if waits { return true }
        // The status also names the proof of a payment that is over. What was said already counts where it does not.
        if created.status.isFinal, created.isFinal, await question(offer, attempt, waitingUpTo: nil) != nil {
            return true
        }
        await attempt.record(.reported(attempt: attempt.id, report: created.report))
        return true
    }

    private func settle(_ error: MerchantError, afterSilence: Bool, _ attempt: AttemptLink) async -> Bool {
        switch error {
        case .notSent(let reason):
            await attempt.record(.notSent(attempt: attempt.id, reason: reason))
            return false
        case .rateLimited:
            // Whoever says so may stand behind the work.
            await recordPause(attempt)
            return false
        case .invalid(let field, let message):
            let refusal = Refusal(code: "params_validation", message: "\(field): \(message)")
            return await conclude(.refused(attempt: attempt.id, refusal: refusal), attempt)
        case .noAnswer, .unclear, .strange:
            await attempt.record(.silent(attempt: attempt.id, reason: error.summary))
            return false
        case .refused(let refusal) where refusal.saysAPaymentMayExist:
            await attempt.record(.silent(attempt: attempt.id, reason: error.summary))
            return await lookUp(attempt, believesNothing: false)
        case .refused(let refusal):
            let isSettled = await conclude(.refused(attempt: attempt.id, refusal: Refusal(refusal)), attempt)
            // After silence a refusal proves nothing about the request before it: look the payment up by our reference.
            return afterSilence ? await lookUp(attempt, believesNothing: true) : isSettled
        }
    }

    /// Records the gateway's word on making the payment. False where nothing is settled by it, or where the journal did
    /// not take it: the same request then brings the same word again, after a pause.
    private func conclude(_ event: Charge.Event, _ attempt: AttemptLink) async -> Bool {
        switch await attempt.record(event)?.phase {
        case .idle, .sending, .unanswered: false
        case .offered, .ended, nil: true
        }
    }

    /// Looks for a payment under our reference.
    /// - Parameter believesNothing: Whether an empty list means that no payment exists.
    private func lookUp(_ attempt: AttemptLink, believesNothing: Bool) async -> Bool {
        guard let way = way(to: attempt) else {
            await recordElsewhere(attempt)
            return false
        }
        do throws(MerchantError) {
            let query = PaymentQuery(reference: attempt.terms.reference(on: rail), limit: 2)
            let page = try await exchange(for: attempt, way) { () throws(MerchantError) in
                try await way.merchant.payments(query)
            }
            guard let found = page.payments.first(where: { $0.reference == attempt.terms.reference(on: rail) }) else {
                if believesNothing { return await conclude(.notFound(attempt: attempt.id), attempt) }
                await attempt.record(.silent(attempt: attempt.id, reason: Self.notListed))
                return false
            }
            let facts = PaymentFacts(merchantID: found.merchantID, amount: found.amount)
            if let what = facts.contradiction(to: found.paymentID.rawValue, of: attempt.terms, on: rail) {
                let reason = "the gateway has a payment under this charge's reference that does not fit: \(what)"
                await attempt.record(.silent(attempt: attempt.id, reason: reason))
                return false
            }
            // Its link is not known, so nobody can be shown it: it is offered only to be asked about and taken back.
            let offer = Offer(paymentID: found.paymentID.rawValue, link: nil, expiresAt: nil)
            return await conclude(.offered(attempt: attempt.id, offer: offer), attempt)
        } catch {
            await recordSilence(error, attempt)
            return false
        }
    }

    /// One question about the payment. The pace the gateway asks for, or nil when it gave no usable answer.
    private func question(_ offer: Offer, _ attempt: AttemptLink, waitingUpTo wait: Duration?) async -> Duration? {
        guard let way = way(to: attempt), let payment = PaymentID(offer.paymentID) else {
            await recordElsewhere(attempt)
            return nil
        }
        do throws(MerchantError) {
            let answer = try await exchange(for: attempt, way) { () throws(MerchantError) in
                try await way.merchant.status(of: payment, waitingUpTo: wait)
            }
            let report = answer.report(of: offer.paymentID, for: attempt.terms, on: rail)
            await attempt.record(.reported(attempt: attempt.id, report: report))
            return max(answer.pollAfter ?? Self.pace, Self.shortestPace)
        } catch {
            await recordSilence(error, attempt)
            return nil
        }
    }

    /// One request to take the payment back.
    private func cancel(_ offer: Offer, _ attempt: AttemptLink) async {
        guard let way = way(to: attempt), let payment = PaymentID(offer.paymentID) else {
            await recordElsewhere(attempt)
            return
        }
        do throws(MerchantError) {
            let answer = try await exchange(for: attempt, way) { () throws(MerchantError) in
                try await way.merchant.cancel(payment)
            }
            await attempt.record(
                .reported(attempt: attempt.id, report: Report(answer, offer.paymentID, nil, nil))
            )
        } catch {
            guard case .refused = error else {
                await recordSilence(error, attempt)
                return
            }
            // Refused: too late to take it back, or already over. The status says which.
            _ = await question(offer, attempt, waitingUpTo: nil)
        }
    }

    /// One exchange. What it says about the gateway is told, and a pause that the gateway asks for is everybody's.
    private func exchange<Value>(
        for attempt: AttemptLink,
        _ way: Way,
        _ call: () async throws(MerchantError) -> Value
    ) async throws(MerchantError) -> Value {
        do throws(MerchantError) {
            let value = try await call()
            if way.isInForce { await attempt.hear(.ready) }
            return value
        } catch {
            if case .rateLimited(let pause?) = error { await pace.pause(attempt.terms.gatewayURL, for: pause) }
            // A question that the terminal has cut short says nothing about who was to answer it.
            if way.isInForce, !Task.isCancelled { await attempt.hear(error.light(at: clock.wallTime())) }
            throw error
        }
    }

    // MARK: - Where it was made

    /// How an attempt's gateway is asked as the merchant that its payment was made for.
    private struct Way {
        let merchant: MerchantClient
        /// Whether the settings in force name it: only then its answers say something about the next charge.
        let isInForce: Bool
    }

    /// The way to the place of an attempt's payment; nil where the terminal has no key for it. Another gateway, or the same
    /// one asked as another merchant, knows nothing of the payment's ID.
    private func way(to attempt: AttemptLink) -> Way? { way(to: attempt.terms) }

    private func way(to terms: ChargeTerms) -> Way? {
        guard let made = terms.place else { return nil }
        if made == place { return Way(merchant: merchant, isInForce: true) }
        return earlier[made].map { Way(merchant: $0, isInForce: false) }
    }

    // MARK: - Why nobody answers

    private func recordElsewhere(_ attempt: AttemptLink) async {
        await attempt.record(.silent(attempt: attempt.id, reason: Self.elsewhere), because: .elsewhere)
    }

    private func recordPause(_ attempt: AttemptLink) async {
        await attempt.record(
            .silent(attempt: attempt.id, reason: Self.paused),
            because: await pauseOfGateway(attempt)
        )
    }

    private func recordSilence(_ error: MerchantError, _ attempt: AttemptLink) async {
        var hindrance: AskingHindrance?
        switch error {
        case .rateLimited: hindrance = await pauseOfGateway(attempt)
        case .refused(let refusal) where ChargeDesk.isAboutCredentials(refusal.code): hindrance = .refused
        default: break
        }
        await attempt.record(.silent(attempt: attempt.id, reason: error.summary), because: hindrance)
    }

    /// The pause that the attempt's gateway asked for; nil where it named none.
    private func pauseOfGateway(_ attempt: AttemptLink) async -> AskingHindrance? {
        let left = await pace.remaining(attempt.terms.gatewayURL)
        return left > .zero ? .paused(until: clock.wallTime().advanced(by: left)) : nil
    }

    private static let paused = "the gateway asks for fewer requests"
    private static let notListed = "the gateway lists no payment, but one may still be made"
    private static let overdue = "the time to pay is over, so that no payment is made any more"
    private static let elsewhere = "the settings name another gateway or merchant than the one this payment was made at"
}

extension Attempt {
    /// What proves that it was paid.
    fileprivate var evidence: Evidence? {
        if case .ended(.succeeded(let evidence), _) = phase { evidence } else { nil }
    }

    /// Whether a question could bring news: of everything open, and of what ended without money although somebody could
    /// have paid it at the last moment.
    var isWorthAsking: Bool {
        switch phase {
        case .idle, .sending, .unanswered, .offered: true
        case .ended(.expired, let offer), .ended(.cancelled, let offer): offer != nil
        case .ended(.notFound, _): true
        case .ended(.succeeded, _), .ended(.failed, _), .ended(.refused, _), .ended(.neverSent, _): false
        }
    }
}

/// Growing gaps after answers that did not come: 1, 2, 4, 8, then 10 seconds.
private struct Backoff {
    private var gap = Duration.seconds(1)

    mutating func next() -> Duration {
        defer { gap = min(gap * 2, .seconds(10)) }
        return gap
    }
}

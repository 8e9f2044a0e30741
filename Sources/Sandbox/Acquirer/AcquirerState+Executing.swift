import Acquirer
import Payments
import TapProtocol

/// Executing: one claim of a payment that has not failed, and the same answer however often it is asked for.
///
/// Source: BPP/1, section 14, rule R5, and section 16.
extension AcquirerState {
    /// What a bundle led to, now or before.
    struct Execution {
        let attempt: AcquirerPayment.Attempt
        let wasKnown: Bool
    }

    var bundleCheck: BundleCheck {
        BundleCheck(trusted: keyring.trusted, issuer: configuration.issuer, environment: configuration.environment)
    }

    /// Takes a bundle in.
    /// - Throws: Where it was not executed, and will not be.
    mutating func execute(
        _ bundle: ExecutionBundle,
        isClockSet: Bool = true,
        _ script: Script,
        at now: WallTime
    ) throws(AcquirerRefusal) -> Execution {
        let key = AcquirerPayment.Key(merchant: bundle.request.payload.merchantID, id: bundle.paymentID)
        if let payment = payments[key], let place = payment.place(of: bundle.acceptHash), !script.forgets {
            return Execution(attempt: payment.attempts[place], wasKnown: true)
        }
        try bundleCheck.check(bundle)
        guard merchant(key.merchant) != nil else { throw .bundle("P7") }
        try checkTurn(of: bundle, key, forgets: script.forgets)
        let judged = judge(bundle, key, isClockSet: isClockSet, script, at: now)
        return Execution(attempt: try carryOut(judged, bundle, key, at: now), wasKnown: false)
    }

    /// What faults say about how a call is worked on.
    struct Script: Sendable {
        /// R5 does not hold, as at an acquirer with a bug.
        var forgets = false
        var outcome: String?
    }

    /// Whether another accept may be executed now. Source: BPP/1, rule R5.
    private func checkTurn(
        of bundle: ExecutionBundle,
        _ key: AcquirerPayment.Key,
        forgets: Bool
    ) throws(AcquirerRefusal) {
        guard let payment = payments[key], !forgets else { return }
        if let request = payment.request, request.hash != bundle.request.hash {
            throw AcquirerRefusal(code: .paymentChanged)
        }
        if payment.isVoid { return }
        if payment.attempts.contains(where: { $0.word == .inProgress }) { throw AcquirerRefusal(code: .paymentBusy) }
        if payment.attempts.contains(where: { $0.word == .completed || $0.word == .cancelled }) {
            throw AcquirerRefusal(code: .paymentClosed)
        }
        let last = payment.attempts.map(\.number).max() ?? 0
        guard bundle.claim.payload.attempt > last else { throw AcquirerRefusal(code: .attemptTooLow) }
    }

    /// What is to become of a sound bundle.
    struct Judgement {
        var verdict = SyncAnswer.Verdict.settled
        /// Nil where it is to be paid.
        var decline: DeclineCode?
        var customer: String?
        var payer: AcquirerBooks.Account?
        var kind = "payment"
        var evidence: Signed<PaymentAcceptance>?
        /// Ends only later.
        var isSlow = false
        /// Never ends by itself.
        var isStuck = false
        var ordered: DeclineCode?
    }

    private mutating func judge(
        _ bundle: ExecutionBundle,
        _ key: AcquirerPayment.Key,
        isClockSet: Bool,
        _ script: Script,
        at now: WallTime
    ) -> Judgement {
        var judged = Judgement()
        judged.customer = passes[bundle.pass.payload.passID]?.customer
        if payments[key]?.isVoid == true {
            judged.verdict = .cancelled
            return judged
        }
        let claimedAt = claimTime(bundle, isClockSet: isClockSet, at: now)
        judgeTime(bundle, claimedAt, &judged, at: now)
        guard judged.decline == nil else { return judged }
        if bundle.accept.payload.spend != nil {
            judgeSpend(bundle, claimedAt, &judged, at: now)
        } else {
            judgeOnline(bundle, key, &judged)
        }
        guard judged.decline == nil else { return judged }
        let ordered: DeclineCode? =
            switch script.outcome {
            case "failed": .insufficientFunds
            case "declined_user": .passSpent
            case "expired": .tooLate
            default: nil
            }
        judged.isStuck = script.outcome == "stuck"
        judged.isSlow = judged.isStuck || configuration.settleAfter != .zero
        if judged.isSlow { judged.ordered = ordered } else { judged.decline = ordered }
        return judged
    }

    /// When the terminal claimed, as far as its word is taken: never after now, and now where it did not know the time.
    private func claimTime(_ bundle: ExecutionBundle, isClockSet: Bool, at now: WallTime) -> WallTime {
        let claimed = WallTime(millisecondsSince1970: Int64(BundleCheck.claimedAt(bundle)))
        return isClockSet ? min(claimed, now) : now
    }

    private func judgeTime(
        _ bundle: ExecutionBundle,
        _ claimedAt: WallTime,
        _ judged: inout Judgement,
        at now: WallTime
    ) {
        let isOffline = bundle.claim.payload.mode == .offline
        let denied = [
            deniedTerminals[bundle.certificate.payload.terminalID], deniedCertificates[bundle.certificate.hash],
        ].compactMap { $0 }.min()
        if let denied, !isOffline || denied <= claimedAt {
            (judged.verdict, judged.decline) = (.revoked, .terminalDenied)
            return
        }
        let age = claimedAt.duration(to: now)
        guard isOffline else {
            if age > configuration.bundleWindow { (judged.verdict, judged.decline) = (.expired, .tooLate) }
            return
        }
        let passEnd = Int64(bundle.pass.payload.notAfterSeconds + RequestCheck.graceSeconds) * 1000
        if age > configuration.settlementWindow || claimedAt.millisecondsSince1970 > passEnd {
            (judged.verdict, judged.decline) = (.expired, .tooLate)
        } else if age > configuration.promptSync {
            judged.verdict = .late
        }
    }

    private mutating func judgeOnline(
        _ bundle: ExecutionBundle,
        _ key: AcquirerPayment.Key,
        _ judged: inout Judgement
    ) {
        let id = bundle.pass.payload.passID
        guard let pass = passes[id], pass.hold == nil, pass.usedFor == nil || pass.usedFor == key,
            blockedDevices[bundle.pass.payload.deviceKey] == nil
        else {
            (judged.verdict, judged.decline) = (.revoked, .passSpent)
            return
        }
        passes[id]?.usedFor = key
        let accept = bundle.accept.payload
        guard let customer = customer(pass.customer),
            instruments(of: customer).contains(where: { $0.id.utf8.elementsEqual(accept.instrumentID.utf8) })
        else {
            judged.decline = .unknownInstrument
            return
        }
        judged.payer = .instrument(accept.instrumentID)
        if books.balance(.instrument(accept.instrumentID), accept.currency) < accept.total {
            judged.decline = .insufficientFunds
        }
    }

    // MARK: - Carrying out

    /// Moves the money, and remembers the attempt with its receipt.
    private mutating func carryOut(
        _ judged: Judgement,
        _ bundle: ExecutionBundle,
        _ key: AcquirerPayment.Key,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerPayment.Attempt {
        var attempt = AcquirerPayment.Attempt(
            number: bundle.claim.payload.attempt,
            accept: bundle.accept,
            customer: judged.customer,
            word: judged.verdict == .cancelled ? .cancelled : judged.decline == nil ? .inProgress : .failed,
            verdict: judged.verdict,
            declineCode: judged.decline?.rawValue,
            evidence: judged.evidence,
            ordered: judged.ordered
        )
        if attempt.word == .inProgress, let payer = judged.payer {
            attempt.payer = payer
            let accept = bundle.accept.payload
            books.move(
                judged.kind,
                accept.total,
                accept.currency,
                from: payer,
                to: .clearing,
                payment: key.id.description,
                at: now.millisecondsSince1970
            )
            if case .hold(let id) = payer { holds[id]?.spent += accept.total }
        } else {
            attempt.receipt = try receipt(for: attempt, bundle.request, at: now)
        }
        update(key, at: now) { payment in
            payment.request = bundle.request
            payment.attempts.append(attempt)
        }
        guard attempt.word == .inProgress else { return attempt }
        if !judged.isSlow {
            settle(key, attempt.accept.hash, at: now)
        } else if !judged.isStuck, let wait = configuration.settleAfter {
            schedule(.settlement(key, attempt.accept.hash), at: now.advanced(by: wait))
        }
        return payments[key]?.attempts.last ?? attempt
    }

    /// Ends an attempt that is in progress. A second time nothing happens.
    mutating func settle(_ key: AcquirerPayment.Key, _ hash: ObjectHash, at now: WallTime) {
        guard var payment = payments[key], let request = payment.request,
            let place = payment.attempts.firstIndex(where: { $0.accept.hash == hash && $0.word == .inProgress }),
            let payer = payment.attempts[place].payer
        else { return }
        let accept = payment.attempts[place].accept.payload
        let isPaid = payment.attempts[place].ordered == nil
        payment.attempts[place].word = isPaid ? .completed : .failed
        payment.attempts[place].declineCode = payment.attempts[place].ordered?.rawValue
        books.move(
            isPaid ? "settlement" : "return",
            accept.total,
            accept.currency,
            from: .clearing,
            to: isPaid ? .merchant(key.merchant) : payer,
            payment: key.id.description,
            at: now.millisecondsSince1970
        )
        if !isPaid {
            if case .hold(let id) = payer { holds[id]?.spent -= accept.total }
        }
        // Its parts were all read from signed objects, so it can be signed.
        payment.attempts[place].receipt = try? receipt(for: payment.attempts[place], request, at: now)
        payment.updatedAt = now
        payments[key] = payment
    }

    func receipt(
        for attempt: AcquirerPayment.Attempt,
        _ request: Signed<PaymentRequest>,
        at now: WallTime
    ) throws(AcquirerRefusal) -> Signed<PaymentReceipt> {
        let isPaid = attempt.word == .completed
        let number = attempt.accept.hash.bytes.prefix(3).reduce(0) { $0 << 8 | Int($1) } % 1_000_000
        let code = String(repeating: "0", count: 6 - String(number).utf8.count) + String(number)
        return try keyring.signed(
            PaymentReceipt(
                status: attempt.word.status,
                request: request,
                accept: attempt.accept,
                instrument: display(of: attempt),
                authorizationCode: isPaid ? code : nil,
                transactionID: isPaid ? "tx-" + hex(attempt.accept.hash.bytes.prefix(8)) : nil,
                executedAtMilliseconds: Int(now.millisecondsSince1970),
                declineCode: attempt.declineCode
            )
        )
    }

    // MARK: - Voiding

    /// Gives a payment back, or closes its name.
    /// - Returns: The attempt that was paid back; nil where none was.
    mutating func void(
        _ key: AcquirerPayment.Key,
        at now: WallTime
    ) throws(AcquirerRefusal) -> AcquirerPayment.Attempt? {
        if let payment = payments[key] {
            if payment.isVoid { return payment.givenBack }
            if payment.attempts.contains(where: { $0.word == .inProgress }) {
                throw AcquirerRefusal(code: .paymentBusy)
            }
        }
        update(key, at: now) { $0.isVoid = true }
        guard var payment = payments[key], let request = payment.request,
            let place = payment.attempts.firstIndex(where: { $0.word == .completed })
        else { return nil }
        let accept = payment.attempts[place].accept.payload
        payment.attempts[place].word = .cancelled
        payment.attempts[place].receipt = try receipt(for: payment.attempts[place], request, at: now)
        payments[key] = payment
        // What a hold was drawn from goes back to the instrument behind it: the voucher's chain counts it as spent.
        let owner: AcquirerBooks.Account =
            payment.attempts[place].payer == .acquirer ? .acquirer : .instrument(accept.instrumentID)
        books.move(
            "void",
            accept.total,
            accept.currency,
            from: .merchant(key.merchant),
            to: owner,
            payment: key.id.description,
            at: now.millisecondsSince1970
        )
        return payment.attempts[place]
    }
}

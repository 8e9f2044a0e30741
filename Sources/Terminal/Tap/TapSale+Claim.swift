import Logging
import Payments
import TapProtocol

/// How an accept that has passed its checks gets its claim.
extension TapSale {
    /// What an accept needs next.
    enum ClaimStep: Sendable {
        /// The charge's word.
        case ask
        /// The same, after a pause: nothing has been promised.
        case again
        /// Another way to pay the charge is being taken back.
        case wait
        case nothing
    }

    /// Asks the charge whether this accept may move money; may take as long as another way to pay needs to be taken back.
    func askForClaim(_ step: ClaimStep) async {
        if step == .again {
            // Cancelled: the accept is asked for again.
            do { try await clock.sleep(.seconds(2)) } catch { return }
        }
        guard let pending else { return }
        var next = step
        if step != .wait {
            // Outside the turn: other phones do not wait for the network.
            let isOnline = await tools.host.confirmOnline()
            await turn.enter()
            next = await claimNow(pending, isOnline: isOnline)
            turn.leave()
        }
        if next == .wait {
            let answer = await attempt.claim(tipMinorUnits: Int64(pending.accept.payload.tip))
            // That may have taken minutes: network, clock and limits are what they are now.
            let isOnline = answer == .granted ? await tools.host.confirmOnline() : pending.judged.isTerminalOnline
            next = await decide(pending, answer, isOnline: isOnline)
        }
        if next == .again { jobs.continuation.yield(.claim(.again)) }
    }

    /// Where nothing has to be taken back first, the charge's word, the claim and what it means are on disk in one step. Only
    /// within the turn.
    func claimNow(_ pending: Pending, isOnline: Bool) async -> ClaimStep {
        // Nothing is taken back for an accept that nobody could carry out.
        guard isStill(pending), let mode = await possibleMode(of: pending, isOnline: isOnline) else { return .nothing }
        guard let claim = signed(pending, mode, isOnline: isOnline) else { return .again }
        let told = AsyncStream.makeStream(of: Never.self)
        defer { told.continuation.finish() }
        let records = ClaimRecords(
            notes: tools.archive.notes(claim.records, of: name, spend: spend(of: claim.records)),
            following: mode == .online
                ? .reported(attempt: attempt.id, report: .processing) : .promised(attempt: attempt.id),
            isTold: told.stream
        )
        let tip = Int64(pending.accept.payload.tip)
        guard let (answer, isKept) = await attempt.claimNow(tipMinorUnits: tip, keeping: records) else { return .wait }
        if answer == .refused(.unrecorded), !pending.isSecondTry {
            self.pending?.isSecondTry = true
            return .again
        }
        return await follow(answer, pending, claim, isKept: isKept, telling: told.continuation)
    }

    private func decide(_ pending: Pending, _ answer: ClaimAnswer, isOnline: Bool) async -> ClaimStep {
        await turn.enter()
        defer { turn.leave() }
        guard isStill(pending) else { return .nothing }
        guard answer == .granted else { return await follow(answer, pending, nil) }
        guard let mode = await possibleMode(of: pending, isOnline: isOnline) else { return .nothing }
        guard let claim = signed(pending, mode, isOnline: isOnline) else { return .again }
        return await follow(answer, pending, claim)
    }

    /// The accept wins, or the charge does not want it: claim and winner are on disk before the phone hears of it.
    private func follow(
        _ answer: ClaimAnswer,
        _ pending: Pending,
        _ claim: SignedClaim?,
        isKept: Bool = false,
        telling: AsyncStream<Never>.Continuation? = nil
    ) async -> ClaimStep {
        switch answer {
        case .granted:
            guard let claim else { return .again }
            answering = acceptNumbers[pending.link] ?? 1
            defer { answering = nil }
            let event = TerminalPayment.Event.accept(pending.link, claim.verdict)
            guard await handle(event, with: claim.records, isKept: isKept, telling: telling) else { return .again }
            self.pending = nil
        case .refused(let refusal):
            self.pending = nil
            await drop(pending, refusal)
        }
        return .nothing
    }

    private struct SignedClaim {
        let records: [TapRecord]
        let verdict: TerminalPayment.AcceptVerdict
    }

    private func signed(_ pending: Pending, _ mode: PaymentClaim.Mode, isOnline: Bool) -> SignedClaim? {
        let claim: Signed<PaymentClaim>
        do throws(SigningFailure) {
            if let fresh = freshClaim(of: pending, mode) {
                claim = fresh
            } else {
                claim = try Signed(
                    signing: self.claim(of: pending.accept, mode),
                    with: tools.credentials.keys.signer
                )
            }
        } catch {
            tools.logger.error("a claim cannot be signed", metadata: ["error": "\(error.reason)"])
            return nil
        }
        let record: TapRecord =
            mode == .online
            ? .claimed(sid: pending.sid, claim, isTerminalOnline: isOnline)
            : .promised(sid: pending.sid, claim)
        return SignedClaim(
            records: [.accepted(sid: pending.sid, pending.accept, pending.pass), record],
            verdict: .valid(pending.accept.hash, mode, isTerminalOnline: isOnline)
        )
    }

    func claim(of accept: Signed<PaymentAcceptance>, _ mode: PaymentClaim.Mode) -> PaymentClaim {
        PaymentClaim(
            paymentID: name.payment,
            acceptHash: accept.hash,
            claimedAtMilliseconds: nowMilliseconds,
            attempt: machine.attempt,
            mode: mode
        )
    }

    /// The claim that was signed beside the checks, where it says what one would say now.
    private func freshClaim(of pending: Pending, _ mode: PaymentClaim.Mode) -> Signed<PaymentClaim>? {
        guard pending.judged.isFresh(clock.elapsed()), let claim = pending.judged.claim,
            claim.payload.mode == mode, claim.payload.attempt == machine.attempt
        else { return nil }
        return claim
    }

    /// How the accept is executed now; nil where nobody can, which its phone then hears. Only within the turn.
    private func possibleMode(of pending: Pending, isOnline: Bool) async -> PaymentClaim.Mode? {
        // Moments ago it passed on the same ground. Other payments change only what is left for vouchers.
        let judged = pending.judged
        if judged.isTerminalOnline == isOnline, pending.accept.payload.spend == nil, judged.isFresh(clock.elapsed()) {
            return judged.mode
        }
        do throws(AcceptanceRefusal) {
            return try await mode(of: pending.accept, pending.pass, isOnline: isOnline)
        } catch {
            self.pending = nil
            note(error)
            await refuse(pending, error.code)
            return nil
        }
    }

    /// Nothing was claimed, so nobody can execute: the payment stays open for another accept.
    private func refuse(_ pending: Pending, _ code: TapErrorCode) async {
        answering = acceptNumbers[pending.link]
        defer { answering = nil }
        await links[pending.link]?.allowSilence(false)
        await handle(.accept(pending.link, .invalid(pending.accept.hash, code)))
        if await attempt.current()?.claim != nil { await attempt.record(.claimDropped(attempt: attempt.id)) }
        await letOthersPay(than: pending.link)
        await tools.host.changed()
    }

    /// Where the accept still waits for its claim.
    private func isStill(_ pending: Pending) -> Bool {
        guard self.pending?.accept.hash == pending.accept.hash else { return false }
        guard machine.state == .open else {
            self.pending = nil
            return false
        }
        return true
    }

    /// The charge does not want this payment any more.
    func drop(_ pending: Pending, _ refusal: ClaimRefusal) async {
        switch refusal {
        case .over: await handle(.cancelRequested)
        case .beaten: await handle(.closedByRail)
        case .unrecorded:
            await links[pending.link]?.allowSilence(false)
            let number = acceptNumbers[pending.link]
            await links[pending.link]?.send(.error(name.payment, .backendUnreachable, text: nil), answering: number)
            await letOthersPay(than: pending.link)
        }
    }

    private func letOthersPay(than link: LinkID) async {
        for (other, way) in links where other != link {
            await way.allowSilence(false)
            await way.send(.reopen(name.payment, attempt: machine.attempt))
        }
        if isCancelWanted { await handle(.cancelRequested) }
    }
}

extension TapSale.Judgement {
    /// Moments ago: what it says holds still.
    fileprivate func isFresh(_ now: Duration) -> Bool { now - at < .seconds(2) }
}

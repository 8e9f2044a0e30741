import Logging
import Payments
import TapProtocol

/// How a sale's claim is carried out, and how its end is found out.
extension TapSale {
    /// Hands the bundle in and asks until somebody has said how it ended. Source: BPP/1, sections 12.1 and 15.
    func settle(_ number: Int, submits: Bool) async {
        let first: [Duration] = submits ? [.seconds(1), .seconds(2), .seconds(4)] : [.seconds(1)]
        var delays = first[...]
        var delay = Duration.seconds(4)
        var tries = 0
        while isSettling(number) {
            let pause = await askOnce(number, submits: submits && tries <= first.count)
            tries += 1
            guard isSettling(number) else { return }
            if let next = delays.popFirst() { delay = next } else { delay = min(delay * 2, .seconds(60)) }
            // The acquirer may ask to be asked soon. One that never has an answer is not asked so often for ever.
            let shortest = tries > 30 ? min(.seconds(2) * (tries - 30), .seconds(60)) : .milliseconds(200)
            do { try await clock.sleep(pause.map { max($0, shortest) } ?? delay) } catch { return }
        }
    }

    func isSettling(_ number: Int) -> Bool {
        guard machine.winner?.attempt == number, !Task.isCancelled else { return false }
        switch machine.state {
        case .claimed, .executing, .unknown: return true
        case .open, .done: return false
        }
    }

    /// One question about the claim, or one hand-in. How long the acquirer asks to be left alone, where it says so.
    @discardableResult
    func askOnce(_ number: Int, submits: Bool) async -> Duration? {
        defer { tellOthers() }
        guard let bundle = story.bundle, isSettling(number) else { return nil }
        guard let acquirer = tools.acquirer else {
            tellOthers()
            await attempt.record(
                .silent(
                    attempt: attempt.id,
                    reason: "the payment was made at another acquirer, or as another merchant, than what is set now"
                )
            )
            return .seconds(60)
        }
        async let answer = submits ? await acquirer.execute(bundle) : await standing(bundle, at: acquirer)
        tellOthers()
        let word = await answer
        if case .receipt = word {
            // The phone waits for its result, and nobody for the note that the acquirer is there.
            let pause = await take(word, number)
            await tools.host.note(word)
            return pause
        }
        await tools.host.note(word)
        guard case .refused(let code) = word else { return await take(word, number) }
        tools.logger.warning("the acquirer refuses the payment", metadata: ["code": "\(Reason.clean(code))"])
        let end = await endOfRefused(bundle, at: acquirer)
        await tools.host.note(end)
        return await take(end, number, refusal: code)
    }

    /// How the payment stands; one that the acquirer does not know is handed in within its time, and else made impossible.
    private func standing(_ bundle: TapBundle, at acquirer: any TapAcquirer) async -> TapWord {
        let word = await acquirer.status(of: name.payment)
        // A question that is refused says nothing of the payment, and takes nothing back.
        if case .refused(let code) = word { return .notNow(code: code, retryAfter: .seconds(30)) }
        guard word.knowsNothing(of: bundle) else { return word }
        let age = Duration.milliseconds(nowMilliseconds - bundle.claim.payload.claimedAtMilliseconds)
        return age < tools.timers.submission
            ? await acquirer.execute(bundle) : await acquirer.void(name.payment)
    }

    /// After a "no" for good to this bundle. What ends the payment is the acquirer's word that it can never be paid; where
    /// an earlier hand-in was paid, that counts and is not given back.
    private func endOfRefused(_ bundle: TapBundle, at acquirer: any TapAcquirer) async -> TapWord {
        let word = await acquirer.status(of: name.payment)
        return word.knowsNothing(of: bundle) ? await acquirer.void(name.payment) : word
    }

    private func take(_ word: TapWord, _ number: Int, refusal: String? = nil) async -> Duration? {
        await turn.enter()
        defer { turn.leave() }
        guard isSettling(number) else { return nil }
        switch word {
        case .receipt(let receipt):
            do throws(ReceiptRefusal) {
                let status = try receiptCheck.check(receipt, status: nil)
                if status == .cancelled, receipt.payload.transactionID == nil { refusalCode = refusal ?? refusalCode }
                await believe(receipt, status, .gateway)
            } catch {
                await handle(.submitted)
                tools.logger.error(
                    "the acquirer's receipt does not fit and is not booked",
                    metadata: ["payment": "\(name.payment)", "why": "\(error)"]
                )
            }
        case .inProgress(let pause):
            await handle(.submitted)
            return pause
        case .voided:
            refusalCode = refusal ?? refusalCode
            await handle(.voidConfirmed)
        case .notNow(_, let pause): return pause
        case .unknownPayment, .refused: break
        case .noAnswer(let reason), .unreachable(let reason):
            await attempt.record(.silent(attempt: attempt.id, reason: reason))
        }
        return nil
    }

    /// The acquirer's answer to a payment that was taken offline.
    func take(_ answer: TapSyncAnswer) async {
        await turn.enter()
        defer { turn.leave() }
        guard machine.state == .done(.acceptedOffline), answer.acceptHash == story.claim?.payload.acceptHash,
            answer.verdict != .waiting
        else { return }
        let settled = TapRecord.settled(answer.verdict, isPaid: answer.isPaid)
        if let receipt = answer.receipt, let status = try? receiptCheck.check(receipt, status: nil) {
            await handle(
                .receipt(.gateway, status, nowMilliseconds: nowMilliseconds),
                with: [settled, .receipt(receipt)]
            )
        } else if !answer.isPaid, answer.verdict != .settled, answer.verdict != .late {
            // No receipt, no money: the merchant's loss, and why.
            refusalCode = "offline_\(answer.verdict.rawValue)"
            await handle(.voidConfirmed, with: [settled])
        } else {
            tools.logger.error(
                "the acquirer's answer to a payment taken offline has no receipt that fits; it is asked again",
                metadata: ["payment": "\(name.payment)", "verdict": "\(answer.verdict.rawValue)"]
            )
        }
        await tools.host.queueChanged()
    }
}

extension TapWord {
    /// Whether the acquirer has nothing of this bundle: no payment, or only an earlier try that moved no money.
    fileprivate func knowsNothing(of bundle: TapBundle) -> Bool {
        switch self {
        case .unknownPayment: true
        case .receipt(let receipt):
            receipt.payload.status == .failed && receipt.payload.acceptHash != bundle.accept.hash
        case .inProgress, .voided, .refused, .notNow, .noAnswer, .unreachable: false
        }
    }
}

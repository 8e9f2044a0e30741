import Logging
import Payments
import TapProtocol

/// Rail 3: the phone's wallet signs, and the terminal asks the gateway for it. The gateway's payment is the one behind the
/// code on the screen, so the gateway itself sees to it that it is paid once. Source: BPP/1, extension W.
extension TapSale {
    /// One phone's wallet and how far it has come.
    struct WalletVisit {
        var exchange = WalletExchange()
        /// The number of the phone's last message, which the next answer names.
        var number = 0
        /// What the phone named first, to ask the gateway again.
        var accounts: [String] = []
        /// What the customer fills in before the chosen option can be paid.
        var form: CollectingForm?
        /// The link has fallen on which its orders left.
        var isCut = false

        /// What holds on the phone's next link: orders that have left may be signed by now.
        var afterItsLink: WalletVisit? {
            guard case .signing = exchange.state else { return nil }
            var left = self
            (left.isCut, left.form) = (true, nil)
            return left
        }
    }

    /// The gateway payment that this request offers; nil where it offers none.
    var gatewayPayment: String? {
        for case .walletOverTap(_, let payment) in story.request.payload.offeredRails { return payment }
        return nil
    }

    /// ACCOUNTS, CHOOSE or SIGNATURES.
    func takeWallet(_ body: TapBody, from link: LinkID) async {
        guard let gatewayPayment, tools.wallet != nil, machine.state == .open else {
            return _ = await handle(.unexpected(link))
        }
        if case .signatures(_, let option, let signatures) = body, walletWinner != nil, let claim = story.walletClaim,
            claim.payload.acceptHash
                == WalletClaim.hash(paymentID: name.payment, optionID: option, signatures: signatures)
        {
            // The same again, also over another link: the same claim.
            return await giveClaim(claim, to: link)
        }
        guard pending == nil, walletWinner == nil || walletWinner == link else { return await sayHold(link) }
        var visit = visits[link] ?? WalletVisit()
        if visit.isCut {
            // All but the signatures begins anew on a new link.
            if case .signatures = body { visit.isCut = false } else { visit = WalletVisit() }
        }
        guard visit.exchange.takes(body) else { return _ = await handle(.unexpected(link)) }
        visit.number = answering ?? 1
        visits[link] = visit
        switch (body, visit.exchange.state) {
        case (.accounts(_, let accounts), _):
            visits[link]?.accounts = accounts
            jobs.continuation.yield(.wallet(link, .options(accounts)))
        case (.choose, .chosen(let option)) where option.collectDataURL != nil: await showForm(of: option, for: link)
        case (.choose, .chosen(let option)):
            jobs.continuation.yield(.wallet(link, .actions(gatewayPayment, option.id)))
        case (.signatures(_, let option, let signatures), .signed):
            await claimForWallet(link, gatewayPayment, WalletSignatures(optionID: option, signatures))
        default: break
        }
    }

    func sayHold(_ link: LinkID) async {
        await links[link]?.allowSilence(true)
        await links[link]?.send(.hold(name.payment))
    }

    /// A question to the gateway, outside the turn: others do not wait for it.
    func perform(_ step: WalletStep, for link: LinkID) async {
        if case .follow = step { return await followWallet() }
        if case .form(let form) = step { return await awaitForm(form, for: link) }
        if case .confirm(let payment, let signed, let isFirst) = step {
            return await handIn(signed, payment, for: phone(link), isFirst: isFirst)
        }
        guard let gateway = tools.wallet else { return }
        switch step {
        case .options(let accounts):
            guard let shown = await paymentLink else { return await refuse(link, .declined, "payment_not_found") }
            switch await gateway.options(link: shown, accounts: accounts, for: phone(link)) {
            case .answer(let found):
                await answer(link, [.options(name.payment, found.options, expiresAtSeconds: found.expiresAtSeconds)])
            case .refused(let code): await refuse(link, .declined, code)
            case .unreachable(let why): await refuse(link, .backendUnreachable, why)
            }
        case .actions(let payment, let option):
            switch await gateway.actions(gatewayPayment: payment, optionID: option, for: phone(link)) {
            case .answer(let actions) where (1...16).contains(actions.count):
                await answer(
                    link,
                    actions.enumerated().map { index, action in
                        .sign(
                            SigningOrder(
                                paymentID: name.payment,
                                optionID: option,
                                index: index,
                                count: actions.count,
                                chainID: action.chainID,
                                method: action.method,
                                parameters: action.parameters
                            )
                        )
                    }
                )
            case .answer: await refuse(link, .declined, "no_actions")
            case .refused(let code): await refuse(link, .declined, code)
            case .unreachable(let why): await refuse(link, .backendUnreachable, why)
            }
        case .confirm, .follow, .form: break  // Above.
        }
    }

    /// How the gateway's client tells this phone from others.
    func phone(_ link: LinkID) -> TapWalletPhone { TapWalletPhone(payment: name.payment, link: link) }

    enum WalletStep: Sendable {
        case options([String])
        case actions(String, String)
        /// After a start it is not the first time, as far as anybody knows.
        case confirm(String, WalletSignatures, isFirst: Bool)
        /// Until the gateway has what the customer is asked for.
        case form(CollectingForm)
        /// Until the gateway's last word on its payment.
        case follow
    }

    /// The code's link, while its payment waits.
    var paymentLink: String? {
        get async {
            await attempt.charge()?.attempts.lazy.filter { $0.isOpen && $0.rail == .scan }.compactMap(\.offer?.link)
                .first
        }
    }

    func answer(_ link: LinkID, _ bodies: [TapBody]) async {
        await turn.enter()
        defer { turn.leave() }
        await say(bodies, to: link)
    }

    /// Only within the turn.
    func say(_ bodies: [TapBody], to link: LinkID) async {
        guard var visit = visits[link], walletWinner == nil, machine.state == .open else { return }
        for body in await fitting(bodies, link) {
            guard visit.exchange.takes(body) else { return }
            await links[link]?.send(body, answering: visit.number)
        }
        visits[link] = visit
    }

    func refuse(_ link: LinkID, _ code: TapErrorCode, _ text: String) async {
        await turn.enter()
        defer { turn.leave() }
        let number = visits.removeValue(forKey: link)?.number
        await links[link]?.send(
            .error(name.payment, code, text: WireText.sendable(text, limitBytes: 64)),
            answering: number
        )
    }

    // MARK: - The claim

    /// The signatures win: on disk before the phone hears of it and before the gateway gets them.
    private func claimForWallet(_ link: LinkID, _ payment: String, _ signed: WalletSignatures) async {
        guard walletWinner == nil else { return await sayHold(link) }
        let hash = WalletClaim.hash(
            paymentID: name.payment,
            optionID: signed.optionID,
            signatures: signed.signatures
        )
        let sid = story.sessions.first { $0.value == link }?.key ?? []
        guard let claim = walletClaim(for: hash), await keep([.walletClaimed(sid: sid, claim, signed)]) else {
            await links[link]?.send(.error(name.payment, .backendUnreachable, text: nil), answering: answering)
            return
        }
        await giveClaim(claim, to: link)
        jobs.continuation.yield(.wallet(link, .confirm(payment, signed, isFirst: true)))
    }

    /// The phone hears that it is the one, the others that they have to wait. The claim is on disk, and from now on the
    /// gateway's word is waited for.
    func giveClaim(_ claim: Signed<PaymentClaim>, to link: LinkID) async {
        walletWinner = link
        await links[link]?.allowSilence(true)
        await links[link]?.send(.claim(claim), answering: answering ?? 1)
        for other in links.keys where other != link { await sayHold(other) }
        jobs.continuation.yield(.wallet(link, .follow))
        await tools.host.changed()
    }

    /// A claim for what the gateway behind the code executes.
    func walletClaim(for hash: ObjectHash) -> Signed<PaymentClaim>? {
        let claim = PaymentClaim(
            paymentID: name.payment,
            acceptHash: hash,
            claimedAtMilliseconds: nowMilliseconds,
            attempt: machine.attempt,
            mode: .online
        )
        do throws(SigningFailure) { return try Signed(signing: claim, with: tools.credentials.keys.signer) } catch {
            tools.logger.error("a claim cannot be signed", metadata: ["error": "\(error.reason)"])
            return nil
        }
    }

    /// The gateway gets the signatures. Where it does not answer, its word on the payment counts, which is followed.
    ///
    /// After a start, or a try that got no answer, nobody knows whether it has them already: it takes the same ones once. Then it
    /// gets them as soon as it is reached, while the charge waits for them.
    private func handIn(_ signed: WalletSignatures, _ payment: String, for phone: TapWalletPhone, isFirst: Bool) async {
        // For certain it has not got them.
        var isUntouched = isFirst
        var isRepeated = !isFirst
        while true {
            if isRepeated, !(await isWanted(signed)) {
                if isUntouched { await walletLost("not_handed_in", signed) }
                return
            }
            (isRepeated, isWalletWithheld) = (true, false)
            var pause = Self.handInPause.lowerBound
            // After a start the way to the gateway comes a moment later, with the settings.
            let outcome = await tools.wallet?
                .confirm(
                    gatewayPayment: payment,
                    optionID: signed.optionID,
                    signatures: signed.signatures,
                    for: phone
                )
            switch outcome {
            case .succeeded(let transaction):
                await turn.enter()
                defer { turn.leave() }
                guard story.walletSignatures == signed else { return }
                walletTransaction = transaction
                return await tellWalletPaid()
            case .failed(let code): return await walletLost(code, signed)
            case .notSent(let reason) where isUntouched: return await walletLost(reason, signed)
            case .beaten(let code) where isUntouched: return await walletLost(code, signed, isBeaten: true)
            case .unclear where isUntouched: return
            case .later(_, let after):
                pause = min(max(pause, after ?? pause), Self.handInPause.upperBound)
                isWalletWithheld = isUntouched
            case .notSent, .beaten, .unclear, .again, nil: isUntouched = false
            }
            do { try await clock.sleep(pause) } catch { return }  // The terminal stops; the next run goes on.
        }
    }

    private static let handInPause = Duration.seconds(2)...Duration.seconds(60)

    /// Whether signatures that may have been handed in are to be once more: nobody has taken the charge back or gone on without
    /// it, and the gateway does not say that it has them.
    private func isWanted(_ signed: WalletSignatures) async -> Bool {
        guard isOpen, story.walletSignatures == signed, let charge = await attempt.charge() else { return false }
        return charge.holdsTerminal && !charge.isCancelRequested && charge.state != .processing
    }

    /// Waits for the gateway's last word on the code's payment, which is the wallet's too: paid, or without money. Goes on
    /// where another phone has got the place meanwhile.
    private func followWallet() async {
        guard !isWalletFollowed else { return }
        isWalletFollowed = true
        defer { isWalletFollowed = false }
        while walletWinner != nil, isOpen {
            if let scans = await attempt.charge()?.attempts.filter({ $0.rail == .scan }) {
                let isPaid = scans.contains { $0.ending.map(\.isPaid) == true }
                if isPaid, isWalletWithheld {
                    await walletLost("not_handed_in", isBeaten: true)
                } else if isPaid {
                    await turn.enter()
                    if walletWinner != nil { await handle(.closedByRail) }
                    turn.leave()
                } else if !scans.contains(where: \.isOpen) {
                    await walletLost("failed")
                } else {
                    await turn.enter()
                    await reportGateway(again: false)
                    turn.leave()
                }
            }
            do { try await clock.sleep(.seconds(1)) } catch { return }  // The terminal stops; the next run follows.
        }
    }

    /// The charge hears of this payment what it hears of the code's, for they are one at the gateway: where nobody says how
    /// that one stands, nobody says that this one waits. Only within the turn.
    /// - Parameter again: Also where the charge knows.
    func reportGateway(again: Bool) async {
        guard walletWinner != nil, isOpen, let charge = await attempt.charge(),
            let own = charge.attempt(attempt.id), own.isOpen
        else { return }
        let isSilent = charge.attempts.allSatisfy { $0.rail != .scan || !$0.isOpen || $0.isSilent }
        guard again || own.isSilent != isSilent else { return }
        let silence = "the gateway does not say what became of the phone's payment"
        await attempt.record(
            isSilent
                ? .silent(attempt: attempt.id, reason: silence)
                : .reported(attempt: attempt.id, report: .requiresAction)
        )
    }

    /// RESULT to the phone whose wallet paid; no receipt exists for it.
    func tellWalletPaid() async {
        // One whose link has fallen hears it when it is back.
        guard let walletWinner, let way = links[walletWinner], !isWalletTold else { return }
        isWalletTold = true
        if walletTransaction == nil { walletTransaction = await attempt.charge()?.evidence?.transactionID }
        await way.send(
            .result(name.payment, .completed, receipt: nil, transactionID: walletTransaction),
            isFinal: true
        )
    }

    /// - Parameters:
    ///   - signed: What the word is about; nil for whatever the gateway was to be paid with.
    ///   - isBeaten: The gateway says that somebody else pays.
    private func walletLost(_ code: String, _ signed: WalletSignatures? = nil, isBeaten: Bool = false) async {
        await turn.enter()
        defer { turn.leave() }
        guard let link = walletWinner, isOpen, signed == nil || signed == story.walletSignatures,
            await keep([.walletDropped])
        else { return }
        let isWithheld = isWalletWithheld
        (walletWinner, isWalletWithheld) = (nil, false)
        visits[link] = nil
        tools.logger.info("a wallet's payment failed", metadata: ["code": "\(Reason.clean(code))"])
        let isCancelled = await attempt.charge()?.isCancelRequested == true || isCancelWanted
        let isPaidElsewhere = await attempt.isBeaten(besides: isWithheld ? nil : .scan)
        if !isCancelled, isBeaten || isPaidElsewhere {
            await handle(.closedByRail)
            return
        }
        await links[link]?.send(.result(name.payment, .failed, receipt: nil, transactionID: nil))
        if isCancelled {
            await handle(.cancelRequested)
            return
        }
        for way in links.values {
            await way.allowSilence(false)
            await way.send(.reopen(name.payment, attempt: machine.attempt))
        }
        await tools.host.changed()
    }
}

extension Ending {
    fileprivate var isPaid: Bool { if case .succeeded = self { true } else { false } }
}

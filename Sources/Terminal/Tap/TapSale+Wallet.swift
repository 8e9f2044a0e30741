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
        guard pending == nil, walletWinner == nil || walletWinner == link else { return await sayHold(link) }
        var visit = visits[link] ?? WalletVisit()
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
            await claimForWallet(link, gatewayPayment, option, signatures)
        default: break
        }
    }

    func sayHold(_ link: LinkID) async {
        await links[link]?.allowSilence(true)
        await links[link]?.send(.hold(name.payment))
    }

    /// A question to the gateway, outside the turn: others do not wait for it.
    func perform(_ step: WalletStep, for link: LinkID) async {
        if case .follow = step { return await followWallet(link) }
        if case .form(let form) = step { return await awaitForm(form, for: link) }
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
        case .confirm(let payment, let option, let signatures):
            await end(
                await gateway.confirm(
                    gatewayPayment: payment,
                    optionID: option,
                    signatures: signatures,
                    for: phone(link)
                ),
                for: link
            )
        case .follow, .form: break  // Above.
        }
    }

    /// How the gateway's client tells this phone from others.
    func phone(_ link: LinkID) -> TapWalletPhone { TapWalletPhone(payment: name.payment, link: link) }

    enum WalletStep: Sendable {
        case options([String])
        case actions(String, String)
        case confirm(String, String, [String])
        /// Until the gateway has what the customer is asked for.
        case form(CollectingForm)
        /// After a start: only the gateway's word on its payment is left.
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
    private func claimForWallet(
        _ link: LinkID,
        _ payment: String,
        _ option: String,
        _ signatures: [String]
    ) async {
        guard walletWinner == nil else { return await sayHold(link) }
        let hash = WalletClaim.hash(paymentID: name.payment, optionID: option, signatures: signatures)
        let sid = story.sessions.first { $0.value == link }?.key ?? []
        guard let claim = walletClaim(for: hash), await keep([.walletClaimed(sid: sid, claim)]) else {
            await links[link]?.send(.error(name.payment, .backendUnreachable, text: nil), answering: answering)
            return
        }
        await giveClaim(claim, to: link)
        jobs.continuation.yield(.wallet(link, .confirm(payment, option, signatures)))
    }

    /// The phone hears that it is the one, the others that they have to wait. The claim is on disk.
    func giveClaim(_ claim: Signed<PaymentClaim>, to link: LinkID) async {
        walletWinner = link
        await links[link]?.allowSilence(true)
        await links[link]?.send(.claim(claim), answering: answering ?? 1)
        for other in links.keys where other != link { await sayHold(other) }
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

    /// The gateway's answer to the signatures; where it is none, its word on the payment, which the code's rail follows.
    private func end(_ outcome: TapWalletOutcome, for link: LinkID) async {
        switch outcome {
        case .succeeded(let transaction):
            await turn.enter()
            defer { turn.leave() }
            walletTransaction = transaction
            await tellWalletPaid()
        case .failed(let code): await walletLost(code)
        case .unclear: await followWallet(link)
        }
    }

    /// Waits for the gateway's last word on the code's payment, which is this wallet's too: paid, or without money.
    private func followWallet(_ link: LinkID) async {
        guard !isWalletFollowed else { return }
        isWalletFollowed = true
        defer { isWalletFollowed = false }
        while walletWinner == link, machine.state == .open {
            if let scans = await attempt.charge()?.attempts.filter({ $0.rail == .scan }) {
                if scans.contains(where: { $0.ending.map(\.isPaid) == true }) {
                    await turn.enter()
                    if walletWinner == link { await handle(.closedByRail) }
                    turn.leave()
                } else if !scans.contains(where: \.isOpen) {
                    await walletLost("failed")
                }
            }
            do { try await clock.sleep(.seconds(1)) } catch { return }  // The terminal stops; the next run follows.
        }
    }

    /// RESULT to the phone whose wallet paid; no receipt exists for it.
    func tellWalletPaid() async {
        guard let walletWinner, !isWalletTold else { return }
        isWalletTold = true
        if walletTransaction == nil { walletTransaction = await attempt.charge()?.evidence?.transactionID }
        await links[walletWinner]?.send(
            .result(name.payment, .completed, receipt: nil, transactionID: walletTransaction),
            isFinal: true
        )
    }

    private func walletLost(_ code: String) async {
        await turn.enter()
        defer { turn.leave() }
        guard let link = walletWinner, machine.state == .open, await keep([.walletDropped]) else { return }
        walletWinner = nil
        visits[link] = nil
        tools.logger.info("a wallet's payment failed", metadata: ["code": "\(Reason.clean(code))"])
        await links[link]?.send(.result(name.payment, .failed, receipt: nil, transactionID: nil))
        if await attempt.charge()?.isCancelRequested == true || isCancelWanted {
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

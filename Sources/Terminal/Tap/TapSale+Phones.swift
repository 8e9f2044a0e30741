import Logging
import Payments
import TapProtocol

/// What phones say to a sale.
extension TapSale {
    /// A phone has said HELLO. What to offer it; nil where it is not to be asked.
    func admit(_ hello: Hello, _ way: TapLink) async -> TerminalOffer? {
        await turn.enter()
        defer { turn.leave() }
        let link = story.link(of: hello.sessionID)
        // Names of sessions can be copied: who is there already keeps the place.
        guard links[link] == nil, !story.declined.contains(hello.sessionID) else { return nil }
        guard canOffer else { return nil }
        var actions = machine
        if actions.handle(.linkReady(link)) == [.close(link)] { return nil }
        links[link] = way
        answering = nil
        await handle(.linkReady(link))
        let isTaken = pending.map { $0.link != link } ?? walletWinner.map { $0 != link } ?? false
        if isTaken, isOpen {
            await way.allowSilence(true)
            await way.send(.hold(name.payment))
        }
        return TerminalOffer(
            certificate: story.certificate,
            request: story.request,
            timeSeconds: nowMilliseconds / 1000,
            capabilities: tools.wallet == nil ? nil : .runsGateway
        )
    }

    /// A request is shown only under the keys it was made under.
    private var canOffer: Bool { story.certificate.payload.staticKey == tools.credentials.keys.agreement.publicKey }

    /// Which link this is.
    private func name(of way: TapLink) -> LinkID? { links.first { $0.value === way }?.key }

    func ended(_ way: TapLink, because reason: String) async {
        await turn.enter()
        defer { turn.leave() }
        guard let link = name(of: way) else { return }
        links[link] = nil
        prompting.remove(link)
        visits[link] = visits[link]?.afterItsLink
        if walletWinner == link, !isWalletTold { await recover(link) }
        tools.logger.debug("link ended", metadata: ["payment": "\(name.payment)", "reason": "\(Reason.clean(reason))"])
        await handle(.linkLost(link))
        await tools.host.changed()
    }

    func refused(_ code: TapErrorCode, answering number: Int, by way: TapLink) async {
        await turn.enter()
        defer { turn.leave() }
        guard let link = name(of: way) else { return }
        answering = number
        await handle(code == .unknownType ? .unknownType(link) : .unexpected(link))
    }

    func received(_ message: TapMessage, by way: TapLink) async {
        await turn.enter()
        defer { turn.leave() }
        guard let link = name(of: way) else { return }
        answering = message.number
        defer { answering = nil }
        if let about = message.body.paymentID, about != name.payment {
            await way.send(.error(about, .notThisRequest, text: nil), answering: message.number)
            return
        }
        switch message.body {
        case .received(let notice):
            noteClock(notice)
            await handle(.phoneSpoke(link))
        case .keepAlive: await handle(.phoneSpoke(link))
        case .accept(let accept, let pass): await take(accept, pass, from: link)
        case .cancelledByPayer: await declined(link)
        case .result(_, let status, let receipt, _): await take(receipt, status, from: link)
        case .error(_, let code, _):
            tools.logger.info("a phone answers with an error", metadata: ["code": "\(code.rawValue)"])
            await handle(.errorFromPhone(link, code))
        case .bye: break  // The link's end follows.
        case .ping(let bytes): await way.send(.pong(bytes), answering: message.number)
        case .acknowledge, .pong: break
        case .accounts, .choose, .signatures: await takeWallet(message.body, from: link)
        case .request, .claim, .hold, .reopen, .otherPaid, .cancelledByTerminal, .options, .sign:
            await handle(.unexpected(link))
        }
    }

    /// A phone whose clock is far off cannot pay; which of the two is wrong, people must see.
    private func noteClock(_ notice: ReceivedNotice) {
        let skew = notice.timeSeconds - nowMilliseconds / 1000
        guard abs(skew) > 300 else { return }
        tools.logger.warning("the phone's clock differs", metadata: ["seconds": "\(skew)"])
    }

    private func declined(_ link: LinkID) async {
        if walletWinner == link, machine.state == .open {
            // Crossing: the claim came first.
            await links[link]?.send(.error(name.payment, .tooLateToCancel, text: nil), answering: answering)
            return
        }
        let sid = story.sessions.first { $0.value == link }?.key ?? []
        let isOpenToHim = machine.state == .open && pending?.link != link
        guard isOpenToHim || machine.winner?.link != link && pending?.link != link else {
            // Crossing: the accept came first. Where the charge is still being asked, the payer hears the claim next.
            if machine.state == .open {
                await links[link]?.send(.error(name.payment, .tooLateToCancel, text: nil), answering: answering)
            } else {
                await handle(.cancelledByPayer(link))
            }
            return
        }
        await handle(.cancelledByPayer(link), with: isOver ? [] : [.declined(sid: sid)])
    }

    // MARK: - Accepts

    private func take(
        _ accept: Signed<PaymentAcceptance>,
        _ pass: Signed<PaymentPass>,
        from link: LinkID
    ) async {
        if walletWinner != nil, machine.state == .open {
            if story.isLinkClaim, let claim = story.walletClaim, claim.payload.acceptHash == accept.hash {
                return await giveClaim(claim, to: link)
            }
            await links[link]?.allowSilence(true)
            await links[link]?.send(.hold(name.payment))
            return
        }
        if let pending, machine.state == .open {
            // The same again is answered with the claim; another one waits.
            if pending.accept.hash != accept.hash {
                await links[link]?.allowSilence(true)
                await links[link]?.send(.hold(name.payment))
            }
            return
        }
        let judged: Judgement
        var known: Bool?
        do throws(AcceptanceRefusal) {
            known = await tools.host.reachability()
            // What depends on the network is judged again before the claim, by a fresh word.
            judged = try await judge(accept, pass, isOnline: known ?? true)
        } catch {
            if machine.state == .open { note(error) }
            await handle(.accept(link, .invalid(accept.hash, error.code)))
            return
        }
        if accept.payload.railType == Self.linkRail { return await takeLink(accept, pass, from: link) }
        let sid = story.sessions.first { $0.value == link }?.key ?? []
        // Nothing follows from the accept before its claim: both are kept at once.
        let pending = Pending(link: link, sid: sid, accept: accept, pass: pass, judged: judged)
        self.pending = pending
        acceptNumbers[link] = answering
        var step = ClaimStep.ask
        // The network need not be asked, so nobody waits longer for it: the claim comes in the same turn.
        if let known { step = await claimNow(pending, isOnline: known) }
        guard step != .nothing else { return }
        await links[link]?.allowSilence(true)
        jobs.continuation.yield(.claim(step))
    }

    func mode(
        of accept: Signed<PaymentAcceptance>,
        _ pass: Signed<PaymentPass>,
        isOnline: Bool
    ) async throws(AcceptanceRefusal) -> PaymentClaim.Mode {
        try await check(for: accept, isOnline: isOnline).check(accept, pass: pass, nowMilliseconds: nowMilliseconds)
    }

    /// The same, with two cores where there are two: a phone waits, and most of it is cryptography.
    private func judge(
        _ accept: Signed<PaymentAcceptance>,
        _ pass: Signed<PaymentPass>,
        isOnline: Bool
    ) async throws(AcceptanceRefusal) -> Judgement {
        let check = await check(for: accept, isOnline: isOnline)
        let now = nowMilliseconds
        async let passed = Result { () throws(AcceptanceRefusal) in
            try check.checkPass(pass, of: accept, nowMilliseconds: now)
        }
        let judged = Result { () throws(AcceptanceRefusal) in
            try check.checkAccept(accept, pass: pass, nowMilliseconds: now)
        }
        // A voucher's claim is signed once its mode is known.
        let order = accept.payload.spend == nil ? claim(of: accept, .online) : nil
        let claim = order.flatMap { try? Signed(signing: $0, with: tools.credentials.keys.signer) }
        try await passed.get()
        return Judgement(mode: try judged.get(), isTerminalOnline: isOnline, at: clock.elapsed(), claim: claim)
    }

    private func check(for accept: Signed<PaymentAcceptance>, isOnline: Bool) async -> AcceptanceCheck {
        // Without a voucher its book says nothing.
        let vouchers = accept.payload.spend == nil ? VoucherBook.nothing : await tools.host.voucherBook()
        return AcceptanceCheck(
            trusted: tools.credentials.trusted,
            request: story.request,
            maximumTotal: story.certificate.payload.maximumAmount,
            isOpen: machine.state == .open,
            isTerminalOnline: isOnline,
            vouchers: vouchers
        )
    }

    func note(_ refusal: AcceptanceRefusal) {
        tools.logger.info(
            "an accept is refused",
            metadata: ["check": "\(refusal.check)", "code": "\(refusal.code.rawValue)"]
        )
    }

    // MARK: - Results

    private func take(_ receipt: Signed<PaymentReceipt>?, _ status: PaymentStatus, from link: LinkID) async {
        if receipt == nil, story.isLinkClaim, walletWinner == link, isOpen { return await takeLinkWord(status, link) }
        do throws(ReceiptRefusal) {
            let said = try receiptCheck.check(receipt, status: status)
            guard let receipt else { return }
            await believe(receipt, said, .phone(link))
        } catch {
            await handle(.receiptRefused(link))
        }
    }

    var receiptCheck: ReceiptCheck {
        ReceiptCheck(
            trusted: tools.credentials.trusted,
            issuer: story.certificate.payload.issuer,
            request: story.request,
            accept: story.claim == nil ? nil : story.accepted?.accept
        )
    }

    /// A receipt that has passed its check.
    func believe(
        _ receipt: Signed<PaymentReceipt>,
        _ status: PaymentStatus,
        _ source: TerminalPayment.ReceiptSource
    ) async {
        var records: [TapRecord] = story.receipt == receipt ? [] : [.receipt(receipt)]
        var isGivenBack = false
        if machine.state == .done(.completed), status != .completed {
            // What is paid ends only by its money's way back; no other word takes the place of its receipt.
            isGivenBack = receipt.payload.isMoneyThatCameBack
            if !isGivenBack { records = [] } else if !story.isGivenBack { records.append(.givenBack) }
        }
        let isKept = await handle(.receipt(source, status, nowMilliseconds: nowMilliseconds), with: records)
        if isGivenBack, isKept { await announce() }
    }
}

extension VoucherBook {
    fileprivate static let nothing = VoucherBook(
        floor: 0,
        merchantLimit: 0,
        lastOnlineMilliseconds: nil,
        isClockSet: false
    )
}

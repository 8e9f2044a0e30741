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
        visits[link] = nil
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
            await handle(.errorFromPhone(link))
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
        do throws(AcceptanceRefusal) {
            // What depends on the network is judged again before the claim, by a fresh word.
            let isOnline = await tools.host.reachability() ?? true
            let mode = try await mode(of: accept, pass, isOnline: isOnline)
            judged = Judgement(mode: mode, isTerminalOnline: isOnline, at: clock.elapsed())
        } catch {
            if machine.state == .open { note(error) }
            await handle(.accept(link, .invalid(accept.hash, error.code)))
            return
        }
        if accept.payload.railType == Self.linkRail { return await takeLink(accept, pass, from: link) }
        let sid = story.sessions.first { $0.value == link }?.key ?? []
        // Nothing follows from the accept before its claim: both are kept at once.
        pending = Pending(link: link, sid: sid, accept: accept, pass: pass, judged: judged)
        acceptNumbers[link] = answering
        await links[link]?.allowSilence(true)
        jobs.continuation.yield(.claim)
    }

    private func mode(
        of accept: Signed<PaymentAcceptance>,
        _ pass: Signed<PaymentPass>,
        isOnline: Bool
    ) async throws(AcceptanceRefusal) -> PaymentClaim.Mode {
        let check = AcceptanceCheck(
            trusted: tools.credentials.trusted,
            request: story.request,
            maximumTotal: story.certificate.payload.maximumAmount,
            isOpen: machine.state == .open,
            isTerminalOnline: isOnline,
            vouchers: await tools.host.voucherBook()
        )
        return try check.check(accept, pass: pass, nowMilliseconds: nowMilliseconds)
    }

    private func note(_ refusal: AcceptanceRefusal) {
        tools.logger.info(
            "an accept is refused",
            metadata: ["check": "\(refusal.check)", "code": "\(refusal.code.rawValue)"]
        )
    }

    // MARK: - The claim

    /// Asks the charge whether this accept may move money; may take as long as another way to pay needs to be taken back.
    func askForClaim() async {
        guard let pending else { return }
        // Outside the turn: other phones do not wait for the network.
        let isOnline = await tools.host.confirmOnline()
        // Nothing is taken back for an accept that nobody could carry out.
        guard await judge(pending, isOnline: isOnline) else { return }
        let answer = await attempt.claim(tipMinorUnits: Int64(pending.accept.payload.tip))
        // That may have taken minutes: network, clock and limits are what they are now.
        let isStillOnline = answer == .granted ? await tools.host.confirmOnline() : isOnline
        guard await decide(pending, answer, isOnline: isStillOnline) == .again else { return }
        // Nothing has been promised, and the charge's answer stays. Cancelled: the accept is asked for again.
        do { try await clock.sleep(.seconds(2)) } catch { return }
        jobs.continuation.yield(.claim)
    }

    /// Whether somebody could execute the accept as things stand.
    private func judge(_ pending: Pending, isOnline: Bool) async -> Bool {
        await turn.enter()
        defer { turn.leave() }
        guard isStill(pending) else { return false }
        return await possibleMode(of: pending, isOnline: isOnline) != nil
    }

    /// How the accept is executed now; nil where nobody can, which its phone then hears. Only within the turn.
    private func possibleMode(of pending: Pending, isOnline: Bool) async -> PaymentClaim.Mode? {
        // Moments ago it passed on the same ground. Other payments change only what is left for vouchers.
        let judged = pending.judged
        if judged.isTerminalOnline == isOnline, pending.accept.payload.spend == nil,
            clock.elapsed() - judged.at < .seconds(2)
        {
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

    private enum Next { case again, nothing }

    private func decide(_ pending: Pending, _ answer: ClaimAnswer, isOnline: Bool) async -> Next {
        await turn.enter()
        defer { turn.leave() }
        guard isStill(pending) else { return .nothing }
        switch answer {
        case .granted:
            guard let mode = await possibleMode(of: pending, isOnline: isOnline) else { return .nothing }
            guard await claim(pending, mode, isOnline: isOnline) else { return .again }
            self.pending = nil
        case .refused(let refusal):
            self.pending = nil
            await drop(pending, refusal)
        }
        return .nothing
    }

    /// The accept wins: claim and winner are on disk before the phone hears of it.
    private func claim(_ pending: Pending, _ mode: PaymentClaim.Mode, isOnline: Bool) async -> Bool {
        let claim: Signed<PaymentClaim>
        do throws(SigningFailure) {
            claim = try Signed(
                signing: PaymentClaim(
                    paymentID: name.payment,
                    acceptHash: pending.accept.hash,
                    claimedAtMilliseconds: nowMilliseconds,
                    attempt: machine.attempt,
                    mode: mode
                ),
                with: tools.credentials.keys.signer
            )
        } catch {
            tools.logger.error("a claim cannot be signed", metadata: ["error": "\(error.reason)"])
            return false
        }
        answering = acceptNumbers[pending.link] ?? 1
        defer { answering = nil }
        let record: TapRecord =
            mode == .online
            ? .claimed(sid: pending.sid, claim, isTerminalOnline: isOnline)
            : .promised(sid: pending.sid, claim)
        let accepted = TapRecord.accepted(sid: pending.sid, pending.accept, pending.pass)
        let verdict = TerminalPayment.AcceptVerdict.valid(pending.accept.hash, mode, isTerminalOnline: isOnline)
        return await handle(.accept(pending.link, verdict), with: [accepted, record])
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
        let isNews = story.receipt != receipt
        await handle(
            .receipt(source, status, nowMilliseconds: nowMilliseconds),
            with: isNews ? [.receipt(receipt)] : []
        )
    }
}

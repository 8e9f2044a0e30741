import TapProtocol

extension TapPhone {
    /// A whole message of a session: the handshake's answer first, then what is encrypted.
    func received(_ message: [UInt8], from central: String) {
        guard var session = sessions[central] else { return }
        guard session.isSecure else { return shakeHands(message, central) }
        guard comparisons[central] == nil else { return postpone(message, central) }
        let plain: [UInt8]
        do throws(SessionError) {
            plain = try session.open(message)
            sessions[central] = session
        } catch {
            sessions[central] = session
            return control(.closing, to: central)
        }
        do throws(MessageError) {
            let message = try TapMessage(decoding: plain, from: .terminal)
            guard accepts(message.number, central) else { return }
            guard !dies(.heard, message.body.type) else { return }
            log(.heard(message.body))
            heard(message, Source(central: central, number: message.number))
        } catch {
            switch error {
            case .malformed: malformed(central)
            case .unknownType(_, let number):
                guard accepts(number, central) else { return }
                send(.error(nil, .unknownType, text: nil), answering: number, to: central)
            case .wrongDirection(_, let number):
                guard accepts(number, central) else { return }
                send(.error(nil, .unexpected, text: nil), answering: number, to: central)
            }
        }
    }

    /// Numbers run 1, 2, 3 …: another one means that something was lost or made up.
    private func accepts(_ number: Int, _ central: String) -> Bool {
        guard sessions[central]?.acceptsNumber(number) == true else {
            malformed(central)
            return false
        }
        return true
    }

    private func malformed(_ central: String) {
        send(.error(nil, .malformed, text: nil), to: central)
        send(.bye(reason: TapErrorCode.malformed.rawValue), to: central)
        endSession(central, "a malformed message")
    }

    // MARK: The handshake

    private func shakeHands(_ message: [UInt8], _ central: String) {
        guard var session = sessions[central] else { return }
        let source = Source(central: central, isRequest: true)
        let payload: [UInt8]
        let key: [UInt8]
        do throws(SessionError) {
            (payload, key) = try session.finishHandshake(message)
            sessions[central] = session
        } catch {
            sessions[central] = session
            log(.handshakeFailed("\(error)"))
            return feed(.handshakeFailed, from: source)
        }
        guard let offer = try? TerminalOffer(decoding: payload) else {
            log(.handshakeFailed("its payload is malformed"))
            return feed(.requestRefused(.malformed), from: source)
        }
        do throws(RequestRefusal) {
            try requestCheck.check(offer.certificate, terminalKey: key, nowMilliseconds: now)
        } catch {
            log(.refused(error.check, error.code))
            return feed(.requestRefused(error.code), from: source)
        }
        sessions[central]?.terminal = (offer.certificate, key)
        sessions[central]?.terminalCapabilities = offer.capabilities ?? []
        if let request = offer.request { judge(request, source) }
    }

    private var requestCheck: RequestCheck {
        RequestCheck(
            trusted: memory.trusted,
            denied: memory.denied,
            environment: configuration.environment,
            tag: configuration.tag,
            closedPayments: memory.closedPayments
        )
    }

    /// A request, in the handshake or after it. One that is known already was judged when it came first: by now it may have
    /// ended, and what it left open must still be resumed.
    private func judge(_ request: Signed<PaymentRequest>, _ source: Source) {
        guard let terminal = sessions[source.central]?.terminal else { return }
        let known = memory.dossiers[request.payload.paymentID]
        if known?.request.hash != request.hash {
            do throws(RequestRefusal) {
                try requestCheck.check(
                    request,
                    of: terminal.certificate,
                    terminalKey: terminal.key,
                    nowMilliseconds: now
                )
            } catch {
                log(.refused(error.check, error.code))
                return feed(.requestRefused(error.code), from: source)
            }
            // Other bytes under a known name are another payment in disguise, also after its end.
            guard known == nil else {
                log(.refused(.p9, .requestInvalid))
                return feed(.requestRefused(.requestInvalid), from: source)
            }
            if isOnline, acquirer != nil, wouldShow(request.payload.paymentID) { return ask(about: request, source) }
        } else if known?.certificate.hash != terminal.certificate.hash {
            return feed(.requestRefused(.requestInvalid), from: source)
        }
        present(request, source)
    }

    /// A request that has passed every check goes to the machine, which shows it or says what became of it.
    private func present(_ request: Signed<PaymentRequest>, _ source: Source) {
        guard let terminal = sessions[source.central]?.terminal else { return }
        let known = memory.dossiers[request.payload.paymentID]
        // Another terminal's may have come first while this one was compared.
        guard known.map({ $0.request.hash == request.hash }) ?? true else {
            log(.refused(.p9, .requestInvalid))
            return feed(.requestRefused(.requestInvalid), from: source)
        }
        if known == nil {
            memory.dossiers[request.payload.paymentID] = PaymentDossier(
                certificate: terminal.certificate,
                request: request
            )
        }
        sessions[source.central]?.offer = request
        feed(.request(PhonePayment.Offer(request)), from: source)
        memory.tidy(nowMilliseconds: now)
    }

    // MARK: What the gateway holds

    /// Whether this request would come onto the screen; all others are answered at once.
    private func wouldShow(_ id: PaymentID) -> Bool {
        guard memory.payment.closed[id] == nil, memory.payment.watched[id] == nil else { return false }
        switch memory.payment.state {
        case .advertising, .linked: return true
        case .idle, .prompting, .held, .sent, .won, .ended: return false
        }
    }

    /// Asks the gateway what the terminal has announced, before anybody sees the request.
    private func ask(about request: Signed<PaymentRequest>, _ source: Source) {
        guard let session = sessions[source.central]?.number else { return }
        let comparison = Comparison(session: session, request: request, source: source)
        comparisons[source.central] = comparison
        deadlines[.comparison(source.central)] = now + configuration.timing.comparing.wholeMilliseconds
        begin(.compare(source.central, comparison))
    }

    func compare(_ comparison: Comparison, from central: String) async {
        guard !isDead, let acquirer else { return }
        let asked = comparison.request.payload
        var fits = true
        do throws(PhoneAcquirerError) {
            let held = try await acquirer.announcement(of: asked.paymentID)
            fits = held.map { $0 == PhoneAnnouncement(asked) } ?? true
        } catch {
            if !isDead { log(.gateway(error.description)) }
        }
        compared(comparison.session, from: central, fits: fits)
    }

    /// Shows the request, or refuses it. What the terminal said meanwhile comes after it, as it was sent.
    func compared(_ session: Int, from central: String, fits: Bool) {
        guard !isDead, let comparison = comparisons[central], comparison.session == session else { return }
        dropComparison(central)
        guard fits else {
            log(.gateway("holds another amount or merchant for this payment: it is not shown"))
            return feed(.requestRefused(.requestInvalid), from: comparison.source)
        }
        present(comparison.request, comparison.source)
        for message in comparison.waiting where sessions[central]?.isClosed == false {
            received(message, from: central)
        }
        arm()
    }

    /// A terminal has little to say before it is answered.
    private func postpone(_ message: [UInt8], _ central: String) {
        guard let count = comparisons[central]?.waiting.count, count < 16 else { return control(.closing, to: central) }
        comparisons[central]?.waiting.append(message)
    }

    func dropComparison(_ central: String) {
        comparisons[central] = nil
        deadlines[.comparison(central)] = nil
    }

    // MARK: Messages

    private func heard(_ message: TapMessage, _ source: Source) {
        let mine = sessions[source.central]?.offer?.payload.paymentID
        let id = message.body.paymentID
        switch message.body {
        case .request(let request):
            judge(request, Source(central: source.central, number: source.number, isRequest: true))
        case .ping(let bytes): send(.pong(bytes), answering: source.number, to: source.central)
        case .pong: break
        case .bye: endSession(source.central, "BYE")
        case .error(let about, let code, _):
            guard source.central == owner, about == nil || about == mine else {
                if code.ends == .link { endSession(source.central, "error \(code.text)") }
                return
            }
            heardError(code, source)
        // Somebody else's payment is nothing that this phone could lose.
        case .otherPaid where id != mine, .cancelledByTerminal where id != mine:
            if let id, let number = source.number {
                send(.acknowledge(id), answering: number, to: source.central)
            }
        case _ where id == nil || id != mine: unexpected(source)
        case .acknowledge:
            deadlines[.repeatResult] = nil
            feed(.acknowledged)
        case .claim(let claim): heard(claim, source)
        case .hold(let id): feed(.hold(id), from: source)
        case .reopen(let id, _): feed(.reopen(id), from: source)
        case .otherPaid(let id): feed(.otherPaid(id), from: source)
        case .cancelledByTerminal(let id, _): feed(.cancelledByTerminal(id), from: source)
        case .result(let id, let status, let receipt, let transaction):
            heardResult(id, status, receipt, transaction, source)
        case .options, .sign: heardWallet(message.body, source)
        default: unexpected(source)
        }
    }

    func unexpected(_ source: Source) {
        send(
            .error(sessions[source.central]?.offer?.payload.paymentID, .unexpected, text: nil),
            answering: source.number,
            to: source.central
        )
    }

    private func heardError(_ code: TapErrorCode, _ source: Source) {
        feed(.error(code), from: source)
        if code.ends == .link { endSession(source.central, "error \(code.text)") }
    }

    private func heard(_ claim: Signed<PaymentClaim>, _ source: Source) {
        let said = claim.payload
        guard let terminal = sessions[source.central]?.terminal, let dossier = memory.dossiers[said.paymentID],
            let last = dossier.attempts.last,
            (try? claim.verify(terminal.certificate.payload.requestKey)) != nil, isPossible(said.mode, for: last)
        else { return unexpected(source) }
        if case .sent(_, let hash) = memory.payment.state, hash == said.acceptHash, last.hash == hash {
            memory.dossiers[said.paymentID]?.attempts[dossier.attempts.count - 1].claim = claim
        }
        feed(
            .claim(said.paymentID, said.acceptHash, said.mode, isPhoneOnline: isOnline && !dossier.isWallet),
            from: source
        )
    }

    /// Without anybody online only a voucher pays, and this phone has said whether it is.
    private func isPossible(_ mode: PaymentClaim.Mode, for attempt: PaymentDossier.Attempt) -> Bool {
        guard mode == .offline else { return true }
        guard case .instrument(let accept, _) = attempt.means else { return false }
        return accept.payload.spend != nil && !accept.payload.flags.contains(.phoneOnline)
    }

    private func heardResult(
        _ id: PaymentID,
        _ status: PaymentStatus,
        _ receipt: Signed<PaymentReceipt>?,
        _ transaction: String?,
        _ source: Source
    ) {
        guard let dossier = memory.dossiers[id] else { return unexpected(source) }
        var verdict = PhonePayment.ReceiptVerdict.missing
        if let receipt {
            let finding = dossier.finding(of: receipt, status: status, trusted: memory.trusted)
            verdict = finding == .mine(status) ? .valid : .refused
            if verdict == .valid { memory.dossiers[id]?.receipt = receipt }
        } else if dossier.isWallet {
            // Nobody signs what becomes of a wallet's payment: it is shown as the terminal's word.
            verdict = .reported
            memory.dossiers[id]?.transactionID = transaction
            log(.reported(status, transaction: transaction))
        } else if dossier.agreedLink != nil, status == .completed || !dossier.isLinkSigned {
            // Without a signature nobody can have taken anything. With one only the gateway says that nothing was paid.
            verdict = .reported
            if let transaction { memory.dossiers[id]?.transactionID = transaction }
            log(.reported(status, transaction: transaction))
        }
        feed(.result(id, status, verdict), from: source)
    }
}

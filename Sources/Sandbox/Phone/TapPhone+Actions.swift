import TapProtocol

extension TapPhone {
    /// Shows the machine an event and does what it says, in the order in which it says it.
    func feed(_ event: PhonePayment.Event, from source: Source? = nil) {
        guard !isDead else { return }
        let ids = Set(memory.dossiers.keys)
        for action in memory.payment.handle(event) {
            guard !isDead else { return }
            perform(action, source)
        }
        guard !isDead else { return }
        settle(ids)
        arm()
    }

    private func perform(_ action: PhonePayment.Action, _ source: Source?) {
        switch action {
        case .store: save()
        // The voucher was committed and stored before the accept was signed: only so can the event name the accept's hash.
        case .commitVoucher: break
        case .advertise(let isNew):
            if isNew || memory.sessionName.isEmpty { memory.sessionName = Self.randomBytes(Hello.sessionNameBytes) }
            advertise(configuration.tag?.advertisedService ?? configuration.service)
        case .stopAdvertising:
            memory.sessionName = []
            advertise(nil)
        // READ has started it already: its bytes are the answer.
        case .startSession: break
        case .received(let state): sendReceived(state, source)
        case .prompt(let id): show(id)
        case .closePrompt:
            if prompt != nil { log(.screenClosed) }
            dropPrompt()
        case .disableAccept:
            prompt?.isEnabled = false
            deadlines[.answer] = nil
            log(.acceptDisabled)
        case .enableAccept: enableAccept()
        case .sendAccept: sendAccept()
        case .cancel(let id, let reason):
            log(.declined(id, reason))
            send(.cancelledByPayer(id, reason), to: source?.central ?? owner)
        case .acknowledge(let id):
            if let source, let number = source.number { send(.acknowledge(id), answering: number, to: source.central) }
        case .askGateway: startAsking()
        case .submit: startAsking(atOnce: true)
        case .result(let id, let status): sendResult(id, status, to: source?.central ?? owner, isFirst: true)
        case .refuse(let code): refuse(code, source)
        case .control(let code): if let source { control(code, to: source.central) }
        case .bye:
            guard let owner else { return }
            send(.bye(reason: 0), to: owner)
            endSession(owner, nil)
        case .hangUp: for (central, session) in sessions where !session.isClosed { hangUp(central, session) }
        case .tell(let notice): log(.notice(notice))
        }
    }

    private func advertise(_ service: ServiceUUID?) {
        advertising.yield(service)
        log(.advertising(service))
    }

    // MARK: Sending

    func send(_ body: TapBody, answering number: Int? = nil, to central: String?) {
        guard !isDead, let central, var session = sessions[central], !session.isClosed, session.isSecure else { return }
        let parcel = session.send(body, answering: number)
        sessions[central] = session
        log(.sent(body))
        if let parcel { post(parcel, session: session.number, to: central) }
    }

    /// Ends a session with a code in clear.
    func control(_ code: ControlCode, to central: String) {
        guard !isDead, var session = sessions[central] else { return }
        let parcel = session.control(code)
        sessions[central] = session
        if let parcel { post(parcel, session: session.number, to: central) }
        endSession(central, "control code \(code.rawValue) sent")
    }

    private func hangUp(_ central: String, _ session: PhoneSession) {
        guard session.isSecure else { return control(.closing, to: central) }
        send(.bye(reason: 0), to: central)
        endSession(central, nil)
    }

    private func refuse(_ code: TapErrorCode, _ source: Source?) {
        guard let source else { return }
        // One prompt at a time.
        if code == .busy { return control(.busy, to: source.central) }
        let id = memory.payment.current?.paymentID
        let isOwner = source.central == owner
        send(.error(isOwner ? id : nil, code, text: nil), answering: source.number, to: source.central)
        if code.ends == .link || (source.isRequest && !isOwner) {
            send(.bye(reason: code.rawValue), to: source.central)
            endSession(source.central, "refused with \(code.text)")
        }
    }

    private func sendReceived(_ state: ReceivedNotice.State, _ source: Source?) {
        guard let source, let offer = sessions[source.central]?.offer?.payload else { return }
        if memory.payment.current?.paymentID == offer.paymentID { take(source.central) }
        var capabilities: TapCapabilities = [.tipScreen, .wantsReceipts]
        if usableVoucher(offer.currency, offer.exponent) != nil { capabilities.insert(.voucher) }
        if configuration.wallet != nil { capabilities.insert(.walletAccounts) }
        if linkWallet != nil { capabilities.insert(.paymentLinks) }
        let notice = ReceivedNotice(
            paymentID: offer.paymentID,
            state: state,
            capabilities: capabilities,
            timeSeconds: now / 1000,
            isOnline: isOnline
        )
        send(.received(notice), answering: source.number, to: source.central)
    }

    /// The terminal behind this central is the one that is paid: a former link to it is no more.
    private func take(_ central: String) {
        if let owner, owner != central { sessions[owner]?.isClosed = true }
        owner = central
    }

    func sendResult(_ id: PaymentID, _ status: PaymentStatus, to central: String?, isFirst: Bool) {
        guard let central, sessions[central]?.offer?.payload.paymentID == id else { return }
        let dossier = memory.dossiers[id]
        send(
            .result(id, status, receipt: dossier?.receipt, transactionID: dossier?.transactionID),
            to: central
        )
        deadlines[.repeatResult] = isFirst ? now + configuration.timing.acknowledge.wholeMilliseconds : nil
    }

    /// The accept in storage, the same bytes each time.
    private func sendAccept(isFirst: Bool = true) {
        guard case .sent(let offer, let hash) = memory.payment.state, let dossier = memory.dossiers[offer.paymentID],
            let attempt = dossier.attempts.last, attempt.hash == hash
        else { return }
        switch attempt.means {
        case .instrument(let accept, let pass): send(.accept(accept, pass), to: owner)
        case .wallet(let option, let signatures, _):
            let number = owner.flatMap { sessions[$0]?.lastOrderNumber } ?? 0
            // In a session without orders there is nothing to answer: the first number stands for the request.
            send(
                .signatures(offer.paymentID, optionID: option, signatures),
                answering: max(1, number),
                to: owner
            )
        }
        deadlines[.resendAccept] = isFirst ? now + configuration.timing.claim.wholeMilliseconds : nil
        if isFirst, let regret = configuration.user.regretAfter { deadlines[.regret] = now + regret.wholeMilliseconds }
    }

    // MARK: Ends

    /// A session is over, whoever ended it. The payment stays as it is.
    func endSession(_ central: String, _ reason: String?) {
        guard sessions[central] != nil else { return }
        sessions[central]?.isClosed = true
        deadlines[.fragmentGap(central)] = nil
        deadlines[.sessionOver(central)] = nil
        dropComparison(central)
        if let reason { log(.linkEnded(reason)) }
        let isPayer = owner == central
        if isPayer { owner = nil }
        let isAlone = owner == nil && !sessions.values.contains { !$0.isClosed }
        if isPayer || (isAlone && memory.payment.state == .linked) {
            deadlines[.resendAccept] = nil
            feed(.linkLost)
        }
        settleTimers()
    }

    func forget(_ central: String) {
        endSession(central, "too many terminals")
        sessions[central] = nil
        subscriptions.removeValue(forKey: central)?.outbox.finish()
    }

    // MARK: After each event

    private func settle(_ before: Set<PaymentID>) {
        settleTimers()
        if !memory.payment.mayBeCharged { deadlines[.resendAccept] = nil }
        if case .won = memory.payment.state { deadlines[.resendAccept] = nil }
        if case .prompting = memory.payment.state {} else { deadlines[.answer] = nil }
        for id in before.union(memory.dossiers.keys) {
            guard let outcome = outcome(of: id), outcomes[id] != outcome else { continue }
            outcomes[id] = outcome
            log(.ended(id, outcome))
            let isLast = outcome != .unknown && (outcome != .acceptedOffline || configuration.backOnlineAfter == nil)
            if configuration.isOnce, isLast { finished = outcome }
            if outcome == .acceptedOffline { startSync() }
        }
        guard finished != nil, owner == nil else { return }
        switch memory.payment.state {
        case .prompting, .held, .sent, .won: break
        case .idle, .advertising, .linked, .ended: stop()
        }
    }

    /// Nil while the payment is under way.
    func outcome(of id: PaymentID) -> PhoneOutcome? {
        let payment = memory.payment
        switch payment.closed[id] {
        case .declined?: return .declined
        case .withdrawn?: return .notPaid
        case .final(.completed)?: return .paid
        case .final(.acceptedOffline)?: return .acceptedOffline
        case .final(.cancelled)?: return .notPaid
        case .final?: return .failed
        case nil: break
        }
        if payment.watched[id] != nil { return payment.current?.paymentID == id ? nil : .unknown }
        // It was watched, and the gateway can take its accept no more.
        if payment.current?.paymentID != id, outcomes[id] == .unknown { return .notPaid }
        return nil
    }

    private func settleTimers() {
        let timing = configuration.timing
        switch memory.payment.state {
        case .idle: clear(.advertisingOver, .keepAlive, .expiry, .closing)
        case .advertising, .linked:
            clear(.keepAlive, .expiry, .closing)
            if sessions.values.contains(where: { !$0.isClosed }) {
                clear(.advertisingOver)
            } else {
                set(.advertisingOver, timing.advertising)
            }
        case .prompting(let offer), .held(let offer):
            clear(.advertisingOver, .closing)
            deadlines[.expiry] = offer.expiresAtMilliseconds
            if owner != nil { set(.keepAlive, timing.keepAlive) } else { clear(.keepAlive) }
        case .sent, .won:
            clear(.advertisingOver, .closing, .expiry)
            if owner != nil { set(.keepAlive, timing.keepAlive) } else { clear(.keepAlive) }
        case .ended:
            clear(.advertisingOver, .keepAlive, .expiry)
            set(.closing, timing.closing)
        }
    }

    private func set(_ timer: Timer, _ delay: Duration) {
        if deadlines[timer] == nil { deadlines[timer] = now + delay.wholeMilliseconds }
    }

    private func clear(_ timers: Timer...) { for timer in timers { deadlines[timer] = nil } }

    // MARK: Time

    func fire(_ timer: Timer) {
        switch timer {
        case .advertisingOver:
            feed(.advertisingOver)
            if configuration.isOnce, memory.payment.state == .idle { stop() }
        case .keepAlive: keepAlive()
        case .expiry: feed(.clock(nowMilliseconds: now))
        case .closing: feed(.closingOver)
        case .answer: answer()
        case .regret: feed(.userCancelled(.user))
        case .resendAccept:
            sendAccept(isFirst: false)
            startAsking()
        case .repeatResult:
            if case .ended(let offer, let status) = memory.payment.state {
                sendResult(offer.paymentID, status, to: owner, isFirst: false)
            }
        case .backOnline: setOnline(true)
        case .sync: begin(.sync)
        case .refill: begin(.refill)
        case .ask(let id): begin(.ask(id))
        case .fragmentGap(let central): control(.framingError, to: central)
        case .comparison(let central):
            // The gateway has had its time. The terminal has signed what it asks for.
            if let session = comparisons[central]?.session { compared(session, from: central, fits: true) }
        case .sessionOver(let central):
            send(.bye(reason: 0), to: central)
            endSession(central, "an hour is over")
        }
    }

    private func keepAlive() {
        guard let id = memory.payment.current?.paymentID else { return }
        let reason: KeepAliveReason =
            switch memory.payment.state {
            case .sent: .processing
            case .won: isOnline ? .backend : .processing
            default: .waitingForUser
            }
        send(.keepAlive(id, reason), to: owner)
        settleTimers()
    }
}

import TapProtocol

extension TapPhone {
    // MARK: The screen

    func show(_ id: PaymentID) {
        guard let dossier = memory.dossiers[id] else { return }
        let (request, terminal) = (dossier.request.payload, dossier.certificate.payload)
        prompt = Prompt(paymentID: id)
        log(
            .asked(
                id,
                merchant: terminal.merchantName,
                amount: PhoneMoney.text(request.amount, request.currency, exponent: request.exponent),
                terminal: terminal.terminalID,
                shortCode: owner.flatMap { sessions[$0]?.shortCode } ?? ""
            )
        )
        // A payment that failed once is asked for again by its own word.
        if dossier.attempts.isEmpty { setAnswer(configuration.user.answer) }
    }

    func dropPrompt() {
        prompt = nil
        deadlines[.answer] = nil
        deadlines[.regret] = nil
    }

    func enableAccept() {
        guard let id = memory.payment.current?.paymentID else { return }
        if prompt == nil { prompt = Prompt(paymentID: id) }
        prompt?.isEnabled = true
        if let owner { sessions[owner]?.startExchangeAgain() }
        log(.acceptEnabled)
        setAnswer(configuration.user.secondAnswer ?? configuration.user.answer)
    }

    private func setAnswer(_ answer: PhoneUser.Answer) {
        switch answer {
        case .accept(let delay), .decline(let delay): deadlines[.answer] = now + delay.wholeMilliseconds
        case .never: deadlines[.answer] = nil
        }
        nextAnswer = answer
    }

    /// The person does what was said beforehand.
    func answer() {
        guard case .prompting = memory.payment.state, prompt?.isEnabled == true else { return }
        switch nextAnswer {
        case .accept: pay()
        case .decline: feed(.userCancelled(.user))
        case .never: break
        }
    }

    private func pay() {
        guard case .prompting(let offer) = memory.payment.state, let dossier = memory.dossiers[offer.paymentID] else {
            return
        }
        if configuration.user.means == .wallet || dossier.isWallet, startWallet(dossier) { return }
        // What the account has signed may still be taken: another way to pay would be a second payment.
        guard !dossier.isWallet else { return feed(.userCancelled(.policy)) }
        if configuration.user.means == .link, startLink(dossier) { return }
        payWithInstrument(dossier)
    }

    // MARK: An instrument

    func payWithInstrument(_ dossier: PaymentDossier) {
        let request = dossier.request.payload
        let tip = self.tip(for: request)
        let (total, isTooLarge) = request.amount.addingReportingOverflow(tip)
        guard request.offeredRails.contains(.instrument) else { return feed(.userCancelled(.noInstrument)) }
        guard !isTooLarge, total <= dossier.certificate.payload.maximumAmount else {
            return feed(.userCancelled(.policy))
        }
        do throws(StateFileError) {
            guard let attempt = try agreement(to: dossier, tip: tip, total: total) else {
                return feed(.userCancelled(.noInstrument))
            }
            guard case .instrument(let accept, _) = attempt.means else { return }
            memory.dossiers[dossier.paymentID]?.attempts.append(attempt)
            tries += 1
            log(
                .accepted(
                    dossier.paymentID,
                    total: PhoneMoney.text(total, request.currency, exponent: request.exponent),
                    with: accept.payload.spend == nil
                        ? accept.payload.instrumentID : "voucher, spend \(accept.payload.spend?.counter ?? 0)"
                )
            )
            feed(.userAccepted(attempt.hash, isVoucher: accept.payload.spend != nil))
        } catch {
            // The storage said no: `save` has ended this phone.
        }
    }

    private func tip(for request: PaymentRequest) -> Int {
        let wished: Int
        switch configuration.user.tip {
        case .none: wished = 0
        case .minorUnits(let tip): wished = tip
        case .basisPoints(let points): wished = TipTerms.tip(on: request.amount, basisPoints: points) ?? 0
        case .preset(let place):
            let presets = request.tip.presetBasisPoints
            let points = presets.indices.contains(place) ? presets[place] : 0
            wished = TipTerms.tip(on: request.amount, basisPoints: points) ?? 0
        }
        return request.tip.allows(wished) ? wished : 0
    }

    /// The accept and what it is paid with; nil where nothing here can pay.
    private func agreement(
        to dossier: PaymentDossier,
        tip: Int,
        total: Int
    ) throws(StateFileError) -> PaymentDossier.Attempt? {
        let request = dossier.request.payload
        let isReachable = isOnline || request.flags.contains(.terminalOnline)
        let mayUseVoucher = request.flags.contains(.vouchersTaken)
        if mayUseVoucher, configuration.user.prefersVoucher || !isReachable || !hasPass,
            let attempt = try voucherAgreement(to: dossier, tip: tip, total: total)
        {
            return attempt
        }
        guard isReachable else { return nil }
        let names = configuration.user.instruments.isEmpty ? memory.instruments : configuration.user.instruments
        guard !names.isEmpty else { return nil }
        let name = names[min(dossier.attempts.count, names.count - 1)]
        guard let pass = takePass() else { return nil }
        return try sign(dossier, tip: tip, with: pass, instrument: name, spend: nil)
    }

    private func voucherAgreement(
        to dossier: PaymentDossier,
        tip: Int,
        total: Int
    ) throws(StateFileError) -> PaymentDossier.Attempt? {
        let request = dossier.request.payload
        guard let place = usableVoucher(request.currency, request.exponent),
            let spend = try? memory.vouchers[place].commit(total: total, for: request)
        else { return nil }
        // On the disk before there is a signature: the counter never goes back.
        guard save(tidying: false) else { throw StateFileError(description: "the voucher could not be stored") }
        let pass = memory.vouchers[place].pass
        guard let instrument = pass.payload.voucher?.instrumentID,
            let attempt = try sign(dossier, tip: tip, with: pass, instrument: instrument, spend: spend)
        else { return nil }
        if case .instrument(let accept, _) = attempt.means { memory.vouchers[place].signed(accept) }
        return attempt
    }

    func sign(
        _ dossier: PaymentDossier,
        tip: Int,
        with pass: Signed<PaymentPass>,
        instrument: String,
        spend: VoucherSpend?,
        railType: Int = 1
    ) throws(StateFileError) -> PaymentDossier.Attempt? {
        let payload = PaymentAcceptance(
            accepting: dossier.request,
            tip: tip,
            instrumentID: instrument,
            createdAtMilliseconds: now,
            railType: railType,
            flags: isOnline ? [.phoneOnline, .userVerified] : .userVerified,
            nonce: Self.randomBytes(16),
            spend: spend
        )
        guard let key = memory.passKeys[pass.payload.passID], let signer = try? ES256Signer(scalar: key),
            let accept = try? Signed(signing: payload, with: signer)
        else { return nil }
        return PaymentDossier.Attempt(means: .instrument(accept, pass), hash: accept.hash)
    }

    // MARK: Passes

    private func isUsable(_ pass: Signed<PaymentPass>) -> Bool {
        let seconds = now / 1000
        return pass.payload.notBeforeSeconds <= seconds && seconds < pass.payload.notAfterSeconds
    }

    private var hasPass: Bool { memory.passes.contains(where: isUsable) }

    /// A pass is shown to one terminal in its life.
    func takePass() -> Signed<PaymentPass>? {
        memory.passes.removeAll { $0.payload.notAfterSeconds <= now / 1000 }
        guard let place = memory.passes.firstIndex(where: isUsable) else { return nil }
        if isOnline { deadlines[.refill] = now }
        return memory.passes.remove(at: place)
    }

    /// Where in the store there is a voucher of this currency that has something left.
    func usableVoucher(_ currency: String, _ exponent: Int) -> Int? {
        memory.vouchers.firstIndex { chain in
            guard let voucher = chain.pass.payload.voucher, isUsable(chain.pass) else { return false }
            return voucher.currency == currency && voucher.exponent == exponent
                && chain.counter - voucher.startCounter < voucher.maximumCount && chain.spent < voucher.limitTotal
        }
    }
}

import TapProtocol

/// What a phone asks the gateway by itself.
extension TapPhone {
    func cameOnline() {
        startAsking()
        startSync()
        begin(.refill)
    }

    /// Every payment whose end only the gateway can say.
    private func needsAnswer(_ id: PaymentID) -> Bool {
        memory.payment.watched[id] != nil
            || (memory.payment.mayBeCharged && memory.payment.current?.paymentID == id)
    }

    /// Asks about each open payment, and goes on until there is an answer.
    /// - Parameter atOnce: Also where the last question was a moment ago: there is something new to say.
    func startAsking(atOnce: Bool = false) {
        guard isOnline else { return }
        for id in memory.dossiers.keys where needsAnswer(id) {
            if asked.insert(id).inserted {
                begin(.ask(id))
            } else if atOnce {
                deadlines[.ask(id)] = now
            }
        }
    }

    func ask(_ id: PaymentID) async {
        guard !isDead, isOnline, needsAnswer(id), let dossier = memory.dossiers[id] else {
            asked.remove(id)
            return
        }
        if dossier.isWallet {
            await askAboutWallet(dossier)
        } else if let link = dossier.agreedLink {
            await payLink(link, dossier)
        } else if let acquirer {
            do throws(PhoneAcquirerError) {
                await apply(try await answer(about: dossier, acquirer), to: id)
            } catch {
                if !isDead { log(.gateway(error.description)) }
            }
        }
        guard !isDead, isOnline, needsAnswer(id),
            acquirer != nil || dossier.isWallet && gateway != nil || dossier.agreedLink != nil && linkWallet != nil
        else {
            asked.remove(id)
            return
        }
        deadlines[.ask(id)] = now + configuration.timing.asking.wholeMilliseconds
        arm()
    }

    private func answer(
        about dossier: PaymentDossier,
        _ acquirer: any PhoneAcquirer
    ) async throws(PhoneAcquirerError) -> PhoneAnswer {
        // Nothing is executed without a claim. The same bundle may be sent again: it is executed once.
        guard case .won(_, let hash) = memory.payment.state, let bundle = dossier.bundle,
            bundle.accept.hash == hash, bundle.claim.payload.mode == .online
        else { return try await acquirer.payment(dossier.paymentID) }
        do throws(PhoneAcquirerError) {
            return try await acquirer.execute(bundle)
        } catch {
            guard case .refused = error else { throw error }
            log(.gateway(error.description))
            return try await acquirer.payment(dossier.paymentID)
        }
    }

    private func apply(_ answer: PhoneAnswer, to id: PaymentID) async {
        guard !isDead, let dossier = memory.dossiers[id] else { return }
        switch answer {
        case .inProgress: break
        case .unknown: feed(.gatewayKnowsNoClaim(id, nowMilliseconds: now))
        case .void: feed(.gatewayResult(id, .cancelled))
        case .receipt(let receipt):
            switch dossier.finding(of: receipt, status: nil, trusted: memory.trusted) {
            case .mine(let status):
                memory.dossiers[id]?.receipt = receipt
                feed(.gatewayResult(id, status))
            case .others:
                // Another wallet's payment is the one; the gateway takes no second one.
                if case .sent = memory.payment.state, memory.payment.current?.paymentID == id { feed(.otherPaid(id)) }
                feed(.gatewayKnowsNoClaim(id, nowMilliseconds: now))
            case .earlier: feed(.gatewayKnowsNoClaim(id, nowMilliseconds: now))
            case .nothing: log(.gateway("a receipt that proves nothing about payment \(id)"))
            }
        }
        arm()
    }

    private func askAboutWallet(_ dossier: PaymentDossier) async {
        guard let gateway else { return }
        for case .walletOverTap(let host, let name) in dossier.request.payload.offeredRails {
            guard let status = await gateway.status(of: name, host: host), !isDead else { continue }
            // Without a claim for these signatures another wallet may have made the payment.
            if status == .completed {
                guard case .won = memory.payment.state else { continue }
            }
            feed(.gatewayResult(dossier.paymentID, status))
        }
    }

    // MARK: Vouchers

    private var unsettled: [Signed<PaymentAcceptance>] {
        memory.dossiers.values.filter { memory.payment.closed[$0.paymentID] == .final(.acceptedOffline) }
            .compactMap { $0.accepts.last }
            .sorted { ($0.payload.spend?.counter ?? 0) < ($1.payload.spend?.counter ?? 0) }
    }

    func startSync() {
        guard isOnline, acquirer != nil, !unsettled.isEmpty, deadlines[.sync] == nil else { return }
        deadlines[.sync] = now
        arm()
    }

    func sync() async {
        let accepts = Array(unsettled.prefix(16))
        guard !isDead, isOnline, let acquirer, !accepts.isEmpty else { return }
        do throws(PhoneAcquirerError) {
            let answers = try await acquirer.sync(accepts)
            guard !isDead, answers.count == accepts.count else { return }
            for (accept, answer) in zip(accepts, answers) { apply(answer, to: accept.payload.paymentID) }
        } catch {
            if !isDead { log(.gateway(error.description)) }
        }
        guard !isDead, !unsettled.isEmpty else { return begin(.refill) }
        deadlines[.sync] = now + 5 * configuration.timing.asking.wholeMilliseconds
        arm()
    }

    private func apply(_ answer: PhoneSyncAnswer, to id: PaymentID) {
        guard let dossier = memory.dossiers[id] else { return }
        switch answer {
        case .pending: break
        case .settled(let receipt):
            guard case .mine(let status) = dossier.finding(of: receipt, status: nil, trusted: memory.trusted) else {
                return log(.gateway("a receipt that proves nothing about payment \(id)"))
            }
            memory.dossiers[id]?.receipt = receipt
            feed(.gatewayResult(id, status))
        case .expired: feed(.gatewayResult(id, .failed))
        case .cancelled: feed(.gatewayResult(id, .cancelled))
        case .conflict:
            log(.gateway("the voucher was spent twice: this device is blocked"))
            memory.vouchers = []
            feed(.gatewayResult(id, .failed))
        }
    }

    // MARK: Keys and passes

    /// Keys, the deny list, passes, and a voucher: everything that must be there before a terminal is.
    func refill() async {
        guard !isDead, isOnline, let acquirer else { return }
        do throws(PhoneAcquirerError) {
            let keys = try await acquirer.keys()
            let denied = try await acquirer.denyList()
            let instruments = configuration.user.instruments.isEmpty ? try await acquirer.instruments() : []
            guard !isDead else { return }
            for key in keys where !memory.keys.contains(key) { memory.keys.append(key) }
            memory.denied = denied
            if !instruments.isEmpty { memory.instruments = instruments }
            for _ in 0..<max(0, configuration.passCount - memory.passes.count) { try await fetchPass(acquirer) }
            if let wish = configuration.voucherWish, usableVoucher(wish.currency, wish.exponent) == nil {
                try await preAuthorize(wish, acquirer)
            }
            guard save() else { return }
            log(.gateway("\(memory.passes.count) passes, \(memory.vouchers.count) vouchers in store"))
            if isPreparing { openShop() }
        } catch {
            guard !isDead else { return }
            log(.gateway(error.description))
            deadlines[.refill] = now + 5 * configuration.timing.asking.wholeMilliseconds
            arm()
        }
    }

    /// One pass, with a key of its own.
    private func fetchPass(_ acquirer: any PhoneAcquirer) async throws(PhoneAcquirerError) {
        let key = Self.freshKey()
        let passes = try await acquirer.passes(1, for: key.signer.publicKey)
        guard !isDead, memory.passes.count < configuration.passCount else { return }
        for pass in passes where isOurs(pass, key.signer.publicKey) {
            memory.passes.append(pass)
            memory.passKeys[pass.payload.passID] = key.bytes
        }
    }

    /// The first instrument that the gateway takes; one that it refuses costs nothing but the voucher.
    private func preAuthorize(
        _ wish: VoucherWish,
        _ acquirer: any PhoneAcquirer
    ) async throws(PhoneAcquirerError) {
        let all = configuration.user.instruments.isEmpty ? memory.instruments : configuration.user.instruments
        for name in wish.instrumentID.map({ [$0] }) ?? all {
            do throws(PhoneAcquirerError) {
                let key = memory.deviceKey
                guard let device = try? ES256Signer(scalar: key).publicKey else { return }
                // On the disk before it is asked for: where the answer is lost, the same voucher is found again by its key.
                guard save(tidying: false) else { return }
                let pass = try await acquirer.preAuthorize(wish, on: name, for: device)
                guard !isDead else { return }
                if isOurs(pass, device), memory.passKeys[pass.payload.passID] == nil {
                    memory.vouchers.append(VoucherChain(pass: pass))
                    memory.passKeys[pass.payload.passID] = key
                    memory.deviceKey = Self.freshKey().bytes
                }
                return
            } catch .refused(let reason) {
                log(.gateway("no voucher on \(name): \(reason)"))
            }
        }
    }

    /// A pass for another device, or of a gateway that nobody trusts, pays nothing.
    private func isOurs(_ pass: Signed<PaymentPass>, _ device: VerificationKey) -> Bool {
        guard pass.payload.deviceKey == device,
            let key = memory.trusted.key(issuer: pass.payload.issuer, keyID: pass.envelope.keyID)
        else { return false }
        return (try? pass.verify(key)) != nil
    }
}

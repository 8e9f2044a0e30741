import Payments
import WalletConnect
import WalletConnectPay

/// What a wallet that has approved is asked for.
extension ConnectSale {
    /// Something that a wallet's customer waits for.
    struct Wait {
        let session: Topic
        let since: Duration
    }

    /// How long a customer is left alone with a form. Who fills it in later scans again and goes on.
    static let formLimit = Duration.seconds(180)
    /// How long a gateway may say nothing that helps before the wallet is let go, and before the screen says so.
    static let (silenceLimit, silenceSaid) = (Duration.seconds(60), Duration.seconds(5))

    /// A wallet has approved: finds out what it can pay with. It stays the pairing's story until there is an order.
    func meet(_ session: Session, _ client: SignClient) async throws(StorageFailure) -> Duration {
        if view.step == .invited {
            await station.count { $0.sessions += 1 }
            (view.step, view.trouble) = (.choosing, nil)
        }
        view.pairing = nil
        view.wallet = Payments.Reason.clean(session.peer.name)
        await show()
        guard await client.getSessions().contains(where: { $0.topic == session.topic }) else {
            return try await turnAway(session.topic, .left)
        }
        guard let offer = await attempt.current()?.offer, let link = offer.link,
            let gateway = await station.gateway(at: attempt.terms.gatewayURL)
        else { return .milliseconds(200) }  // The payment is being made.
        let order: ConnectOrder?
        do throws(ConnectRefusal) { order = try await self.order(session, offer, link, gateway) } catch {
            guard error == .silence else { return try await turnAway(session.topic, error) }
            let waited = waited(session.topic, &silentFor)
            guard waited < Self.silenceLimit else { return try await turnAway(session.topic, error) }
            if waited >= Self.silenceSaid { view.trouble = error.reason }
            await show()
            return Self.pause
        }
        (silentFor, view.trouble) = (nil, nil)
        guard let order else {
            guard waited(session.topic, &formFor) < Self.formLimit else {
                return try await turnAway(session.topic, .formUnfilled)
            }
            return Self.formPause
        }
        // Another wallet's late answer comes first: with this order it would be worth nothing.
        guard late.isEmpty else { return .zero }
        try await keepOrder(order)
        return .zero
    }

    /// Staff do not wait for a form any longer.
    func endForm() {
        guard let formFor else { return }
        self.formFor = Wait(session: formFor.session, since: clock.elapsed() - Self.formLimit)
    }

    /// How long this session has waited for it; from now on where it did not before.
    private func waited(_ session: Topic, _ wait: inout Wait?) -> Duration {
        let now = clock.elapsed()
        if let wait, wait.session == session { return now - wait.since }
        wait = Wait(session: session, since: now)
        return .zero
    }

    private func keepOrder(_ order: ConnectOrder) async throws(StorageFailure) {
        try await keep(.asking(order, results: [], request: nil))
        view.formURL = nil
        view.step = .asked
        // Another wallet has agreed meanwhile: the one that was silent is let go.
        if let open { await station.end(open.order.session, of: attempt.terms.id, .userDisconnected) }
        open = nil
    }

    /// What the wallet shall sign; nil while the customer has a form to fill in.
    /// - Throws: `silence` where nobody answered and the same can be tried again.
    private func order(
        _ session: Session,
        _ offer: Offer,
        _ link: String,
        _ gateway: any ConnectGateway
    ) async throws(ConnectRefusal) -> ConnectOrder? {
        let checks = await station.checks()
        let accounts = try checks.accounts(session)
        let found: PaymentOptions
        do throws(PayError) {
            found = try await gateway.options(link: link, accounts: accounts.map(\.absoluteString))
        } catch { throw Self.refusal(error) }
        try checks.check(found, of: offer, attempt.terms)
        let fitting = try checks.choose(found, accounts)
        // Orders end by the gateway's clock, and by that of the chain.
        let deadline = attempt.terms.gatewayDeadline.secondsSince1970
        var refusal: ConnectRefusal?
        for (option, account) in fitting.prefix(4) {
            if let form = option.collectData {
                guard let url = form.url, url.utf8.count <= 1024, gateway.mayShow(form: url) else {
                    refusal = refusal ?? .formInWallet
                    continue
                }
                (view.step, view.formURL) = (.form, url)
                await show()
                return nil
            }
            let calls: [WalletRPC]
            do throws(PayError) { calls = try await gateway.calls(of: option, payment: found.paymentID) } catch {
                throw Self.refusal(error)
            }
            do throws(ConnectRefusal) {
                return ConnectOrder(
                    session: session.topic,
                    wallet: Payments.Reason.clean(session.peer.name),
                    account: account,
                    payment: found.paymentID.rawValue,
                    option: option.id,
                    calls: try checks.check(
                        calls,
                        of: option,
                        account,
                        in: session,
                        // Whatever the gateway says: nothing is signed that outlives the charge by more than its grace.
                        expiresAtSeconds: min(found.info?.expiresAt ?? deadline, deadline),
                        nowSeconds: clock.wallTime().secondsSince1970 + (attempt.terms.gatewayAheadSeconds ?? 0)
                    )
                )
            } catch { refusal = refusal ?? error }
        }
        throw refusal ?? .nothingToPayWith
    }

    private static func refusal(_ error: PayError) -> ConnectRefusal {
        switch error {
        case .refused(let refusal): .gateway(refusal.code)
        case .invalidLink: .gateway("its payment link cannot be used")
        default: .silence
        }
    }
}

import Payments
import WalletConnect
import WalletConnectPay

/// What a wallet that has approved is asked for.
extension ConnectSale {
    /// A wallet has approved: finds out what it can pay with. It stays the pairing's story until there is an order.
    func meet(_ session: Session, _ client: SignClient) async throws(StorageFailure) -> Duration {
        if view.step == .invited { await station.count { $0.sessions += 1 } }
        view.pairing = nil
        view.trouble = nil
        view.wallet = Payments.Reason.clean(session.peer.name)
        if view.step == .invited { view.step = .choosing }
        await show()
        guard await client.getSessions().contains(where: { $0.topic == session.topic }) else {
            return try await turnAway(session.topic, .left)
        }
        guard let link = await attempt.current()?.offer?.link,
            let gateway = await station.gateway(at: attempt.terms.gatewayURL)
        else { return .milliseconds(200) }  // The payment is being made.
        do throws(ConnectRefusal) {
            guard let order = try await order(session, link, gateway) else { return Self.formPause }
            // Another wallet's late answer comes first: with this order it would be worth nothing.
            guard late.isEmpty else { return .zero }
            try await keepOrder(order)
        } catch {
            if case .gateway(let words) = error, words.isEmpty { return Self.pause }
            return try await turnAway(session.topic, error)
        }
        return .zero
    }

    private func keepOrder(_ order: ConnectOrder) async throws(ConnectRefusal) {
        do throws(StorageFailure) { try await keep(.asking(order, results: [], request: nil)) } catch {
            note("connect_storage", "an order cannot be stored: \(error.reason)")
            throw .gateway("")  // Tried again.
        }
        view.formURL = nil
        view.step = .asked
        // Another wallet has agreed meanwhile: the one that was silent is let go.
        if let open { await station.end(open.order.session, of: attempt.terms.id, .userDisconnected) }
        open = nil
    }

    /// What the wallet shall sign; nil while the customer has a form to fill in.
    /// - Throws: `gateway` without words where nobody answered and the same can be tried again.
    private func order(
        _ session: Session,
        _ link: String,
        _ gateway: any ConnectGateway
    ) async throws(ConnectRefusal) -> ConnectOrder? {
        let checks = await station.checks()
        let accounts = try checks.accounts(session)
        let found: PaymentOptions
        do throws(PayError) {
            found = try await gateway.options(link: link, accounts: accounts.map(\.absoluteString))
        } catch { throw Self.refusal(error) }
        let fitting = try checks.choose(found, accounts)
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
                        expiresAtSeconds: found.info?.expiresAt ?? attempt.terms.deadline.secondsSince1970,
                        nowSeconds: clock.wallTime().secondsSince1970
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
        default: .gateway("")
        }
    }
}

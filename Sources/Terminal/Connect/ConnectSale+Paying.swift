import Payments
import WalletConnect
import WalletConnectPay

/// What is signed is confirmed.
extension ConnectSale {
    /// Everything is signed: the claim first, and only then the confirmation.
    func pay(_ order: ConnectOrder, _ results: [String]) async throws(StorageFailure) -> Duration? {
        guard let payment = PaymentID(order.payment) else { return try await turnAway(order.session, .badAnswer) }
        (view.step, view.pairing, view.formURL, view.wallet) = (.paying, nil, nil, order.wallet)
        view.trouble = nil
        await show()
        isPaying = true
        switch await attempt.claim(tipMinorUnits: 0) {
        case .granted: break
        case .refused(.unrecorded): return Self.pause
        case .refused(.beaten), .refused(.over):
            isPaying = false
            // The customer pays another way, or nobody waits any more: nothing is confirmed.
            isStopped = true
            return nil
        }
        guard let gateway = await station.gateway(at: attempt.terms.gatewayURL) else { return Self.pause }
        do throws(PayError) {
            if isConfirmed, try await gateway.status(of: payment).status != .requiresAction { return await standing() }
            isConfirmed = false
            let report = try await gateway.confirm(payment: payment, option: order.option, results: results)
            isConfirmed = report.status != .requiresAction
            // Its end is the gateway's word to whoever follows the payment.
            return await standing()
        } catch {
            switch error {
            case .refused(let refusal):
                // An earlier try may have arrived: nothing moved for certain only where the payment still waits.
                guard (try? await gateway.status(of: payment))?.status == .requiresAction else {
                    return await standing()
                }
                let now = await attempt.record(.claimDropped(attempt: attempt.id))
                // While the claim stands nobody else can pay: once more, until the journal has taken it.
                guard let now, now.claim == nil else { return await standing() }
                isPaying = false
                return try await turnAway(order.session, .gateway(refusal.code))
            case .cancelled: return nil
            case .pollingTimeout:
                isConfirmed = true
                return await standing()
            default:
                note("connect_confirm", "the confirmation got no usable answer: \(error)")
                return await standing()
            }
        }
    }

    /// A pause before the confirmation is repeated; nil where the payment's end is known.
    private func standing() async -> Duration? {
        guard let now = await attempt.current(), now.isOpen else { return nil }
        return isConfirmed ? Self.confirmedPause : Self.pause
    }
}

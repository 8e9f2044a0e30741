import Payments
import TapProtocol

/// Rail 2: the phone pays the terminal's payment link over its own network, once it holds the claim.
extension TapPhone {
    /// Agrees to pay the link; false where this is no way to pay here.
    func startLink(_ dossier: PaymentDossier) -> Bool {
        guard isOnline, let linkWallet, dossier.offeredLink != nil, dossier.attempts.isEmpty, let pass = takePass(),
            // The link asks for the amount and nothing on top.
            let attempt = try? sign(
                dossier,
                tip: 0,
                with: pass,
                instrument: linkWallet.account,
                spend: nil,
                railType: 2
            )
        else { return false }
        memory.dossiers[dossier.paymentID]?.attempts.append(attempt)
        tries += 1
        let request = dossier.request.payload
        log(
            .accepted(
                dossier.paymentID,
                total: PhoneMoney.text(request.amount, request.currency, exponent: request.exponent),
                with: "the payment link, \(linkWallet.account)"
            )
        )
        feed(.userAccepted(attempt.hash, isVoucher: false))
        return true
    }

    /// Pays, or finds out what became of it. Before the claim nothing is looked at: nobody else can pay for this phone.
    func payLink(_ link: String, _ dossier: PaymentDossier) async {
        let id = dossier.paymentID
        guard let linkWallet else { return }
        guard case .won(let offer, _) = memory.payment.state, offer.paymentID == id else {
            guard !dossier.isLinkSigned else { return await learn(link, id, linkWallet) }
            return feed(.gatewayKnowsNoClaim(id, nowMilliseconds: now))
        }
        guard !dossier.isLinkSigned else { return await learn(link, id, linkWallet) }
        let look = await linkWallet.sign(link, for: dossier.request.payload)
        guard !isDead, case .won = memory.payment.state else { return }
        switch look {
        case .silent(let reason): log(.gateway(reason))
        case .refused(let reason):
            log(.signingRefused(reason))
            feed(.gatewayResult(id, .failed))
        case .signed(let signed):
            memory.dossiers[id]?.isLinkSigned = true
            // On the disk before it leaves: after a power cut the phone asks, and signs no second time.
            guard save() else { return }
            log(
                .signing(token: "the link", value: CustomerWallet.text(signed.bill.price), to: signed.bill.merchantName)
            )
            signedLinks[id] = signed
            let outcome = await linkWallet.pay(signed)
            guard !isDead else { return }
            take(outcome, id)
        }
    }

    private func learn(_ link: String, _ id: PaymentID, _ linkWallet: LinkWallet) async {
        guard let outcome = await linkWallet.outcome(of: link), !isDead else { return }
        guard case .notSent = outcome else { return take(outcome, id) }
        // The same signature again: it may be on its way, so nothing else is signed.
        guard case .won = memory.payment.state, let signed = signedLinks[id] else { return }
        let again = await linkWallet.pay(signed)
        if case .notSent = again { return }
        if !isDead { take(again, id) }
    }

    private func take(_ outcome: LinkWallet.Outcome, _ id: PaymentID) {
        switch outcome {
        case .paid(let transaction):
            signedLinks[id] = nil
            memory.dossiers[id]?.transactionID = transaction
            feed(.gatewayResult(id, .completed))
        case .failed(let reason):
            log(.gateway("the link was not paid: \(reason)"))
            memory.dossiers[id]?.isLinkSigned = false
            signedLinks[id] = nil
            feed(.gatewayResult(id, .failed))
        case .notSent(let reason):
            log(.gateway(reason))
            memory.dossiers[id]?.isLinkSigned = false
            signedLinks[id] = nil
            feed(.gatewayResult(id, .failed))
        case .unknown(let reason): log(.gateway(reason))
        }
    }
}

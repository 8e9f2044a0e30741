import Payments
import WalletConnectPay

// The gateway's words become the core's here and nowhere else.

extension PayAmount {
    static func fiat(_ money: Money) -> PayAmount {
        .fiat(code: money.currency.code, minorUnits: money.minorUnits)
    }

    /// Nil where the authority did not say all of how it is written, or named digits that are none: an amount that is
    /// not shown is better than one that is wrong.
    var tokenAmount: TokenAmount? {
        guard let display, let decimals = display.decimals, let symbol = Self.word(display.assetSymbol, limit: 16)
        else { return nil }
        return TokenAmount(
            digits: value,
            decimals: decimals,
            symbol: symbol,
            network: display.networkName.flatMap { Self.word($0, limit: 32) }
        )
    }

    /// A name from outside as it may be kept and shown; nil where nothing is left of it.
    private static func word(_ text: String, limit: Int) -> String? {
        let word = Reason.clean(text).prefix(limit)
        return word.isEmpty ? nil : String(word)
    }

    /// Whether it is an amount of money that is not `money`. Tokens are not compared: what they are worth is not said.
    func contradicts(_ money: Money) -> Bool {
        guard unit.hasPrefix("iso4217/") else { return false }
        let expected = PayAmount.fiat(money)
        return (unit, value) != (expected.unit, expected.value)
    }
}

extension CreatedPayment {
    var offer: Offer {
        Offer(
            paymentID: paymentID.rawValue,
            link: link,
            // A moment of our calendar, or none: what is counted with it must not overflow.
            expiresAt: expiresAtSeconds.flatMap { seconds in
                (0...253_402_300_799).contains(seconds) ? WallTime(millisecondsSince1970: seconds * 1000) : nil
            }
        )
    }

    /// What the answer to the order says of the payment's state. Names no proof.
    var report: Report {
        StatusReport(status: status, isFinal: isFinal, pollAfter: nil).report(of: paymentID.rawValue)
    }
}

extension Offer {
    /// The same payment, shown to nobody.
    var withoutLink: Offer { Offer(paymentID: paymentID, link: nil, expiresAt: expiresAt) }
}

extension PaymentFacts {
    /// How they contradict what was asked about; nil where they do not.
    func contradiction(to paymentID: String, of terms: ChargeTerms, on rail: Rail = .scan) -> String? {
        if let named = self.paymentID, named != paymentID { return "it is about another payment" }
        if let reference, reference != terms.reference(on: rail) { return "it is about another reference" }
        if let merchantID, merchantID != terms.merchantID { return "it is about another merchant" }
        if let amount, amount.contradicts(terms.amount) { return amount.asContradiction }
        return nil
    }
}

extension PayAmount {
    fileprivate var asContradiction: String { "it names the amount \(value.prefix(24)) of \(unit.prefix(24))" }
}

extension StatusReport {
    /// The report about a charge's payment. Where the answer is about something else, no word in it counts.
    func report(of paymentID: String, for terms: ChargeTerms, on rail: Rail = .scan) -> Report {
        if let what = facts.contradiction(to: paymentID, of: terms, on: rail) { return .contradictory(what: what) }
        if let paid = result?.paid, paid.contradicts(terms.amount) {
            return .contradictory(what: paid.asContradiction)
        }
        return report(of: paymentID)
    }

    /// The report about a payment. An outcome that the gateway's own flag calls not final is held as not recognised.
    func report(of paymentID: String) -> Report {
        guard status.isFinal == isFinal || !status.isFinal else {
            return .unrecognised(word: "\(status.word), not final")
        }
        return Report(status, paymentID, result, failureCode)
    }
}

extension Report {
    init(_ status: PaymentStatus, _ paymentID: String, _ result: PaymentResult?, _ failureCode: String?) {
        self =
            switch status {
            case .requiresAction: .requiresAction
            case .processing: .processing
            case .succeeded:
                .succeeded(
                    Evidence(
                        paymentID: paymentID,
                        transactionID: result?.transactionID.map(Reason.clean),
                        paid: result?.paid?.tokenAmount
                    )
                )
            case .failed: .failed(code: failureCode)
            case .expired: .expired
            case .cancelled: .cancelled
            case .unrecognised(let word): .unrecognised(word: word)
            }
    }
}

extension Refusal {
    /// What is wrong with a field says more than the words for the whole request, which may say nothing.
    init(_ refusal: GatewayRefusal) {
        let issues = refusal.issues.map(\.message).filter { !$0.isEmpty && !refusal.message.contains($0) }
        let message = ([refusal.message].filter { !$0.isEmpty } + issues).joined(separator: "; ")
        self.init(code: refusal.code, message: String(message.prefix(2000)))
    }
}

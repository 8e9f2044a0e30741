import Payments
import WalletConnectPay

// The gateway's words become the core's here and nowhere else.

extension PayAmount {
    static func fiat(_ money: Money) -> PayAmount {
        .fiat(code: money.currency.code, minorUnits: money.minorUnits)
    }

    /// Nil where the authority named no way to write it, or digits that are none.
    var tokenAmount: TokenAmount? {
        guard let display else { return nil }
        return TokenAmount(
            digits: value,
            decimals: display.decimals,
            symbol: display.assetSymbol,
            network: display.networkName
        )
    }
}

extension CreatedPayment {
    var offer: Offer {
        Offer(
            paymentID: paymentID.rawValue,
            link: link,
            expiresAt: expiresAtSeconds.map { WallTime(millisecondsSince1970: $0 &* 1000) }
        )
    }
}

extension StatusReport {
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
                        transactionID: result?.transactionID,
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
    init(_ refusal: GatewayRefusal) { self.init(code: refusal.code, message: refusal.message) }
}

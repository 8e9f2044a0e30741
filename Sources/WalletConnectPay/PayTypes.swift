/// What a wallet can pay a payment with.
public struct PaymentOptions: Sendable, Equatable {
    public var paymentID: PaymentID
    public var info: PaymentInfo?
    /// Empty when the payment is over (``PaymentInfo/status`` says how) or the accounts hold too little.
    public var options: [PaymentOption]
}

/// What a payment is about, for the customer to see before they approve.
public struct PaymentInfo: Sendable, Equatable {
    public var status: PaymentStatus
    public var amount: PayAmount
    /// Unix seconds.
    public var expiresAtSeconds: Int64
    public var merchantName: String
    public var merchantIconURL: String?
}

/// One way for one account to pay.
public struct PaymentOption: Sendable, Equatable {
    /// Opaque; good until the options are asked for again.
    public var id: String
    /// CAIP-10.
    public var account: String
    public var amount: PayAmount
    /// Expected seconds until it is settled.
    public var etaSeconds: Int
    /// Unix seconds; set where an exchange rate is part of it.
    public var expiresAtSeconds: Int64?
    public var actions: [PaymentAction]
}

/// One step towards paying.
public enum PaymentAction: Sendable, Equatable {
    case walletRPC(WalletRPC)
    /// Ask the gateway for the steps, with these data.
    case build(data: String)
}

/// A call that the wallet carries out and whose result is the step's proof.
public struct WalletRPC: Sendable, Equatable {
    /// CAIP-2.
    public var chainID: String
    /// For example `eth_signTypedData_v4`.
    public var method: String
    /// A JSON array as text.
    public var params: String

    public init(chainID: String, method: String, params: String) {
        (self.chainID, self.method, self.params) = (chainID, method, params)
    }
}

/// Why the wallet side got no usable answer.
public enum PayError: Error, Sendable, Equatable {
    case invalidLink(PaymentLink.Refusal)
    case notSent(reason: String)
    case noAnswer(after: Duration)
    case unclear(detail: String)
    case refused(GatewayRefusal)
    case rateLimited(retryAfter: Duration?)
    /// The payment was still not final after the time the caller gave.
    case pollingTimeout(after: Duration)
    case cancelled

    init(_ error: MerchantError) {
        self =
            switch error {
            case .invalid(let field, let message): .unclear(detail: "\(field): \(message)")
            case .notSent(let reason): .notSent(reason: reason)
            case .refused(let refusal): .refused(refusal)
            case .rateLimited(let retryAfter): .rateLimited(retryAfter: retryAfter)
            case .noAnswer(let duration): .noAnswer(after: duration)
            case .unclear(let detail): .unclear(detail: detail)
            }
    }
}

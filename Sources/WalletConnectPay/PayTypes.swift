/// What a payment can be paid with, as ``PayClient/getPaymentOptions(paymentLink:accounts:includePaymentInfo:)`` answers.
///
/// Source: WalletConnect Pay SDK for Swift, `PaymentOptionsResponse`.
public struct PaymentOptionsResponse: Sendable, Hashable {
    /// `pay_…`.
    public let paymentId: String
    /// Nil where it was not asked for.
    public let info: PaymentInfo?
    /// Empty when the payment is over (``PaymentInfo/status`` says how) or the accounts hold too little.
    public let options: [PaymentOption]
    /// What some option wants to know of the customer. ``DataCollection/requirement(for:in:)`` says which.
    public let collectData: CollectDataAction?
    /// The transfer, when the payment was made already and the gateway says so.
    public let resultInfo: PaymentResultInfo?
    /// How many options the gateway wrote in a way that is not documented. They are left out; the others can be paid.
    public let unreadableOptions: Int

    /// An answer of these parts, for tests and previews of a wallet.
    public init(
        paymentId: String,
        info: PaymentInfo?,
        options: [PaymentOption],
        collectData: CollectDataAction? = nil,
        resultInfo: PaymentResultInfo? = nil,
        unreadableOptions: Int = 0
    ) {
        (self.paymentId, self.info, self.options) = (paymentId, info, options)
        (self.collectData, self.resultInfo, self.unreadableOptions) = (collectData, resultInfo, unreadableOptions)
    }
}

/// What a payment is about, for the customer to see before they approve.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `GatewayPaymentInformation`.
public struct PaymentInfo: Sendable, Hashable {
    /// By the gateway, when it answered.
    public let status: PaymentStatus
    /// What the merchant asks for.
    public let amount: PayAmount
    /// Unix seconds, by the gateway's clock. For a warning to the customer; only the gateway ends a payment.
    public let expiresAt: Int64
    /// Who is paid.
    public let merchant: MerchantInfo
    /// Who paid, once somebody did.
    public let buyer: BuyerInfo?

    /// Payment information of these parts, for tests and previews of a wallet.
    public init(
        status: PaymentStatus,
        amount: PayAmount,
        expiresAt: Int64,
        merchant: MerchantInfo,
        buyer: BuyerInfo? = nil
    ) {
        (self.status, self.amount, self.expiresAt) = (status, amount, expiresAt)
        (self.merchant, self.buyer) = (merchant, buyer)
    }

    /// ``expiresAt`` by the name it has elsewhere in this library.
    public var expiresAtSeconds: Int64 { expiresAt }
    /// The name in ``merchant``.
    public var merchantName: String { merchant.name }
}

/// Who asks for the money. From outside: shorten and clean before it is shown.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `MerchantInfo`.
public struct MerchantInfo: Sendable, Hashable {
    /// As customers know it. Empty where the gateway left it out: say so before the customer approves.
    public let name: String
    /// A picture; nil where the merchant has none. Loading it tells that host about the customer.
    public let iconUrl: String?

    /// A merchant of this name, for tests and previews of a wallet.
    public init(name: String, iconUrl: String? = nil) { (self.name, self.iconUrl) = (name, iconUrl) }
}

/// Whose account paid. From outside: shorten and clean before it is shown.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `BuyerInfo`.
public struct BuyerInfo: Sendable, Hashable {
    /// CAIP-10.
    public let accountCaip10: String
    /// The wallet's name; empty where the gateway has none.
    public let accountProviderName: String
    /// The wallet's picture; nil where the gateway has none.
    public let accountProviderIcon: String?

    /// A buyer of these parts, for tests and previews of a wallet.
    public init(accountCaip10: String, accountProviderName: String = "", accountProviderIcon: String? = nil) {
        self.accountCaip10 = accountCaip10
        (self.accountProviderName, self.accountProviderIcon) = (accountProviderName, accountProviderIcon)
    }
}

/// One way for one account to pay.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `PaymentOption`.
public struct PaymentOption: Sendable, Hashable {
    /// Opaque; good until the options are asked for again.
    public let id: String
    /// CAIP-10, as the wallet wrote it.
    public let account: String
    /// What the customer pays, in this option's token.
    public let amount: PayAmount
    /// Expected seconds until it is settled.
    public let etaS: Int64
    /// Unix seconds, by the gateway's clock; set where an exchange rate is part of the price.
    public let expiresAt: Int64?
    /// What the customer has to fill in first; nil when nothing.
    public let collectData: CollectDataAction?
    /// What there is to do, with the steps that the gateway has yet to spell out.
    let steps: [PaymentStep]

    /// An option whose calls are all known, for tests and previews of a wallet. A client that did not hand it out asks the gateway
    /// for its calls.
    public init(
        id: String,
        account: String,
        amount: PayAmount,
        etaS: Int64 = 0,
        expiresAt: Int64? = nil,
        collectData: CollectDataAction? = nil,
        actions: [Action] = []
    ) {
        self.init(
            id: id,
            account: account,
            amount: amount,
            etaS: etaS,
            expiresAt: expiresAt,
            collectData: collectData,
            steps: actions.map { .call($0.walletRpc) }
        )
    }

    init(
        id: String,
        account: String,
        amount: PayAmount,
        etaS: Int64,
        expiresAt: Int64?,
        collectData: CollectDataAction?,
        steps: [PaymentStep]
    ) {
        (self.id, self.account, self.amount, self.etaS) = (id, account, amount, etaS)
        (self.expiresAt, self.collectData, self.steps) = (expiresAt, collectData, steps)
    }

    /// The calls that are known already. Before signing, ask for all of them:
    /// ``PayClient/getRequiredPaymentActions(paymentId:optionId:)``.
    public var actions: [Action] {
        steps.compactMap { step in if case .call(let call) = step { Action(walletRpc: call) } else { nil } }
    }
}

/// One step towards paying, as the gateway orders it.
enum PaymentStep: Sendable, Hashable {
    case call(WalletRpcAction)
    /// Ask the gateway for the steps, with these data.
    case build(data: String)
    /// Nothing that this library can do. Never skipped: results keep the order of the steps.
    case unrecognised(kind: String)
}

/// One thing that the wallet does to pay.
///
/// Source: WalletConnect Pay SDK for Swift, `Action`.
public struct Action: Sendable, Hashable {
    /// The call to carry out.
    public let walletRpc: WalletRpcAction

    /// A step that carries out this call.
    public init(walletRpc: WalletRpcAction) { self.walletRpc = walletRpc }
}

/// A call that the wallet carries out and whose result is the step's proof.
///
/// Source: WalletConnect Pay SDK for Swift, `WalletRpcAction`.
public struct WalletRpcAction: Sendable, Hashable {
    /// CAIP-2, for example `eip155:8453`.
    public var chainId: String
    /// For example `eth_signTypedData_v4`; `eth_sendTransaction` and others occur.
    public var method: String
    /// JSON, exactly as the gateway wrote it. For typed data: an array of the address and the typed data as a string.
    public var params: String

    /// A call of these parts, as they are.
    public init(chainId: String, method: String, params: String) {
        (self.chainId, self.method, self.params) = (chainId, method, params)
    }

    /// ``chainId`` by the name it has elsewhere in this library.
    public var chainID: String { chainId }
}

/// The name that the typed calls use.
public typealias WalletRPC = WalletRpcAction

/// What the customer has to tell before they may pay: as a form behind a link, as fields, or both.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `CollectData`.
public struct CollectDataAction: Sendable, Hashable {
    /// The older way: ask for these, and pass the answers to `confirmPayment`. Empty where there is only a form.
    public let fields: [CollectDataField]
    /// The newer way: show this page; it hands the answers to the gateway itself.
    public let url: String?
    /// JSON Schema of the form's answers, as text; ``FormSchema`` reads it.
    public let schema: String?

    /// A question of these parts, for tests and previews of a wallet.
    public init(fields: [CollectDataField] = [], url: String? = nil, schema: String? = nil) {
        (self.fields, self.url, self.schema) = (fields, url, schema)
    }
}

/// A question to the customer. Source: WalletConnect Pay API 2026-02-19.preview, `CollectDataField`.
public struct CollectDataField: Sendable, Hashable {
    /// Goes into ``CollectDataFieldResult/id``.
    public let id: String
    /// For people. From outside: shorten and clean before it is shown.
    public let name: String
    /// Whether the payment needs an answer.
    public let required: Bool
    /// What kind of answer fits.
    public let fieldType: CollectDataFieldType

    /// A field of these parts, for tests and previews of a wallet.
    public init(id: String, name: String, required: Bool, fieldType: CollectDataFieldType) {
        (self.id, self.name, self.required, self.fieldType) = (id, name, required, fieldType)
    }
}

/// How a question is answered. Source: WalletConnect Pay API 2026-02-19.preview, `CollectDataFieldType`.
public enum CollectDataFieldType: Sendable, Hashable, Codable {
    case text
    /// `YYYY-MM-DD`.
    case date
    /// `true` or `false`.
    case checkbox
    /// A kind that is not known here. Text is the best guess.
    case unrecognised(String)

    /// Every word makes a value.
    public init(word: String) {
        self =
            switch word {
            case "text": .text
            case "date": .date
            case "checkbox": .checkbox
            default: .unrecognised(word)
            }
    }

    /// As it travels.
    public var word: String {
        switch self {
        case .text: "text"
        case .date: "date"
        case .checkbox: "checkbox"
        case .unrecognised(let word): word
        }
    }

    /// Reads its word, known or not.
    public init(from decoder: any Decoder) throws {
        self.init(word: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes its word, as it was read.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(word)
    }
}

/// An answer of the customer's. Personal: it prints as its name only.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `CollectDataFieldResult`.
public struct CollectDataFieldResult: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The question: ``CollectDataField/id``.
    public let id: String
    /// In the form that the field's kind asks for.
    public let value: String

    /// An answer to the field of that name.
    public init(id: String, value: String) { (self.id, self.value) = (id, value) }

    /// The question without its answer.
    public var description: String { "\(id): …" }
    /// The question without its answer.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// The gateway's last word about a payment. Source: WalletConnect Pay SDK for Swift, `ConfirmPaymentResultResponse`.
public struct ConfirmPaymentResultResponse: Sendable, Hashable {
    /// By the gateway. An outcome where its ``PaymentStatus/isFinal`` is true; otherwise the money may have moved, and only the
    /// merchant can tell.
    public let status: PaymentStatus
    /// The gateway's own flag.
    public let isFinal: Bool
    /// Milliseconds until the next question; nil when there is none to ask.
    public let pollInMs: Int64?
    /// The transfer, where there was one.
    public let info: PaymentResultInfo?

    /// A result of these parts, for tests and previews of a wallet.
    public init(status: PaymentStatus, isFinal: Bool, pollInMs: Int64? = nil, info: PaymentResultInfo? = nil) {
        (self.status, self.isFinal, self.pollInMs, self.info) = (status, isFinal, pollInMs, info)
    }
}

/// The transfer that paid. Source: WalletConnect Pay SDK for Swift, `PaymentResultInfo`.
public struct PaymentResultInfo: Sendable, Hashable {
    /// A transaction's hash on the option's network.
    public let txId: String
    /// What the customer paid.
    public let optionAmount: PayAmount

    /// A transfer of these parts, for tests and previews of a wallet.
    public init(txId: String, optionAmount: PayAmount) { (self.txId, self.optionAmount) = (txId, optionAmount) }
}

/// What a wallet can pay a payment with, with the payment's name as a type: what ``PayClient/options(link:accounts:)`` gives.
public struct PaymentOptions: Sendable, Hashable {
    /// For every further call about it.
    public var paymentID: PaymentID
    /// Nil where it was not asked for.
    public var info: PaymentInfo?
    /// Empty when the payment is over (``PaymentInfo/status`` says how) or the accounts hold too little.
    public var options: [PaymentOption]
    /// What some option wants to know of the customer.
    public var collectData: CollectDataAction?
    /// The transfer, when the payment was made already and the gateway says so.
    public var result: PaymentResult?
    /// How many options the gateway wrote in a way that is not documented. They are left out.
    public var unreadableOptions = 0
}

/// Why the wallet side got no usable answer. The cases differ by what the caller does next.
public enum PayError: Error, Sendable, Equatable {
    /// It names no payment that may be paid. Nothing was sent.
    case invalidLink(PaymentLink.Refusal)
    /// No byte of it left this machine. Nothing happened; safe to send again.
    case notSent(reason: String)
    /// It may have arrived; silence. After a confirmation, ask for the status.
    case noAnswer(after: Duration)
    /// A 5xx, or an answer that its documentation does not allow. Treat like silence.
    case unclear(detail: String)
    /// The gateway said no. Nothing happened.
    case refused(GatewayRefusal)
    /// Too many requests. Nothing happened; wait, then send the same again.
    case rateLimited(retryAfter: Duration?)
    /// The payment was still not final after the time the caller gave.
    case pollingTimeout(after: Duration)
    /// The caller's task was cancelled. After a confirmation, ask for the status.
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
            case .strange: .unclear(detail: error.summary)
            }
    }
}

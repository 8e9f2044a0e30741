/// The gateway's name for a payment: `pay_` and letters and digits, 64 characters at most, so that it is safe in a path.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, refund schema, `paymentId`.
public struct PaymentID: Sendable, Hashable, CustomStringConvertible {
    /// As it travels.
    public let rawValue: String

    /// Nil where `rawValue` has another form.
    public init?(_ rawValue: String) {
        guard rawValue.utf8.count <= 64, rawValue.hasPrefix("pay_"), rawValue.utf8.count > 4,
            rawValue.utf8.dropFirst(4).allSatisfy(\.isLetterOrDigit)
        else { return nil }
        self.rawValue = rawValue
    }

    /// As it travels.
    public var description: String { rawValue }
}

/// How the gateway says a payment stands.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `PaymentStatus`; clients must survive members they do not know.
public enum PaymentStatus: Sendable, Hashable {
    case requiresAction, processing, succeeded, failed, expired, cancelled
    /// A word that no document of ours knows. Never take it for an outcome.
    case unrecognised(String)

    /// Every word makes a value.
    public init(word: String) {
        self =
            switch word {
            case "requires_action": .requiresAction
            case "processing": .processing
            case "succeeded": .succeeded
            case "failed": .failed
            case "expired": .expired
            case "cancelled": .cancelled
            default: .unrecognised(word)
            }
    }

    /// As it travels.
    public var word: String {
        switch self {
        case .requiresAction: "requires_action"
        case .processing: "processing"
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .expired: "expired"
        case .cancelled: "cancelled"
        case .unrecognised(let word): word
        }
    }

    /// True for the four outcomes. A gateway may call another status its last word; whether money moved is then not known.
    public var isFinal: Bool {
        switch self {
        case .succeeded, .failed, .expired, .cancelled: true
        case .requiresAction, .processing, .unrecognised: false
        }
    }
}

/// As its word, so that a status which is not known here is written as it was read.
extension PaymentStatus: Codable {
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

/// An amount as it travels: a unit and digits of any length. Never counted with, so never rounded.
public struct PayAmount: Sendable, Hashable {
    /// `iso4217/EUR` or `caip19/eip155:8453/erc20:0x…`.
    public var unit: String
    /// Smallest units, decimal digits.
    public var value: String
    /// How to write it for people. The gateway gives it to wallets always, to merchants not.
    public var display: AmountDisplay?

    /// An amount of these parts, as they are.
    public init(unit: String, value: String, display: AmountDisplay? = nil) {
        (self.unit, self.value, self.display) = (unit, value, display)
    }

    /// An amount of an ISO 4217 currency.
    public static func fiat(code: String, minorUnits: Int64) -> PayAmount {
        PayAmount(unit: "iso4217/\(code)", value: String(minorUnits))
    }
}

/// How an amount is written for people: its value divided by ten to the power of `decimals`, and a symbol.
///
/// The texts come from outside: shorten and clean them before they are shown.
/// Source: WalletConnect Pay API 2026-02-19.preview, `AmountDisplay`.
public struct AmountDisplay: Sendable, Hashable {
    /// For example `USDC`.
    public var assetSymbol: String
    /// For example `USD Coin`.
    public var assetName: String
    /// Digits behind the decimal point, 0 to 77. Nil where the gateway left it out: the digits then say nothing for people.
    public var decimals: Int?
    /// The token's picture. Loading it tells that host about the customer.
    public var iconUrl: String?
    /// For example `Base`; nil for money that is on no network.
    public var networkName: String?
    /// The network's picture. Loading it tells that host about the customer.
    public var networkIconUrl: String?

    /// A display of these parts, as they are.
    public init(
        assetSymbol: String,
        assetName: String,
        decimals: Int?,
        iconURL: String? = nil,
        networkName: String? = nil,
        networkIconURL: String? = nil
    ) {
        self.assetSymbol = assetSymbol
        self.assetName = assetName
        self.decimals = decimals
        self.iconUrl = iconURL
        self.networkName = networkName
        self.networkIconUrl = networkIconURL
    }
}

extension PayAmount {
    /// Its older name.
    public typealias Display = AmountDisplay
}

/// Lets code written for the SDK for iOS, where every amount has a display, read `amount.display.assetSymbol` here too.
extension AmountDisplay? {
    /// Empty where there is no display.
    public var assetSymbol: String { self?.assetSymbol ?? "" }
    /// Empty where there is no display.
    public var assetName: String { self?.assetName ?? "" }
    /// Nil where there is no display, or none in it. A wallet that took none for zero would show thousands for a coin: see
    /// ``PayAmount/text``.
    public var decimals: Int? { self?.decimals }
    /// Nil where there is no display, or none in it.
    public var iconUrl: String? { self?.iconUrl }
    /// Nil where there is no display, or none in it.
    public var networkName: String? { self?.networkName }
    /// Nil where there is no display, or none in it.
    public var networkIconUrl: String? { self?.networkIconUrl }
}

/// What the gateway gave as proof that a payment succeeded.
public struct PaymentResult: Sendable, Hashable {
    public var transactionID: String?
    /// What the customer paid with.
    public var paid: PayAmount?

    public init(transactionID: String?, paid: PayAmount?) { (self.transactionID, self.paid) = (transactionID, paid) }
}

/// What an answer says of the payment it is about. The documents promise none of it in a status; each is nil where it
/// is missing or has another form.
public struct PaymentFacts: Sendable, Hashable {
    public var paymentID: String?
    public var reference: String?
    public var merchantID: String?
    /// What was asked for.
    public var amount: PayAmount?

    public init(
        paymentID: String? = nil,
        reference: String? = nil,
        merchantID: String? = nil,
        amount: PayAmount? = nil
    ) {
        self.paymentID = paymentID
        self.reference = reference
        self.merchantID = merchantID
        self.amount = amount
    }
}

/// One answer about a payment's status.
public struct StatusReport: Sendable, Hashable {
    public var status: PaymentStatus
    /// The gateway's own flag: its last word. Where ``PaymentStatus/isFinal`` disagrees, the payment's end is not known: take
    /// neither for an outcome.
    public var isFinal: Bool
    /// How long the gateway asks to wait before the next question, counted from this one. Nil: it named none.
    public var pollAfter: Duration?
    public var result: PaymentResult?
    /// Why it failed, where the gateway says so, for example `declined_user`.
    public var failureCode: String?
    /// To be compared with what was asked about.
    public var facts: PaymentFacts

    public init(
        status: PaymentStatus,
        isFinal: Bool,
        pollAfter: Duration?,
        result: PaymentResult? = nil,
        failureCode: String? = nil,
        facts: PaymentFacts = PaymentFacts()
    ) {
        self.status = status
        self.isFinal = isFinal
        self.pollAfter = pollAfter
        self.result = result
        self.failureCode = failureCode
        self.facts = facts
    }
}

/// The gateway's "no": a documented 4xx with its code. Nothing happened.
public struct GatewayRefusal: Sendable, Hashable {
    public var httpStatus: Int
    /// For example `params_validation`; `http_409` where the body named none.
    public var code: String
    /// The gateway's own words. From outside: shorten and clean before they are shown.
    public var message: String
    /// What is wrong with each field, where the gateway says so. From outside, like `message`.
    public var issues: [Issue]

    /// What the gateway says of one field.
    public struct Issue: Sendable, Hashable {
        public var field: String
        public var message: String

        public init(field: String, message: String) { (self.field, self.message) = (field, message) }
    }

    public init(httpStatus: Int, code: String, message: String, issues: [Issue] = []) {
        (self.httpStatus, self.code, self.message, self.issues) = (httpStatus, code, message, issues)
    }

    /// What is wrong with the version of the API that the call named; nil where the refusal is about something else.
    public var versionProblem: VersionProblem? {
        switch code {
        case "invalid_api_version": .malformed
        case "unknown_api_version": .unknown
        case "api_version_downgrade": .olderThanTheAccounts
        default: nil
        }
    }

    /// Source: WalletConnect Pay API 2026-02-19.preview, `WCP-Version` and the codes of HTTP 400.
    public enum VersionProblem: Sendable, Hashable, CaseIterable {
        /// It is not written as versions are.
        case malformed
        /// The gateway has none of this name.
        case unknown
        /// The account speaks a newer one already, and there is no way back.
        case olderThanTheAccounts
    }

    /// Whether the "no" to an order says that a payment is known under its key, or is being made by an earlier request.
    /// Source: WalletConnect Pay API 2026-02-19.preview, `ErrorCode`: `idempotency_conflict` with HTTP 409; what is said
    /// of a payment's state or time can only be said of one that exists.
    public var saysAPaymentMayExist: Bool {
        httpStatus == 409 || httpStatus == 410
            || ["idempotency_conflict", "invalid_state", "payment_expired"].contains(code)
    }
}

extension UInt8 {
    var isLetterOrDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}

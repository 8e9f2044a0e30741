/// Why there are no payment options. Nothing has happened, whatever the case.
///
/// The texts name the HTTP status and the gateway's own words, cleaned; they are for a log.
/// Source: WalletConnect Pay SDK for Swift, `GetPaymentOptionsError`; its core, for how the wire's codes are sorted.
public enum GetPaymentOptionsError: Error, Sendable, Equatable {
    /// There is no such payment.
    case paymentNotFound(String)
    /// Too late: the merchant has to make a new payment.
    case paymentExpired(String)
    /// The link names no payment that may be paid, or the gateway does not take the request as it is.
    case invalidRequest(String)
    /// An account that is not CAIP-10, or not one that the gateway takes. Leave it out.
    case invalidAccount(String)
    /// The gateway may not serve these accounts. Show it like any other failure.
    case complianceFailed(String)
    /// Any other refusal, for example of the credentials.
    case http(String)
    /// The gateway failed, or gave an answer that its documentation does not allow. Try later.
    case internalError(String)
    /// Too many requests. Try later.
    case rateLimited(String)
    /// The gateway was not reached.
    case noConnection(String)
    /// The gateway fell silent.
    case requestTimeout(String)
    /// The task was cancelled.
    case cancelled
}

/// Why there are no actions. Nothing has happened, whatever the case.
///
/// Source: WalletConnect Pay SDK for Swift, `GetPaymentRequestError`.
public enum GetPaymentRequestError: Error, Sendable, Equatable {
    /// No such option, or not any more: ask for the options again.
    case optionNotFound(String)
    /// There is no such payment.
    case paymentNotFound(String)
    /// The gateway does not take the option's account.
    case invalidAccount(String)
    /// Any other refusal, for example of the credentials.
    case http(String)
    /// The option cannot be paid as it is: its price is too old, a form is not filled in, or it needs what is not known here.
    case fetchError(String)
    /// The gateway failed, or gave an answer that its documentation does not allow. Try later.
    case internalError(String)
    /// Too many requests. Try later.
    case rateLimited(String)
    /// The gateway was not reached.
    case noConnection(String)
    /// The gateway fell silent.
    case requestTimeout(String)
    /// The task was cancelled.
    case cancelled
}

/// Why a payment is not known to be made. ``mayHavePaid`` says which of the cases leave it open.
///
/// Source: WalletConnect Pay SDK for Swift, `ConfirmPaymentError`.
public enum ConfirmPaymentError: Error, Sendable, Equatable {
    /// There is no such payment.
    case paymentNotFound(String)
    /// Too late: the merchant has to make a new payment.
    case paymentExpired(String)
    /// No such option, not enough results, a form that is not filled in, or a payment that is over.
    case invalidOption(String)
    /// A signature is not the account's, or not of what was to be signed.
    case invalidSignature(String)
    /// The way to pay is gone. Ask for the options again.
    case routeExpired(String)
    /// The price is too old. Ask for the options again.
    case quoteExpired(String)
    /// Any other refusal, for example of the credentials.
    case http(String)
    /// The gateway failed, or gave an answer that its documentation does not allow. It may have been paid.
    case internalError(String)
    /// Too many requests; nothing was paid. Try later.
    case rateLimited(String)
    /// The gateway was not reached; nothing was paid by this call.
    case noConnection(String)
    /// The gateway fell silent. It may have been paid.
    case requestTimeout(String)
    /// Not final within `maxPollMs`. It may still be paid.
    case pollingTimeout(String)
    /// The task was cancelled. It may have been paid.
    case cancelled

    /// Whether the customer's money may be on its way. Then ask ``PayClient/status(of:waits:)`` or the merchant, and do not
    /// pay again.
    public var mayHavePaid: Bool {
        switch self {
        case .internalError, .requestTimeout, .pollingTimeout, .cancelled: true
        case .paymentNotFound, .paymentExpired, .invalidOption, .invalidSignature, .routeExpired, .quoteExpired, .http,
            .rateLimited, .noConnection:
            false
        }
    }
}

/// Why the shared client cannot ask. Its calls send nothing and fail with `noConnection` and these words.
public enum ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// ``WalletConnectPay/instance`` was asked before `configure` was called.
    case notConfigured
    /// Neither an API key nor an app ID was given. Source: WalletConnect Pay SDK for Swift, `ConfigError`.
    case missingAuth
    /// Not `https://…`, nor plain `http` to this machine.
    case invalidBaseURL(String)
    /// The system gave no way to send anything.
    case noTransport(String)

    /// What to correct, for whoever writes the wallet.
    public var description: String {
        switch self {
        case .notConfigured: "WalletConnectPay.configure was not called"
        case .missingAuth: "WalletConnectPay.configure was given neither an API key nor an app ID"
        case .invalidBaseURL(let url): "WalletConnectPay.configure was given '\(url)', which is no gateway's address"
        case .noTransport(let reason): "nothing can be sent: \(reason)"
        }
    }
}

/// Sends nothing, and says why.
struct NoTransport: HTTPTransport {
    let error: ConfigError

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        throw .notSent(reason: error.description)
    }
}

// MARK: - From the wire

// By code where it says enough, by HTTP status elsewhere.
// Source: yttrium, `pay/mod.rs`, the error mappers; codes that the OpenAPI file does not have: WalletConnect's guide to the API
// without an SDK, `api-first.md`.

/// What a call can end with whichever it was. The protocol's requirements are the enums' cases.
protocol CallError: Error {
    static func paymentNotFound(_ text: String) -> Self
    static func rateLimited(_ text: String) -> Self
    static func noConnection(_ text: String) -> Self
    static func requestTimeout(_ text: String) -> Self
    static func internalError(_ text: String) -> Self
    static var cancelled: Self { get }
    /// The gateway said no: in the words of this call.
    static func refused(_ refusal: GatewayRefusal) -> Self
    /// No final word in the time that the caller gave.
    static func unfinished(_ text: String) -> Self
    static func invalidLink(_ text: String) -> Self
}

extension CallError {
    init(_ error: PayError) {
        self =
            switch error {
            case .invalidLink: .invalidLink(error.text)
            case .refused(let refusal): .refused(refusal)
            case .rateLimited: .rateLimited(error.text)
            case .notSent: .noConnection(error.text)
            case .noAnswer: .requestTimeout(error.text)
            case .pollingTimeout: .unfinished(error.text)
            case .unclear: .internalError(error.text)
            case .cancelled: .cancelled
            }
    }

    static func unfinished(_ text: String) -> Self { .requestTimeout(text) }
    static func invalidLink(_ text: String) -> Self { .paymentNotFound(text) }
}

extension GetPaymentOptionsError: CallError {
    static func invalidLink(_ text: String) -> Self {
        .invalidRequest("unsupported payment link format: \(text)")
    }

    static func refused(_ refusal: GatewayRefusal) -> Self {
        let text = refusal.text
        return switch (refusal.code, refusal.httpStatus) {
        case ("sanctioned_user", _), ("compliance_failed", _), (_, 451): .complianceFailed(text)
        case ("invalid_account", _): .invalidAccount(text)
        case ("payment_expired", _), (_, 410): .paymentExpired(text)
        case ("payment_not_found", _), (_, 404): .paymentNotFound(text)
        case (_, 422): .invalidAccount(text)
        case ("params_validation", 400) where text.contains("Invalid account"): .invalidAccount(text)
        case (_, 400): .invalidRequest(text)
        default: .http(text)
        }
    }
}

extension GetPaymentRequestError: CallError {
    static func refused(_ refusal: GatewayRefusal) -> Self {
        let text = refusal.text
        return switch (refusal.code, refusal.httpStatus) {
        case ("option_not_found", _): .optionNotFound(text)
        case ("invalid_account", _): .invalidAccount(text)
        case ("quote_expired", _), ("route_expired", _), ("compliance_failed", _), ("sanctioned_user", _):
            .fetchError(text)
        case ("payment_not_found", _), (_, 404): .paymentNotFound(text)
        // Production's code for it is any other's. Source: captured from there, "Validation error: Option not found".
        case ("params_validation", _) where text.contains("Option not found"): .optionNotFound(text)
        case (_, 422): .invalidAccount(text)
        case (_, 400), (_, 409), (_, 410), (_, 451): .fetchError(text)
        default: .http(text)
        }
    }
}

extension ConfirmPaymentError: CallError {
    static func unfinished(_ text: String) -> Self { .pollingTimeout(text) }

    static func refused(_ refusal: GatewayRefusal) -> Self {
        let text = refusal.text
        return switch (refusal.code, refusal.httpStatus) {
        case ("quote_expired", _): .quoteExpired(text)
        case ("route_expired", _): .routeExpired(text)
        case ("invalid_signature", _): .invalidSignature(text)
        case ("option_not_found", _), ("invalid_account", _): .invalidOption(text)
        case ("payment_expired", _), (_, 410): .paymentExpired(text)
        case ("payment_not_found", _), (_, 404): .paymentNotFound(text)
        case (_, 422): .invalidSignature(text)
        case (_, 409): .routeExpired(text)
        case (_, 400): .invalidOption(text)
        default: .http(text)
        }
    }
}

extension GatewayRefusal {
    /// `<status>: <message>` in one line of bounded length, as the official SDK words it.
    fileprivate var text: String {
        let words = message.isEmpty ? code : message
        var clean = String.UnicodeScalarView()
        for scalar in words.unicodeScalars.prefix(300) {
            clean.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return "\(httpStatus): \(String(clean))"
    }
}

extension PayError {
    /// One line for a log. Holds no secret.
    var text: String {
        switch self {
        case .invalidLink(let refusal): "\(refusal)"
        case .notSent(let reason): reason
        case .noAnswer(let duration): "no answer after \(duration)"
        case .unclear(let detail): detail
        case .refused(let refusal): refusal.text
        case .rateLimited: "429: too many requests"
        case .pollingTimeout(let duration): "polling exceeded \(duration)"
        case .cancelled: "cancelled"
        }
    }
}

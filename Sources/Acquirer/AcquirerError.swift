import StrictJSON
import WalletConnectPay

/// Why a call to the acquirer gave no usable answer. The cases differ by what the caller does next.
public enum AcquirerError: Error, Sendable, Equatable {
    /// The call breaks a rule of this interface and was not sent. Nothing happened; correct the field it names.
    case invalid(field: String, message: String)
    /// No byte of it left this machine. Nothing happened; safe to send again.
    case notSent(reason: String)
    /// The acquirer said no, for good: this very request did not take effect, earlier tries of it neither, and it never will.
    case refused(AcquirerRefusal)
    /// The acquirer said no for now. Nothing happened; the same request may be sent again after the pause.
    case notNow(AcquirerRefusal, retryAfter: Duration?)
    /// Nobody is logged in, or no longer. Nothing happened; log in and send the same again.
    case signedOut
    /// It may have arrived; silence. Ask how the payment stands, or send the same bytes again.
    case noAnswer(after: Duration)
    /// A 5xx, a code that nobody knows, or an answer that the interface does not allow. Treat like silence. Log `detail`.
    case unclear(detail: String)

    /// Whether the acquirer may have acted on the call.
    public var mayHaveTakenEffect: Bool {
        switch self {
        case .invalid, .notSent, .refused, .notNow, .signedOut: false
        case .noAnswer, .unclear: true
        }
    }

    /// One line for a log. Holds no secret.
    public var summary: String {
        switch self {
        case .invalid(let field, let message): "\(field): \(message)"
        case .notSent(let reason): "not sent: \(reason)"
        case .refused(let refusal): "refused: \(refusal)"
        case .notNow(let refusal, _): "not now: \(refusal)"
        case .signedOut: "nobody is logged in at the acquirer"
        case .noAnswer(.zero): "given up here before an answer came"
        case .noAnswer(let duration): "no answer after \(duration)"
        case .unclear(let detail): "unclear answer: \(detail)"
        }
    }

    init(_ error: TransportError) {
        self =
            switch error {
            case .notSent(let reason): .notSent(reason: reason)
            case .noAnswer(let duration): .noAnswer(after: duration)
            case .answerTooLarge(let limit): .unclear(detail: "the answer passed \(limit) bytes")
            case .cancelled: .noAnswer(after: .zero)
            }
    }

    /// Sorts an answer other than 2xx. Only a code that this interface knows, under the status it belongs to, says that
    /// nothing happened: a proxy in between answers 4xx too, and knows nothing of payments.
    init(_ response: HTTPResponse) {
        guard let json = try? ExactJSON(parsing: response.body, limits: .init(bytes: 16_384, depth: 4)),
            case .string(let word)? = json.value(named: "code"),
            let code = AcquirerRefusal.Code(rawValue: word), code.status == response.status
        else {
            self = .unclear(detail: "HTTP \(response.status) without a code of this interface")
            return
        }
        var detail: String?
        if case .string(let text)? = json.value(named: "detail") { detail = String(text.prefix(64)) }
        let refusal = AcquirerRefusal(code: code, detail: detail)
        switch code {
        case .unauthorized: self = .signedOut
        case .rateLimited, .paymentBusy: self = .notNow(refusal, retryAfter: response.retryAfter())
        default: self = .refused(refusal)
        }
    }
}

/// What the acquirer did not do, and why.
public struct AcquirerRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    public let code: Code
    /// Which rule, for a log: `A4`, for example. From outside, at most 64 characters.
    public let detail: String?

    public init(code: Code, detail: String? = nil) { (self.code, self.detail) = (code, detail) }

    public var description: String { code.rawValue + (detail.map { " (\($0))" } ?? "") }

    /// The codes that this interface knows. A code that is not here says nothing about what happened.
    public enum Code: String, Sendable, CaseIterable {
        /// The request cannot be read.
        case malformed
        /// The session is missing, has ended, or is not of the kind that this call needs.
        case unauthorized
        /// Wrong name, password or token.
        case loginRefused = "login_refused"
        case paymentNotFound = "payment_not_found"
        /// The payment is known under this name with other content.
        case paymentChanged = "payment_changed"
        /// Another accept of this payment is being executed. Source: BPP/1, rule R5.
        case paymentBusy = "payment_busy"
        /// Another accept of this payment was executed, or the whole payment was given back. Source: BPP/1, rule R5.
        case paymentClosed = "payment_closed"
        /// An earlier attempt failed, and this one does not count higher. Source: BPP/1, rule R5.
        case attemptTooLow = "attempt_too_low"
        /// A signature, a hash or an amount of the bundle is wrong: one of BPP/1's checks, named in `detail`.
        case bundleRefused = "bundle_refused"
        /// The accept is of a rail that the acquirer does not execute.
        case railNotExecuted = "rail_not_executed"
        case terminalNotFound = "terminal_not_found"
        /// The acquirer has taken this terminal back.
        case terminalDenied = "terminal_denied"
        /// The proof that the terminal holds its key is wrong.
        case keyRefused = "key_refused"
        case instrumentNotFound = "instrument_not_found"
        /// The instrument, or the amount, cannot be pre-authorised.
        case notPreAuthorisable = "not_pre_authorisable"
        case insufficientFunds = "insufficient_funds"
        /// The device has a voucher in this currency already. Source: BPP/1, rule V4.
        case voucherExists = "voucher_exists"
        /// The device has spent money twice.
        case deviceBlocked = "device_blocked"
        case preAuthorisationNotFound = "pre_authorisation_not_found"
        case rateLimited = "rate_limited"
        /// No such route.
        case notFound = "not_found"

        /// The HTTP status that this code comes under.
        public var status: Int {
            switch self {
            case .malformed: 400
            case .unauthorized: 401
            case .loginRefused, .terminalDenied, .deviceBlocked: 403
            case .paymentNotFound, .terminalNotFound, .instrumentNotFound, .preAuthorisationNotFound, .notFound: 404
            case .paymentChanged, .paymentBusy, .paymentClosed, .attemptTooLow, .insufficientFunds, .voucherExists: 409
            case .bundleRefused, .railNotExecuted, .keyRefused, .notPreAuthorisable: 422
            case .rateLimited: 429
            }
        }
    }
}

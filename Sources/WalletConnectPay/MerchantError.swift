/// Why a call to the merchant side of the gateway gave no usable answer. The cases differ by what the caller does next.
public enum MerchantError: Error, Sendable, Equatable {
    /// The order breaks a rule of the gateway's and was not sent. Nothing happened; correct the field it names.
    case invalid(field: String, message: String)
    /// No byte of it left this machine. Nothing happened; safe to send again.
    case notSent(reason: String)
    /// The gateway said no. Nothing happened.
    case refused(GatewayRefusal)
    /// Too many requests. Treat like silence, for whoever says it may stand behind the work; wait, then send the same again.
    case rateLimited(retryAfter: Duration?)
    /// It may have arrived; silence. Ask for the status, or send the same again under the same idempotency key.
    case noAnswer(after: Duration)
    /// An answer that its documentation does not allow. Treat like silence. Log `detail`; nobody else needs it.
    case unclear(detail: String)
    /// A 5xx, or another status without a code of the gateway's, as proxies, portals and other servers give it. Treat like
    /// silence: whoever answered may know nothing of what the gateway did with the call.
    case strange(httpStatus: Int)

    /// Whether the gateway may have acted on the call.
    public var mayHaveTakenEffect: Bool {
        switch self {
        case .invalid, .notSent, .refused: false
        case .rateLimited, .noAnswer, .unclear, .strange: true
        }
    }

    /// One line for a log. Holds no secret.
    public var summary: String {
        switch self {
        case .invalid(let field, let message): "\(field): \(message)"
        case .notSent(let reason): "not sent: \(reason)"
        case .refused(let refusal): "refused: \(refusal.httpStatus) \(refusal.code)"
        case .rateLimited: "the gateway asks for fewer requests"
        case .noAnswer(let duration): "no answer after \(duration)"
        case .unclear(let detail): "unclear answer: \(detail)"
        case .strange(let status): "HTTP \(status) without a word of the gateway's"
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

    /// Sorts a non-2xx answer. Only a documented body says that nothing happened: a 403, 404 or 425 in HTML is the word of
    /// something before the gateway. Source: WalletConnect Pay API 2026-02-19.preview, `ErrorCode`; RFC 8470, section 5.2.
    /// - Parameter needsCode: False on the wallet's side, which sorts a 4xx by its status and knows nothing ``strange``.
    init(_ response: HTTPResponse, needsCode: Bool = true) {
        let body = try? WireError.decode(response.body)  // Not JSON: the status alone has to do.
        switch response.status {
        case 429: self = .rateLimited(retryAfter: response.retryAfter())
        case 400..<500 where response.status != 408 && !(needsCode && response.status == 425):
            let isEnough = !needsCode || Self.saysAPaymentMayExist(response.status)
            guard let code = body?.code ?? (isEnough ? "http_\(response.status)" : nil) else {
                self = .strange(httpStatus: response.status)
                return
            }
            self = .refused(
                GatewayRefusal(
                    httpStatus: response.status,
                    code: code,
                    message: body?.message ?? "",
                    issues: (body?.issues?.value ?? []).prefix(20).map {
                        GatewayRefusal.Issue(field: $0.field ?? "", message: $0.message ?? "")
                    }
                )
            )
        default:
            self =
                needsCode
                ? .strange(httpStatus: response.status)
                : .unclear(detail: "HTTP \(response.status) \(body?.code ?? "")")
        }
    }

    /// Whether the status alone says so, as in ``GatewayRefusal/saysAPaymentMayExist``.
    private static func saysAPaymentMayExist(_ status: Int) -> Bool { status == 409 || status == 410 }
}

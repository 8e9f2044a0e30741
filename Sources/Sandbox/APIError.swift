import Ethereum
import StrictJSON

/// A refusal as the API words it: an HTTP status, a stable code, a sentence.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `ErrorResponse`, `ErrorCode`. Errors are flat objects.
public struct APIError: Error, Sendable, Equatable {
    public let status: Int
    public let code: String
    public let message: String
    /// Sent as `Retry-After`, whole seconds.
    public var retryAfterSeconds: Int?
    /// What is wrong with which field; only the merchant routes say so.
    var issues: [ExactJSON] = []

    public init(_ status: Int, _ code: String, _ message: String, retryAfterSeconds: Int? = nil) {
        (self.status, self.code, self.message, self.retryAfterSeconds) = (status, code, message, retryAfterSeconds)
    }

    var body: ExactJSON {
        let members = [ExactJSON.Member("code", .string(code)), .init("message", .string(message))]
        return .object(issues.isEmpty ? members : members + [.init("issues", .array(issues))])
    }

    /// The same refusal as the routes of merchants' records and of partners word it: they know one code for what they
    /// cannot read. Source: WalletConnect Pay API, error codes of the refund and merchant routes.
    var asRecords: APIError {
        guard code == "invalid_params" || code == "header_not_ascii" else { return self }
        return APIError(status, "params_validation", message)
    }

    static let paymentNotFound = APIError(404, "payment_not_found", "Payment not found")
    static let paymentExpired = APIError(410, "payment_expired", "Payment expired")
    static let quoteExpired = APIError(409, "quote_expired", "Quote expired, fetch the options again")
    static let optionNotFound = APIError.invalid("Validation error: Option not found")
    static let invalidSignature = APIError(422, "params_validation", "Invalid signature")
    static let routeNotFound = APIError(404, "not_found", "No such route")

    /// The request is well-formed and its content is not acceptable.
    static func invalid(_ message: String) -> APIError { APIError(400, "params_validation", message) }
    /// The request is not what the route reads at all.
    static func malformed(_ message: String) -> APIError { APIError(400, "invalid_params", message) }
    static func invalidState(_ message: String) -> APIError { APIError(400, "invalid_state", message) }

    /// The HTTP status that goes with a code. 500 for codes that the documentation does not name.
    /// Source: WalletConnect Pay API, error codes; statuses that it leaves open are those its own clients expect.
    static func status(of code: String) -> Int {
        switch code {
        case "invalid_params", "params_validation", "invalid_state", "payment_not_succeeded", "invalid_api_version",
            "unknown_api_version", "api_version_downgrade", "header_not_ascii", "conflicting_auth_headers",
            "missing_idempotency_key":
            400
        case "missing_api_key", "invalid_api_key", "missing_merchant_id", "missing_merchant_api_key",
            "missing_auth_headers", "missing_app_id", "missing_client_id", "invalid_app_id", "unauthorized",
            "not_sandbox_api_key":
            401
        case "forbidden": 403
        case "payment_not_found", "merchant_not_found", "not_found": 404
        case "idempotency_conflict", "already_refunded", "settlement_asset_conflict", "version_conflict",
            "quote_expired":
            409
        case "payment_expired": 410
        case "rate_limited": 429
        case "sanctioned_user": 451
        case "bad_gateway": 502
        default: 500
        }
    }
}

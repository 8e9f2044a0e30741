public import StrictJSON

/// An error as it travels to the other side and back. Wallets' own codes pass unchanged.
public struct JSONRPCError: Error, Sendable, Hashable, Codable {
    public let code: Int
    /// For people. At most 1024 bytes are kept of what a peer sends.
    public let message: String

    public init(code: Int, message: String) { (self.code, self.message) = (code, message) }

    /// The customer, or a wallet in the customer's name, said no. Source: EIP-1193 (4001); wallets also use 5000 to 5003.
    public var isDecline: Bool { code == 4001 || (5000...5003).contains(code) }

    /// The same code with words that say more.
    func saying(_ message: String) -> JSONRPCError { JSONRPCError(code: code, message: message) }
}

/// Why a wallet turns a proposal down.
public typealias RejectionReason = JSONRPCError
/// Why a session or a pairing ends.
public typealias Reason = JSONRPCError

// Source: WalletConnect specifications, clients/sign/error-codes; EIP-1193.
extension JSONRPCError {
    public static let invalidMethod = JSONRPCError(code: 1001, message: "Invalid method.")
    public static let invalidEvent = JSONRPCError(code: 1002, message: "Invalid event.")
    public static let invalidUpdateRequest = JSONRPCError(code: 1003, message: "Invalid update request.")
    public static let invalidExtendRequest = JSONRPCError(code: 1004, message: "Invalid extend request.")
    public static let invalidSessionSettleRequest = JSONRPCError(code: 1005, message: "Invalid session settle request.")
    public static let unauthorizedMethod = JSONRPCError(code: 3001, message: "Unauthorized method.")
    public static let unauthorizedEvent = JSONRPCError(code: 3002, message: "Unauthorized event.")
    public static let unauthorizedUpdateRequest = JSONRPCError(code: 3003, message: "Unauthorized update request.")
    public static let unauthorizedExtendRequest = JSONRPCError(code: 3004, message: "Unauthorized extend request.")
    public static let unauthorizedChain = JSONRPCError(code: 3005, message: "Unauthorized target chain id requested")
    public static let userRejectedRequest = JSONRPCError(code: 4001, message: "User rejected request")
    public static let userRejected = JSONRPCError(code: 5000, message: "User rejected.")
    public static let userRejectedChains = JSONRPCError(code: 5001, message: "User rejected chains.")
    public static let userRejectedMethods = JSONRPCError(code: 5002, message: "User rejected methods.")
    public static let userRejectedEvents = JSONRPCError(code: 5003, message: "User rejected events.")
    public static let unsupportedChains = JSONRPCError(code: 5100, message: "Unsupported chains.")
    public static let unsupportedMethods = JSONRPCError(code: 5101, message: "Unsupported methods.")
    public static let unsupportedEvents = JSONRPCError(code: 5102, message: "Unsupported events.")
    public static let unsupportedAccounts = JSONRPCError(code: 5103, message: "Unsupported accounts.")
    public static let unsupportedNamespaceKey = JSONRPCError(code: 5104, message: "Unsupported namespace key.")
    public static let userDisconnected = JSONRPCError(code: 6000, message: "User disconnected.")
    public static let sessionSettlementFailed = JSONRPCError(code: 7000, message: "Session settlement failed.")
    public static let noSessionForTopic = JSONRPCError(code: 7001, message: "No matching session matching topic")
    public static let sessionRequestExpired = JSONRPCError(
        code: 8000,
        message:
            "Session request expired or expiry param validation failed (MIN_INTERVAL: 300, MAX_INTERVAL: 604800)"
    )
    public static let methodUnsupported = JSONRPCError(code: 10001, message: "Unsupported wc_ method.")
    public static let malformedResponseParams = JSONRPCError(code: 11001, message: "Malformed response.")
    public static let malformedRequestParams = JSONRPCError(code: 11002, message: "Malformed request.")
    public static let messageCompromised = JSONRPCError(code: 11003, message: "The message is not the one asked for.")
    public static let signatureVerificationFailed = JSONRPCError(code: 11004, message: "The signature is not valid.")
    public static let requestExpired = JSONRPCError(code: 11005, message: "Request expired.")
    public static let missingIssuer = JSONRPCError(code: 11006, message: "Missing issuer.")
    public static let authUserRejectedRequest = JSONRPCError(code: 12001, message: "User rejected the request.")
    public static let authUserDisconnected = JSONRPCError(code: 12002, message: "User disconnected.")
}

/// What came back for a request.
public enum RPCResult: Sendable, Equatable {
    case response(AnyCodable)
    case error(JSONRPCError)
}

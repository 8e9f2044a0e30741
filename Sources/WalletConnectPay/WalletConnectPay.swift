import FoundationEssentials
import Locks

/// The one client that a wallet shares: set up once, asked from anywhere.
///
/// It has the module's name, as in the SDK for iOS, and so hides the module: `WalletConnectPay.PaymentOption` is looked up
/// here. The module's types are listed below by their own names, so that this works as if it were the module.
/// Source: WalletConnect Pay SDK for Swift, `WalletConnectPay`.
public enum WalletConnectPay {
    /// Where the gateway is. Source: WalletConnect Pay API 2026-02-19.preview, `servers`.
    public static let productionURL = "https://api.pay.walletconnect.com"

    private static let shared = Mutex<Result<PayClient, ConfigError>>(.failure(.notConfigured))

    /// Sets the shared client up. Called again, it sets up another one; clients that were read before stay as they are.
    ///
    /// The module `Net` has the same without `transport`, with its own HTTP client.
    /// - Parameters:
    ///   - apiKey: The wallet's key at WalletConnect Pay.
    ///   - appId: The wallet's project at WalletConnect. Of the two one is needed; given both, this one is used.
    ///   - baseUrl: Another gateway than production's.
    ///   - logging: Prints a line for each exchange; never an account, a signature or a key.
    ///   - transport: Carries the requests.
    public static func configure(
        apiKey: String? = nil,
        appId: String? = nil,
        baseUrl: String = productionURL,
        logging: Bool = false,
        transport: any HTTPTransport
    ) {
        let client = client(apiKey: apiKey, appId: appId, baseUrl: baseUrl, logging: logging, transport: transport)
        shared.withLock { $0 = client }
    }

    /// For a transport that could not be made: whoever asks ``instance`` learns why.
    package static func configure(failing error: ConfigError) { shared.withLock { $0 = .failure(error) } }

    /// The client that `configure` set up. Where ``configurationError`` is not nil its calls send nothing and say why.
    public static var instance: PayClient {
        switch shared.withLock({ $0 }) {
        case .success(let client): client
        case .failure(let error): PayClient(failing: error)
        }
    }

    /// Why ``instance`` cannot work: `configure` was not called, or with what it cannot work with. Correct the call; nothing
    /// else helps. Nil where it can.
    public static var configurationError: ConfigError? {
        if case .failure(let error) = shared.withLock({ $0 }) { error } else { nil }
    }

    /// Whether a text looks like a payment link; see ``PaymentLink/isPaymentLink(_:)``. Needs no `configure`.
    public static func isPaymentLink(_ text: String) -> Bool { PaymentLink.isPaymentLink(text) }

    private static func client(
        apiKey: String?,
        appId: String?,
        baseUrl: String,
        logging: Bool,
        transport: any HTTPTransport
    ) -> Result<PayClient, ConfigError> {
        let credentials: WalletCredentials
        if let appId, !appId.isEmpty {
            // A wallet that wants to be known again makes its own client with its own name.
            credentials = .app(id: appId, clientID: UUID().uuidString.lowercased())
        } else if let apiKey, !apiKey.isEmpty {
            credentials = .apiKey(Secret(apiKey))
        } else {
            return .failure(.missingAuth)
        }
        let log: (@Sendable (String) -> Void)? = logging ? say : nil
        do throws(PayError) {
            let client = try PayClient(baseURL: baseUrl, credentials: credentials, transport: transport, log: log)
            return .success(client)
        } catch {
            return .failure(.invalidBaseURL(baseUrl))
        }
    }

    @Sendable private static func say(_ line: String) { print("[WalletConnectPay] \(line)") }
}

// MARK: - The module's types, under the name that hides the module

/// Each is the type of that name in the module, whose documentation is there.
extension WalletConnectPay {
    public typealias Action = WalletConnectPay::Action
    public typealias AmountDisplay = WalletConnectPay::AmountDisplay
    public typealias BuyerInfo = WalletConnectPay::BuyerInfo
    public typealias CollectDataAction = WalletConnectPay::CollectDataAction
    public typealias CollectDataField = WalletConnectPay::CollectDataField
    public typealias CollectDataFieldResult = WalletConnectPay::CollectDataFieldResult
    public typealias CollectDataFieldType = WalletConnectPay::CollectDataFieldType
    public typealias ConfigError = WalletConnectPay::ConfigError
    public typealias ConfirmPaymentError = WalletConnectPay::ConfirmPaymentError
    public typealias ConfirmPaymentResultResponse = WalletConnectPay::ConfirmPaymentResultResponse
    public typealias CreatedPayment = WalletConnectPay::CreatedPayment
    public typealias DataCollection = WalletConnectPay::DataCollection
    public typealias FormSchema = WalletConnectPay::FormSchema
    public typealias GatewayRefusal = WalletConnectPay::GatewayRefusal
    public typealias GetPaymentOptionsError = WalletConnectPay::GetPaymentOptionsError
    public typealias GetPaymentRequestError = WalletConnectPay::GetPaymentRequestError
    public typealias HTTPRequest = WalletConnectPay::HTTPRequest
    public typealias HTTPResponse = WalletConnectPay::HTTPResponse
    public typealias HTTPTransport = WalletConnectPay::HTTPTransport
    public typealias LinkHosts = WalletConnectPay::LinkHosts
    public typealias ListedPayment = WalletConnectPay::ListedPayment
    public typealias MerchantClient = WalletConnectPay::MerchantClient
    public typealias MerchantCredentials = WalletConnectPay::MerchantCredentials
    public typealias MerchantError = WalletConnectPay::MerchantError
    public typealias MerchantInfo = WalletConnectPay::MerchantInfo
    public typealias NewPayment = WalletConnectPay::NewPayment
    public typealias PayAmount = WalletConnectPay::PayAmount
    public typealias PayClient = WalletConnectPay::PayClient
    public typealias PayError = WalletConnectPay::PayError
    public typealias PaymentDetails = WalletConnectPay::PaymentDetails
    public typealias PaymentFacts = WalletConnectPay::PaymentFacts
    public typealias PaymentID = WalletConnectPay::PaymentID
    public typealias PaymentInfo = WalletConnectPay::PaymentInfo
    public typealias PaymentLink = WalletConnectPay::PaymentLink
    public typealias PaymentOption = WalletConnectPay::PaymentOption
    public typealias PaymentOptions = WalletConnectPay::PaymentOptions
    public typealias PaymentOptionsResponse = WalletConnectPay::PaymentOptionsResponse
    public typealias PaymentPage = WalletConnectPay::PaymentPage
    public typealias PaymentQuery = WalletConnectPay::PaymentQuery
    public typealias PaymentResult = WalletConnectPay::PaymentResult
    public typealias PaymentResultInfo = WalletConnectPay::PaymentResultInfo
    public typealias PaymentStatus = WalletConnectPay::PaymentStatus
    public typealias Secret = WalletConnectPay::Secret
    public typealias StatusReport = WalletConnectPay::StatusReport
    public typealias TimeLeft = WalletConnectPay::TimeLeft
    public typealias TransportError = WalletConnectPay::TransportError
    public typealias WalletCredentials = WalletConnectPay::WalletCredentials
    public typealias WalletKit = WalletConnectPay::WalletKit
    public typealias WalletKitClient = WalletConnectPay::WalletKitClient
    public typealias WalletRPC = WalletConnectPay::WalletRPC
    public typealias WalletRpcAction = WalletConnectPay::WalletRpcAction
}

/// The one entrance that a wallet uses for everything, as in the SDK for iOS: payments are at `WalletKit.instance.Pay`.
///
/// Payments are all it has: pairing, sessions and requests of websites need the relay, which this library does not speak.
/// It asks the client that ``WalletConnectPay`` shares, so that the two ways of setting up lead to one client.
/// Source: WalletConnect Pay SDK for Swift, iOS integration guide, WalletKit.
public enum WalletKit {
    /// Sets payments up. Called again, it sets them up anew; clients that were read before stay as they are.
    ///
    /// The module `Net` has the same without `transport`, with its own HTTP client.
    /// - Parameters:
    ///   - projectId: The wallet's project at WalletConnect.
    ///   - payBaseUrl: Another gateway than production's.
    ///   - payLogging: Prints a line for each exchange; never an account, a signature or a key.
    ///   - transport: Carries the requests.
    public static func configure(
        projectId: String,
        payBaseUrl: String = WalletConnectPay.productionURL,
        payLogging: Bool = false,
        transport: any HTTPTransport
    ) {
        WalletConnectPay.configure(appId: projectId, baseUrl: payBaseUrl, logging: payLogging, transport: transport)
    }

    /// The client that `configure` set up; see ``WalletConnectPay/configurationError`` for one that was not.
    public static var instance: WalletKitClient { WalletKitClient(Pay: WalletConnectPay.instance) }

    /// Whether a text looks like a payment link; see ``PaymentLink/isPaymentLink(_:)``. Needs no `configure`.
    public static func isPaymentLink(_ text: String) -> Bool { PaymentLink.isPaymentLink(text) }
}

/// What a wallet asks for through ``WalletKit``.
public struct WalletKitClient: Sendable {
    /// Payments.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public let Pay: PayClient  // The SDK's spelling.
}

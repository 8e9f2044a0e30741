public import WalletConnectPay

extension WalletConnectPay {
    /// One for the whole process: it lives as long, and so does not have to be shut down.
    private static let transport = Result { try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true)) }

    /// Sets the shared client up to ask over this module's HTTP client: verified TLS, no redirects; plain HTTP to this
    /// machine only.
    /// - Parameters:
    ///   - apiKey: The wallet's key at WalletConnect Pay.
    ///   - appId: The wallet's project at WalletConnect. Of the two one is needed; given both, this one is used.
    ///   - baseUrl: Another gateway than production's.
    ///   - logging: Prints a line for each exchange; never an account, a signature or a key.
    /// Source: WalletConnect Pay SDK for Swift, `WalletConnectPay.configure`.
    public static func configure(
        apiKey: String? = nil,
        appId: String? = nil,
        baseUrl: String = WalletConnectPay.productionURL,
        logging: Bool = false
    ) {
        switch transport {
        case .success(let transport):
            configure(apiKey: apiKey, appId: appId, baseUrl: baseUrl, logging: logging, transport: transport)
        case .failure(let error): configure(failing: .noTransport("\(error)"))
        }
    }
}

extension WalletKit {
    /// Sets payments up to ask over this module's HTTP client, as `WalletConnectPay.configure` does.
    /// - Parameters:
    ///   - projectId: The wallet's project at WalletConnect.
    ///   - payBaseUrl: Another gateway than production's.
    ///   - payLogging: Prints a line for each exchange; never an account, a signature or a key.
    /// Source: WalletConnect Pay SDK for Swift, iOS integration guide, `WalletKit.configure`.
    public static func configure(
        projectId: String,
        payBaseUrl: String = WalletConnectPay.productionURL,
        payLogging: Bool = false
    ) {
        WalletConnectPay.configure(appId: projectId, baseUrl: payBaseUrl, logging: payLogging)
    }
}

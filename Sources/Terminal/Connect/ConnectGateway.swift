public import WalletConnectPay

/// The WalletConnect Pay gateway, asked for a wallet that has paired with the terminal.
public protocol ConnectGateway: Sendable {
    /// What the accounts can pay the payment with. - Throws: Nothing has happened; ask again.
    func options(link: String, accounts: [String]) async throws(PayError) -> PaymentOptions
    /// What the account has to sign for an option. - Throws: Nothing has happened; ask for the options again.
    func calls(of option: WalletConnectPay.PaymentOption, payment: PaymentID) async throws(PayError) -> [WalletRPC]
    /// Hands the signatures over. Safe to repeat.
    /// - Throws: `refused`, `rateLimited`, `notSent`: nothing was paid by this call. All others: it may have been.
    func confirm(payment: PaymentID, option: String, results: [String]) async throws(PayError) -> StatusReport
    /// How the payment stands.
    func status(of payment: PaymentID) async throws(PayError) -> StatusReport
    /// Whether the terminal may send a customer to a form at this address.
    func mayShow(form url: String) -> Bool
}

/// The gateway through the wallet's side of WalletConnect Pay.
public struct ConnectGatewayClient: ConnectGateway {
    private let client: PayClient
    private let address: String
    private let pace: GatewayPace
    private let patience: Duration
    private let shows: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - client: Without repetitions of its own: the sale repeats while the charge waits.
    ///   - address: The gateway's, by which its pauses are shared with the other rails.
    ///   - pace: The one that the other rails keep to. While a pause lasts nothing is sent.
    ///   - patience: How long one confirmation waits for the payment's end.
    ///   - mayShow: Whether the terminal may send a customer to a form at this address.
    public init(
        client: PayClient,
        address: String,
        pace: GatewayPace,
        patience: Duration = .seconds(30),
        mayShow: @escaping @Sendable (String) -> Bool = { LinkHosts.walletConnectPay.allow($0) }
    ) {
        (self.client, self.address, self.pace, self.patience, shows) = (client, address, pace, patience, mayShow)
    }

    public func mayShow(form url: String) -> Bool { shows(url) }

    public func options(link: String, accounts: [String]) async throws(PayError) -> PaymentOptions {
        try await paced { () throws(PayError) in try await client.options(link: link, accounts: accounts) }
    }

    public func calls(
        of option: WalletConnectPay.PaymentOption,
        payment: PaymentID
    ) async throws(PayError) -> [WalletRPC] {
        try await paced { () throws(PayError) in
            try await client.requiredActions(paymentID: payment, option: option)
        }
    }

    public func confirm(payment: PaymentID, option: String, results: [String]) async throws(PayError) -> StatusReport {
        try await paced { () throws(PayError) in
            try await client.confirm(paymentID: payment, optionID: option, signatures: results, waitingUpTo: patience)
        }
    }

    public func status(of payment: PaymentID) async throws(PayError) -> StatusReport {
        try await paced { () throws(PayError) in try await client.status(of: payment) }
    }

    private func paced<Value>(_ call: () async throws(PayError) -> Value) async throws(PayError) -> Value {
        let left = await pace.remaining(address)
        guard left == .zero else { throw .rateLimited(retryAfter: left) }
        do throws(PayError) { return try await call() } catch {
            if case .rateLimited(let pause?) = error { await pace.pause(address, for: pause) }
            throw error
        }
    }
}

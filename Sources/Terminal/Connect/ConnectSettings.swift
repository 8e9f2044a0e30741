/// What the merchant set about wallets that pair with the terminal.
public struct ConnectSettings: Sendable, Hashable, Codable {
    public var isEnabled = false
    /// Where envelopes go through, `wss://…`.
    public var relayURL = Self.usualRelay
    /// The project at WalletConnect, 32 hexadecimal digits; the relay and the gateway know the terminal by it.
    public var projectID = ""
    /// CAIP-2, in the order of preference. Of the namespace `eip155`; others are passed over.
    public var chains = Self.usualChains
    /// One code on the screen for both kinds of wallets.
    public var usesOneCode = true

    public init() {}

    public static let usualRelay = "wss://relay.walletconnect.org"
    /// Where USDC is paid with one signature. Source: WalletConnect Pay documentation, supported networks.
    public static let usualChains = ["eip155:8453", "eip155:1", "eip155:10", "eip155:137", "eip155:42161"]
}

import WalletConnect

/// What the screen's code says where it is for two kinds of wallets.
enum ConnectCode {
    /// The pairing with a payment link in it; nil where the text is no pairing.
    static func text(of uri: String, carrying link: String) -> String? {
        guard let plain = try? WalletConnectURI(parsing: uri) else { return nil }
        return WalletConnectURI(
            symKey: plain.symKey,
            topic: plain.topic,
            expiryTimestamp: plain.expiryTimestamp,
            methods: plain.methods,
            pay: link
        ).absoluteString
    }
}

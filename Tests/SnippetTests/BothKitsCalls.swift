import Net
import WalletConnect
import WalletConnectPay
import WebSocket

// A wallet that has sessions and payments. Changed: the kits of the two libraries are set up by their modules' names, and sessions
// take a project's ID, which the SDK has from its `Networking`.

func setUpBoth(storage: any KeyValueStore) async throws -> OnlineClient {
    WalletConnectPay.WalletKit.configure(projectId: "project-1", payLogging: true)
    return try await WalletConnect.WalletKit.configure(
        metadata: AppMetadata(
            name: "My Wallet",
            description: "A wallet",
            url: "https://wallet.example",
            icons: ["https://wallet.example/icon.png"]
        ),
        projectId: "0123456789abcdef0123456789abcdef",
        storage: storage
    )
}

/// Both are found by what is asked of them.
func pairOrPay(_ scanned: String) async throws -> PaymentOptionsResponse? {
    guard WalletKit.instance.Pay.isPaymentLink(scanned) else {
        if let uri = WalletConnectURI(string: scanned) { try await WalletKit.instance.pair(uri: uri) }
        return nil
    }
    return try await WalletKit.instance.Pay.getPaymentOptions(paymentLink: scanned, accounts: [])
}

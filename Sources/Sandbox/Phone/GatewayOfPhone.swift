public import TapProtocol
public import WalletConnectPay

/// The WalletConnect Pay gateway, asked by a wallet what became of a payment that it has signed.
public struct GatewayOfPhone: PhoneGateway {
    private let client: PayClient

    public init(_ client: PayClient) { self.client = client }

    public func status(of gatewayPaymentID: String, host: String) async -> TapProtocol.PaymentStatus? {
        // A gateway that does not answer is asked again.
        guard let info = try? await client.options(link: gatewayPaymentID, accounts: []).info else { return nil }
        switch info.status {
        case .succeeded: return .completed
        case .failed: return .failed
        case .expired, .cancelled: return .cancelled
        default: return nil
        }
    }
}

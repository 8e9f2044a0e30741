public import Payments
public import WalletConnectPay

/// A gateway and the merchant that payments are made for, as one value.
///
/// Two places are equal exactly where the same gateway is asked as the same merchant, however somebody typed its address.
/// Decided in docs/decisions/0034-one-gateway-one-value.md.
public struct PaymentPlace: Sendable, Hashable {
    public let gateway: GatewayAddress
    /// By the gateway's name for it, byte for byte: only the gateway knows whether two spellings are one merchant.
    public let merchantID: String

    /// Makes a place; nil where the text is no gateway address.
    public init?(gatewayURL: String, merchantID: String) {
        guard let gateway = GatewayAddress(gatewayURL) else { return nil }
        (self.gateway, self.merchantID) = (gateway, merchantID)
    }
}

extension ChargeTerms {
    /// The place of the charge's payments at a gateway; nil where the journal holds no usable address.
    public var place: PaymentPlace? { PaymentPlace(gatewayURL: gatewayURL, merchantID: merchantID) }
}

extension MerchantSettings {
    /// The place that payments are made at; nil for an address that cannot be used.
    public var place: PaymentPlace? { PaymentPlace(gatewayURL: gatewayURL, merchantID: merchantID) }
}

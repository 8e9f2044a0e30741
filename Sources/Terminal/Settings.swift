public import Payments

/// What the merchant set: who is paid, where payments are made, and how amounts are shown.
public struct MerchantSettings: Sendable, Hashable, Codable {
    /// Who runs the service, 1 to 64 characters of letters, digits and `. _ - : /`.
    public var operatorID: String
    /// Who is paid, by the gateway's name; the same form as the operator ID.
    public var merchantID: String
    /// What the customer sees, 1 to 60 characters of any script.
    public var merchantName: String
    /// Where payments are made, `https://…`; plain `http` to this machine only, and only where the terminal allows it.
    public var gatewayURL: String
    public var currency: Currency
    /// BCP 47 tag out of ``AmountFormat/table``.
    public var locale: String
    public var limits: ChargeLimits
    /// How long a customer has to pay, in seconds, 60 to 3600.
    public var timeLimitSeconds: Int
    /// Where the shop's days begin and end, a name of the IANA database such as `Europe/Berlin`. Nil: the machine's.
    public var timeZone: String?

    public init(
        operatorID: String,
        merchantID: String,
        merchantName: String,
        gatewayURL: String,
        currency: Currency,
        locale: String = "en-US",
        limits: ChargeLimits = ChargeLimits(),
        timeLimitSeconds: Int = 300,
        timeZone: String? = nil
    ) {
        self.operatorID = operatorID
        self.merchantID = merchantID
        self.merchantName = merchantName
        self.gatewayURL = gatewayURL
        self.currency = currency
        self.locale = locale
        self.limits = limits
        self.timeLimitSeconds = timeLimitSeconds
        self.timeZone = timeZone
    }

    public var format: AmountFormat { AmountFormat(locale: locale) }
}

public import Payments
import Screen

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
    /// BCP 47 tag of the language of the screen and of receipts, out of ``languages``. Nil: English.
    public var language: String?
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
        timeZone: String? = nil,
        language: String? = nil
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
        self.language = language
    }

    /// Languages of the screen and of receipts, as BCP 47 tags.
    public static let languages = ScreenText.all.map(\.languageTag)

    /// The one of ``languages`` that an `Accept-Language` header wants most; nil where it names none of them.
    public static func language(preferredIn header: String?) -> String? { ScreenText.preferred(header)?.languageTag }

    public var format: AmountFormat { AmountFormat(locale: locale) }
}

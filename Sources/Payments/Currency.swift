/// A currency that amounts are counted in, with the number of decimal digits its smallest unit stands for.
public struct Currency: Sendable, Hashable {
    /// ISO 4217 alphabetic code, three capital letters, for example `EUR`.
    public let code: String
    /// Decimal digits between the unit people speak of and the smallest one: 0 (yen), 2 (euro), 3 (dinar) or 4.
    public let exponent: Int

    /// A currency of ISO 4217, or nil where `code` is not an active one. Case matters: the code is capitals.
    public init?(code: String) {
        // Three bytes: Swift takes "\u{212A}ES" with the sign for kelvin for the same text as "KES".
        guard code.utf8.count == 3, Self.activeCodes.contains(code) else { return nil }
        self.code = code
        exponent = Self.exponents[code] ?? 2
    }

    private init(known code: String, exponent: Int) { (self.code, self.exponent) = (code, exponent) }

    public static let euro = Currency(known: "EUR", exponent: 2)
    public static let usDollar = Currency(known: "USD", exponent: 2)
    public static let yen = Currency(known: "JPY", exponent: 0)

    /// Every active currency of ISO 4217, by code.
    public static let all: [Currency] = activeCodes.sorted().compactMap(Currency.init(code:))

    /// Smallest units in one unit people speak of: 100 for the euro, 1 for the yen.
    public var minorUnitsPerUnit: Int64 { (0..<exponent).reduce(1) { power, _ in power * 10 } }

    /// Source: ISO 4217:2015 list one, the minor units that are not 2.
    private static let exponents: [String: Int] = [
        "BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
        "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0, "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3,
        "OMR": 3, "TND": 3, "CLF": 4, "UYW": 4,
    ]

    /// Source: ISO 4217:2015 list one, without metals, test codes and units that no shop is paid in.
    private static let activeCodes: Set<String> = [
        "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BHD", "BIF", "BMD", "BND",
        "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CLF", "CLP", "CNY", "COP", "CRC", "CUP",
        "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP",
        "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD", "IRR", "ISK", "JMD", "JOD",
        "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL", "LYD",
        "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MYR", "MZN", "NAD", "NGN",
        "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB",
        "RWF", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL",
        "THB", "TJS", "TMT", "TND", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "UYI", "UYU", "UYW", "UZS",
        "VED", "VES", "VND", "VUV", "WST", "XAF", "XCD", "XCG", "XOF", "XPF", "YER", "ZAR", "ZMW", "ZWG",
    ]
}

extension Currency: Codable {
    /// A currency travels as its code.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let code = try container.decode(String.self)
        guard let currency = Currency(code: code) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(code)' is not a currency")
        }
        self = currency
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(code)
    }
}

/// An exact amount of one currency. Never a floating-point number.
public struct Money: Sendable, Hashable, Codable {
    /// The amount in the currency's smallest unit: 10.50 € is `1050`, 10 ¥ is `10`.
    public let minorUnits: Int64
    public let currency: Currency

    public init(minorUnits: Int64, currency: Currency) {
        self.minorUnits = minorUnits
        self.currency = currency
    }

    /// Why two amounts could not be added.
    public enum ArithmeticError: Error, Sendable, Equatable {
        case differentCurrencies(Currency, Currency)
        /// The sum does not fit 63 bits of minor units.
        case overflow
    }

    /// The sum of two amounts of one currency.
    public func adding(_ other: Money) throws(ArithmeticError) -> Money {
        guard currency == other.currency else { throw .differentCurrencies(currency, other.currency) }
        let (sum, overflow) = minorUnits.addingReportingOverflow(other.minorUnits)
        guard !overflow else { throw .overflow }
        return Money(minorUnits: sum, currency: currency)
    }
}

/// An amount of a token as the authority writes it: digits of any length, and where the decimal point stands.
///
/// Tokens have up to 18 decimals and amounts that pass 64 bits, so it is never counted with here, only shown.
public struct TokenAmount: Sendable, Hashable, Codable {
    /// Smallest units, decimal digits only, no leading zeros.
    public let digits: String
    /// Decimal digits after the point, 0 to 36.
    public let decimals: Int
    /// For example `USDC`. Written by the outside: shorten and clean before it is shown.
    public let symbol: String
    /// For example `Base`.
    public let network: String?

    /// Nil where `digits` is not a number of 1 to 80 digits, or `decimals` is out of range.
    public init?(digits: String, decimals: Int, symbol: String, network: String?) {
        guard (1...80).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            (0...36).contains(decimals)
        else { return nil }
        let trimmed = digits.drop { $0 == "0" }
        self.digits = trimmed.isEmpty ? "0" : String(trimmed)
        self.decimals = decimals
        self.symbol = symbol
        self.network = network
    }

    /// The amount with its point and without trailing zeros, for example `13.57`.
    public var plain: String {
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        let whole = padded.prefix(padded.count - decimals)
        var fraction = padded.suffix(decimals)
        while fraction.last == "0" { fraction.removeLast() }
        return fraction.isEmpty ? String(whole) : "\(whole).\(fraction)"
    }
}

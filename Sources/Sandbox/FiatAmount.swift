import Ethereum
import StrictJSON

/// An amount of money as a merchant asks for it, in the currency's smallest units.
public struct FiatAmount: Sendable, Hashable {
    public let currency: FiatCurrency
    /// 1 to 18 446 744 073 709 551 615. Source: the official POS apps hold amounts in 64 bits.
    public let minorUnits: UInt64

    public init(currency: FiatCurrency, minorUnits: UInt64) {
        (self.currency, self.minorUnits) = (currency, minorUnits)
    }

    /// Reads the `amount` of a create request.
    /// - Throws: 400 with the gateway's own sentence. Source: WalletConnect Pay, create payment, validation rules.
    init(_ parameter: ExactJSON?) throws(APIError) {
        guard let parameter, parameter.isObject else { throw .malformed("Missing field: amount") }
        guard let unit = parameter["unit"]?.stringValue else { throw .malformed("Missing field: amount.unit") }
        guard let value = parameter["value"]?.stringValue else {
            throw .malformed("Field amount.value must be a string of digits")
        }
        minorUnits = try Self.minorUnits(value)
        let code = unit.hasPrefix("iso4217/") ? String(unit.dropFirst("iso4217/".count)) : unit
        guard unit.hasPrefix("iso4217/"), let known = FiatCurrency(rawValue: code) else {
            throw .invalid("Currency '\(code.prefix(100))' is not supported")
        }
        currency = known
    }

    private static func minorUnits(_ value: String) throws(APIError) -> UInt64 {
        guard !value.isEmpty else { throw .invalid("Amount is empty") }
        guard value.unicodeScalars.count <= 100 else {
            throw .invalid("Amount exceeds maximum length of 100 characters")
        }
        guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .invalid("Amount contains invalid characters, only digits allowed")
        }
        guard !value.utf8.allSatisfy({ $0 == 0x30 }) else { throw .invalid("Amount cannot be zero") }
        guard !value.hasPrefix("0") else { throw .invalid("Amount cannot have leading zeros") }
        guard let minorUnits = UInt64(value) else { throw .invalid("Validation error: Amount is too large") }
        return minorUnits
    }

    var json: ExactJSON {
        .members([
            "unit": .string("iso4217/\(currency.rawValue)"), "value": .string(String(minorUnits)),
            "display": .members([
                "assetSymbol": .string(currency.rawValue), "assetName": .string(currency.name),
                "decimals": .integer(FiatCurrency.decimals),
            ]),
        ])
    }

    /// The same amount in `token`'s smallest units, rounded up so that the merchant never gets less.
    func smallestUnits(of token: KnownToken) -> UInt256 {
        let peg = Offering.peg(of: token)
        var units = UInt256(minorUnits)
        do {
            // At most 64 + 54 + 7 bits: nothing here can overflow.
            for _ in 0..<(token.decimals - FiatCurrency.decimals) { units = try units.multiplied(by: 10) }
            guard peg != currency else { return units }
            let cents = try units.multiplied(by: currency.usCents)
            let (quotient, remainder) = try cents.quotientAndRemainder(dividingBy: peg.usCents)
            return remainder == 0 ? quotient : try quotient.adding(UInt256(1 as UInt64))
        } catch {
            return .max
        }
    }
}

/// The currencies a merchant can ask for. Source: WalletConnect Pay documentation, fiat settlement: USD, EUR, GBP.
public enum FiatCurrency: String, Sendable, CaseIterable {
    case usDollar = "USD"
    case euro = "EUR"
    case poundSterling = "GBP"

    /// The same for all three.
    static let decimals = 2

    var name: String {
        switch self {
        case .usDollar: "US Dollar"
        case .euro: "Euro"
        case .poundSterling: "Pound Sterling"
        }
    }

    /// US cents for one unit of the currency. Fixed, so that a test can foretell what a wallet is asked to pay.
    var usCents: UInt64 {
        switch self {
        case .usDollar: 100
        case .euro: 108
        case .poundSterling: 127
        }
    }
}

/// A merchant's own name for a sale.
enum Reference {
    /// Source: WalletConnect Pay, create payment, validation rules. Lists search by at least three characters.
    static func validated(_ text: String) throws(APIError) -> String {
        guard text.unicodeScalars.count <= 35 else {
            throw .invalid("Reference ID exceeds maximum length of 35 characters")
        }
        guard text.utf8.allSatisfy(allows) else { throw .invalid("Reference ID contains invalid characters") }
        return text
    }

    static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: " /-:.,+".utf8.contains(byte)
        }
    }
}

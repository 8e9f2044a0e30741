/// How one language and country writes amounts of money.
///
/// A small table instead of ICU: the core stays free of Foundation, and a terminal needs a handful of conventions.
/// Source: Unicode CLDR 44, `numbers/symbols` and `currencyFormats/standard` of each locale; `currencyDecimal` where a locale has
/// one (fr-CH). Four digits are grouped too, as on price tags, where CLDR groups from five (es, it, pl, pt). The page has the same table.
public struct AmountFormat: Sendable, Equatable {
    /// BCP 47 tag, for example `de-DE`.
    public let locale: String
    let decimalSeparator: Character
    let groupSeparator: Character
    let symbolComesFirst: Bool
    let spaceBetween: Bool

    private init(_ locale: String, decimal: Character, group: Character, first: Bool, space: Bool) {
        self.locale = locale
        decimalSeparator = decimal
        groupSeparator = group
        symbolComesFirst = first
        spaceBetween = space
    }

    /// The conventions of `locale`; those of its language, else English ones, where it is not in the table.
    public init(locale: String) {
        let language = locale.prefix { $0 != "-" && $0 != "_" }
        self =
            Self.table.first { $0.locale == locale }
            ?? Self.table.first { $0.locale.prefix { $0 != "-" } == language }
            ?? Self.english
    }

    public static let english = AmountFormat("en-US", decimal: ".", group: ",", first: true, space: false)

    /// Every locale the terminal knows, the first of a language being that language's default.
    public static let table: [AmountFormat] = [
        english,
        AmountFormat("en-GB", decimal: ".", group: ",", first: true, space: false),
        AmountFormat("en-IE", decimal: ".", group: ",", first: true, space: false),
        AmountFormat("de-DE", decimal: ",", group: ".", first: false, space: true),
        AmountFormat("de-AT", decimal: ",", group: ".", first: true, space: true),
        AmountFormat("de-CH", decimal: ".", group: "’", first: true, space: true),
        AmountFormat("es-ES", decimal: ",", group: ".", first: false, space: true),
        AmountFormat("es-MX", decimal: ".", group: ",", first: true, space: false),
        AmountFormat("fr-FR", decimal: ",", group: "\u{202F}", first: false, space: true),
        AmountFormat("fr-CH", decimal: ".", group: "\u{202F}", first: false, space: true),
        AmountFormat("it-IT", decimal: ",", group: ".", first: false, space: true),
        AmountFormat("pt-PT", decimal: ",", group: "\u{00A0}", first: false, space: true),
        AmountFormat("pt-BR", decimal: ",", group: ".", first: true, space: true),
        AmountFormat("nl-NL", decimal: ",", group: ".", first: true, space: true),
        AmountFormat("ja-JP", decimal: ".", group: ",", first: true, space: false),
        AmountFormat("ar-EG", decimal: ".", group: ",", first: false, space: true),
        AmountFormat("sv-SE", decimal: ",", group: "\u{00A0}", first: false, space: true),
        AmountFormat("pl-PL", decimal: ",", group: "\u{00A0}", first: false, space: true),
    ]

    /// The amount with its currency, for example `€1,234.50` (en) or `1.234,50 €` (de). No-break spaces only.
    public func text(_ money: Money) -> String {
        let number = number(money)
        let symbol = Self.symbols[money.currency.code] ?? money.currency.code
        // A code in letters always stands off from the digits, also where a symbol would touch them.
        let gap = spaceBetween || symbol.count > 1 && symbol.allSatisfy(\.isLetter) ? "\u{00A0}" : ""
        let sign = money.minorUnits < 0 ? "-" : ""
        return sign + (symbolComesFirst ? symbol + gap + number : number + gap + symbol)
    }

    private func number(_ money: Money) -> String {
        let exponent = money.currency.exponent
        var digits = String(money.minorUnits.magnitude)
        digits = String(repeating: "0", count: max(0, exponent + 1 - digits.count)) + digits
        let whole = Array(digits.dropLast(exponent))
        var grouped = ""
        for (index, digit) in whole.enumerated() {
            if index > 0, (whole.count - index).isMultiple(of: 3) { grouped.append(groupSeparator) }
            grouped.append(digit)
        }
        return exponent == 0 ? grouped : grouped + String(decimalSeparator) + digits.suffix(exponent)
    }

    /// Symbols that stand for one currency only, wherever the reader lives. The rest are written by their code.
    private static let symbols: [String: String] = [
        "EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹", "KRW": "₩", "ILS": "₪", "VND": "₫", "UAH": "₴",
        "TRY": "₺", "PLN": "zł",
    ]
}

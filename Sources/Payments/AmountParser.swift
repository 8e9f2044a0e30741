/// Why a typed amount was not taken. Nothing is charged; the cashier types again.
public enum AmountError: Error, Sendable, Equatable {
    case empty
    /// Something that is neither a digit nor a separator stands in it.
    case notANumber
    case negative
    case zero
    /// More digits after the decimal separator than the currency has.
    case tooManyDecimals(allowed: Int)
    /// `1,234` could be one thousand or one and a bit; refused rather than guessed.
    case ambiguous
    /// Passes what the terminal can count.
    case tooLarge
}

extension Money {
    /// Reads an amount as people type it: `12`, `12.5`, `12,50`, `1.234,50`, `1’234.50`, `1 234,50`, with digits of any
    /// script. `Public/app/money.js` reads by the same rules.
    ///
    /// Groups have three digits, the first one to three and no zero in front; spaces and apostrophes group and never stand
    /// for the decimal separator. `12 50` is no amount: 12.50 and 1250 differ by a factor of a hundred.
    ///
    /// Both `.` and `,` count as the decimal separator where only one reading makes sense. Where two do (`1,234` with a
    /// currency of three decimals, or a lone group of three digits), `format` decides, and an amount that `format` would
    /// write differently is refused as `ambiguous`: a wrong guess is wrong by a factor of a thousand.
    public static func parse(
        typed text: String,
        currency: Currency,
        format: AmountFormat = .english
    ) throws(AmountError) -> Money {
        guard text.unicodeScalars.count <= 40 else { throw .tooLarge }
        var symbols: [Symbol] = []
        for character in text.trimming(while: \.isWhitespace) { symbols.append(try Symbol(character)) }
        guard !symbols.isEmpty else { throw .empty }
        guard Self.hasDigitsOfOneScript(text) else { throw .notANumber }
        if symbols.first == .minus { throw .negative }
        guard !symbols.contains(.minus) else { throw .notANumber }

        let (whole, fraction) = try split(symbols, currency: currency, format: format)
        guard fraction.count <= currency.exponent else { throw .tooManyDecimals(allowed: currency.exponent) }
        let padding = repeatElement(UInt8(0), count: currency.exponent - fraction.count)
        var minorUnits: Int64 = 0
        for digit in whole + fraction + padding {
            let (product, tooLarge) = minorUnits.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = product.addingReportingOverflow(Int64(digit))
            guard !tooLarge, !overflow else { throw .tooLarge }
            minorUnits = sum
        }
        guard minorUnits > 0 else { throw .zero }
        return Money(minorUnits: minorUnits, currency: currency)
    }

    /// A Bengali four looks like an eight: beside other digits it is a trick. Mathematical digits are for formulas.
    private static func hasDigitsOfOneScript(_ text: String) -> Bool {
        let zeros = Set(
            text.unicodeScalars.compactMap { scalar in
                Character(scalar).wholeNumberValue.map { Int(scalar.value) - $0 }
            }
        )
        return zeros.count <= 1 && zeros.allSatisfy { $0 < 0x1D7CE || $0 > 0x1D7FF }
    }

    private enum Symbol: Equatable {
        case digit(UInt8)
        case separator(Character)
        case minus

        init(_ character: Character) throws(AmountError) {
            // One scalar only: a digit with a combining mark looks like something else on the screen.
            guard character.unicodeScalars.count == 1 else { throw .notANumber }
            switch character {
            case ".", "．": self = .separator(".")
            case ",", "，", "،": self = .separator(",")
            case "’", "'": self = .separator("’")
            case "٫": self = .separator(".")  // Arabic decimal separator.
            case "٬": self = .separator("’")  // Arabic thousands separator: groups only.
            case " ", "\u{00A0}", "\u{2009}", "\u{202F}": self = .separator(" ")  // Groups only.
            case "-", "−", "–": self = .minus
            default:
                // Decimal digits of a script (Nd) only: `½`, `²` and `五` are numbers that nobody types as money.
                guard let scalar = character.unicodeScalars.first,
                    scalar.properties.generalCategory == .decimalNumber,
                    let value = character.wholeNumberValue, (0...9).contains(value)
                else { throw .notANumber }
                self = .digit(UInt8(value))
            }
        }

        var value: UInt8? { if case .digit(let value) = self { value } else { nil } }
        var separator: Character? { if case .separator(let character) = self { character } else { nil } }
    }

    private static func split(
        _ symbols: [Symbol],
        currency: Currency,
        format: AmountFormat
    ) throws(AmountError) -> (whole: [UInt8], fraction: [UInt8]) {
        let separators = symbols.indices.filter { symbols[$0].separator != nil }
        guard let last = separators.last, let lastSeparator = symbols[last].separator else {
            return (symbols.compactMap(\.value), [])
        }
        let fraction = symbols[(last + 1)...].compactMap(\.value)
        let others = Set(separators.dropLast().compactMap { symbols[$0].separator })

        let lastIsDecimal: Bool
        if lastSeparator == "’" || lastSeparator == " " || others.contains(lastSeparator) {
            lastIsDecimal = false  // A space, an apostrophe, or a separator used twice, groups.
        } else if !others.isEmpty {
            lastIsDecimal = true  // Two kinds: the last one is the decimal separator.
        } else if fraction.count != 3 || last == 0 || last > 3 {
            lastIsDecimal = true
        } else {
            // `1,234`: one thousand, or one and a bit.
            lastIsDecimal = lastSeparator == format.decimalSeparator
            guard lastIsDecimal == (currency.exponent >= 3) else { throw .ambiguous }
        }

        let wholeSymbols = Array(lastIsDecimal ? symbols[..<last] : symbols[...])
        try checkGroups(wholeSymbols, decimal: lastIsDecimal ? lastSeparator : nil)
        return (wholeSymbols.compactMap(\.value), lastIsDecimal ? fraction : [])
    }

    /// Groups are three digits each but for the first, which has one to three and does not begin with a zero, and one kind
    /// of separator.
    private static func checkGroups(_ symbols: [Symbol], decimal: Character?) throws(AmountError) {
        let kinds = Set(symbols.compactMap(\.separator))
        guard !kinds.isEmpty else { return }
        guard kinds.count == 1, decimal.map({ !kinds.contains($0) }) ?? true else { throw .notANumber }
        let groups = symbols.split(omittingEmptySubsequences: false) { $0.separator != nil }
        guard let first = groups.first, (1...3).contains(first.count), first.first != .digit(0),
            groups.dropFirst().allSatisfy({ $0.count == 3 })
        else { throw .notANumber }
    }
}

extension String {
    /// Without the characters at both ends that fit.
    fileprivate func trimming(while fits: (Character) -> Bool) -> Substring {
        let rest = drop(while: fits)
        return rest[..<(rest.lastIndex { !fits($0) }.map(rest.index(after:)) ?? rest.startIndex)]
    }
}

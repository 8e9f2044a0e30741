import Payments
import Testing

struct MoneyTests {
    private static func money(_ minorUnits: Int64, _ code: String) -> Money? {
        Currency(code: code).map { Money(minorUnits: minorUnits, currency: $0) }
    }

    @Test(arguments: [
        ("12", "EUR", "en-US", 1200), ("12.5", "EUR", "en-US", 1250), ("12,50", "EUR", "en-US", 1250),
        ("1,234.50", "EUR", "en-US", 123_450), ("1.234,50", "EUR", "en-US", 123_450),
        ("1’234.50", "CHF", "de-CH", 123_450),
        ("1 234,50", "EUR", "fr-FR", 123_450), ("1.234", "EUR", "de-DE", 123_400), ("1,234", "EUR", "en-US", 123_400),
        ("1.234.567", "EUR", "en-US", 123_456_700), (".5", "EUR", "en-US", 50), ("0.01", "USD", "en-US", 1),
        ("1,234", "JPY", "ja-JP", 1234), ("1.234", "KWD", "en-US", 1234), ("1234", "KWD", "en-US", 1_234_000),
        ("１２.５０", "EUR", "en-US", 1250), ("١٢٫٥٠", "EUR", "ar-EG", 1250), ("१२.५", "INR", "en-US", 1250),
        ("12.", "EUR", "en-US", 1200), ("007", "EUR", "en-US", 700), ("12.345", "USD", "de-DE", 1_234_500),
        (" 12,50 ", "EUR", "de-DE", 1250), ("1 234", "EUR", "de-DE", 123_400),
        ("1\u{00A0}234,50", "EUR", "de-DE", 123_450),
        ("1\u{202F}234\u{202F}567,5", "EUR", "fr-FR", 123_456_750), ("1\u{2009}234.5", "EUR", "en-US", 123_450),
        ("1'234.50", "CHF", "de-CH", 123_450), ("١٬٢٣٤٫٥", "EUR", "ar-EG", 123_450), ("١٢،٥", "EUR", "ar-EG", 1250),
        ("۱۲٫۵", "EUR", "ar-EG", 1250), ("１，２３４．５", "EUR", "ja-JP", 123_450), ("1 234", "JPY", "ja-JP", 1234),
        ("0.500", "KWD", "en-US", 500),
    ])
    func readsAmountsAsPeopleTypeThem(typed: String, code: String, locale: String, minorUnits: Int64) throws {
        let currency = try #require(Currency(code: code))
        let money = try Money.parse(typed: typed, currency: currency, format: AmountFormat(locale: locale))
        #expect(money == Money(minorUnits: minorUnits, currency: currency))
    }

    @Test(arguments: [
        ("", "EUR", "en-US", AmountError.empty), ("   ", "EUR", "en-US", .empty), ("0", "EUR", "en-US", .zero),
        ("0.00", "EUR", "en-US", .zero), ("-5", "EUR", "en-US", .negative), ("−5", "EUR", "en-US", .negative),
        ("5-", "EUR", "en-US", .notANumber), ("12.345", "USD", "en-US", .ambiguous),
        ("12 50", "EUR", "de-DE", .notANumber), ("1 2", "EUR", "de-DE", .notANumber),
        ("1\u{00A0}50", "EUR", "de-DE", .notANumber), ("1 23 45", "EUR", "de-DE", .notANumber),
        ("5 0,00", "EUR", "de-DE", .notANumber), ("1 234,5 0", "EUR", "de-DE", .notANumber),
        ("1  234", "EUR", "de-DE", .notANumber), ("1234 567", "EUR", "de-DE", .notANumber),
        ("1 234.567,50", "EUR", "de-DE", .notANumber), ("12\t50", "EUR", "de-DE", .notANumber),
        ("0,500", "EUR", "en-US", .notANumber), ("0 500", "EUR", "de-DE", .notANumber),
        ("0,500", "KWD", "en-US", .ambiguous), ("12.50", "JPY", "en-US", .tooManyDecimals(allowed: 0)),
        ("+5", "EUR", "en-US", .notANumber), ("١2", "EUR", "ar-EG", .notANumber),
        ("12.3456", "EUR", "en-US", .tooManyDecimals(allowed: 2)),
        ("1.5", "JPY", "en-US", .tooManyDecimals(allowed: 0)),
        ("1,234", "EUR", "de-DE", .ambiguous), ("1.234", "EUR", "en-US", .ambiguous),
        ("1.234", "JPY", "en-US", .ambiguous),
        ("1,2,3", "EUR", "en-US", .notANumber), ("1,23.4", "EUR", "en-US", .notANumber),
        ("1e3", "EUR", "en-US", .notANumber),
        ("0x10", "EUR", "en-US", .notANumber), ("½", "EUR", "en-US", .notANumber), ("²", "EUR", "en-US", .notANumber),
        ("五", "EUR", "en-US", .notANumber), ("€5", "EUR", "en-US", .notANumber),
        ("5\u{0336}", "EUR", "en-US", .notANumber),
        ("5\u{202E}", "EUR", "en-US", .notANumber), ("5\u{200B}", "EUR", "en-US", .notANumber),
        ("5\u{0000}", "EUR", "en-US", .notANumber), ("NaN", "EUR", "en-US", .notANumber),
        ("92233720368547758.08", "EUR", "en-US", .tooLarge), ("999999999999999999999999", "EUR", "en-US", .tooLarge),
        (String(repeating: "1", count: 41), "EUR", "en-US", .tooLarge),
    ])
    func refusesWhatIsNotAnAmount(typed: String, code: String, locale: String, error: AmountError) throws {
        let currency = try #require(Currency(code: code))
        #expect(throws: error) {
            try Money.parse(typed: typed, currency: currency, format: AmountFormat(locale: locale))
        }
    }

    /// Every text of up to three runs of digits with a separator between them, with either decimal sign and with every number of
    /// decimals: what is read is what the text says when it is written out by rule, and nothing else is read.
    @Test func whatIsReadIsWhatWasWritten() throws {
        let currencies = try ["JPY", "EUR", "KWD", "CLF"].map { try #require(Currency(code: $0)) }
        let runs = ["", "0", "1", "123", "012", "1234"]
        let separators = [".", ",", " ", "’"]
        var texts = runs
        for one in runs {
            for separator in separators {
                for other in runs {
                    texts.append(one + separator + other)
                    for next in separators { texts += runs.map { one + separator + other + next + $0 } }
                }
            }
        }
        // Spaces at the ends are nothing.
        texts = texts.filter { $0.first != " " && $0.last != " " }
        var read = 0
        for format in ["en-US", "de-DE", "fr-FR", "de-CH"].map(AmountFormat.init(locale:)) {
            for currency in currencies {
                for text in texts {
                    let wanted = Self.meaning(of: text, currency.exponent, format)
                    let found = try? Money.parse(typed: text, currency: currency, format: format).minorUnits
                    if found != nil { read += 1 }
                    #expect(found == wanted, "“\(text)” \(currency.code) \(format.locale)")
                }
            }
        }
        #expect(read > 1000)
    }

    /// What a text means by the rules of the documentation, found by writing them as patterns: groups, then decimals. Nil where
    /// it means nothing, or two things.
    private static func meaning(of text: String, _ exponent: Int, _ format: AmountFormat) -> Int64? {
        let parts = text.split(omittingEmptySubsequences: false) { ".,’ ".contains($0) }.map(String.init)
        let signs = Array(text.filter { ".,’ ".contains($0) })
        func value(_ whole: [String], _ fraction: String) -> Int64? {
            guard fraction.count <= exponent else { return nil }
            let digits = whole.joined() + fraction + String(repeating: "0", count: exponent - fraction.count)
            return Int64(digits.isEmpty ? "0" : digits).flatMap { $0 > 0 ? $0 : nil }
        }
        func areGroups(_ parts: [String]) -> Bool {
            (1...3).contains(parts[0].count) && !parts[0].hasPrefix("0")
                && parts.dropFirst().allSatisfy { $0.count == 3 }
        }
        guard let last = signs.last else { return value(parts, "") }
        let groups = Set(signs).count == 1 && areGroups(parts) ? value(parts, "") : nil
        let wholeSigns = Set(signs.dropLast())
        let isDecimal =
            ".,".contains(last) && !wholeSigns.contains(last)
            && (wholeSigns.isEmpty || wholeSigns.count == 1 && areGroups(Array(parts.dropLast())))
        let decimals = isDecimal ? value(Array(parts.dropLast()), parts[parts.count - 1]) : nil
        // One sign and three digits behind it: both are possible, and the shop’s way of writing has to agree.
        if signs.count == 1, ".,".contains(last), (1...3).contains(parts[0].count), parts[1].count == 3 {
            let isTheShopsPoint = last == format.text(Money(minorUnits: 1, currency: .euro)).first { ".,".contains($0) }
            guard isTheShopsPoint == (exponent >= 3) else { return nil }
            return exponent >= 3 ? decimals : groups
        }
        return decimals ?? groups
    }

    @Test func whatIsWrittenCanBeReadBack() throws {
        var generator = SystemRandomNumberGenerator()
        for format in AmountFormat.table {
            for currency in Currency.all {
                let money = Money(minorUnits: Int64.random(in: 1...99_999_999, using: &generator), currency: currency)
                let typed = format.text(money).filter { $0.isNumber || ".,’\u{202F}\u{00A0}".contains($0) }
                do {
                    #expect(try Money.parse(typed: typed, currency: currency, format: format) == money, "\(typed)")
                } catch AmountError.ambiguous {
                    // A lone group of three digits in a currency of three decimals: refused, not misread.
                    #expect(currency.exponent >= 3 || currency.exponent == 0, "\(typed) \(currency.code)")
                }
            }
        }
    }

    @Test(arguments: [
        (1250, "EUR", "en-US", "€12.50"), (123_450, "EUR", "de-DE", "1.234,50\u{00A0}€"), (5, "EUR", "en-US", "€0.05"),
        (123_456_789, "USD", "en-US", "$1,234,567.89"), (1234, "JPY", "ja-JP", "¥1,234"),
        (1234, "KWD", "en-US", "KWD\u{00A0}1.234"),
        (-1250, "EUR", "en-US", "-€12.50"), (100_000, "CHF", "de-CH", "CHF\u{00A0}1’000.00"),
        (123_450, "EUR", "fr-FR", "1\u{202F}234,50\u{00A0}€"), (123_450, "CHF", "fr-CH", "1\u{202F}234.50\u{00A0}CHF"),
        (123_450, "EUR", "es-ES", "1.234,50\u{00A0}€"), (123_456, "EGP", "ar-EG", "1,234.56\u{00A0}EGP"),
        (Int64.min, "JPY", "en-US", "-¥9,223,372,036,854,775,808"),
    ])
    func writesAmountsAsTheCountryDoes(minorUnits: Int64, code: String, locale: String, text: String) throws {
        let money = try #require(Self.money(minorUnits, code))
        #expect(AmountFormat(locale: locale).text(money) == text)
    }

    @Test func anUnknownCountryGetsItsLanguage() {
        #expect(AmountFormat(locale: "de-LI").locale == "de-DE")
        #expect(AmountFormat(locale: "xx").locale == "en-US")
    }

    @Test(arguments: [("JPY", 0), ("EUR", 2), ("KWD", 3), ("CLF", 4)])
    func currenciesKnowTheirSmallestUnit(code: String, exponent: Int) throws {
        #expect(try #require(Currency(code: code)).exponent == exponent)
    }

    @Test(arguments: ["", "eur", "EURO", "ZZZ", "€", "XAU"])
    func whatIsNoCurrencyIsRefused(code: String) { #expect(Currency(code: code) == nil) }

    @Test func sumsDoNotOverflow() throws {
        let most = Money(minorUnits: .max, currency: .euro)
        #expect(throws: Money.ArithmeticError.overflow) { try most.adding(Money(minorUnits: 1, currency: .euro)) }
        #expect(throws: Money.ArithmeticError.differentCurrencies(.euro, .usDollar)) {
            try most.adding(Money(minorUnits: 1, currency: .usDollar))
        }
    }

    @Test(arguments: [
        ("13570000", 6, "13.57"), ("1", 18, "0.000000000000000001"), ("0", 6, "0"), ("1000000", 6, "1"),
        (
            "115792089237316195423570985008687907853269984665640564039457584007913129639935", 18,
            "115792089237316195423570985008687907853269984665640564039457.584007913129639935"
        ),
    ])
    func tokenAmountsOfAnySizeAreExact(digits: String, decimals: Int, plain: String) throws {
        #expect(
            try #require(TokenAmount(digits: digits, decimals: decimals, symbol: "USDC", network: nil)).plain == plain
        )
    }

    @Test(arguments: [("", 6), ("-1", 6), ("1.0", 6), ("1e3", 6), ("1", 37), ("1", -1)])
    func whatIsNoTokenAmountIsRefused(digits: String, decimals: Int) {
        #expect(TokenAmount(digits: digits, decimals: decimals, symbol: "USDC", network: nil) == nil)
    }
}

struct LimitsTests {
    private func euros(_ minorUnits: Int64) -> Money { Money(minorUnits: minorUnits, currency: .euro) }

    @Test func limitsAreInclusive() throws {
        let limits = ChargeLimits(maximumMinorUnits: 1000, maximumPerHourMinorUnits: 1500)
        try limits.check(euros(1000), currency: .euro, openedLastHourMinorUnits: 500)
        #expect(throws: ChargeLimits.Violation.aboveMaximum(euros(1000))) {
            try limits.check(euros(1001), currency: .euro, openedLastHourMinorUnits: 0)
        }
        // No sum of a day says less than was charged.
        let most = euros(ChargeLimits.mostMinorUnits)
        try ChargeLimits().check(most, currency: .euro, openedLastHourMinorUnits: 0)
        for amount in [most.minorUnits + 1, .max] {
            #expect(throws: ChargeLimits.Violation.aboveMaximum(most)) {
                try ChargeLimits().check(euros(amount), currency: .euro, openedLastHourMinorUnits: 0)
            }
        }
        #expect(throws: ChargeLimits.Violation.aboveHourlyMaximum(euros(1500))) {
            try limits.check(euros(1000), currency: .euro, openedLastHourMinorUnits: 501)
        }
        #expect(throws: ChargeLimits.Violation.aboveHourlyMaximum(euros(1500))) {
            try limits.check(euros(1000), currency: .euro, openedLastHourMinorUnits: .max)
        }
        #expect(throws: ChargeLimits.Violation.wrongCurrency(expected: .euro)) {
            try limits.check(Money(minorUnits: 1, currency: .yen), currency: .euro, openedLastHourMinorUnits: 0)
        }
        for amount in [0, -1, Int64.min] {
            #expect(throws: ChargeLimits.Violation.notPositive) {
                try ChargeLimits().check(euros(amount), currency: .euro, openedLastHourMinorUnits: 0)
            }
        }
    }

    @Test func tipsRoundHalfUpAndStayWithinThePolicy() {
        let policy = TipPolicy()
        #expect(policy.tip(percent: 10, of: euros(1005)) == euros(101))
        #expect(policy.tip(percent: 51, of: euros(1000)) == nil)
        #expect(policy.tip(percent: 10, of: euros(.max)) == nil)
        #expect(policy.allows(euros(500), of: euros(1000)) && !policy.allows(euros(501), of: euros(1000)))
        #expect(!policy.allows(euros(-1), of: euros(1000)))
        #expect(!policy.allows(Money(minorUnits: 1, currency: .yen), of: euros(1000)))
    }

    @Test func chargeNamesSortByTimeAndKeepTheirForm() {
        var generator = SystemRandomNumberGenerator()
        let first = ChargeID(at: WallTime(millisecondsSince1970: 1_790_000_000_000), using: &generator)
        let second = ChargeID(at: WallTime(millisecondsSince1970: 1_790_000_000_001), using: &generator)
        #expect(first.rawValue < second.rawValue)
        #expect(ChargeID(first.rawValue) == first && first.compact.count == 32)
        for wrong in ["", first.rawValue.uppercased(), first.compact, first.rawValue + "0", "not-a-uuid"] {
            #expect(ChargeID(wrong) == nil)
        }
        #expect(!ChargeCode(using: &generator).rawValue.contains { "01258ILOSUVZB".contains($0) })
    }
}

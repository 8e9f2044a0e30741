import Payments
import Testing
import TestSupport

struct AmountEntryTests {
    private static func typed(_ keys: String, _ currency: Currency = .euro) -> AmountEntry {
        var entry = AmountEntry(currency: currency)
        for key in keys { entry.take(Self.key(key)) }
        return entry
    }

    /// `d` is `00`, `t` is `000`, `<` takes one back.
    static func key(_ character: Character) -> CounterKey {
        switch character {
        case "d": .zeros(2)
        case "t": .zeros(3)
        case ".": .point
        case "+": .plus
        case "<": .backspace
        case "c": .clear
        case "e": .enter
        case "x": .cancel
        case "?": .other
        default: .digit(UInt8(character.wholeNumberValue ?? 0))
        }
    }

    @Test(arguments: [
        ("1250", Int64(1250)), ("12.5", 1250), ("12.50", 1250), ("12.505", 1250), ("12.", 1200), (".5", 50),
        ("0.05", 5), ("007", 7), ("12d", 1200), ("d5", 5), ("1250<", 125), ("12.<", 12), ("12..5", 1200), ("", 0),
        ("<", 0),
        ("500+250", 750), ("5.+2.5", 750), ("+5", 5), ("5++5", 10), ("1t", 1000), ("12.d", 1200),
    ])
    func whatIsTypedIsTheAmount(keys: String, minorUnits: Int64) {
        #expect(Self.typed(keys).total == Money(minorUnits: minorUnits, currency: .euro))
    }

    @Test(arguments: [
        ("JPY", "1250", Int64(1250)), ("JPY", "12.5", 12), ("KWD", "1.5", 1500), ("KWD", "1500", 1500),
        ("CLF", "2.", 20_000),
    ])
    func everyCurrencyHasItsOwnPoint(code: String, keys: String, minorUnits: Int64) throws {
        let currency = try #require(Currency(code: code))
        #expect(Self.typed(keys, currency).total.minorUnits == minorUnits)
    }

    /// The amount stays, and is not charged until each of them was taken back.
    @Test func aKeyTooMuchIsNoAmountUntilItIsTakenBack() {
        var entry = Self.typed(String(repeating: "9", count: 11))
        let before = entry
        for key in "0d5t" {
            let isTaken = entry.take(Self.key(key))
            #expect(!isTaken, "\(key)")
        }
        #expect(entry.total == before.total && entry.isDoubtful)
        for _ in 0..<4 { entry.take(.backspace) }
        #expect(entry == before && !entry.isDoubtful)
    }

    @Test(arguments: [
        ("EUR", "12.505"), ("EUR", "1.234.50"), ("EUR", "12..5"), ("EUR", "12?50"), ("JPY", "12.50"), ("JPY", ".5"),
        ("EUR", "12.50+3"), ("EUR", "300+12.50"), ("EUR", "999999999999"), ("KWD", "1.2345"),
    ])
    func whatIsNoAmountIsDoubtful(code: String, keys: String) throws {
        #expect(Self.typed(keys, try #require(Currency(code: code))).isDoubtful, "\(keys)")
    }

    @Test(arguments: [
        ("EUR", "007"), ("EUR", "0.05"), ("EUR", "d5"), ("EUR", "?5"), ("EUR", "12.50+3."), ("EUR", "300+1250"),
        ("JPY", "300+1250"), ("EUR", "12.505<"), ("EUR", "12.5d<"),
    ])
    func whatIsAnAmountIsNotDoubtful(code: String, keys: String) throws {
        #expect(!Self.typed(keys, try #require(Currency(code: code))).isDoubtful, "\(keys)")
    }

    /// Half of a key that stands for two zeros would be another amount.
    @Test func aDoubleZeroIsTakenWholeOrNotAtAll() {
        var entry = Self.typed("1234567890")
        entry.take(.zeros(2))
        #expect(entry.total.minorUnits == 1_234_567_890)
        var cents = Self.typed("12.5")
        cents.take(.zeros(2))
        #expect(cents.total.minorUnits == 1250)
    }

    /// Any keys in any order: bounded, never negative, and what backspace takes away is what came last.
    @Test(arguments: Tries.seeds(200))
    func anyKeysStayWithinBounds(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let currency = try #require(Currency.all.randomElement(using: &random))
        var entry = AmountEntry(currency: currency)
        for _ in 0..<400 {
            let key = Self.key("0123456789dt.+<?".randomElement(using: &random) ?? "0")
            let before = entry
            let isTaken = entry.take(key)
            #expect(isTaken || entry.total == before.total)
            #expect(isTaken || entry == before || entry.isDoubtful)
            #expect((0...AmountEntry.mostMinorUnits).contains(entry.total.minorUnits))
            #expect(entry.earlierCount <= AmountEntry.mostAmounts)
            if key == .plus, isTaken { #expect(entry.total == before.total && entry.minorUnits == 0) }
            if case .digit = key, isTaken {
                var undone = entry
                undone.take(.backspace)
                #expect(undone == before)
            }
        }
    }
}

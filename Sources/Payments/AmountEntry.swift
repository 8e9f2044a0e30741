/// An amount as it is typed on a numeric keypad, one key after the other. Bounded, and exact: no key is ever guessed.
///
/// Digits fill from the right, as on every till: `1 2 5 0` is 12.50. After a point they fill from the point: `1 2 . 5` is
/// 12.50 too. `+` begins a further amount of the same sale.
public struct AmountEntry: Sendable, Hashable {
    public let currency: Currency
    /// The sum of the amounts before the last `+`, in minor units.
    public private(set) var earlierMinorUnits: Int64 = 0
    /// How many amounts came before the last `+`.
    public private(set) var earlierCount = 0
    /// What is typed of the present amount: digits, and a point at most once. Kept as typed, so that it can be taken back.
    private var typed: [UInt8] = []

    /// More digits than any shop's amount has, and few enough to stay far from the end of 63 bits.
    public static let mostDigits = 11
    /// The largest sum, in minor units.
    public static let mostMinorUnits: Int64 = 99_999_999_999
    /// More amounts than any slip has.
    public static let mostAmounts = 200

    private static let point = UInt8(ascii: ".")

    public init(currency: Currency) { self.currency = currency }

    /// Nothing at all has been typed.
    public var isEmpty: Bool { typed.isEmpty && earlierCount == 0 }
    public var hasPoint: Bool { typed.contains(Self.point) }

    /// What is typed since the last `+`, in minor units.
    public var minorUnits: Int64 { Self.minorUnits(of: typed, currency) ?? 0 }

    public var total: Money { Money(minorUnits: earlierMinorUnits + minorUnits, currency: currency) }

    /// Takes a key that belongs to an amount. False where it changes nothing: the key is refused, and staff see that the
    /// amount stays as it is.
    @discardableResult
    public mutating func take(_ key: CounterKey) -> Bool {
        switch key {
        case .digit(let digit): return append([digit])
        case .zeros(let count): return append([UInt8](repeating: 0, count: min(max(count, 0), 3)))
        case .point:
            guard currency.exponent > 0, !hasPoint else { return false }
            return keep(typed + [Self.point])
        case .backspace:
            if typed.popLast() != nil { return true }
            return false
        case .plus: return add()
        case .clear, .enter, .cancel: return false
        }
    }

    /// All digits, or none of them: half of a `00` would be another amount.
    private mutating func append(_ digits: [UInt8]) -> Bool {
        guard digits.allSatisfy({ $0 <= 9 }), !digits.isEmpty else { return false }
        // Leading zeros count for nothing, and would use up the room for digits.
        if typed.isEmpty, digits.allSatisfy({ $0 == 0 }) { return false }
        return keep(typed + digits.map { $0 + UInt8(ascii: "0") })
    }

    private mutating func keep(_ next: [UInt8]) -> Bool {
        guard let value = Self.minorUnits(of: next, currency), earlierMinorUnits + value <= Self.mostMinorUnits else {
            return false
        }
        typed = next
        return true
    }

    private mutating func add() -> Bool {
        guard minorUnits > 0, earlierCount < Self.mostAmounts else { return false }
        earlierMinorUnits += minorUnits
        earlierCount += 1
        typed = []
        return true
    }

    /// Nil where it has too many digits, before the point or after it.
    private static func minorUnits(of typed: [UInt8], _ currency: Currency) -> Int64? {
        let whole = typed.prefix { $0 != point }
        let fraction = typed.dropFirst(whole.count + 1)
        let hasPoint = whole.count < typed.count
        guard typed.count <= mostDigits + 1, fraction.count <= currency.exponent else { return nil }
        var value: Int64 = 0
        var digits = Array(whole) + fraction
        if hasPoint { digits += [UInt8](repeating: UInt8(ascii: "0"), count: currency.exponent - fraction.count) }
        guard digits.count <= mostDigits + currency.exponent else { return nil }
        // At most 11 digits and 4 of the currency's: far from the end of 63 bits.
        for digit in digits { value = value * 10 + Int64(digit - UInt8(ascii: "0")) }
        return value <= mostMinorUnits ? value : nil
    }
}

/// What a key of the counter's keypad means.
public enum CounterKey: Sendable, Hashable {
    /// 0 to 9.
    case digit(UInt8)
    /// A key with `00` or `000` on it.
    case zeros(Int)
    case point, plus, enter, backspace
    /// Takes back all that was typed.
    case clear
    case cancel
}

/// An amount as it is typed on a numeric keypad, one key after the other. Bounded, and exact: no key is ever guessed.
///
/// Digits fill from the right, as on every till: `1 2 5 0` is 12.50. After a point they fill from the point: `1 2 . 5` is
/// 12.50 too. `+` begins a further amount of the same sale. A key that is not taken is counted until it is taken back:
/// what is charged is what was typed, or nothing.
public struct AmountEntry: Sendable, Hashable {
    public let currency: Currency
    /// The sum of the amounts before the last `+`, in minor units.
    public private(set) var earlierMinorUnits: Int64 = 0
    /// How many amounts came before the last `+`.
    public private(set) var earlierCount = 0
    /// What is typed of the present amount: digits, and a point at most once. Kept as typed, so that it can be taken back.
    private var typed: [UInt8] = []
    /// Whether the amounts before the last `+` have a point.
    private var hasEarlierPoint = false
    /// Keys since the last one that was taken that are nothing in an amount: a digit too many, a second point, another sign.
    public private(set) var refusedKeys = 0

    /// More digits than any shop's amount has, and few enough to stay far from the end of 63 bits.
    public static let mostDigits = 11
    /// The largest sum, in minor units.
    public static let mostMinorUnits: Int64 = 99_999_999_999
    /// More amounts than any slip has.
    public static let mostAmounts = 200
    /// More keys than anybody takes back.
    private static let mostRefused = 1000

    private static let point = UInt8(ascii: ".")

    public init(currency: Currency) { self.currency = currency }

    /// Nothing at all has been typed.
    public var isEmpty: Bool { typed.isEmpty && earlierCount == 0 && refusedKeys == 0 }
    public var hasPoint: Bool { typed.contains(Self.point) }

    /// One amount of the sum has a point and another has none: `12.50 + 3` may be three, or three hundredths.
    public var isMixed: Bool {
        currency.exponent > 0 && earlierCount > 0 && !typed.isEmpty && hasPoint != hasEarlierPoint
    }
    /// What was typed is not what stands there, or could be read in two ways. It is not charged.
    public var isDoubtful: Bool { refusedKeys > 0 || isMixed }

    /// What is typed since the last `+`, in minor units.
    public var minorUnits: Int64 { Self.minorUnits(of: typed, currency) ?? 0 }

    public var total: Money { Money(minorUnits: earlierMinorUnits + minorUnits, currency: currency) }

    /// Takes a key that belongs to an amount. False where the amount stays as it is. A key that was typed into it and is
    /// refused is counted in ``refusedKeys``, and so is every key after it; backspace takes them back one by one.
    @discardableResult
    public mutating func take(_ key: CounterKey) -> Bool {
        switch key {
        case .digit(let digit): return refusedKeys == 0 && append([digit]) || refuse(unlessZero: digit == 0)
        case .zeros(let count):
            return refusedKeys == 0 && append([UInt8](repeating: 0, count: min(max(count, 0), 3)))
                || refuse(unlessZero: true)
        case .point:
            let isTaken = refusedKeys == 0 && currency.exponent > 0 && !hasPoint && keep(typed + [Self.point])
            return isTaken || refuse(unlessZero: false)
        case .other: return isEmpty ? false : refuse(unlessZero: false)
        case .backspace:
            if refusedKeys > 0 {
                refusedKeys -= 1
                return true
            }
            return typed.popLast() != nil
        case .plus: return add()
        case .clear, .enter, .cancel: return false
        }
    }

    /// Counts a key that was not taken. Zeros in front are no such keys: they count for nothing in every amount.
    /// - Returns: False.
    private mutating func refuse(unlessZero isZero: Bool) -> Bool {
        guard !isZero || !typed.isEmpty || refusedKeys > 0 else { return false }
        refusedKeys = min(refusedKeys + 1, Self.mostRefused)
        return false
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
        guard minorUnits > 0, !isDoubtful else { return false }
        guard earlierCount < Self.mostAmounts else { return refuse(unlessZero: false) }
        hasEarlierPoint = hasPoint
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
    /// Prints something that is nothing in an amount: a letter, a space, a sign.
    case other
}

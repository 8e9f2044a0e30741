/// An exact unsigned number of 256 bits: token amounts, nonces and deadlines as contracts count them.
///
/// Arithmetic throws where a contract would revert. Nothing wraps silently and nothing passes through floating point.
public struct UInt256: Sendable, Hashable {
    /// 64 bits each, most significant first.
    let words: (UInt64, UInt64, UInt64, UInt64)

    /// Why a text or a calculation gave no number of 256 bits.
    public enum Failure: Error, Sendable, Equatable {
        /// Not a whole number in decimal digits or in `0x` hexadecimal.
        case notANumber
        /// More than 2^256 - 1.
        case overflow
        /// Less than zero.
        case underflow
        /// Divided by zero.
        case divisionByZero
    }

    public static let zero = UInt256(0 as UInt64)
    /// 2^256 - 1, which ERC-20 approvals use for "without limit".
    public static let max = UInt256(words: (.max, .max, .max, .max))

    init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    public init(_ value: UInt64) { words = (0, 0, 0, value) }

    /// Reads up to 32 bytes, most significant first, as the contract ABI writes them.
    /// - Throws: `overflow` for more than 32 bytes, even where the first ones are zero.
    public init(bigEndian bytes: some Collection<UInt8>) throws(Failure) {
        guard bytes.count <= 32 else { throw .overflow }
        var value = UInt256.zero
        for byte in bytes { value = value.shiftedLeftOneByte(adding: byte) }
        self = value
    }

    /// 32 bytes, most significant first.
    public var bigEndianBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        for word in [words.0, words.1, words.2, words.3] {
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return bytes
    }

    /// The bits needed to write the number: 0 for zero, 256 for `max`.
    public var significantBits: Int {
        let all = [words.0, words.1, words.2, words.3]
        guard let first = all.firstIndex(where: { $0 != 0 }) else { return 0 }
        return (4 - first) * 64 - all[first].leadingZeroBitCount
    }

    /// The number where it fits 64 bits, as chain IDs and times do; nil otherwise.
    public var asUInt64: UInt64? { words.0 | words.1 | words.2 == 0 ? words.3 : nil }

    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.words == rhs.words }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }

    private func shiftedLeftOneByte(adding byte: UInt8) -> UInt256 {
        UInt256(
            words: (
                words.0 << 8 | words.1 >> 56, words.1 << 8 | words.2 >> 56, words.2 << 8 | words.3 >> 56,
                words.3 << 8 | UInt64(byte)
            )
        )
    }
}

extension UInt256: Comparable {
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.words < rhs.words }
}

extension UInt256: ExpressibleByIntegerLiteral {
    /// For constants in source, up to 256 bits. A literal that does not fit stops the program, as it does for `UInt8`.
    public init(integerLiteral value: StaticBigInt) {
        precondition(value.signum() >= 0 && value.bitWidth <= 257, "the literal does not fit 256 bits")
        // A StaticBigInt hands out words of the machine's width; `Int` has 64 bits on every system Till runs on.
        words = (UInt64(value[3]), UInt64(value[2]), UInt64(value[1]), UInt64(value[0]))
    }
}

// MARK: Arithmetic

extension UInt256 {
    /// - Throws: `overflow`, as Solidity 0.8's checked `+` reverts.
    public func adding(_ other: UInt256) throws(Failure) -> UInt256 {
        var carry = false
        let w3 = Self.add(words.3, other.words.3, &carry)
        let w2 = Self.add(words.2, other.words.2, &carry)
        let w1 = Self.add(words.1, other.words.1, &carry)
        let w0 = Self.add(words.0, other.words.0, &carry)
        guard !carry else { throw .overflow }
        return UInt256(words: (w0, w1, w2, w3))
    }

    /// - Throws: `underflow`: a balance cannot pay more than it holds.
    public func subtracting(_ other: UInt256) throws(Failure) -> UInt256 {
        guard self >= other else { throw .underflow }
        return subtractingWrapping(other)
    }

    /// For scaling an amount between units, such as cents to a token's smallest unit.
    /// - Throws: `overflow`.
    public func multiplied(by factor: UInt64) throws(Failure) -> UInt256 {
        var carry: UInt64 = 0
        let w3 = Self.multiply(words.3, factor, &carry)
        let w2 = Self.multiply(words.2, factor, &carry)
        let w1 = Self.multiply(words.1, factor, &carry)
        let w0 = Self.multiply(words.0, factor, &carry)
        guard carry == 0 else { throw .overflow }
        return UInt256(words: (w0, w1, w2, w3))
    }

    /// - Throws: `divisionByZero`.
    public func quotientAndRemainder(
        dividingBy divisor: UInt64
    ) throws(Failure) -> (quotient: UInt256, remainder: UInt64) {
        guard divisor != 0 else { throw .divisionByZero }
        return divided(byNonZero: divisor)
    }

    /// `divisor` must not be zero. Each remainder is below the divisor, so no partial quotient can pass 64 bits.
    func divided(byNonZero divisor: UInt64) -> (quotient: UInt256, remainder: UInt64) {
        let (w0, r0) = words.0.quotientAndRemainder(dividingBy: divisor)
        let (w1, r1) = divisor.dividingFullWidth((r0, words.1))
        let (w2, r2) = divisor.dividingFullWidth((r1, words.2))
        let (w3, r3) = divisor.dividingFullWidth((r2, words.3))
        return (UInt256(words: (w0, w1, w2, w3)), r3)
    }

    /// Modulo 2^256, which is how two's complement writes a negative number.
    func subtractingWrapping(_ other: UInt256) -> UInt256 {
        var borrow = false
        let w3 = Self.subtract(words.3, other.words.3, &borrow)
        let w2 = Self.subtract(words.2, other.words.2, &borrow)
        let w1 = Self.subtract(words.1, other.words.1, &borrow)
        let w0 = Self.subtract(words.0, other.words.0, &borrow)
        return UInt256(words: (w0, w1, w2, w3))
    }

    private static func add(_ lhs: UInt64, _ rhs: UInt64, _ carry: inout Bool) -> UInt64 {
        let (sum, first) = lhs.addingReportingOverflow(rhs)
        let (total, second) = sum.addingReportingOverflow(carry ? 1 : 0)
        carry = first || second
        return total
    }

    private static func subtract(_ lhs: UInt64, _ rhs: UInt64, _ borrow: inout Bool) -> UInt64 {
        let (difference, first) = lhs.subtractingReportingOverflow(rhs)
        let (total, second) = difference.subtractingReportingOverflow(borrow ? 1 : 0)
        borrow = first || second
        return total
    }

    private static func multiply(_ lhs: UInt64, _ rhs: UInt64, _ carry: inout UInt64) -> UInt64 {
        let (high, low) = lhs.multipliedFullWidth(by: rhs)
        let (sum, overflow) = low.addingReportingOverflow(carry)
        carry = high + (overflow ? 1 : 0)  // A product's high word is at most 2^64 - 2.
        return sum
    }
}

extension UInt256: CustomStringConvertible {
    /// Reads a whole number as gateways and wallets write it: decimal digits, or `0x` and hexadecimal digits in any
    /// number, odd ones and leading zeros included.
    ///
    /// Source: production payloads of WalletConnect Pay hold `0x2105`, 63-digit nonces and decimal strings alike.
    /// - Throws: `notANumber` for signs, spaces, fractions, exponents or no digit at all; `overflow` past 2^256 - 1.
    public init(parsing text: String) throws(Failure) {
        if let digits = Hexadecimal.digits(afterPrefixOf: text) {
            try self.init(digits: digits, radix: 16)
        } else {
            try self.init(digits: Array(text.utf8), radix: 10)
        }
    }

    init(digits: [UInt8], radix: UInt64) throws(Failure) {
        guard !digits.isEmpty else { throw .notANumber }
        var value = UInt256.zero
        var tooLarge = false
        for character in digits {
            guard let digit = Hexadecimal.nibble(character), digit < radix else { throw .notANumber }
            guard !tooLarge else { continue }  // Goes on, so that "not a number" wins over "too large".
            do throws(Failure) {
                value = try value.multiplied(by: radix).adding(UInt256(UInt64(digit)))
            } catch {
                tooLarge = true
            }
        }
        guard !tooLarge else { throw .overflow }
        self = value
    }

    /// Decimal digits without leading zeros.
    public var decimal: String {
        let chunk: UInt64 = 10_000_000_000_000_000_000  // 10^19, the largest power of ten in 64 bits.
        var rest = self
        var parts: [UInt64] = []
        repeat {
            let (quotient, remainder) = rest.divided(byNonZero: chunk)
            parts.append(remainder)
            rest = quotient
        } while rest != .zero
        var text = String(parts.removeLast())
        for part in parts.reversed() {
            let digits = String(part)
            text += String(repeating: "0", count: 19 - digits.count) + digits
        }
        return text
    }

    /// `0x` and the fewest lower-case digits, as JSON-RPC writes quantities: zero is `0x0`.
    public var hexadecimal: String {
        let digits = Hexadecimal.text(bigEndianBytes).dropFirst(2).drop { $0 == "0" }
        return "0x" + (digits.isEmpty ? "0" : digits)
    }

    public var description: String { decimal }
}

extension UInt256: Codable {
    /// Reads a text as ``init(parsing:)`` does.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do {
            try self.init(parsing: text)
        } catch {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "not a number of 256 bits: \(error)"
            )
        }
    }

    /// Writes decimal digits as a text: a JSON number would lose digits in most readers.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(decimal)
    }
}

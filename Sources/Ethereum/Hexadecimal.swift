/// Hexadecimal digits to bytes and back, with no opinion on what the bytes mean.
enum Hexadecimal {
    /// The value of one ASCII digit in either case; nil for any other byte.
    static func nibble(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The UTF-8 of `text` after `0x` or `0X`; nil where that prefix is missing.
    ///
    /// Works on bytes: Swift compares strings by canonical equivalence, under which a digit can be several things.
    static func digits(afterPrefixOf text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 2, bytes[0] == UInt8(ascii: "0"), bytes[1] | 0x20 == UInt8(ascii: "x") else { return nil }
        return Array(bytes[2...])
    }

    /// Two digits a byte; nil for an odd count or any byte that is no digit.
    static func bytes(fromDigits digits: [UInt8]) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The bytes of `0x…` text; nil without the prefix, for an odd count of digits, or for anything else in it.
    static func bytes(_ text: String) -> [UInt8]? { digits(afterPrefixOf: text).flatMap(bytes(fromDigits:)) }

    /// Lower-case digits after `0x`, two for each byte.
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var characters = Array("0x".utf8)
        for byte in bytes {
            characters.append(digits[Int(byte >> 4)])
            characters.append(digits[Int(byte & 15)])
        }
        return String(decoding: characters, as: UTF8.self)
    }
}

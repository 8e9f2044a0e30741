/// The two alphabets of RFC 4648, written by the rules of the place and read with patience.
enum Base64 {
    private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let url = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// With padding: what relays carry.
    static func padded(_ bytes: [UInt8]) -> String { encode(bytes, standard, padding: true) }

    /// The standard alphabet without padding.
    static func unpadded(_ bytes: [UInt8]) -> String { encode(bytes, standard, padding: false) }

    /// The alphabet for URLs without padding: what links carry.
    static func urlSafe(_ bytes: [UInt8]) -> String { encode(bytes, url, padding: false) }

    private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8], padding: Bool) -> String {
        let rest = bytes.count % 3
        let whole = bytes.count - rest
        var text = [UInt8](repeating: UInt8(ascii: "="), count: (bytes.count + 2) / 3 * 4)
        var end = 0
        for start in stride(from: 0, to: whole, by: 3) {
            let word = UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2])
            text[end] = alphabet[Int(word >> 18)]
            text[end + 1] = alphabet[Int(word >> 12 & 63)]
            text[end + 2] = alphabet[Int(word >> 6 & 63)]
            text[end + 3] = alphabet[Int(word & 63)]
            end += 4
        }
        if rest > 0 {
            let word = UInt32(bytes[whole]) << 16 | (rest == 2 ? UInt32(bytes[whole + 1]) << 8 : 0)
            for index in 0...rest { text[end + index] = alphabet[Int(word >> UInt32(18 - 6 * index) & 63)] }
            end += rest + 1
        }
        return String(decoding: padding ? text[...] : text[..<end], as: UTF8.self)
    }

    /// Reads either alphabet, with padding or without; nil for any other character or an impossible length.
    ///
    /// Wallets in use leave the padding out. White space is no part of it.
    static func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        var padding = 0
        while digits.last == UInt8(ascii: "="), padding < 2 {
            digits.removeLast()
            padding += 1
        }
        guard digits.count % 4 != 1, padding == 0 || (digits.count + padding).isMultiple(of: 4) else { return nil }
        let values = Self.values
        var bytes = [UInt8](repeating: 0, count: digits.count * 3 / 4)
        var (word, bits, end): (UInt32, UInt32, Int) = (0, 0, 0)
        for digit in digits {
            let value = values[Int(digit)]
            guard value < 64 else { return nil }
            word = word << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes[end] = UInt8(truncatingIfNeeded: word >> bits)
                end += 1
            }
        }
        return bytes
    }

    /// What each byte stands for in either alphabet; 255 for those that are in neither.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in standard.enumerated() { values[Int(digit)] = UInt8(value) }
        for (value, digit) in url.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()
}

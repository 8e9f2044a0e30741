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
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for byte in group { word = word << 8 | UInt32(byte) }
            word <<= UInt32(8 * (3 - group.count))
            for index in 0...group.count { text.append(alphabet[Int(word >> UInt32(18 - 6 * index) & 63)]) }
            if padding { text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - group.count)) }
        }
        return String(decoding: text, as: UTF8.self)
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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var word: UInt32 = 0
        var bits: UInt32 = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            word = word << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: word >> bits))
            }
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

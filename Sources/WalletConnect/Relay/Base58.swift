/// Base 58 in Bitcoin's alphabet, for keys and other short values: its time grows with the square of the length.
/// Source: draft-msporny-base58.
enum Base58 {
    private static let alphabet = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".utf8)
    private static let values = Dictionary(uniqueKeysWithValues: alphabet.enumerated().map { ($1, $0) })

    static func encode(_ bytes: [UInt8]) -> String {
        var digits: [Int] = []  // Least first.
        for byte in bytes {
            var carry = Int(byte)
            for index in digits.indices {
                carry += digits[index] << 8
                digits[index] = carry % 58
                carry /= 58
            }
            while carry > 0 {
                digits.append(carry % 58)
                carry /= 58
            }
        }
        let zeros = repeatElement(alphabet[0], count: bytes.prefix { $0 == 0 }.count)
        return String(decoding: zeros + digits.reversed().map { alphabet[$0] }, as: UTF8.self)
    }

    /// Nil for a character outside the alphabet and for more than 128 of them.
    static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 128 else { return nil }
        var bytes: [UInt8] = []  // Least first.
        for character in text.utf8 {
            guard var carry = values[character] else { return nil }
            for index in bytes.indices {
                carry += Int(bytes[index]) * 58
                bytes[index] = UInt8(carry & 255)
                carry >>= 8
            }
            while carry > 0 {
                bytes.append(UInt8(carry & 255))
                carry >>= 8
            }
        }
        return [UInt8](repeating: 0, count: text.utf8.prefix { $0 == alphabet[0] }.count) + bytes.reversed()
    }
}

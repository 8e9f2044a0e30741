import Crypto
import Payments

/// Makes and reads the part of an address that lets a customer look at one charge, and at no other.
///
/// It is the charge's ID and a proof of 160 bits that only this terminal can make: what does not hold is known for false
/// without a look at any charge, so an answer says nothing about which charges there are.
struct CustomerPass: Sendable {
    static let keyBytes = 32
    private static let proofBytes = 20
    private static let idBytes = 16
    private let key: SymmetricKey

    init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

    static func freshKey() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<keyBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// 48 characters of the URL-safe alphabet.
    func text(for id: ChargeID) -> String {
        let bytes = Self.bytes(of: id)
        return Self.encode(bytes + proof(of: bytes))
    }

    /// The charge that the text lets its holder look at; nil for every text this terminal did not make.
    func charge(in text: Substring) -> ChargeID? {
        guard let bytes = Self.decode(text), bytes.count == Self.idBytes + Self.proofBytes else { return nil }
        let name = Array(bytes.prefix(Self.idBytes))
        let difference = zip(bytes.dropFirst(Self.idBytes), proof(of: name)).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) }
        return difference == 0 ? Self.charge(named: name) : nil
    }

    private func proof(of name: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array("customer page".utf8) + name, using: key)).prefix(
            Self.proofBytes
        )
        .map(\.self)
    }

    private static func bytes(of id: ChargeID) -> [UInt8] {
        let digits = Array(id.compact)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    private static func charge(named bytes: [UInt8]) -> ChargeID? {
        var name = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { name += "-" }
            let digits = String(byte, radix: 16)
            name += digits.count == 1 ? "0" + digits : digits
        }
        return ChargeID(name)
    }

    // MARK: - Base64 for addresses. Source: RFC 4648, section 5.

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// `bytes` must be a multiple of three long, so that there is no padding and one text for each.
    private static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count - 2, by: 3) {
            let group = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            for shift in [18, 12, 6, 0] { text.append(alphabet[group >> shift & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func decode(_ text: Substring) -> [UInt8]? {
        guard text.utf8.count == (idBytes + proofBytes) / 3 * 4 else { return nil }
        var bytes: [UInt8] = []
        var group = 0
        for (index, character) in text.utf8.enumerated() {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            group = group << 6 | value
            guard index % 4 == 3 else { continue }
            for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: group >> shift)) }
            group = 0
        }
        return bytes
    }
}

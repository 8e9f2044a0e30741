import Payments

/// Where new names and nonces come from: the system's generator, or a seed when a run must repeat.
public struct Randomness: RandomNumberGenerator, Sendable {
    private var seeded: UInt64?

    public init(seed: UInt64? = nil) { seeded = seed }

    /// SplitMix64 when seeded. Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
    public mutating func next() -> UInt64 {
        guard var state = seeded else {
            var system = SystemRandomNumberGenerator()
            return system.next()
        }
        state &+= 0x9E37_79B9_7F4A_7C15
        seeded = state
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }
}

/// How the gateway names payments and options.
enum PaymentNames {
    private static let crockford = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// `pay_`, a random byte, `a2ecc1`… and a ULID of the moment of creation.
    ///
    /// Production's names: eight lower-case hexadecimal digits ending in `a2ecc1`, which leaves one byte free, then the
    /// 26 characters. Source: WalletConnect Pay production captures; ULID specification.
    static func payment(at time: WallTime, using random: inout Randomness) -> String {
        "pay_" + hex([UInt8.random(in: .min ... .max, using: &random)]) + "a2ecc1" + ulid(at: time, using: &random)
    }

    static func ulid(at time: WallTime, using random: inout Randomness) -> String {
        let time = UInt128(UInt64(max(0, time.millisecondsSince1970)) & 0xFFFF_FFFF_FFFF) << 80
        let entropy = UInt128(random.next()) << 16 | UInt128(random.next() & 0xFFFF)
        var rest = time | entropy
        var characters: [UInt8] = []
        for _ in 0..<26 {
            characters.append(crockford[Int(rest & 31)])
            rest >>= 5
        }
        return String(decoding: characters.reversed(), as: UTF8.self)
    }

    /// 17 letters and digits, as production names merchants and settlements. Source: WalletConnect Pay API, examples.
    static func word(using random: inout Randomness) -> String {
        let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        let letters = (0..<17).map { _ in alphabet[Int.random(in: alphabet.indices, using: &random)] }
        return String(decoding: letters, as: UTF8.self)
    }

    /// A UUIDv4 in lower case. Source: RFC 9562, 5.4.
    static func option(using random: inout Randomness) -> String {
        var bytes = random.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = hex(bytes)
        var name = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { name.append("-") }
            name.append(digit)
        }
        return name
    }
}

/// Lower-case hexadecimal digits, two a byte.
func hex(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}

/// The bytes behind hexadecimal digits; nil for other characters and for half bytes.
func bytes(hex text: some StringProtocol) -> [UInt8]? {
    guard text.utf8.count.isMultiple(of: 2) else { return nil }
    var result: [UInt8] = []
    var half: UInt8?
    for character in text {
        guard character.isASCII, let digit = character.hexDigitValue else { return nil }
        if let high = half {
            result.append(high << 4 | UInt8(digit))
            half = nil
        } else {
            half = UInt8(digit)
        }
    }
    return result
}

import Crypto
import Foundation
import Payments

/// A PIN as it is kept.
///
/// Four digits are ten thousand guesses, which no hash makes slow enough by itself. So a PIN first goes through an HMAC
/// with 32 random bytes that are kept as a secret, sealed with the device's key: whoever has the journal or a backup of it,
/// but not that key, has nothing to compare a guess with. scrypt afterwards is for the thief of the whole storage, whom it
/// slows down and no more: PINs open only a known browser, and are set anew after a theft.
struct StaffPIN: Sendable, Codable, Equatable {
    /// Names the key; a PIN of another key cannot be checked and has to be set anew.
    let key: String
    private let hash: PasswordHash

    /// Some 30 ms and 16 MiB: people switch often, and the key does what a hash cannot.
    static let usualRounds = 1 << 14

    /// Computes for a while: not on a thread that others wait for.
    init(_ digits: String, of person: String, with key: PINKey, rounds: Int) throws {
        self.key = key.name
        hash = try PasswordHash(Self.keyed(digits, person, key), rounds: rounds)
    }

    func matches(_ digits: String, of person: String, with key: PINKey) throws -> Bool {
        try hash.matches(Self.keyed(digits, person, key))
    }

    private static func keyed(_ digits: String, _ person: String, _ key: PINKey) -> String {
        let message = Array("\(person)\u{0}\(digits)".utf8)
        return HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key.bytes))
            .map(Sessions.hexadecimal).joined()
    }
}

/// What PINs are made with.
struct PINKey: Sendable, CustomStringConvertible {
    let name: String
    let bytes: [UInt8]

    var description: String { "redacted" }

    init(name: String, bytes: [UInt8]) { (self.name, self.bytes) = (name, bytes) }

    /// A new one.
    init() {
        name = RandomText.make(bytes: 6)
        bytes = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Array($0) }
    }
}

/// Random bytes as text for addresses and cookies.
enum RandomText {
    static func make(bytes count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in Sessions.hexadecimal(.random(in: .min ... .max, using: &generator)) }.joined()
    }
}

/// What a PIN has to be: 4 to 8 digits that are not among the first that anybody tries.
enum PINRule {
    /// What is wrong with it; nil where it can be used.
    static func objection(to pin: String) -> Reason? {
        let digits = pin.utf8.map { Int($0) - 0x30 }
        guard (4...8).contains(digits.count), digits.allSatisfy((0...9).contains) else {
            return Reason(
                code: "pin_form",
                message: "A PIN has 4 to 8 digits and nothing else.",
                action: "Type 4 to 8 digits."
            )
        }
        guard !isRun(digits), !isRepetition(digits), !isYear(pin), !common.contains(pin) else {
            return Reason(
                code: "pin_too_common",
                message: "This PIN is among the first that anybody would try.",
                action: "Use other digits: no rows such as 1234, no repetitions and no year."
            )
        }
        return nil
    }

    /// Each digit is the one before and the same small step: 0000, 1234, 9876, 2468, 7890.
    private static func isRun(_ digits: [Int]) -> Bool {
        let steps = Set(zip(digits, digits.dropFirst()).map { ($1 - $0 + 10) % 10 })
        return steps.count == 1 && !steps.isDisjoint(with: [0, 1, 2, 8, 9])
    }

    /// The same over and over, or mirrored: 1212, 123123, 1221, 112233.
    private static func isRepetition(_ digits: [Int]) -> Bool {
        let half = digits.count / 2
        let isTwice = digits.count.isMultiple(of: 2) && digits.prefix(half) == digits.suffix(half)
        let isMirrored = digits == digits.reversed()
        let isPairs =
            digits.count.isMultiple(of: 2)
            && stride(from: 0, to: digits.count, by: 2).allSatisfy { digits[$0] == digits[$0 + 1] }
        return isTwice || isMirrored || isPairs || Set(digits).count == 1
    }

    private static func isYear(_ pin: String) -> Bool {
        pin.utf8.count == 4 && (1900...2039).contains(Int(pin) ?? 0)
    }

    /// Shapes of the keypad, and what lists of stolen PINs begin with.
    private static let common: Set<String> = [
        "2580", "0852", "1470", "3690", "1590", "1357", "1236", "1478", "1472", "7410", "1004", "1010", "1123", "1122",
        "1313", "6969", "5683", "0007", "0070", "4711", "1254", "12369", "14789", "147258", "258000", "159357",
        "102030",
        "12344321", "11235813", "123654", "159753", "147852", "31415926",
    ]
}

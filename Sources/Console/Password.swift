import Backup
import Crypto
import Foundation

/// A password as it is kept: a salt of its own and what scrypt makes of both.
///
/// Source: OWASP Password Storage Cheat Sheet, scrypt N=2^16, r=8, p=1 (64 MiB for each guess).
struct PasswordHash: Sendable, Codable, Equatable {
    private var salt: [UInt8]
    private var hash: [UInt8]
    private var rounds: Int
    private var blockSize: Int
    private var parallelism: Int

    static let usualRounds = 1 << 16

    /// Computes for some 100 ms and takes 64 MiB: not on a thread that others wait for.
    /// - Parameter rounds: Fewer only in tests that hash often and are not about the hash.
    init(_ password: String, rounds: Int = usualRounds) throws {
        salt = unsafe SymmetricKey(size: .bits128).withUnsafeBytes { unsafe Array($0) }
        (self.rounds, blockSize, parallelism) = (rounds, 8, 1)
        hash = []
        hash = try derive(password)
    }

    /// Compares in constant time. Computes as long as ``init(_:)``.
    func matches(_ password: String) throws -> Bool {
        let candidate = try derive(password)
        guard candidate.count == hash.count else { return false }
        return zip(candidate, hash).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private func derive(_ password: String) throws -> [UInt8] {
        let key = try ScryptKey.derive(
            from: password,
            salt: salt,
            rounds: rounds,
            blockSize: blockSize,
            parallelism: parallelism
        )
        return unsafe key.withUnsafeBytes { unsafe Array($0) }
    }
}

/// What a password has to be. Length and not being guessed first; no rules of composition.
///
/// Source: OWASP ASVS 5.0, 6.2.1 to 6.2.12.
enum PasswordRule {
    static let shortest = 8
    static let longest = 128

    /// What is wrong with it; nil where it can be used.
    static func objection(to password: String) -> Problem? {
        if password.count < shortest {
            return Problem(
                422,
                "password_too_short",
                "The password has fewer than \(shortest) characters.",
                "Use at least \(shortest); 15 or more are better, for example four words."
            )
        }
        if password.count > longest || password.utf8.count > 4 * longest {
            return Problem(
                422,
                "password_too_long",
                "The password has more than \(longest) characters.",
                "Use a shorter one."
            )
        }
        let plain = password.lowercased().filter { $0.isLetter || $0.isNumber }
        let isCommon = [plain, password.lowercased()].contains {
            CommonPasswords.all.contains($0) || own.contains($0)
        }
        let isOneCharacter = Set(password).count <= 2
        let isSequence = "01234567890123456789abcdefghijklmnopqrstuvwxyzqwertyuiopasdfghjklzxcvbnm".contains(plain)
        guard !isCommon, !isOneCharacter, !isSequence else {
            return Problem(
                422,
                "password_too_common",
                "This password is among the first that anybody would try.",
                "Use one that nobody else would think of, for example four words."
            )
        }
        return nil
    }

    /// What that list does not have: this product's own words, other languages' firsts, and what keyboards suggest.
    private static let own: Set<String> = [
        "p4ssword", "87654321", "987654321", "0987654321", "00000000", "88888888", "12341234", "123123123",
        "qwertz123", "welcome123", "admin1234", "administrator", "changeme1", "default1", "michelle", "jennifer",
        "shadow123", "abcdefgh", "testtest", "passwort1", "schatz123", "azerty123", "contraseña", "google123",
        "facebook", "terminal", "terminal1", "tillterminal", "payment1", "payments", "merchant", "merchant1",
        "cashier1", "walletconnect", "tillpassword", "owner123", "operator1",
    ]
}

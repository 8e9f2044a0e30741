import Crypto
import CryptoExtras
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
        // One form for one text, whichever keys it was typed with. Source: NIST SP 800-63B, 5.1.1.2.
        let text = Data(password.precomposedStringWithCanonicalMapping.utf8)
        let key = try KDF.Scrypt.deriveKey(
            from: text,
            salt: salt,
            outputByteCount: 32,
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
        let isCommon = common.contains(plain) || common.contains(password.lowercased())
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

    /// The heads of every published list of leaked passwords from eight characters on, and this product's own words.
    private static let common: Set<String> = [
        "password", "password1", "password12", "password123", "passw0rd", "p4ssw0rd", "p4ssword", "12345678",
        "123456789",
        "1234567890", "87654321", "987654321", "0987654321", "11111111", "00000000", "88888888", "12341234", "11223344",
        "123123123", "147258369", "qwertyui", "qwertyuiop", "qwerty12", "qwerty123", "qwertz123", "1q2w3e4r",
        "1q2w3e4r5t",
        "1qaz2wsx", "zaq12wsx", "q1w2e3r4", "asdfghjk", "asdfghjkl", "zxcvbnm1", "iloveyou", "iloveyou1", "sunshine",
        "princess", "football", "football1", "baseball", "superman", "starwars", "whatever", "trustno1", "letmein1",
        "welcome1", "welcome123", "admin123", "admin1234", "administrator", "changeme", "changeme1", "default1",
        "computer",
        "internet", "samsung1", "michelle", "jennifer", "charlie1", "dragon123", "monkey123", "master123", "shadow123",
        "abcd1234", "abc12345", "abcdefgh", "a1b2c3d4", "aa123456", "asdf1234", "pass1234", "test1234", "testtest",
        "passwort", "passwort1", "hallo123", "schatz123", "motdepasse", "azerty123", "azertyuiop", "contraseña",
        "google123",
        "facebook", "liverpool", "chelsea1", "terminal", "terminal1", "tillterminal", "payment1", "payments",
        "merchant",
        "merchant1", "cashier1", "walletconnect", "tillpassword", "owner123", "operator1",
    ]
}

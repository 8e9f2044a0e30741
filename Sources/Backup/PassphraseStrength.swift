internal import CZxcvbn
import Foundation

/// How hard a passphrase is to guess for somebody who has the sealed file and all the time in the world.
///
/// Measured by zxcvbn, which knows common passwords, names, words, dates and rows of keys. A login is guessed at the terminal's
/// pace; a file is guessed at the pace of the guesser's machines, so a passphrase has to be stronger than a password.
///
/// Source: D. L. Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016.
public enum PassphraseStrength {
    /// The least bits that a new passphrase has. At 1,000 guesses a second and machine (scrypt with N=2^16 takes 64 MiB each), a
    /// thousand machines need some ten years for half of 2^49.
    public static let leastBits = 50.0

    /// The estimate in bits: 0 for an empty one. Computes for under a millisecond; what is beyond 200 characters adds nothing.
    public static func bits(of passphrase: String) -> Double {
        let text = String(passphrase.precomposedStringWithCanonicalMapping.prefix(200))
        // Without the words of the user and the list of parts that it can give: both may be null.
        return unsafe ZxcvbnMatch(text, nil, nil)
    }

    /// Whether a new file may be sealed with it.
    public static func isEnough(_ passphrase: String) -> Bool { bits(of: passphrase) >= leastBits }
}

import Backup
import Payments

/// The rule for passphrases that seal a file with keys.
enum PassphraseRule {
    /// The objection to a new passphrase; nil where it can be used.
    static func objection(to passphrase: String) -> Reason? {
        guard passphrase.count <= PasswordRule.longest else {
            return Reason(
                code: "password_too_long",
                message: "The passphrase has more than \(PasswordRule.longest) characters.",
                action: "Use a shorter one."
            )
        }
        guard PassphraseStrength.isEnough(passphrase) else {
            return Reason(
                code: "passphrase_weak",
                message: "This passphrase can be guessed.",
                action: "Take four or more words that have nothing to do with each other, "
                    + "or 12 random letters and digits."
            )
        }
        return nil
    }
}

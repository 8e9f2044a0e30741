import Backup
import Payments

/// What a passphrase has to be that seals a file with keys.
enum PassphraseRule {
    /// What is wrong with a new one; nil where it can be used.
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

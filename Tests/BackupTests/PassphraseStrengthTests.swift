import Backup
import Testing

/// Whoever has a sealed file may try passphrases at the pace of their own machines.
struct PassphraseStrengthTests {
    @Test(arguments: [
        "", "passphrase1", "12345678901234567890", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Tr0ub4dor&3", "MyShop2026!",
        "kaffee 12",
        "qwertyuiopasdfghjklzxcvbnm", "Terminal2026Terminal2026",
    ])
    func whatIsGuessedIsNotEnough(passphrase: String) {
        #expect(!PassphraseStrength.isEnough(passphrase), "\(PassphraseStrength.bits(of: passphrase)) bits")
    }

    @Test(arguments: [
        "tree lamp river stone", "kf9w2mzq8xq3", "zufall wolke tasse birne", "four unrelated words: barn",
        "الحصان صحيح بطارية مصباح",
    ])
    func fourWordsOrTwelveRandomSignsAreEnough(passphrase: String) {
        #expect(PassphraseStrength.isEnough(passphrase), "\(PassphraseStrength.bits(of: passphrase)) bits")
    }

    @Test func aVeryLongOneIsMeasuredToo() {
        #expect(!PassphraseStrength.isEnough(String(repeating: "a", count: 100_000)))
        #expect(PassphraseStrength.isEnough(String(repeating: "tree lamp river stone ", count: 5_000)))
    }
}

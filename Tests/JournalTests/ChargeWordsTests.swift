import Foundation
import Payments
import Testing

@testable import Journal

/// What charges are found by, as it stands in its table.
struct ChargeWordsTests {
    @Test(arguments: [
        ("AC3D", "ac3d"), (" Blue jacket\t", "blue jacket"), ("E\u{301}TE\u{301}", "\u{E9}t\u{E9}"), ("a\u{0}B", "ab"),
        ("", ""),
    ])
    func textsAreFolded(text: String, folded: String) {
        #expect(Array(ChargeWords.folded(text).utf8) == Array(folded.utf8))
    }

    /// Texts that are plain ASCII take a shorter way, which must come to the same.
    @Test func everyByteOfPlainTextIsFoldedAlike() {
        for byte in UInt8(0)...0x7F {
            for text in ["A\(Character(UnicodeScalar(byte)))Z", "\(Character(UnicodeScalar(byte)))Z"] {
                let long = StoredText.bounded(text.precomposedStringWithCanonicalMapping.lowercased())
                #expect(ChargeWords.folded(text) == long.trimmingCharacters(in: .whitespaces), "byte \(byte)")
            }
        }
        let tooLong = String(repeating: "A", count: 300)
        #expect(ChargeWords.folded(tooLong) == String(repeating: "a", count: 200))
    }

    /// The words that stand there and those that an event brings are the charge's, whether or not it changed anything.
    @Test func eventsBringTheWordsThatAreMissing() {
        let another = Offer(paymentID: "pay_another", link: nil, expiresAt: nil)
        var charge = Charge(terms: .example())
        for event in Charge.Event.paid + [.offered(attempt: 1, offer: another), .deadlineReached] {
            let before = ChargeWords.of(charge)
            _ = charge.handle(event)
            let brought = ChargeWords.brought(by: [event], to: charge)
            #expect(before.union(brought) == ChargeWords.of(charge), "\(event)")
        }
        #expect(!ChargeWords.of(charge).contains("pay_another"))
    }
}

import Payments
import Testing

@testable import Receipts

/// Receipts in the shop's language say the same of the money as in English.
struct LanguageTests {
    private static let paid = ExampleCharge(events: ExampleCharge.told(.succeeded(ExampleCharge.evidence)))

    private static func receipt(_ example: ExampleCharge, _ language: String) -> Receipt {
        example.receipt(shop: Receipt.Shop(language: language))
    }

    @Test(arguments: ReceiptWords.all.map(\.language))
    func everyStandingHasWordsAndOnlyPaidSaysPaid(language: String) {
        let words = ReceiptWords.inLanguage(language)
        #expect(words.language == language)
        for standing in Receipt.Standing.allCases {
            #expect(!words.title(standing).isEmpty)
            #expect((words.title(standing) == words.title(.paid)) == (standing == .paid))
            #expect((words.meaning(standing) == nil) == (standing == .paid))
        }
        #expect(words.title(.unknown) != words.title(.failed))
    }

    @Test func aReceiptSpeaksTheShopsLanguage() {
        let text = Self.receipt(Self.paid, "de").slip().text(columns: .wide)
        #expect(text.contains("BEZAHLT\n") && text.contains("Bestätigt von") && !text.contains("PAID"))
        #expect(Self.receipt(Self.paid, "de").documentTitle.hasPrefix("Beleg "))
        #expect(Self.receipt(Self.paid, "xx").slip().text(columns: .wide).contains("PAID\n"))
    }

    @Test func aPrinterWithoutArabicLettersPrintsEnglishInsteadOfQuestionMarks() throws {
        let receipt = Self.receipt(Self.paid, "ar")
        #expect(receipt.slip().readsRightToLeft)
        #expect(receipt.slip().text(columns: .wide).contains("مدفوع"))
        let printed = receipt.slip(for: PrinterOptions())
        #expect(!printed.readsRightToLeft && printed.text(columns: .wide).contains("PAID\n"))
        #expect(Self.receipt(Self.paid, "fr").slip(for: PrinterOptions()).text(columns: .wide).contains("PAYÉ\n"))
    }
}

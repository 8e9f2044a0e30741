import Receipts
import Testing

@testable import Paper

/// Receipts as documents; what stands in them is read by another program in the tests of the console.
struct PDFTests {
    @Test(
        arguments: [
            [], [.title("")], [.rule], [.code("x")], [.title("متجر القهوة"), .words("日本語 👍🏽")],
            [.words(String(repeating: "x", count: 10_000))],
            [.pair(String(repeating: "n ", count: 80), "v", isStrong: true)],
            Array(repeating: Slip.Block.pair("Name", "Value", isStrong: false), count: 200),
            [.words("\u{0}\u{1B}@ \u{202E}(\\) %PDF endstream endobj \u{FFFF}")],
        ] as [[Slip.Block]]
    )
    func everySlipBecomesADocumentOfOnePage(blocks: [Slip.Block]) async throws {
        let bytes = try await PDFPress().pdf(of: Slip(blocks), title: "Receipt", made: "2026-11-22T13:33:05Z")
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasPrefix("%PDF-1.") && text.hasSuffix("%%EOF\n"))
        #expect(text.contains("/Count 1") && text.contains("/Title (Receipt)"))
        #expect(bytes.count < 300_000)
    }

    @Test func theSameReceiptIsTheSameDocument() async throws {
        let press = PDFPress()
        let slip = Slip([.title("Café Zoë"), .rule, .pair("Total EUR", "€12.50", isStrong: true)])
        let first = try await press.pdf(of: slip, title: "Receipt", made: "2026-11-22T13:33:05Z")
        #expect(try await press.pdf(of: slip, title: "Receipt", made: "2026-11-22T13:33:05Z") == first)
    }
}

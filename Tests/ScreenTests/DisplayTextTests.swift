import Testing

@testable import Screen

struct DisplayTextTests {
    @Test(arguments: [
        ("Café Morgenrot", "Café Morgenrot"),
        ("  two   spaces\tand a tab ", "two spaces and a tab"),
        ("line\r\nbreak\u{2028}and\u{85}more", "line break and more"),
        ("bell\u{7}null\u{0}escape\u{1B}[31m", "bellnullescape[31m"),
        ("re\u{202E}versed\u{202C}", "reversed"),
        ("iso\u{2066}la\u{2069}ted\u{200F}", "isolated"),
        ("hidden\u{200B}zero\u{FEFF}width", "hiddenzerowidth"),
        ("private\u{E000}use \u{F0000}", "privateuse"),
        ("tag\u{E0041}s", "tags"),
        ("می‌خواهم", "می‌خواهم"),
        ("क्षेत्र", "क्षेत्र"),
        ("", ""),
    ])
    func whatRemainsIsOneVisibleLine(text: String, expected: String) {
        #expect(DisplayText.clean(text) == expected)
    }

    @Test func longTextEndsInAnEllipsis() {
        let cleaned = DisplayText.clean(String(repeating: "x", count: 10_000), limit: 20)
        #expect(cleaned == String(repeating: "x", count: 20) + "…")
    }

    @Test func marksPiledOnALetterAreThinnedOut() {
        let piled = "Z" + String(repeating: "\u{0336}", count: 500) + "ed"
        #expect(DisplayText.clean(piled).unicodeScalars.count == 6)
    }

    /// Any scalars at all: bounded, one line, no character that reorders or hides.
    @Test func noInputGetsPastTheLimits() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...400, using: &random) {
                let range: ClosedRange<UInt32> = Bool.random() ? 0...0x2FF : 0...0x10FFFF
                if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { text.append(scalar) }
            }
            let cleaned = DisplayText.clean(String(text), limit: 50)
            #expect(cleaned.unicodeScalars.count <= 51 * 4)
            #expect(!cleaned.unicodeScalars.contains { $0.properties.isBidiControl || $0.value < 0x20 })
            #expect(DisplayText.clean(cleaned, limit: 51) == cleaned)
        }
    }
}

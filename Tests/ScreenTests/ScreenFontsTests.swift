import Testing

@testable import Screen

/// Which letters a name may have before customers see boxes.
struct ScreenFontsTests {
    @Test func whatTheFontsCannotDrawIsNamedOnceAndInOrder() async {
        let fonts = ScreenFonts()
        // Code points of no character: no font has them.
        #expect(await fonts.missing(in: "Kiosk \u{0378}A\u{0379} \u{0378}") == ["\u{0378}", "\u{0379}"])
    }

    @Test(arguments: Sample.names) func theNamesOfTheSupportedScriptsAreDrawn(name: String) async {
        #expect(await ScreenFonts().missing(in: name) == [])
    }

    /// Whatever is found missing here is a box on the page, and whatever is not, is none.
    @Test(arguments: ["Café", "ร้านกาแฟ", "कॉफ़ी", "Kiosk 🪑", "ﷺ", "A\u{0378}"])
    func theAnswerIsThatOfThePage(name: String) async {
        let typesetter = Typesetter(languageTag: "en", readsRightToLeft: false)
        let set = typesetter.set(TextSpec(text: name, largest: 40, smallest: 10, width: 2000))
        #expect(await ScreenFonts().missing(in: name).isEmpty == (set.unknownGlyphs == 0))
    }
}

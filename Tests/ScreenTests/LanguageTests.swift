import Foundation
import Testing

@testable import Screen

/// The screen in each of its languages: nothing is cut, nothing overlaps, and amounts stay as they are.
struct LanguageTests {
    /// Those of the smallest panel, of common ones, and upright.
    static let sizes = Sample.sizes + [PixelSize(width: 480, height: 800), PixelSize(width: 720, height: 720)]
    static let foreign = ScreenText.all.filter { $0.languageTag != "en" }.map(\.languageTag)

    private func page(_ scene: Scene, _ size: PixelSize, _ text: ScreenText) -> Drawing {
        let typesetter = Typesetter(languageTag: text.languageTag, readsRightToLeft: text.readsRightToLeft)
        return Composer(text: text, typesetter: typesetter, codes: QRCodeCache())
            .compose(scene, on: Surface(size: size)).drawing
    }

    private func texts(_ drawing: Drawing) -> [SetText] {
        drawing.elements.compactMap { if case .text(let set, _, _, _, _) = $0 { set } else { nil } }
    }

    /// Every scene with words of its own only: what a wallet, staff or a till say at length is not the screen's.
    private static var scenes: [Scene] {
        Sample.scenes().filter { scene in
            switch scene {
            case .offline(let offline): offline.detail == nil
            case .message(let message): message.text.count < 100
            default: true
            }
        }
    }

    @Test(arguments: foreign, sizes)
    func nothingIsCutAndEveryLetterHasAGlyph(tag: String, size: PixelSize) {
        for scene in Self.scenes {
            for text in texts(page(scene, size, .inLanguage(tag))) {
                #expect(!text.isCut, "\(tag) \(size): \(text.spec.text)")
                #expect(text.unknownGlyphs == 0, "\(tag): \(text.spec.text)")
            }
        }
    }

    @Test(arguments: foreign, sizes)
    func nothingOverlapsAndNothingLeavesThePage(tag: String, size: PixelSize) {
        let language = ScreenText.inLanguage(tag)
        for scene in Self.scenes {
            let drawing = page(scene, size, language)
            var taken = drawing.codes.map(\.frame)
            for case .mark(_, let frame, _, _) in drawing.elements { taken.append(frame) }
            for case .text(let set, let x, let y, _, _) in drawing.elements {
                let free = set.spec.width - set.widestLine
                let start =
                    switch set.spec.alignment {
                    case .centre: x + free / 2
                    case .leading: language.readsRightToLeft ? x + free : x
                    case .trailing: language.readsRightToLeft ? x : x + free
                    }
                let frame = PixelRect(x: start, y: y, width: set.widestLine, height: set.size.height)
                #expect(PixelRect(size).contains(frame), "\(tag) \(size): \(set.spec.text) at \(frame)")
                #expect(!taken.contains { $0.intersects(frame) }, "\(tag) \(size): \(set.spec.text) at \(frame)")
                taken.append(frame)
            }
        }
    }

    @Test(arguments: ScreenText.all.map(\.languageTag))
    func theCodeIsTheSameInEveryLanguage(tag: String) async throws {
        for link in Sample.links {
            let size = PixelSize(width: 800, height: 480)
            let record = RecordingSink.Record()
            let display = Display(sinks: [RecordingSink(size, record: record)], text: .inLanguage(tag))
            #expect(try await display.show(Sample.charge(link)).qrVerified, "\(tag)")
        }
    }

    /// An amount that is read the wrong way round is another amount.
    @Test func amountsAndCodesAreIsolatedFromArabicWords() {
        let arabic = ScreenText.arabic
        for amount in ["€12.50", "12,50 €", "CHF 1’234.50", "1,234,567.123456 USDC"] {
            let shown = texts(page(Sample.charge(amount: amount), PixelSize(width: 800, height: 480), arabic))
            #expect(shown.contains { $0.spec.text == "\u{2066}\(amount)\u{2069}" }, "\(amount)")
            #expect(shown.contains { $0.spec.text == "\u{2066}K7QM\u{2069}" })
        }
        let last = texts(
            page(.unknown(.init(amountText: "12,50 €", chargeCode: "K7QM")), PixelSize(width: 800, height: 480), arabic)
        )
        #expect(last.contains { $0.spec.text.contains("\u{2066}12,50 €\u{2069}") })
    }

    @Test func theScreenSpeaksAnotherLanguageFromTheNextSceneOn() async throws {
        let size = PixelSize(width: 480, height: 320)
        func pixels(_ steps: [(ScreenText, Scene)]) async throws -> [UInt32] {
            let record = RecordingSink.Record()
            let display = Display(sinks: [RecordingSink(size, record: record)])
            for (text, scene) in steps {
                await display.speak(text)
                try await display.show(scene)
            }
            return record.pixels
        }
        let unknown = Scene.unknown(.init())
        let german = try await pixels([(.german, unknown)])
        #expect(try await pixels([(.english, unknown), (.german, unknown)]) == german)
        #expect(try await pixels([(.english, unknown)]) != german)
    }

    @Test(arguments: [
        ("de-CH, fr;q=0.9, en;q=0.8", "de"), ("it, es-MX;q=0.7, de;q=0.3", "es"), ("fr;q=0.2, ar;q=0.9", "ar"),
        ("en", "en"),
        ("de;q=0, fr", "fr"), ("FR", "fr"), ("it, pt", nil), ("", nil), ("*", nil), (";;q=,,,de;q=x", "de"),
        (String(repeating: "x,", count: 100_000) + "de", nil),
    ])
    func theWantedLanguageIsTakenFromTheHeader(header: String, expected: String?) {
        #expect(ScreenText.preferred(header)?.languageTag == expected)
    }

    @Test(arguments: ScreenText.all.map(\.languageTag))
    func everyLanguageTellsItsStatesApart(tag: String) {
        let text = ScreenText.inLanguage(tag)
        #expect(text.languageTag == tag)
        let titles =
            [
                text.paidTitle, text.processingTitle, text.unknownTitle, text.offlineTitle, text.promisedTitle,
                text.givenBackTitle,
            ]
            + Scene.NotPaid.Kind.allCases.map { text.notPaidTitles($0) }
        #expect(Set(titles).count == titles.count)
        for count in [1, 2, 3, 11, 100] { #expect(!text.checkingPayments(count).isEmpty) }
    }
}

/// Pictures of every scene, kept where `TILL_SHOTS` names a folder, to be looked at.
struct LanguagePictures {
    @Test(
        .enabled(if: ProcessInfo.processInfo.environment["TILL_SHOTS"] != nil),
        arguments: ["ar", "de"],
        LanguageTests.sizes
    )
    func everySceneIsDrawn(tag: String, size: PixelSize) async throws {
        let folder = try #require(ProcessInfo.processInfo.environment["TILL_SHOTS"])
        for (number, scene) in Sample.scenes().enumerated() {
            let path = "\(folder)/\(tag)-\(size.width)x\(size.height)-\(number).png"
            let display = Display(sinks: [try PNGSink(path: path, size: size)], text: .inLanguage(tag))
            try await display.show(scene)
            await display.close()
        }
    }
}

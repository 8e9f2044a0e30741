import Foundation
import Packing
import Testing

@testable import Screen

/// What pages promise whatever their content: everything can be read and nothing stands in the way of anything.
struct SceneTests {
    private func page(_ scene: Scene, _ size: PixelSize, text: ScreenText = .english) -> (Drawing, Typesetter) {
        let typesetter = Typesetter(languageTag: text.languageTag, readsRightToLeft: text.readsRightToLeft)
        let composer = Composer(text: text, typesetter: typesetter, codes: QRCodeCache())
        return (composer.compose(scene, on: Surface(size: size)).drawing, typesetter)
    }

    private func texts(_ drawing: Drawing) -> [(text: SetText, frame: PixelRect)] {
        drawing.elements.compactMap { element in
            guard case .text(let set, let x, let y, _, _) = element else { return nil }
            // What is covered by its lines, which a centred column shares with the shapes before them.
            let start = set.spec.alignment == .centre ? x + (set.spec.width - set.widestLine) / 2 : x
            return (set, PixelRect(x: start, y: y, width: set.widestLine, height: set.size.height))
        }
    }

    @Test(arguments: Sample.names, Sample.allSizes)
    func everyCharacterOfANameHasAGlyph(name: String, size: PixelSize) {
        for scene in Sample.scenes(name: name) {
            for (text, _) in texts(page(scene, size).0) {
                #expect(text.unknownGlyphs == 0, "\(text.spec.text)")
            }
        }
    }

    @Test(arguments: Sample.names, Sample.allSizes)
    func nothingOverlapsAndNothingLeavesThePage(name: String, size: PixelSize) {
        for scene in Sample.scenes(name: name) {
            let drawing = page(scene, size).0
            let whole = PixelRect(size)
            var taken = drawing.codes.map(\.frame)
            for case .mark(_, let frame, _, _) in drawing.elements { taken.append(frame) }
            for (text, frame) in texts(drawing) {
                #expect(whole.contains(frame), "\(text.spec.text) at \(frame)")
                #expect(!taken.contains { $0.intersects(frame) }, "\(text.spec.text) at \(frame)")
                taken.append(frame)
            }
        }
    }

    @Test(arguments: Sample.allSizes)
    func theOwnerSeesHowFarTheSetUpIs(size: PixelSize) {
        func words(_ progress: Scene.Progress?) -> [String] {
            texts(page(.idle(.init(merchantName: "Till", progress: progress)), size).0).map { $0.text.spec.text }
        }
        #expect(words(.init(step: 3, count: 9)) == ["Till", "Being set up", "Step 3 of 9"])
        #expect(words(nil) == ["Till", "Welcome"])
    }

    /// A logo takes its place from the words: it never hides one, and never a code.
    @Test(arguments: Sample.allSizes, [PixelSize(width: 400, height: 60), PixelSize(width: 100, height: 200)])
    func aLogoStandsBesideEverythingElse(size: PixelSize, own: PixelSize) throws {
        let pixels = [UInt32](repeating: 0xFFC0_2030, count: own.width * own.height)
        let logo = try #require(Picture(width: own.width, height: own.height, pixels: pixels))
        guard case .charge(var view) = Sample.charge() else { return }
        view.logo = logo
        for scene in [.idle(.init(merchantName: "Café Zoë", logo: logo, notices: [])), Scene.charge(view)] {
            let drawing = page(scene, size).0
            let frames = drawing.elements.compactMap { if case .picture(_, let frame) = $0 { frame } else { nil } }
            try #require(frames.count == 1)
            #expect(PixelRect(size).contains(frames[0]))
            #expect(!texts(drawing).contains { $0.frame.intersects(frames[0]) })
            #expect(!drawing.codes.contains { $0.frame.intersects(frames[0]) })
            let (wide, high) = (frames[0].width * own.height, frames[0].height * own.width)
            #expect(abs(wide - high) <= own.width + own.height, "its proportions stay")
        }
    }

    @Test func aLogoIsDrawnAsItIsAndLetsTheGroundShowThrough() throws {
        let pixels: [UInt32] = [0xFFFF_0000, 0xFF00_FF00, 0x0000_00FF, 0x80FF_FFFF]
        let logo = try #require(Picture(width: 2, height: 2, pixels: pixels))
        let canvas = Canvas(frame: PixelRect(x: 0, y: 0, width: 4, height: 4), ground: .black)
        let typesetter = Typesetter(languageTag: "en", readsRightToLeft: false)
        canvas.draw(.picture(logo, PixelRect(x: 0, y: 0, width: 4, height: 4)), typesetter: typesetter)
        canvas.withPixels { drawn in
            #expect(drawn[0] == 0xFFFF_0000 && drawn[5] == 0xFFFF_0000 && drawn[2] == 0xFF00_FF00)
            #expect(drawn[8] == 0xFF00_0000, "what is see-through shows the ground")
            #expect(drawn[10] == 0xFF80_8080)
        }
        // Smaller than it is: each pixel is the mean of those it stands for.
        let half = Canvas(frame: PixelRect(x: 0, y: 0, width: 1, height: 1), ground: .black)
        let row = try #require(Picture(width: 2, height: 1, pixels: [0xFFFF_FFFF, 0xFF00_0000]))
        half.draw(.picture(row, PixelRect(x: 0, y: 0, width: 1, height: 1)), typesetter: typesetter)
        half.withPixels { drawn in #expect(drawn[0] == 0xFF7F_7F7F) }
    }

    /// A wallet cannot read a page's address: the customer is told to use the camera.
    @Test(arguments: Sample.allSizes)
    func aCodeThatOpensAPageAsksForTheCameraAndForNoWallet(size: PixelSize) {
        guard case .charge(var view) = Sample.charge(Sample.usualLink, amount: "€12.50", note: nil) else { return }
        view.waysToPay = [.scan, .tap, .connect]
        func words() -> [String] { texts(page(.charge(view), size).0).map { $0.text.spec.text } }
        let english = ScreenText.english
        #expect(words().contains(english.wayInstructions(.scan)) && words().contains(english.wayInstructions(.connect)))
        view.opensPage = true
        #expect(words().contains(english.openPage) && words().contains(english.wayInstructions(.tap)))
        #expect(
            !words().contains(english.wayInstructions(.scan)) && !words().contains(english.wayInstructions(.connect))
        )
    }

    /// Amounts and codes are what a customer compares: they shrink, but never lose a digit.
    @Test(arguments: Sample.allSizes)
    func amountsAndCodesAreNeverCut(size: PixelSize) {
        for link in Sample.links {
            for amount in ["€0.50", "€12.50", "CHF 1,234,567.50", "1,234,567.123456 USDC"] {
                let shown = texts(page(Sample.charge(link, amount: amount, note: .gatewaySilent), size).0)
                for wanted in [amount, "K7QM", "4:32"] {
                    #expect(shown.contains { $0.text.spec.text == wanted && !$0.text.isCut }, "\(wanted) \(size)")
                }
            }
        }
        for purpose in [Scene.Setup.Purpose.claim, .reset] {
            let scene = Sample.setup(purpose: purpose)
            for (text, _) in texts(page(scene, size).0) { #expect(!text.isCut, "\(text.spec.text) \(size)") }
        }
    }

    /// Capital letters of a 200th of the distance can be read: 10 mm at 2 m. The smallest panel for a counter, 7 inches
    /// with 800 × 480 pixels, has 5.2 pixels a millimetre. Source: ISO 9241-303, 20 to 22 minutes of arc preferred.
    @Test func theAmountCanBeReadFromTwoMetres() throws {
        for scene in [Sample.charge(), .paid(.init(merchantName: "A", amountText: "€12.50", chargeCode: "K7QM"))] {
            let amount = try #require(
                texts(page(scene, PixelSize(width: 800, height: 480)).0).first { $0.text.spec.text == "€12.50" }
            )
            #expect(Double(amount.text.fontSize) * 0.73 >= 52)  // 0.73: a digit's height in parts of the font size.
        }
    }

    @Test(arguments: Sample.allSizes)
    func hostileNamesStayInTheirPlace(size: PixelSize) {
        let hostile = [
            String(repeating: "W", count: 10_000), String(repeating: "a\u{0301}\u{0302}\u{0303}\u{0304}", count: 2_000),
            "Total\n€0.01\r\nPaid\u{0}\u{7}\u{1B}[2J", "Shop\u{202E}05.21€\u{202C} \u{2067}x", "", "\u{200B}\u{FEFF}",
            String(repeating: "\u{200D}", count: 5_000), "👨‍👩‍👧‍👦 Café",
        ]
        for name in hostile {
            for scene in Sample.scenes(name: name) {
                let drawing = page(scene, size).0
                for (text, frame) in texts(drawing) {
                    #expect(PixelRect(size).contains(frame))
                    #expect(text.spec.text.count <= 210)
                    #expect(!text.spec.text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
                }
            }
        }
    }

    @Test func everyOutcomeHasItsOwnShapeColourAndWords() {
        let scenes: [Scene] =
            [
                .processing(.init(merchantName: "A", amountText: "€1", chargeCode: "K7QM")),
                .paid(.init(merchantName: "A", amountText: "€1", chargeCode: "K7QM")), .unknown(.init()),
                .offline(.init(merchantName: "A")),
            ] + Scene.NotPaid.Kind.allCases.map { .notPaid(.init(kind: $0)) }
        let pages = scenes.map { page($0, PixelSize(width: 800, height: 480)).0 }
        let marks = pages.map { drawing -> Mark? in
            for case .mark(let mark, let frame, _, _) in drawing.elements where frame.width > 100 { return mark }
            return nil
        }
        #expect(!marks.contains(nil))
        #expect(Set(marks).count == scenes.count)
        #expect(Set(pages.map(\.ground)).count == scenes.count)
        #expect(Set(pages.map { texts($0).first?.text.spec.text }).count == scenes.count)
    }

    @Test func aLateAndAPunctualPaymentLookDifferent() {
        func paid(late: Bool) -> Drawing {
            page(
                .paid(.init(merchantName: "A", amountText: "€1", chargeCode: "K7QM", arrivedLate: late)),
                PixelSize(width: 800, height: 480)
            ).0
        }
        #expect(texts(paid(late: true)).contains { $0.text.spec.text == "Arrived late" })
        #expect(!texts(paid(late: false)).contains { $0.text.spec.text == "Arrived late" })
    }

    /// Whatever a till makes of its words, its page has a ground that no page of money has, and says what it is not.
    @Test(arguments: Sample.allSizes)
    func aMessageOfTheTillNeverLooksLikeAPayment(size: PixelSize) throws {
        let others = Sample.scenes().filter { if case .message = $0 { false } else { true } }
        let grounds = Set(others.map { page($0, size).0.ground })
        let charge = try #require(texts(page(Sample.charge(), size).0).first { $0.text.spec.text == "€12.50" })
        for scene in Sample.messages() + [.message(.init(title: "Paid €12.50", text: "✓", options: ["€1"]))] {
            let drawing = page(scene, size).0
            #expect(!grounds.contains(drawing.ground))
            let words = texts(drawing)
            let band = try #require(words.first { $0.text.spec.text == ScreenText.english.messageIsNoPayment })
            #expect(!band.text.isCut, "\(size)")
            for (text, _) in words { #expect(text.fontSize <= charge.text.fontSize) }
            // Marks are of outcomes and of ways to pay.
            let hasMark = drawing.elements.contains { if case .mark = $0 { true } else { false } }
            #expect(!hasMark)
        }
        #expect(Palette.message.ground != Palette.calm.ground)
    }

    @Test func theUnknownPageSaysNotToPayAgain() {
        let words = texts(page(.unknown(.init()), PixelSize(width: 480, height: 320)).0).map(\.text.spec.text)
        #expect(words.contains("Not known yet"))
        #expect(words.contains("Do not pay again."))
        #expect(words.contains("Please ask staff."))
    }

    /// Source: WCAG 2.2, success criterion 1.4.3.
    @Test func wordsHaveContrastOnEveryGround() {
        func luminance(_ colour: Colour) -> Double {
            func linear(_ value: Double) -> Double {
                value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
            }
            return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue)
        }
        func contrast(_ one: Colour, _ other: Colour) -> Double {
            let (a, b) = (luminance(one), luminance(other))
            return (max(a, b) + 0.05) / (min(a, b) + 0.05)
        }
        for palette in Palette.all {
            for ink in [palette.text, palette.quiet] {
                #expect(contrast(ink, palette.ground) >= 4.5)
            }
        }
        #expect(contrast(Palette.noteText, Palette.noteGround) >= 4.5)
        #expect(contrast(Palette.bandText, Palette.bandGround) >= 4.5)
        for light in [Palette.lightReady, Palette.lightConnecting, Palette.lightUnavailable] {
            #expect(contrast(light, Palette.chip) >= 3)
        }
        #expect(contrast(Palette.calm.text, Palette.chip) >= 4.5)
        #expect(contrast(Palette.calm.quiet, Palette.chip) >= 4.5)
        #expect(contrast(Palette.lightReady, Palette.calm.ground) >= 4.5)  // The claim code.
    }

    @Test(arguments: [(272, "4:32"), (59, "0:59"), (60, "1:00"), (0, "0:00"), (-5, "0:00"), (6_009, "100:09")])
    func timeLeftIsMinutesAndSeconds(seconds: Int, words: String) {
        let shown = texts(page(Sample.charge(seconds: seconds), PixelSize(width: 800, height: 480)).0)
        #expect(shown.contains { $0.text.spec.text == words })
    }

    @Test(arguments: Sample.allSizes)
    func aLanguageFromRightToLeftMirrorsThePage(size: PixelSize) throws {
        var text = ScreenText.english
        text.readsRightToLeft = true
        for scene in Sample.scenes(name: "مقهى الفجر الجديد") {
            let mirrored = page(scene, size, text: text).0
            let plain = page(scene, size).0
            for (_, frame) in texts(mirrored) { #expect(PixelRect(size).contains(frame)) }
            #expect(mirrored.codes.count == plain.codes.count)
            for (code, other) in zip(mirrored.codes, plain.codes) {
                #expect(code.frame == other.frame.mirrored(inWidth: size.width))
                #expect(code.code == other.code)
            }
        }
    }
}

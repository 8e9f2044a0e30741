import Foundation
import Testing

@testable import Screen

/// What phones bring to the screen: a second code, digits to compare, and a form before the payment.
struct TapScreenTests {
    /// From 7-inch panels on, upright ones and square ones.
    static let sizes = [(800, 480), (1920, 1080), (1080, 1920), (720, 720), (480, 800), (3840, 2160)]
        .map { PixelSize(width: $0.0, height: $0.1) }

    private func page(_ scene: Scene, _ size: PixelSize) -> Drawing {
        let typesetter = Typesetter(languageTag: "en", readsRightToLeft: false)
        return Composer(text: .english, typesetter: typesetter, codes: QRCodeCache())
            .compose(scene, on: Surface(size: size)).drawing
    }

    private func words(_ drawing: Drawing) -> [String] {
        drawing.elements.compactMap { if case .text(let text, _, _, _, _) = $0 { text.spec.text } else { nil } }
    }

    /// What a camera that sees the whole screen reads.
    private func scanned(_ scene: Scene, _ size: PixelSize) async throws -> (texts: Set<String>, shown: Shown) {
        let record = RecordingSink.Record()
        let shown = try await Display(sinks: [RecordingSink(size, record: record)]).show(scene)
        let grey = record.pixels.map { UInt8((($0 >> 16 & 0xFF) + ($0 >> 8 & 0xFF) + ($0 & 0xFF)) / 3) }
        let texts = try #require(QRReader()).texts(in: GreyImage(size: size, pixels: grey))
        return (Set(texts), shown)
    }

    // MARK: - Two codes

    @Test(arguments: sizes)
    func thePaymentsCodeAndTheTagAreOnOnePageAndBothCanBeRead(size: PixelSize) async throws {
        let (texts, shown) = try await scanned(Sample.tapCharge(), size)
        #expect(texts == [Sample.usualLink, Sample.tag])
        #expect(shown.qrVerified)
        for code in page(Sample.tapCharge(), size).codes { #expect(code.module >= QRFitting.wantedModule) }
    }

    /// A customer must not have to guess which code is for which app.
    @Test(arguments: sizes)
    func eachCodeStandsInOnePanelWithTheWordsForItsApp(size: PixelSize) throws {
        let drawing = page(Sample.tapCharge(), size)
        var panels: [PixelRect] = []
        for case .panel(let frame, _, Palette.chip) in drawing.elements { panels.append(frame) }
        #expect(panels.count == 2)
        for (link, app) in [(Sample.usualLink, "Wallet"), (Sample.tag, "Payment app")] {
            let code = try #require(drawing.codes.first { $0.code.text == link })
            let own = panels.filter { $0.contains(code.frame) }
            #expect(own.count == 1)
            let inside = drawing.elements.compactMap { element -> String? in
                guard case .text(let text, _, _, _, let ink) = element, own.contains(where: { $0.contains(ink) }) else {
                    return nil
                }
                return text.spec.text
            }
            #expect(inside.first == app, "\(inside)")
        }
    }

    /// The code that money goes by comes first: where two would be too small, it keeps the page for itself.
    @Test(arguments: [PixelSize(width: 480, height: 320), PixelSize(width: 800, height: 480)])
    func aPaymentsCodeNeverBecomesHardToReadForTheTag(size: PixelSize) async throws {
        let (texts, shown) = try await scanned(Sample.tapCharge(Sample.longestLink), size)
        #expect(texts == [Sample.longestLink] && shown.qrVerified)
        let words = words(page(Sample.tapCharge(Sample.longestLink), size))
        // Held close a phone would not be asked: it has nothing to read first.
        #expect(!words.contains { $0.contains("phone close") })
        #expect(words.contains("Scan with your wallet"))
    }

    @Test(arguments: Sample.names, sizes)
    func amountsAndDigitsBesideTwoCodesAreNeverCut(name: String, size: PixelSize) {
        let scene = Sample.tapCharge(
            name: name,
            amount: "CHF 1,234,567.50",
            shortCodes: ["4821", "0937"],
            note: .gatewaySilent
        )
        let uncut = page(scene, size).elements.compactMap { element -> String? in
            guard case .text(let text, _, _, _, _) = element, !text.isCut else { return nil }
            return text.spec.text
        }
        for wanted in ["CHF 1,234,567.50", "4:32", "K7QM"] { #expect(uncut.contains(wanted), "\(uncut) \(size)") }
        for digits in ["4821", "0937"] { #expect(uncut.contains { $0.contains(digits) }, "\(uncut) \(size)") }
        #expect(uncut.contains(ScreenText.english.gatewaySilent), "\(uncut) \(size)")
    }

    @Test func aTagThatIsSpoiltOnTheScreenTakesBothCodesOff() async throws {
        let size = PixelSize(width: 800, height: 480)
        let tag = try #require(page(Sample.tapCharge(), size).codes.first { $0.code.text == Sample.tag }).frame
        let record = RecordingSink.Record()
        let sink = RecordingSink(size, record: record) { pixels, page in
            guard page < 3 else { return }
            for y in tag.y..<tag.bottom {
                for x in tag.x..<tag.right where (x ^ y) & 4 == 0 { pixels[y * 800 + x] = 0 }
            }
        }
        let display = Display(sinks: [sink])
        await #expect(throws: ScreenError.qrNotReadable(sink: "memory")) {
            try await display.show(Sample.tapCharge())
        }
        let grey = record.pixels.map { UInt8((($0 >> 16 & 0xFF) + ($0 >> 8 & 0xFF) + ($0 & 0xFF)) / 3) }
        #expect(try #require(QRReader()).texts(in: GreyImage(size: size, pixels: grey)).isEmpty)
    }

    @Test func withoutAPaymentsCodeTheTagHasThePageAndSaysWhatToDo() async throws {
        let size = PixelSize(width: 480, height: 320)
        let (texts, shown) = try await scanned(Sample.tapCharge(nil), size)
        #expect(texts == [Sample.tag] && shown.qrVerified)
        #expect(words(page(Sample.tapCharge(nil), size)).contains(ScreenText.english.tagInstruction))
    }

    /// A browser or a printer draws the same code as the screen.
    @Test(arguments: [Sample.tag, Sample.usualLink])
    func modulesForOthersToDrawAreACodeThatCanBeRead(text: String) throws {
        let rows = try #require(QRModules(text)).rows
        let (module, border) = (4, 16)
        let side = rows.count * module + 2 * border
        var grey = [UInt8](repeating: 255, count: side * side)
        for (y, row) in rows.enumerated() {
            for (x, dark) in row.enumerated() where dark == "1" {
                for pixel in 0..<module * module {
                    grey[(border + y * module + pixel / module) * side + border + x * module + pixel % module] = 0
                }
            }
        }
        let image = GreyImage(size: PixelSize(width: side, height: side), pixels: grey)
        #expect(try #require(QRReader()).texts(in: image) == [text])
        #expect(QRModules("") == nil && QRModules(String(repeating: "x", count: 3_000)) == nil)
    }

    // MARK: - Digits

    @Test(arguments: Sample.allSizes)
    func theDigitsOfThePhoneStandOnEveryPageOfACharge(size: PixelSize) {
        for scene in [
            Sample.tapCharge(shortCodes: ["4821"]), Sample.tapCharge(nil, shortCodes: ["4821"]),
            Sample.tapCharge(tag: nil, shortCodes: ["4821"]), Sample.tapCharge(nil, tag: nil, shortCodes: ["4821"]),
            Sample.tapCharge(form: Sample.formLink, shortCodes: ["4821"]),
            .processing(.init(merchantName: "A", amountText: "€1", chargeCode: "K7QM", shortCode: "4821")),
        ] {
            let words = words(page(scene, size))
            #expect(words.contains { $0.contains("4821") }, "\(words) \(size)")
            #expect(words.contains { $0.contains("Does your phone show the same?") }, "\(words) \(size)")
        }
        #expect(!words(page(Sample.tapCharge(), size)).contains { $0.contains("phone show") })
    }

    @Test func severalPhonesAreCountedAndAllTheirDigitsShown() {
        let scene = Sample.tapCharge(tag: nil, shortCodes: ["4821", "0937", "1004"])
        let words = words(page(scene, PixelSize(width: 800, height: 480)))
        #expect(words.contains { $0.hasPrefix("3 phones see this.") })
        #expect(words.contains { $0.contains("4821") && $0.contains("0937") && $0.contains("1004") })
    }

    // MARK: - A form

    @Test(arguments: Sample.allSizes)
    func aFormTakesThePlaceOfTheTag(size: PixelSize) async throws {
        let scene = Sample.tapCharge(nil, form: Sample.formLink)
        let (texts, shown) = try await scanned(scene, size)
        #expect(texts == [Sample.formLink] && shown.qrVerified)
        let words = words(page(scene, size))
        #expect(words.contains(ScreenText.english.formTitle) && words.contains(ScreenText.english.formWhatToDo))
        #expect(!words.contains { $0.contains("wallet") })
    }

    /// Any phone nearby can have a form asked for.
    @Test(arguments: Sample.allSizes)
    func noPhonesFormTakesThePaymentsCodeAway(size: PixelSize) async throws {
        let scene = Sample.tapCharge(form: Sample.formLink)
        let (texts, shown) = try await scanned(scene, size)
        #expect(texts.contains(Sample.formLink) && shown.qrVerified)
        #expect(words(page(scene, size)).contains(ScreenText.english.formTitle))
        let next = try await scanned(Sample.tapCharge(form: Sample.formLink, turn: .payment), size)
        #expect(next.texts.contains(Sample.usualLink) && next.shown.qrVerified)
        if min(size.width, size.height) >= 480 { #expect(texts.contains(Sample.usualLink)) }
    }

    /// Who scans must not take a form for the payment, nor whose details are asked for be told to tap.
    @Test func theFormSaysWhoseDetailsAreAskedFor() {
        let size = PixelSize(width: 800, height: 480)
        func words(_ scene: Scene) -> [String] { self.words(page(scene, size)) }
        let phone = words(Sample.tapCharge(form: Sample.formLink, formWay: .tap))
        #expect(phone.contains("Your details first") && phone.contains("Paying by phone? Scan this"))
        let wallet = words(Sample.tapCharge(form: Sample.formLink, formWay: .connect))
        #expect(wallet.contains("Your details first") && wallet.contains("Wallet connected? Scan this"))
        #expect(!wallet.contains { $0.contains("phone") })
        // The form has the first place where a wallet is all that could pay; the tag stays beside it.
        let alone = words(Sample.tapCharge(Sample.formLink, opensForm: true, note: .form))
        #expect(alone.contains("Your details first") && alone.contains("Wallet connected? Scan this"))
        #expect(alone.contains("Payment app") && !alone.contains("Scan to pay") && !alone.contains("Wallet"))
    }

    /// Too small for both: whoever is asked for details must see the form, and whoever pays must get the payment's code back.
    @Test(
        arguments: [(480, 320), (320, 480)].map { PixelSize(width: $0.0, height: $0.1) },
        [Scene.WayToPay.tap, .connect]
    )
    func onASmallScreenFormAndPaymentTakeTurns(size: PixelSize, way: Scene.WayToPay) async throws {
        let link = Sample.longestLink
        let form = Sample.tapCharge(link, form: Sample.formLink, formWay: way, turn: .form)
        var (texts, shown) = try await scanned(form, size)
        #expect(texts == [Sample.formLink] && shown.qrVerified)
        var said = words(page(form, size))
        #expect(said.contains(ScreenText.english.formTitle) && said.contains(ScreenText.english.codeComesBack))
        let payment = Sample.tapCharge(link, form: Sample.formLink, formWay: way, turn: .payment)
        (texts, shown) = try await scanned(payment, size)
        #expect(texts == [link] && shown.qrVerified)
        said = words(page(payment, size))
        #expect(said.contains(ScreenText.english.formComesBack) && !said.contains(ScreenText.english.formTitle))
        for drawing in [page(form, size), page(payment, size)] {
            for case .text(let text, _, _, _, _) in drawing.elements {
                #expect(!text.isCut, "\(text.spec.text) \(size)")
            }
        }
    }

    @Test(arguments: Scene.ChargeView.Turn.allCases)
    func whereBothHaveRoomNobodyWaitsForATurn(turn: Scene.ChargeView.Turn) async throws {
        let scene = Sample.tapCharge(form: Sample.formLink, turn: turn)
        let (texts, _) = try await scanned(scene, PixelSize(width: 800, height: 480))
        #expect(texts == [Sample.usualLink, Sample.formLink])
    }

    // MARK: - Who confirmed

    @Test(arguments: [(Scene.Authority.acquirer, "the acquirer"), (.gateway, "the gateway")])
    func aPaidPageSaysWhoConfirmedIt(authority: Scene.Authority, who: String) {
        let scene = Scene.paid(
            .init(merchantName: "A", amountText: "€1", chargeCode: "K7QM", confirmedBy: authority)
        )
        let words = words(page(scene, PixelSize(width: 480, height: 320)))
        #expect(words.contains("Confirmed by \(who)"))
    }
}

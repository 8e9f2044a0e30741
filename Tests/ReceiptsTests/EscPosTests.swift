import Payments
import Testing

@testable import Receipts

/// What a receipt printer gets, read back by the command set.
struct EscPosTests {
    private static let alphabets: [CodePage: String] = [
        .pc437: "CP437", .pc850: "CP850", .pc852: "CP852", .pc858: "CP858", .pc866: "CP866", .wpc1252: "CP1252",
    ]

    private func read(_ slip: Slip, _ options: PrinterOptions = PrinterOptions()) throws -> RollReader {
        try RollReader(slip.escPos(options), alphabet: Self.alphabets[options.codePage] ?? "")
    }

    private let paid = ExampleCharge(tip: 250, events: ExampleCharge.told(.succeeded(ExampleCharge.evidence)))

    @Test(arguments: CodePage.allCases)
    func everyByteIsTheCharacterThatTheCodePageHasThere(page: CodePage) {
        let alphabet = Self.alphabets[page] ?? ""
        var known = 0
        for byte in UInt8(0x80)...0xFF {
            let text = RollReader.decode([byte], from: alphabet)
            guard let character = text.first, !["\u{A0}", "\u{AD}"].contains(character) else { continue }
            #expect(page.byte(of: character) == byte, "\(page) \(byte) \(character)")
            known += 1
        }
        #expect(known > 115)
        for byte in UInt8(0x20)...0x7E { #expect(page.byte(of: Character(Unicode.Scalar(byte))) == byte) }
        for byte in UInt8(0)...0x1F { #expect(page.byte(of: Character(Unicode.Scalar(byte))) == nil) }
    }

    @Test(arguments: PrinterOptions.Columns.allCases)
    func thePaperShowsWhatThePlainTextSays(columns: PrinterOptions.Columns) throws {
        let slip = paid.receipt().slip()
        let roll = try read(slip, PrinterOptions(columns: columns))
        let plain = slip.text(columns: columns).split(separator: "\n").map(\.trimmed)
        #expect(roll.lines.map { $0.text[...].trimmed } == plain)
        #expect(
            roll.initialisations == 1 && roll.codePage == 19 && roll.cuts == 1 && roll.kicks == 0 && roll.codes == []
        )
        let large = roll.lines.filter(\.isHigh)
        #expect(large.map { $0.text.prefix(5) } == ["Café ", "PAID", "Total"])
        #expect(large.allSatisfy(\.isBold) && large.prefix(2).allSatisfy(\.isCentred))
        #expect(roll.lines.last == .init(text: "Thank you!", isBold: false, isHigh: false, isCentred: true))
    }

    @Test func cutDrawerAndCodeAreAsSet() throws {
        let options = PrinterOptions(cuts: false, opensDrawer: true, showsCode: true)
        let roll = try read(paid.receipt().slip(withCode: true), options)
        #expect(roll.cuts == 0 && roll.feeds == 4 && roll.kicks == 1 && roll.codes == [ExampleCharge.id])
        #expect(try read(paid.receipt().slip(withCode: true)).codes == [])
    }

    @Test(arguments: CodePage.allCases)
    func whatThePrinterLacksIsSpeltOut(page: CodePage) throws {
        func spelt(_ text: String) -> String { Transliteration.spell(text, in: page) }
        #expect(spelt("Привет") == (page == .pc866 ? "Привет" : "Privet"))
        #expect(spelt("Café") == (page == .pc866 ? "Cafe" : "Café"))
        #expect(spelt("Cafe\u{301}") == spelt("Café"))
        #expect(spelt("12,50\u{202F}€").hasSuffix([.pc858, .wpc1252].contains(page) ? "12,50 €" : "12,50 EUR"))
        #expect(spelt("Αθήνα ſ ŝ ẞ").hasPrefix("Ath"))
        #expect(spelt("日本 👍🏽") == "?? ?" && spelt("١٢٣") == "123" && spelt("q\u{301}\u{302}") == "q")
        #expect(!spelt("“Zoë’s”").contains("?"))
        // The euro sign's longer name moves the value, not the paper's edge.
        let roll = try read(paid.receipt().slip(), PrinterOptions(columns: .narrow, codePage: page))
        #expect(roll.lines.allSatisfy { $0.text.count <= 32 })
        #expect(roll.lines.contains { $0.text.hasPrefix("Total") && $0.text.hasSuffix("12.50") })
    }

    @Test(arguments: TextTests.hostile, CodePage.allCases)
    func noTextReachesThePrinterAsACommand(text: String, page: CodePage) throws {
        let shop = Receipt.Shop(terminal: text, header: [text], footer: [text])
        var example = paid
        (example.merchantName, example.reference) = (text, text)
        let options = PrinterOptions(columns: .narrow, codePage: page)
        let bytes = example.receipt(shop: shop).slip().escPos(options)
        let roll = try RollReader(bytes, alphabet: Self.alphabets[page] ?? "")
        // The same commands as for harmless texts: one start, one cut, no drawer, no code.
        #expect(roll.initialisations == 1 && roll.cuts == 1 && roll.kicks == 0 && roll.codes == [])
        #expect(roll.codePage == page.number)
        #expect(roll.lines.allSatisfy { $0.text.count <= 32 })
        #expect(bytes.count < 12_000)
    }

    /// Also where a text came past the cleaning: the writer itself lets no command through.
    @Test func everyScalarBecomesPrintableBytes() throws {
        for page in CodePage.allCases {
            for value in UInt32(0)...0x2FF {
                guard let scalar = Unicode.Scalar(value) else { continue }
                let slip = Slip([
                    .words("<" + String(Character(scalar)) + ">"), .pair("\u{1B}@", "\u{1D}V", isStrong: true),
                ])
                let roll = try RollReader(
                    slip.escPos(PrinterOptions(codePage: page)),
                    alphabet: Self.alphabets[page] ?? ""
                )
                #expect(roll.cuts == 1 && roll.initialisations == 1 && (2...4).contains(roll.lines.count), "\(value)")
            }
        }
        #expect(try read(Slip([.code("x\u{1B}@"), .code("")]), PrinterOptions(showsCode: true)).codes == [])
    }

    @Test(arguments: CodePage.allCases)
    func aTestSlipIsTakenForNoReceipt(page: CodePage) throws {
        let options = PrinterOptions(columns: .usual, codePage: page, showsCode: true)
        let now = LocalTime(ExampleCharge.opened, secondsAheadOfUTC: 0)
        let roll = try read(.test(options, merchantName: "Café", now: now), options)
        #expect(roll.lines.contains { $0.text == "TEST" } && roll.codes == ["TEST"])
        #expect(roll.lines.contains { $0.text == "123456789012345678901234567890123456789012" })
        #expect(roll.lines.contains { $0.text.contains("not a receipt") })
        #expect(roll.lines.map(\.text).joined(separator: " ").contains(page.sample))
    }
}

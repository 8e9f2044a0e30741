import Glibc
import Payments
import Testing

@testable import Receipts

/// The receipt as plain text.
struct TextTests {
    @Test func everythingACustomerNeedsStandsOnAReceipt() {
        let example = ExampleCharge(tip: 250, events: ExampleCharge.told(.succeeded(ExampleCharge.evidence)))
        let receipt = example.receipt(isCopy: true)
        let expected = """
                                  COPY
                                Café Zoë
                           Marktplatz 5, Wien
                            VAT ATU12345678
            ------------------------------------------------
                                  PAID
            ------------------------------------------------
            Amount                                    €10.00
            Tip                                        €2.50
            Total EUR                                 €12.50
            ------------------------------------------------
            Date                     2026-11-22 14:33 +01:00
            Way of payment                           QR code
            Paid with                      13.57 USDC (Base)
            Confirmed by                             gateway
            Reference                                Table 4
            Code                                        \(receipt.code)
            Terminal                                  Till 2
            Merchant ID                           merchant-1
            Charge      01937f2e-8c00-7abc-8def-0123456789ab
            Payment                           pay_0123456789
            Transaction                               0xfeed
            As known on              2026-11-22 14:34 +01:00
            ------------------------------------------------
                               Thank you!

            """
        #expect(receipt.slip().text(columns: .wide) == expected)
    }

    /// Texts that a merchant, a till or a gateway could have sent.
    static let hostile: [String] = [
        "", " ", String(repeating: "x", count: 10_000), String(repeating: "word ", count: 2_000),
        "a\u{1B}@\u{1D}V\u{0}b\u{7F}\u{9B}31m", "line\nline\r\nline\u{2028}line\tline",
        "\u{202E}desrever\u{202C} \u{2066}isolated\u{2069}", "متجر القهوة ١٢٣", "חנות קפה",
        "日本語のとても長い店の名前です日本語のとても長い店の名前です日本語のとても長い店の名前です",
        "e" + String(repeating: "\u{301}", count: 500), "👩‍👩‍👧‍👦 👍🏽 🇦🇹 ☕️", "\u{FFFF}\u{E000}\u{FEFF}\u{AD}",
        "<script>alert(1)</script>", String(repeating: "\u{200B}", count: 10_000) + "x", "½ ﷽ Ǆ ﬁ ㎏",
    ]

    @Test(arguments: hostile, PrinterOptions.Columns.allCases)
    func noTextIsWiderThanThePaperOrBreaksItsLines(text: String, columns: PrinterOptions.Columns) {
        let shop = Receipt.Shop(terminal: text, header: [text], footer: [text])
        let example = ExampleCharge(
            merchantName: text,
            reference: text,
            events: ExampleCharge.told(.succeeded(ExampleCharge.evidence))
        )
        let roll = example.receipt(shop: shop).slip().text(columns: columns)
        #expect(roll.utf8.count < 12_000)
        for line in roll.split(separator: "\n", omittingEmptySubsequences: false) {
            #expect(CellWidth.of(line) <= columns.rawValue, "\(line)")
            for scalar in line.unicodeScalars {
                #expect(scalar.properties.generalCategory != .control)
                #expect(!(0x202A...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value))
            }
        }
        #expect(roll.contains("PAID"))
    }

    @Test func wordsAreKeptWholeWhereTheyFitAndBrokenWhereTheyDoNot() {
        #expect(Slip.wrap("one two three", 7) == ["one two", "three"])
        #expect(Slip.wrap("abcdefghij kl", 4) == ["abcd", "efgh", "ij", "kl"])
        #expect(Slip.wrap("日本語", 4) == ["日本", "語"])
        #expect(Slip.wrap("日本語", 5) == ["日本", "語"])
        #expect(Slip.wrap("", 4) == [] && Slip.wrap("   ", 4) == [])
        #expect(CellWidth.of("Zoë e\u{301} 語 👍🏽 ☕️") == 3 + 1 + 1 + 1 + 2 + 1 + 2 + 1 + 2)
    }

    @Test func momentsAreThoseOfTheSystemsOwnCalendar() {
        var seed: UInt64 = 7
        for _ in 0..<5000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let seconds = Int64(bitPattern: seed >> 30) - 5_000_000_000
            let ahead = Int(seed >> 33 % 40) * 900 - 36_000
            var local = time_t(seconds) + ahead
            var parts = unsafe tm()
            unsafe gmtime_r(&local, &parts)
            func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let (year, month, day) = unsafe (parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
            let (hour, minute) = unsafe (parts.tm_hour, parts.tm_min)
            let expected = "\(year)-\(two(month))-\(two(day)) \(two(hour)):\(two(minute))"
            let moment = LocalTime(WallTime(millisecondsSince1970: seconds * 1000), secondsAheadOfUTC: ahead)
            #expect(moment.text.hasPrefix(expected), "\(seconds) \(ahead)")
        }
        let (first, last) = (Int64.min, Int64.max)
        for milliseconds in [first, last] {
            #expect(LocalTime(WallTime(millisecondsSince1970: milliseconds), secondsAheadOfUTC: -3600).text.count == 23)
        }
        let earlier = LocalTime(ExampleCharge.opened, secondsAheadOfUTC: -12_600)
        #expect(earlier.text == "2026-11-22 10:03 -03:30")
    }
}

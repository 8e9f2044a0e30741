import Foundation
import Payments
import Testing

@testable import Receipts

/// The merchant's logo on a roll of paper, read back dot by dot.
struct LogoTests {
    private func picture(_ width: Int, _ height: Int, _ pixel: (Int, Int) -> UInt32) throws -> SlipPicture {
        let pixels = (0..<height).flatMap { y in (0..<width).map { pixel($0, y) } }
        return try #require(SlipPicture(width: width, height: height, pixels: pixels))
    }

    private func read(_ picture: SlipPicture, _ options: PrinterOptions = PrinterOptions()) throws -> RollReader {
        var slip = Slip([.title("Shop")])
        slip.picture = picture
        return try RollReader(slip.escPos(options), alphabet: "CP858")
    }

    private let black: UInt32 = 0xFF00_0000
    private let white: UInt32 = 0xFFFF_FFFF

    @Test func blackIsPrintedWhiteIsNotAndEveryDotIsWhereItWas() throws {
        // A frame, a bar left of the middle, and a dot in the lower right corner: no side can be taken for another.
        func isBlack(_ x: Int, _ y: Int) -> Bool {
            x == 0 || y == 0 || x == 20 && y < 30 || x == 99 && y == 79
        }
        let roll = try read(try picture(100, 80) { isBlack($0, $1) ? black : white })
        #expect(roll.rows.count == 80 && roll.rows.allSatisfy { $0.count == 104 }, "not enlarged, whole bytes")
        for y in 0..<80 {
            for x in 0..<104 { #expect(roll.rows[y][x] == (x < 100 && isBlack(x, y)), "\(x) \(y)") }
        }
        #expect(roll.isPictureCentred)
        #expect(
            roll.lines == [.init(text: "Shop", isBold: true, isHigh: true, isCentred: true)],
            "and the text follows"
        )
    }

    @Test(arguments: [(0x40, 0.75), (0x80, 0.5), (0xC0, 0.25)])
    func greyBecomesAsManyDotsAsItIsDark(grey: UInt32, share: Double) throws {
        let pixel = 0xFF00_0000 | grey << 16 | grey << 8 | grey
        let roll = try read(try picture(160, 160) { _, _ in pixel })
        // Each part of it, so that nothing is clumped.
        for corner in [(0, 0), (80, 0), (0, 80), (80, 80)] {
            let dots = (0..<80).flatMap { y in (0..<80).map { roll.rows[corner.1 + y][corner.0 + $0] } }
            #expect(abs(Double(dots.count { $0 }) / 6400 - share) < 0.03, "\(corner)")
        }
    }

    @Test func whatCanBeSeenThroughIsPaper() throws {
        let roll = try read(try picture(16, 16) { x, _ in x < 8 ? 0x0000_0000 : black })
        #expect(roll.rows.allSatisfy { !$0[..<8].contains(true) && !$0[8...].contains(false) })
    }

    @Test(arguments: PrinterOptions.Columns.allCases)
    func aLargePictureIsMadeSmallerThanThePaperAndKeepsItsShape(columns: PrinterOptions.Columns) throws {
        let options = PrinterOptions(columns: columns)
        let most = columns.rawValue * 8
        for (width, height) in [(512, 128), (128, 512), (512, 512), (512, 8), (8, 512)] {
            let roll = try read(try picture(width, height) { _, _ in black }, options)
            let printed = roll.rows[0].count { $0 }
            #expect(roll.rows[0].count <= most && roll.rows.count <= 192)
            let wanted = (min(512.0, min(Double(most), 192.0 * Double(width) / Double(height))))
            #expect(abs(Double(printed) - min(wanted, Double(width))) <= 1, "\(width)×\(height): \(printed)")
            #expect(
                abs(Double(roll.rows.count) - Double(printed * height) / Double(width)) <= Double(height)
                    / Double(width) + 1
            )
        }
    }

    @Test func thinLinesOfALargePictureAreNotLost() throws {
        let roll = try read(try picture(512, 512) { x, _ in x % 16 < 4 ? black : white })
        let share = Double(roll.rows.joined().count { $0 }) / Double(roll.rows.count * 192)
        #expect(abs(share - 0.25) < 0.03)
    }

    @Test func aPictureThatWouldLeaveNoDotAndAPrinterWithoutPicturesGetNone() throws {
        let none = try read(try picture(40, 40) { _, _ in white })
        #expect(none.rows == [] && none.lines.count == 1)
        let off = try read(try picture(40, 40) { _, _ in black }, PrinterOptions(showsLogo: false))
        #expect(off.rows == [] && off.lines.count == 1)
    }

    @Test func aReceiptWithALogoStaysWithinWhatAPrinterIsSent() throws {
        let logo = try picture(512, 512) { x, y in (x ^ y) & 1 == 0 ? black : white }
        let slip = ExampleCharge(events: ExampleCharge.told(.succeeded(ExampleCharge.evidence))).receipt().slip(
            picture: logo
        )
        #expect(slip.escPos(PrinterOptions()).count < 16 * 1024)
    }

    @Test func aPrinterThatWasSetUpBeforeThereWereLogosGetsNone() throws {
        let stored = #"{"columns":42,"codePage":"pc437","cuts":true,"opensDrawer":false,"showsCode":true}"#
        let options = try JSONDecoder().decode(PrinterOptions.self, from: Data(stored.utf8))
        #expect(!options.showsLogo && options.showsCode && options.columns == .usual)
        let again = try JSONDecoder().decode(PrinterOptions.self, from: try JSONEncoder().encode(PrinterOptions()))
        #expect(again == PrinterOptions() && again.showsLogo)
    }

    @Test func noPictureHasMoreOrFewerPixelsThanPlaces() {
        #expect(SlipPicture(width: 2, height: 2, pixels: [0, 0, 0]) == nil)
        #expect(SlipPicture(width: 0, height: 2, pixels: []) == nil)
        #expect(SlipPicture(width: 5000, height: 1, pixels: Array(repeating: 0, count: 5000)) == nil)
    }
}

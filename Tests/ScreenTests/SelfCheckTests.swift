import Locks
import Testing
import TestSupport

@testable import Screen

/// A code counts as shown only when the screen's own pixels say so.
struct SelfCheckTests {
    private static let size = PixelSize(width: 480, height: 320)

    private func pagesRead(_ record: RecordingSink.Record) throws -> [String] {
        let grey = record.pixels.map { UInt8((($0 >> 16 & 0xFF) + ($0 >> 8 & 0xFF) + ($0 & 0xFF)) / 3) }
        return try #require(QRReader()).texts(in: GreyImage(size: Self.size, pixels: grey))
    }

    /// Ways a picture goes wrong between drawing and glass.
    private static let faults: [(name: String, fault: RecordingSink.Fault)] = [
        (
            "noise",
            { pixels, _ in
                for i in pixels.indices where i % 3 != 0 { pixels[i] = UInt32(i &* 2_654_435_761 & 0xFFFFFF) }
            }
        ),
        ("rows shifted", { pixels, _ in for y in 0..<320 { pixels.shift(row: y, of: 480, by: y / 3) } }),
        ("one colour dead", { pixels, _ in for i in pixels.indices { pixels[i] &= 0x0000FF } }),
        ("dimmed to nothing", { pixels, _ in for i in pixels.indices { pixels[i] = (pixels[i] >> 3) & 0x1F1F1F } }),
        ("lower half missing", { pixels, _ in for i in pixels.count / 2..<pixels.count { pixels[i] = 0 } }),
        ("inverted", { pixels, _ in for i in pixels.indices { pixels[i] ^= 0xFFFFFF } }),
    ]

    @Test(arguments: faults.indices)
    func aBrokenPictureIsRefusedAndTheCodeTakenOff(index: Int) async throws {
        let broken = Self.faults[index].fault
        let record = RecordingSink.Record()
        // The third page, the one without a code, arrives whole: it can be looked at.
        let sink = RecordingSink(Self.size, record: record) { pixels, page in if page < 3 { broken(&pixels, page) } }
        let display = Display(sinks: [sink])
        await #expect(throws: ScreenError.qrNotReadable(sink: "memory")) {
            try await display.show(Sample.charge())
        }
        #expect(try pagesRead(record).isEmpty)
        let colours = Set(record.pixels)
        #expect(colours.contains(0xFFBF2B), "the page says in a panel of its own that the code cannot be shown")
    }

    /// A sticker or another program's picture: readable, but not ours.
    @Test func aReadableCodeWithAnotherTextIsRefused() async throws {
        let foreign = RecordingSink.Record()
        try await Display(sinks: [RecordingSink(Self.size, record: foreign)])
            .show(Sample.charge("https://pay.walletconnect.com/?pid=pay_01KAB3D9QJ6Y5ZT8W2N4M7EVIL"))
        let pixelsOfTheOther = foreign.pixels
        let sink = RecordingSink(Self.size, record: .init()) { pixels, _ in pixels = pixelsOfTheOther }
        let display = Display(sinks: [sink])
        await #expect(throws: ScreenError.qrNotReadable(sink: "memory")) {
            try await display.show(Sample.charge())
        }
    }

    /// A kernel message over the picture is wiped away by drawing it again.
    @Test func aPassingFaultHeals() async throws {
        let record = RecordingSink.Record()
        let sink = RecordingSink(Self.size, record: record) { pixels, page in
            if page == 1 { for i in pixels.indices { pixels[i] = 0 } }
        }
        #expect(try await Display(sinks: [sink]).show(Sample.charge()).qrVerified)
        #expect(try pagesRead(record) == [Sample.usualLink])
    }

    /// The check reads the device's own bytes: a fault in the mapped memory, after the drawing, is seen.
    @Test(arguments: ["rgb565", "rgb888", "xrgb8888"])
    func corruptedBytesOfAFramebufferAreSeen(format: String) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("fb")
        let layout = FramebufferLayout.sample(format, Self.size)
        let sink = MeddledSink(try FramebufferSink(path: path, layout: layout)) {
            try? overwrite(path, with: [UInt8](repeating: 0, count: layout.strideBytes * 160))
        }
        let display = Display(sinks: [sink])
        await #expect(throws: ScreenError.qrNotReadable(sink: path)) { try await display.show(Sample.charge()) }
        await display.close()
    }

    @Test func onlyTheBrokenScreenFails() async throws {
        let good = RecordingSink.Record()
        let broken = RecordingSink(Self.size, record: .init()) { pixels, _ in pixels = pixels.map { _ in 0 } }
        let display = Display(sinks: [broken, RecordingSink(Self.size, record: good)])
        await #expect(throws: ScreenError.qrNotReadable(sink: "memory")) { try await display.show(Sample.charge()) }
        #expect(try pagesRead(good) == [Sample.usualLink])
    }

    /// Any link at any size a panel has: it is verified or honestly refused.
    @Test func everyLinkOnEveryScreenIsReadable() async throws {
        var random = SystemRandomNumberGenerator()
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#[]@!$&'()*+,;=%")
        for _ in 0..<60 {
            let size = PixelSize(width: .random(in: 320...900), height: .random(in: 240...700))
            let length = Int.random(in: 1...600, using: &random)
            let link = "https://" + String((0..<length).compactMap { _ in letters.randomElement() })
            let record = RecordingSink.Record()
            let shown = try await Display(sinks: [RecordingSink(size, record: record)]).show(Sample.charge(link))
            #expect(shown.qrVerified, "\(size) \(link)")
        }
    }

    @Test func aLinkTooLongForAnyCodeIsSaidSoAndNotCut() async throws {
        let record = RecordingSink.Record()
        let link = "https://pay.walletconnect.com/" + String(repeating: "x", count: 3_000)
        let display = Display(sinks: [RecordingSink(Self.size, record: record)])
        await #expect(throws: ScreenError.qrTooLong(bytes: link.utf8.count)) {
            try await display.show(Sample.charge(link))
        }
        #expect(try pagesRead(record).isEmpty)
        await #expect(throws: ScreenError.qrTooLong(bytes: 0)) { try await display.show(Sample.charge("")) }
    }

    @Test func noSceneWithoutALinkHasAReadableCode() async throws {
        for scene in Sample.scenes() where scene.qrText == nil {
            let record = RecordingSink.Record()
            let shown = try await Display(sinks: [RecordingSink(Self.size, record: record)]).show(scene)
            #expect(!shown.qrVerified)
            #expect(try pagesRead(record).isEmpty)
        }
    }

    @Test(arguments: Sample.sizes, Sample.links)
    func modulesAreWholePixelsBlackOnWhiteWithAWideWhiteBorder(size: PixelSize, link: String) async throws {
        let record = RecordingSink.Record()
        try await Display(sinks: [RecordingSink(size, record: record)]).show(Sample.charge(link))
        let pixels = record.pixels
        // The finder pattern's outer edge is the first black pixel of the code's first row and column.
        let (frame, module) = try #require(findCode(pixels, size, link))
        let modules = frame.width / module
        #expect(frame.width == modules * module)
        for y in 0..<modules {
            for x in 0..<modules {
                let isQuiet = min(x, y, modules - 1 - x, modules - 1 - y) < 4
                let first = pixels[(frame.y + y * module) * size.width + frame.x + x * module]
                #expect(first == 0 || first == 0xFFFFFF)
                if isQuiet { #expect(first == 0xFFFFFF) }
                for dy in 0..<module {
                    for dx in 0..<module
                    where pixels[(frame.y + y * module + dy) * size.width + frame.x + x * module + dx] != first {
                        Issue.record("module \(x), \(y) is not one colour")
                    }
                }
            }
        }
        let fullScreen = min(size.width, size.height) / modules
        #expect(module >= min(4, fullScreen))
    }

    /// From what the fitting says, checked against the pixels: the frame's position comes from the picture.
    private func findCode(_ pixels: [UInt32], _ size: PixelSize, _ link: String) -> (PixelRect, Int)? {
        // Rows of pure black pixels exist in the code only: the calm page's ground is not black.
        var left = size.width
        var top = size.height
        var right = 0
        for y in 0..<size.height {
            for x in 0..<size.width where pixels[y * size.width + x] == 0 {
                left = min(left, x)
                right = max(right, x)
                top = min(top, y)
            }
        }
        guard left < right else { return nil }
        // The finder pattern is seven modules of black in the first row.
        var run = 0
        while pixels[top * size.width + left + run] == 0 { run += 1 }
        let module = run / 7
        guard module > 0, run % 7 == 0 else { return nil }
        let side = right - left + 1 + 8 * module
        return (PixelRect(x: left - 4 * module, y: top - 4 * module, width: side, height: side), module)
    }
}

/// A framebuffer someone else writes to after each page.
private final class MeddledSink: PixelSink {
    private let inner: FramebufferSink
    private let meddle: @Sendable () -> Void
    var name: String { inner.name }
    var surface: Surface { inner.surface }

    init(_ inner: FramebufferSink, meddle: @escaping @Sendable () -> Void) {
        (self.inner, self.meddle) = (inner, meddle)
    }

    func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) { try inner.write(pixels, to: part) }
    func finish() throws(ScreenError) {
        try inner.finish()
        meddle()
    }
    func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        try inner.readBack(part, reducedBy: factor)
    }
    func close() { inner.close() }
}

extension [UInt32] {
    fileprivate mutating func shift(row: Int, of width: Int, by count: Int) {
        let line = Array(self[row * width..<(row + 1) * width])
        for x in 0..<width { self[row * width + x] = line[(x + count) % width] }
    }
}

import Foundation
import Screen
import Testing
import TestSupport

/// Everything a framebuffer's memory may look like, checked byte by byte with arithmetic of the test's own.
struct FramebufferTests {
    private static let formats = ["rgb565", "rgb888", "xrgb8888", "bgr888 in 32"]
    private static let page = Scene.paid(
        .init(merchantName: "مقهى", amountText: "€12.50", tipText: "€1", chargeCode: "K7QM", arrivedLate: true)
    )

    /// The picture as it should be, from a sink without a format of its own.
    private func expectedPixels(_ scene: Scene, _ size: PixelSize) async throws -> [UInt32] {
        let record = RecordingSink.Record()
        try await Display(sinks: [RecordingSink(size, record: record)]).show(scene)
        return record.pixels
    }

    @Test(arguments: formats, Rotation.allCases)
    func everyPixelIsStoredInTheDevicesOwnBits(format: String, rotation: Rotation) async throws {
        let folder = try TemporaryFolder()
        let panel = PixelSize(width: 211, height: 157)
        var layout = FramebufferLayout.sample(format, panel, padding: 7)
        layout.startBytes = 13
        let picture =
            rotation == .clockwise90 || rotation == .clockwise270
            ? PixelSize(width: panel.height, height: panel.width) : panel
        try folder.write([UInt8](repeating: 0xA5, count: 13 + layout.strideBytes * panel.height + 99), to: "fb")
        let display = Display(sinks: [try FramebufferSink(path: folder.file("fb"), layout: layout, rotation: rotation)])
        try await display.show(Self.page)
        let bytes = try folder.bytes("fb")
        await display.close()

        let expected = try await expectedPixels(Self.page, picture)
        let step = layout.bitsPerPixel / 8
        var wrong = 0
        for y in 0..<picture.height {
            for x in 0..<picture.width {
                let (panelX, panelY) =
                    switch rotation {
                    case .none: (x, y)
                    case .clockwise90: (panel.width - 1 - y, x)
                    case .clockwise180: (panel.width - 1 - x, panel.height - 1 - y)
                    case .clockwise270: (y, panel.height - 1 - x)
                    }
                let start = 13 + panelY * layout.strideBytes + panelX * step
                var stored: UInt32 = 0
                for byte in 0..<step { stored |= UInt32(bytes[start + byte]) << (8 * byte) }
                // Bits of no colour are set: where they are alpha, anything less would be see-through.
                if step == 4, stored >> 24 != 0xFF { wrong += 1 }
                let rgb = expected[y * picture.width + x]
                for (channel, shift) in [(layout.red, 16), (layout.green, 8), (layout.blue, 0)] {
                    let value = Double(stored >> channel.offset & ((1 << channel.length) - 1))
                    let wanted = Double(rgb >> shift & 0xFF) / 255 * Double((1 << channel.length) - 1)
                    if abs(value - wanted) > 0.51 { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0)
        // Between the rows, before the first and after the last nothing was touched.
        #expect(bytes[..<13].allSatisfy { $0 == 0xA5 })
        for y in 0..<panel.height {
            let end = 13 + y * layout.strideBytes + panel.width * step
            #expect(bytes[end..<end + 7].allSatisfy { $0 == 0xA5 })
        }
        #expect(bytes[(13 + layout.strideBytes * panel.height)...].allSatisfy { $0 == 0xA5 })
    }

    @Test(arguments: formats)
    func aSecondLessTouchesOnlyItsDigits(format: String) async throws {
        let folder = try TemporaryFolder()
        let size = PixelSize(width: 800, height: 480)
        let layout = FramebufferLayout.sample(format, size, padding: 3)
        let display = Display(sinks: [try FramebufferSink(path: folder.file("fb"), layout: layout)])
        try await display.show(Sample.charge(seconds: 272))
        // Whatever is not drawn again keeps this mark.
        let mark = [UInt8](repeating: 0x5A, count: layout.strideBytes * size.height)
        try overwrite(folder.file("fb"), with: mark)
        try await display.show(Sample.charge(seconds: 271))
        let bytes = try folder.bytes("fb")
        await display.close()
        let step = layout.bitsPerPixel / 8
        let changed = bytes.indices.filter { bytes[$0] != 0x5A && $0 < mark.count }
        let columns = changed.map { $0 % layout.strideBytes / step }
        let rows = changed.map { $0 / layout.strideBytes }
        let width = (columns.max() ?? 0) - (columns.min() ?? 0)
        let height = (rows.max() ?? 0) - (rows.min() ?? 0)
        #expect(!changed.isEmpty)
        #expect(width * height * 100 < size.width * size.height * 3, "\(width) × \(height)")
    }

    @Test(arguments: [true, false])
    func whatWasOnTheScreenBeforeComesBack(byClosing: Bool) async throws {
        let folder = try TemporaryFolder()
        let layout = FramebufferLayout.rgb565(PixelSize(width: 320, height: 240), strideBytes: 650)
        var before = (0..<650 * 240).map { _ in UInt8.random(in: 0...255) }
        // Equal rows, and rows nearly equal.
        before.replaceSubrange(0..<650 * 80, with: [UInt8](repeating: 7, count: 650 * 80))
        for row in 80..<120 {
            before.replaceSubrange(650 * row..<650 * row + 600, with: [UInt8](repeating: 9, count: 600))
        }
        try folder.write(before, to: "fb")
        do {
            let display = Display(sinks: [try FramebufferSink(path: folder.file("fb"), layout: layout)])
            try await display.show(Self.page)
            #expect(try folder.bytes("fb") != before)
            if byClosing { await display.close() }
        }
        #expect(try folder.bytes("fb") == before)
    }

    @Test func whatIsNoFramebufferIsRefusedWithAReason() throws {
        let folder = try TemporaryFolder()
        try folder.write([1, 2, 3], to: "file")
        #expect(throws: ScreenError.cannotOpen(path: folder.file("none"), reason: "No such file or directory")) {
            _ = try FramebufferSink(path: folder.file("none"))
        }
        #expect { _ = try FramebufferSink(path: folder.file("file")) } throws: { error in
            guard case .cannotOpen(_, let reason) = error as? ScreenError else { return false }
            return reason.hasPrefix("not a framebuffer")
        }
        var layout = FramebufferLayout.rgb565(PixelSize(width: 100, height: 100))
        layout.bitsPerPixel = 8
        expectRefusal(layout, "8 bits")
        layout = .xrgb8888(PixelSize(width: 100, height: 100), strideBytes: 399)
        expectRefusal(layout, "399 bytes")
        layout = .xrgb8888(PixelSize(width: 0, height: 100))
        expectRefusal(layout, "0 × 100")
        layout = .xrgb8888(PixelSize(width: 100, height: 100))
        layout.red = .init(offset: 30, length: 8)
        expectRefusal(layout, "colours")
    }

    private func expectRefusal(_ layout: FramebufferLayout, _ words: String) {
        #expect {
            let folder = try TemporaryFolder()
            _ = try FramebufferSink(path: folder.file("fb"), layout: layout)
        } throws: { error in
            guard case .cannotOpen(_, let reason) = error as? ScreenError else { return false }
            return reason.contains(words)
        }
    }

    /// Ten bits a colour exist; so do layouts with colours of unequal length.
    @Test func unusualColourLengthsHoldTheCodeToo() async throws {
        let folder = try TemporaryFolder()
        var layout = FramebufferLayout.xrgb8888(PixelSize(width: 640, height: 480))
        layout.red = .init(offset: 20, length: 10)
        layout.green = .init(offset: 10, length: 10)
        layout.blue = .init(offset: 0, length: 10)
        let display = Display(sinks: [try FramebufferSink(path: folder.file("deep"), layout: layout)])
        #expect(try await display.show(Sample.charge()).qrVerified)
        await display.close()
        var small = FramebufferLayout.rgb565(PixelSize(width: 640, height: 480))
        small.red = .init(offset: 10, length: 5)
        small.green = .init(offset: 5, length: 5)
        let other = Display(sinks: [try FramebufferSink(path: folder.file("flat"), layout: small)])
        #expect(try await other.show(Sample.charge()).qrVerified)
        await other.close()
    }
}

/// Writes into the file as it is, without replacing it: a mapping sees the change.
func overwrite(_ path: String, with bytes: [UInt8], at offset: UInt64 = 0) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: offset)
    try file.write(contentsOf: Data(bytes))
    try file.close()
}

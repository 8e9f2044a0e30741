import Locks
import Testing
import TestSupport

@testable import Screen

/// A device whose mode is set anew, or that goes and comes back, with a file in its place.
struct ModeChangeTests {
    /// What the kernel would say.
    private final class Kernel: Sendable {
        let layout: Mutex<FramebufferLayout?>

        init(_ layout: FramebufferLayout?) { self.layout = Mutex(layout) }

        func sink(_ path: String, rotation: Rotation = .none) throws(ScreenError) -> FramebufferSink {
            try FramebufferSink(path: path, rotation: rotation) { [self] _ throws(ScreenError) in
                guard let layout = layout.withLock({ $0 }) else { throw .cannotOpen(path: path, reason: "gone") }
                return (layout, layout.lengthBytes)
            }
        }
    }

    private static let small = FramebufferLayout.xrgb8888(PixelSize(width: 480, height: 320))
    private static let large = FramebufferLayout.rgb565(PixelSize(width: 800, height: 480))
    private static let page = Scene.processing(.init(merchantName: "Kiosk", amountText: "€12.50", chargeCode: "K7QM"))

    private func bytes(_ layout: FramebufferLayout, rotation: Rotation) async throws -> [UInt8] {
        let folder = try TemporaryFolder()
        let display = Display(sinks: [try FramebufferSink(path: folder.file("fb"), layout: layout, rotation: rotation)])
        try await display.show(Self.page)
        let bytes = Array(try folder.bytes("fb").prefix(layout.lengthBytes))
        await display.close()  // Which puts back what was there.
        return bytes
    }

    @Test(arguments: Rotation.allCases)
    func aModeThatIsSetAnewIsDrawnWholeInItsOwnFormat(rotation: Rotation) async throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 0x5A, count: 4 * 800 * 480), to: "fb")
        let kernel = Kernel(Self.small)
        let display = Display(sinks: [try kernel.sink(folder.file("fb"), rotation: rotation)])
        try await display.show(Self.page)
        kernel.layout.withLock { $0 = Self.large }
        try await display.show(Self.page)
        #expect(
            Array(try folder.bytes("fb").prefix(Self.large.lengthBytes))
                == (try await bytes(Self.large, rotation: rotation))
        )
        await display.close()
    }

    /// Between two looks: nothing that was drawn failed.
    @Test func aScreenOfTheSameSizeThatTookItsPlaceIsDrawnWholeAndItsCodeIsReadAnew() async throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 0, count: 4 * 800 * 480), to: "fb")
        let kernel = Kernel(Self.small)
        let display = Display(sinks: [try kernel.sink(folder.file("fb"))])
        let page = Scene.charge(
            .init(
                merchantName: "Kiosk",
                amountText: "€12.50",
                link: "https://pay.test/1",
                secondsLeft: 67,
                chargeCode: "K7QM"
            )
        )
        #expect(try await display.show(page).qrVerified)
        try folder.write([UInt8](repeating: 0, count: 4 * 800 * 480), to: "fb")
        let wider = FramebufferLayout.xrgb8888(Self.small.size, strideBytes: 4 * 512)
        kernel.layout.withLock { $0 = wider }
        let shown = try await display.show(page)
        #expect(
            shown.qrVerified && shown.timings.verify > .zero,
            "it is looked whether the new screen's code can be read"
        )
        // Each row begins elsewhere, and is the same otherwise.
        let bytes = try folder.bytes("fb")
        let drawn = (0..<320).flatMap { bytes[$0 * 2048..<$0 * 2048 + 1920] }
        let other = try TemporaryFolder()
        let alone = Display(sinks: [try FramebufferSink(path: other.file("fb"), layout: Self.small)])
        try await alone.show(page)
        #expect(drawn == Array(try other.bytes("fb").prefix(Self.small.lengthBytes)))
        await alone.close()
        await display.close()
    }

    @Test func aScreenThatWasUnpluggedIsSaidAndDrawnAgainWhenItIsBack() async throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 0x5A, count: 4 * 800 * 480), to: "fb")
        let kernel = Kernel(Self.small)
        let display = Display(sinks: [try kernel.sink(folder.file("fb"))])
        try await display.show(Self.page)
        kernel.layout.withLock { $0 = nil }
        await #expect(throws: ScreenError.cannotDraw(sink: folder.file("fb"), reason: "it is not there any more")) {
            try await display.show(.unknown(.init()))
        }
        try folder.write([UInt8](repeating: 0, count: 4 * 800 * 480), to: "fb")  // Another panel's memory.
        kernel.layout.withLock { $0 = Self.small }
        try await display.show(Self.page)
        #expect(
            Array(try folder.bytes("fb").prefix(Self.small.lengthBytes))
                == (try await bytes(Self.small, rotation: .none))
        )
        await display.close()
    }

    @Test func aScreenThatComesLaterIsDrawnFromThenOn() async throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 0x5A, count: 4 * 800 * 480), to: "fb")
        let (kernel, path) = (Kernel(nil), folder.file("fb"))
        let screen = LateSink(name: "the screen", size: Self.small.size) { () throws(ScreenError) in
            try kernel.sink(path, rotation: .none)
        }
        #expect(screen.absence == .cannotOpen(path: path, reason: "gone"))
        let display = Display(sinks: [screen])
        await #expect(throws: ScreenError.cannotOpen(path: path, reason: "gone")) { try await display.show(Self.page) }
        kernel.layout.withLock { $0 = Self.large }
        try await display.show(Self.page)
        #expect(
            Array(try folder.bytes("fb").prefix(Self.large.lengthBytes))
                == (try await bytes(Self.large, rotation: .none))
        )
        await display.close()
        await #expect(throws: ScreenError.closed) { try await display.show(Self.page) }
    }

    @Test func aDarkScreenIsBlackAndLitBeforeAnythingElseIsDrawn() async throws {
        let record = Lamp.Record()
        let display = Display(sinks: [Lamp(record)])
        try await display.show(.idle(.init(merchantName: "Kiosk", rest: .dark)))
        #expect(record.said.withLock { $0 } == ["drawn", "off"])
        #expect(record.brightest.withLock { $0 } == 0)
        try await display.show(.idle(.init(merchantName: "Kiosk", rest: .dark)))
        #expect(record.said.withLock { $0 } == ["drawn", "off"])
        try await display.show(Self.page)
        #expect(record.said.withLock { $0.prefix(4) } == ["drawn", "off", "on", "drawn"])
        await display.close()
    }

    /// Says when it is drawn on, and when its light is switched.
    private final class Lamp: PixelSink {
        final class Record: Sendable {
            let said = Mutex<[String]>([])
            let brightest = Mutex<UInt32>(0)
        }

        let (name, surface) = ("lamp", Surface(size: PixelSize(width: 480, height: 320)))
        private let record: Record

        init(_ record: Record) { self.record = record }

        func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
            record.said.withLock { if $0.last != "drawn" { $0.append("drawn") } }
            for index in pixels.indices {
                record.brightest.withLock { $0 = max($0, pixels[index] & 0xFF_FFFF) }
            }
        }

        func light(_ isOn: Bool) throws(ScreenError) { record.said.withLock { $0.append(isOn ? "on" : "off") } }

        func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
            throw .cannotDraw(sink: name, reason: "it is not looked at")
        }

        func close() {}
    }

    @Test(arguments: [
        ("change@/devices/pci0000:00/0000:00:02.0/drm/card0|ACTION=change|SUBSYSTEM=drm|HOTPLUG=1|SEQNUM=4711", true),
        ("add@/devices/usb1|ACTION=add|SUBSYSTEM=usb|SEQNUM=4712", false),
        ("change@/devices/x|ACTION=change|SUBSYSTEM=drm_dp_aux_dev", false), ("", false), ("|||", false),
    ])
    func onlyWhatTheKernelSaysOfPanelsMakesThemBeAsked(message: String, isOfPanels: Bool) {
        let bytes = message.utf8.map { $0 == UInt8(ascii: "|") ? 0 : $0 }
        #expect(ScreenNews.isOfPanels(bytes) == isOfPanels)
    }
}

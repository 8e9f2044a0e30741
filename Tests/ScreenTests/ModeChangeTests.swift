import Synchronization
import Testing

@testable import Screen

/// A device whose mode is set anew, or that goes and comes back, with a file in its place.
struct ModeChangeTests {
    /// What the kernel would say.
    private final class Kernel: Sendable {
        let layout: Mutex<FramebufferLayout?>

        init(_ layout: FramebufferLayout) { self.layout = Mutex(layout) }

        func sink(_ path: String, rotation: Rotation = .none) throws -> FramebufferSink {
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
}

import Screen
import Testing
import TestSupport

/// Codes as phones see them: read by a decoder that has nothing to do with ours.
@Suite(.enabled(ForeignDecoder.missing) { await ForeignDecoder.isAvailable })
struct ForeignReadingTests {
    @Test(arguments: Sample.sizes)
    func aForeignDecoderReadsEveryLinkFromThePNG(size: PixelSize) async throws {
        let folder = try TemporaryFolder()
        var pictures: [ForeignDecoder.Picture] = []
        var expected: [[String]] = []
        for (index, link) in Sample.links.enumerated() {
            for (kind, scene) in [("charge", Sample.charge(link)), ("setup", Sample.setup(link))] {
                let path = folder.file("\(kind)-\(index).png")
                let shown = try await Display(sinks: [PNGSink(path: path, size: size)]).show(scene)
                #expect(shown.qrVerified)
                pictures.append(.init(path: path))
                expected.append([link])
            }
        }
        #expect(try await ForeignDecoder.texts(in: pictures) == expected)
    }

    /// Another reader than our own tells the two apart too.
    @Test(arguments: TapScreenTests.sizes)
    func aForeignDecoderReadsBothCodesOfAPage(size: PixelSize) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("two.png")
        #expect(try await Display(sinks: [PNGSink(path: path, size: size)]).show(Sample.tapCharge()).qrVerified)
        let texts = try await ForeignDecoder.texts(in: [.init(path: path)])
        #expect(texts.map(Set.init) == [[Sample.usualLink, Sample.tag]])
    }

    @Test(arguments: Sample.sizes, ["rgb565", "rgb888", "xrgb8888", "bgr888 in 32"])
    func aForeignDecoderReadsEveryLinkFromTheFramebuffersBytes(size: PixelSize, format: String) async throws {
        let folder = try TemporaryFolder()
        var pictures: [ForeignDecoder.Picture] = []
        var expected: [[String]] = []
        for (index, link) in Sample.links.enumerated() {
            let layout = FramebufferLayout.sample(format, size, padding: 12)
            let path = folder.file("fb\(index)")
            let display = Display(sinks: [try FramebufferSink(path: path, layout: layout)])
            #expect(try await display.show(Sample.charge(link)).qrVerified)
            // The picture stands as long as the display does: closing brings back what was there before.
            let copy = try folder.copy("fb\(index)", to: "shown\(index)")
            await display.close()
            pictures.append(.init(path: copy, layout: layout))
            expected.append([link])
        }
        #expect(try await ForeignDecoder.texts(in: pictures) == expected)
    }

    @Test(arguments: Rotation.allCases, ["rgb565", "xrgb8888"])
    func aTurnedPanelShowsTheCodeUpright(rotation: Rotation, format: String) async throws {
        let folder = try TemporaryFolder()
        let layout = FramebufferLayout.sample(format, PixelSize(width: 640, height: 400), padding: 6)
        let display = Display(sinks: [try FramebufferSink(path: folder.file("fb"), layout: layout, rotation: rotation)])
        #expect(try await display.show(Sample.charge()).qrVerified)
        let copy = try folder.copy("fb", to: "shown")
        await display.close()
        let turned = ForeignDecoder.Picture(path: copy, layout: layout, rotation: rotation)
        #expect(try await ForeignDecoder.texts(in: [turned]) == [[Sample.usualLink]])
    }
}

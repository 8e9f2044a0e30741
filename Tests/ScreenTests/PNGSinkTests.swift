import Foundation
import Screen
import Testing
import TestSupport

struct PNGSinkTests {
    private static let size = PixelSize(width: 320, height: 240)

    /// A viewer that looks at any moment sees a whole picture: the old one or the new one.
    @Test func aReaderNeverSeesHalfAPicture() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("screen.png")
        let display = Display(sinks: [try PNGSink(path: path, size: Self.size)])
        try await display.show(.starting(checkingPayments: 0))
        let reader = Task {
            var whole = 0
            while !Task.isCancelled {
                let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
                // Source: PNG specification, 5.2 (signature) and 11.2.5 (IEND).
                guard bytes.prefix(4) == [0x89, 0x50, 0x4E, 0x47],
                    bytes.suffix(8).prefix(4) == [0x49, 0x45, 0x4E, 0x44]
                else { return -1 }
                whole += 1
            }
            return whole
        }
        for second in 0..<60 { try await display.show(Sample.charge(seconds: second)) }
        reader.cancel()
        #expect(try await reader.value > 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["screen.png"])
    }

    @Test func theOldPictureStaysWhenTheNewOneCannotBeWritten() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("screen.png")
        let display = Display(sinks: [try PNGSink(path: path, size: Self.size)])
        try await display.show(.starting(checkingPayments: 0))
        let before = try folder.bytes("screen.png")
        // The name for the new picture is taken by a folder.
        try FileManager.default.createDirectory(atPath: path + ".new", withIntermediateDirectories: false)
        await #expect {
            try await display.show(.starting(checkingPayments: 3))
        } throws: { error in
            guard case .cannotDraw(path, let reason) = error as? ScreenError else { return false }
            return reason.contains("Is a directory")
        }
        #expect(try folder.bytes("screen.png") == before)
        // Once the way is free, the next page is drawn whole.
        try FileManager.default.removeItem(atPath: path + ".new")
        try await display.show(.starting(checkingPayments: 3))
        #expect(try folder.bytes("screen.png") != before)
    }

    @Test func thePictureIsWhatWasDrawn() async throws {
        let folder = try TemporaryFolder()
        let record = RecordingSink.Record()
        let sinks: [any PixelSink] = [
            try PNGSink(path: folder.file("a.png"), size: Self.size), RecordingSink(Self.size, record: record),
        ]
        try await Display(sinks: sinks).show(.unknown(.init(amountText: "€12.50")))
        let again = RecordingSink.Record()
        try await Display(sinks: [RecordingSink(Self.size, record: again)]).show(.unknown(.init(amountText: "€12.50")))
        #expect(record.pixels == again.pixels)
    }
}

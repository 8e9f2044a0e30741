import Locks
import Screen

/// A screen in memory that remembers how it was drawn on, and can go wrong.
final class RecordingSink: PixelSink {
    /// What the sink did, readable while a display owns the sink.
    final class Record: Sendable {
        struct State {
            var pixels: [UInt32] = []
            var parts: [PixelRect] = []
            var readBacks = 0
            var isClosed = false
        }
        let state = Mutex(State())

        var pixels: [UInt32] { state.withLock { $0.pixels } }
        var parts: [PixelRect] { state.withLock { $0.parts } }
        var drawnPixels: Int { parts.reduce(0) { $0 + $1.width * $1.height } }
        var readBacks: Int { state.withLock { $0.readBacks } }
        var isClosed: Bool { state.withLock { $0.isClosed } }

        func forgetParts() { state.withLock { $0.parts = [] } }
    }

    typealias Fault = @Sendable (_ pixels: inout [UInt32], _ page: Int) -> Void

    let name = "memory"
    let surface: Surface
    private let record: Record
    private let fault: Fault?
    private let onWrite: (@Sendable () -> Void)?
    private var page = 0

    /// - Parameter fault: What happens to the pixels after each page, counted from 1.
    init(_ size: PixelSize, record: Record, fault: Fault? = nil, onWrite: (@Sendable () -> Void)? = nil) {
        surface = Surface(size: size)
        self.record = record
        self.fault = fault
        self.onWrite = onWrite
        record.state.withLock { $0.pixels = Array(repeating: 0xABCDEF, count: size.width * size.height) }
    }

    func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) {
        onWrite?()
        var copy: [UInt32] = []
        for index in pixels.indices { copy.append(pixels[index] & 0xFFFFFF) }
        let width = surface.size.width
        record.state.withLock { state in
            state.parts.append(part)
            for y in 0..<part.height {
                for x in 0..<part.width { state.pixels[(part.y + y) * width + part.x + x] = copy[y * part.width + x] }
            }
        }
    }

    func finish() throws(ScreenError) {
        page += 1
        record.state.withLock { state in fault?(&state.pixels, page) }
    }

    func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        let width = surface.size.width
        let size = PixelSize(width: part.width / factor, height: part.height / factor)
        return record.state.withLock { state in
            state.readBacks += 1
            var grey: [UInt8] = []
            for y in 0..<size.height {
                for x in 0..<size.width {
                    var sum: UInt32 = 0
                    for dy in 0..<factor {
                        for dx in 0..<factor {
                            let pixel = state.pixels[(part.y + y * factor + dy) * width + part.x + x * factor + dx]
                            sum += ((pixel >> 16 & 0xFF) + (pixel >> 8 & 0xFF) + (pixel & 0xFF)) / 3
                        }
                    }
                    grey.append(UInt8(sum / UInt32(factor * factor)))
                }
            }
            return GreyImage(size: size, pixels: grey)
        }
    }

    func close() { record.state.withLock { $0.isClosed = true } }
}

import Locks
import Screen
import WalletConnectPay

/// Adds up how long the gateway has been waited for.
final class TimedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let waited = Mutex(Duration.zero)

    init(_ transport: any HTTPTransport) { self.transport = transport }

    /// The time in calls that make a payment since the last look.
    func takeWaited() -> Duration {
        waited.withLock { waited in
            defer { waited = .zero }
            return waited
        }
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let started = ContinuousClock.now
        let response = try await transport.send(request)
        if request.method == .post { waited.withLock { $0 += ContinuousClock.now - started } }
        return response
    }
}

/// A framebuffer that tells when a page was complete in its memory.
final class WatchedSink: PixelSink {
    private let sink: FramebufferSink
    private let pages: AsyncStream<ContinuousClock.Instant>.Continuation

    init(_ sink: FramebufferSink, _ pages: AsyncStream<ContinuousClock.Instant>.Continuation) {
        (self.sink, self.pages) = (sink, pages)
    }

    var name: String { sink.name }
    var surface: Surface { sink.surface }

    func write(_ pixels: Span<UInt32>, to part: PixelRect) throws(ScreenError) { try sink.write(pixels, to: part) }

    func finish() throws(ScreenError) {
        try sink.finish()
        pages.yield(.now)
    }

    func readBack(_ part: PixelRect, reducedBy factor: Int) throws(ScreenError) -> GreyImage {
        try sink.readBack(part, reducedBy: factor)
    }

    func close() { sink.close() }
}

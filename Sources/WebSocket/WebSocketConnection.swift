internal import NIOCore
internal import NIOWebSocket
public import WalletConnect

/// One open WebSocket of either side. Closed when nobody holds it.
public final class WebSocketConnection: WebSocketLine {
    private let channel: any Channel
    private let handler: NIOLoopBound<FrameHandler>
    private let isServer: Bool

    /// Call on the channel's event loop.
    static func open(_ channel: any Channel, isServer: Bool, limitBytes: Int) throws -> WebSocketConnection {
        let handler = FrameHandler(isServer: isServer)
        try channel.pipeline.syncOperations.addHandlers(
            MaskCheck(isServer: isServer),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0,
                maxAccumulatedFrameCount: 1024,
                maxAccumulatedFrameSize: limitBytes
            ),
            handler
        )
        return WebSocketConnection(channel, NIOLoopBound(handler, eventLoop: channel.eventLoop), isServer)
    }

    private init(_ channel: any Channel, _ handler: NIOLoopBound<FrameHandler>, _ isServer: Bool) {
        (self.channel, self.handler, self.isServer) = (channel, handler, isServer)
    }

    deinit {
        let (channel, handler) = (channel, handler)
        channel.eventLoop.execute { handler.value.close(1001, "") }
    }

    /// The other side's address in numbers; empty where the system does not say.
    public var peer: String { channel.remoteAddress?.ipAddress ?? "" }

    public func send(_ text: String) async throws(WebSocketFailure) {
        try await write(.text, channel.allocator.buffer(string: text))
    }

    public func ping() async throws(WebSocketFailure) { try await write(.ping, ByteBuffer()) }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) async throws(WebSocketFailure) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: isServer ? nil : .random(), data: data)
        do {
            try await channel.writeAndFlush(frame).get()
        } catch {
            throw .closed(code: 1006, reason: "the connection broke")
        }
    }

    public func receive() async throws(WebSocketFailure) -> WebSocketEvent {
        let promise = channel.eventLoop.makePromise(of: WebSocketEvent.self)
        let (handler, loop) = (handler, channel.eventLoop)
        do {
            return try await withTaskCancellationHandler {
                loop.execute { handler.value.take(promise) }
                return try await promise.futureResult.get()
            } onCancel: {
                promise.fail(WebSocketFailure.cancelled)
            }
        } catch let failure as WebSocketFailure {
            throw failure
        } catch {
            throw .closed(code: 1006, reason: "the connection broke")
        }
    }

    public func close(code: UInt16) async { close(code: code, reason: "") }

    /// Ends it, with words for the other side's log: at most 123 bytes.
    public func close(code: UInt16, reason: String) {
        let handler = handler
        channel.eventLoop.execute { handler.value.close(code, reason) }
    }
}

internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NIOWebSocket
internal import WalletConnect

/// Turns frames into events for one receiver, answers pings, and closes by the rules. Lives on its channel's event loop.
///
/// It stops reading from the network while nobody takes what came in: a sender who floods fills its own buffers.
final class FrameHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = WebSocketFrame

    private let isServer: Bool
    private var context: ChannelHandlerContext?
    private var events = CircularBuffer<WebSocketEvent>()
    private var bytes = 0
    private var receiver: EventLoopPromise<WebSocketEvent>?
    /// Why nothing comes any more, after what is still in `events`.
    private var end: WebSocketFailure?
    private var isReadHeld = false
    private var hasSentClose = false

    /// Reading stops above either of them.
    private static let highCount = 64
    private static let highBytes = 262_144

    init(isServer: Bool) { self.isServer = isServer }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(.closed(code: 1006, reason: "the connection ended"))
        self.context = nil
    }

    // MARK: - From the receiver

    func take(_ promise: EventLoopPromise<WebSocketEvent>) {
        // One that was given up may be told so after it was replaced.
        receiver?.fail(WebSocketFailure.cancelled)
        receiver = nil
        if let event = events.popFirst() {
            if case .message(let content) = event { bytes -= content.count }
            promise.succeed(event)
            resumeReading()
        } else if let end {
            promise.fail(end)
        } else {
            receiver = promise
        }
    }

    func close(_ code: UInt16, _ reason: String) {
        guard let context, !hasSentClose else { return }
        sendClose(code, reason, context)
        // The other side gets two seconds to answer; a reset before would take the code away from it.
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .seconds(2)) { bound.value.close(promise: nil) }
        if !isServer { finish(.closed(code: code, reason: reason)) }
        if isReadHeld {
            isReadHeld = false
            context.read()
        }
    }

    // MARK: - From the network

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text, .binary: deliver(.message(Array(frame.unmaskedData.readableBytesView)))
        case .ping:
            // Who does not read the answers gets none.
            if context.channel.isWritable, !hasSentClose { send(.pong, frame.unmaskedData, context) }
            deliver(.ping)
        case .pong: deliver(.pong)
        case .connectionClose: closed(frame.unmaskedData, context)
        default: fail(1002, "an unknown frame", context)
        }
    }

    private func closed(_ data: ByteBuffer, _ context: ChannelHandlerContext) {
        var data = data
        let code = data.readInteger(as: UInt16.self)
        let reason = String(decoding: data.readableBytesView.prefix(123), as: UTF8.self)
        if !hasSentClose { sendClose(code.map { Self.isSendable($0) ? $0 : 1002 } ?? 1000, "", context) }
        finish(.closed(code: code ?? 1005, reason: reason))
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        // What follows the frame that was refused. Cutting now would take the reason away from who sent it.
        case is ByteToMessageDecoderError where hasSentClose: break
        case is MaskError: fail(1002, isServer ? "a frame without a mask" : "a frame with a mask", context)
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge:
            fail(1009, "a message beyond the limit", context)
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error:
            fail(1002, "frames that break the rules", context)
        // What the handshake told the HTTP handlers.
        case is NIOWebSocketUpgradeError, is HTTPParserError: break
        default:
            finish(.closed(code: 1006, reason: "the connection broke"))
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.closed(code: 1006, reason: "the connection broke"))
        context.fireChannelInactive()
    }

    func read(context: ChannelHandlerContext) {
        if events.count >= Self.highCount || bytes >= Self.highBytes, !hasSentClose {
            isReadHeld = true
        } else {
            context.read()
        }
    }

    private func resumeReading() {
        guard isReadHeld, events.count < Self.highCount / 2, bytes < Self.highBytes / 2 else { return }
        isReadHeld = false
        context?.read()
    }

    private func deliver(_ event: WebSocketEvent) {
        guard end == nil, !hasSentClose else { return }
        if let receiver {
            self.receiver = nil
            receiver.succeed(event)
            return
        }
        // One sign of life after another says nothing new.
        if case .message(let content) = event { bytes += content.count } else if events.last == event { return }
        events.append(event)
    }

    private func finish(_ failure: WebSocketFailure) {
        guard end == nil else { return }
        end = failure
        guard let receiver else { return }
        self.receiver = nil
        receiver.fail(failure)
    }

    private func fail(_ code: UInt16, _ reason: String, _ context: ChannelHandlerContext) {
        finish(.unacceptable(reason: reason))
        guard !hasSentClose else { return }
        sendClose(code, reason, context)
        // What the other side goes on sending is not read: it may be without end.
        context.flush()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(200)) { bound.value.close(promise: nil) }
    }

    private func sendClose(_ code: UInt16, _ reason: String, _ context: ChannelHandlerContext) {
        hasSentClose = true
        var data = context.channel.allocator.buffer(capacity: 2 + reason.utf8.count)
        data.writeInteger(code)
        data.writeBytes(reason.utf8.prefix(123))
        send(.connectionClose, data, context)
    }

    private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: isServer ? nil : .random(), data: data)
        context.writeAndFlush(Self.wrapOutboundOut(frame), promise: nil)
    }

    /// Codes that a close frame may carry. Source: RFC 6455, section 7.4.
    private static func isSendable(_ code: UInt16) -> Bool {
        (1000...1014).contains(code) && ![1004, 1005, 1006].contains(code) || (3000...4999).contains(code)
    }
}

/// Refuses frames that are masked by the wrong side, before they are put together: what is put together has no mask.
/// Source: RFC 6455, section 5.1: a client masks, a server does not.
final class MaskCheck: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let isServer: Bool

    init(isServer: Bool) { self.isServer = isServer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard (Self.unwrapInboundIn(data).maskKey != nil) == isServer else {
            context.fireErrorCaught(MaskError())
            return
        }
        context.fireChannelRead(data)
    }
}

struct MaskError: Error {}

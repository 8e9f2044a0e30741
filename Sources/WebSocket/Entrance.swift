internal import Locks
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NIOWebSocket
internal import WalletConnect

/// Prepares each new connection: TLS, one HTTP request, and then either a WebSocket or one answer.
final class Entrance: Sendable {
    private let configuration: WebSocketServer.Configuration
    private let tls: NIOSSLContext?
    private let events: AsyncStream<WebSocketServer.Event>.Continuation
    private let count = Atomic<Int>(0)

    init(
        configuration: WebSocketServer.Configuration,
        tls: NIOSSLContext?,
        events: AsyncStream<WebSocketServer.Event>.Continuation
    ) {
        (self.configuration, self.tls, self.events) = (configuration, tls, events)
    }

    func prepare(_ channel: any Channel) throws {
        let before = count.add(1, ordering: .relaxed).oldValue
        channel.closeFuture.whenComplete { _ in self.count.subtract(1, ordering: .relaxed) }
        guard before < configuration.connectionLimit else { throw ChannelError.ioOnClosedChannel }
        if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
        let desk = Desk(configuration, events)
        let bound = NIOLoopBound(desk, eventLoop: channel.eventLoop)
        let limit = configuration.messageLimitBytes
        let events = events
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: limit,
            automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                let promise = channel.eventLoop.makePromise(of: WebSocketServer.Answer?.self)
                if case .terminated = events.yield(.wish(Desk.question(head, channel), promise)) {
                    promise.succeed(.stopping)
                }
                return promise.futureResult.map { refusal in
                    bound.value.refusal = refusal
                    return refusal == nil ? HTTPHeaders() : nil
                }
            },
            upgradePipelineHandler: { channel, head in
                channel.pipeline.syncOperations.removeHandler(bound.value).flatMapThrowing {
                    let connection = try WebSocketConnection.open(channel, isServer: true, limitBytes: limit)
                    events.yield(.opened(connection, Desk.question(head, channel)))
                }
            }
        )
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withServerUpgrade: ([upgrader], { _ in })
        )
        try channel.pipeline.syncOperations.addHandler(desk)
    }
}

extension WebSocketServer.Answer {
    /// For who comes while the server ends: nobody decides any more, and a promise must be kept.
    fileprivate static let stopping = Self(503, "Stopping\n")
}

/// Answers one plain request, or the wish for a WebSocket that was refused; then the connection is closed.
private final class Desk: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let configuration: WebSocketServer.Configuration
    private let events: AsyncStream<WebSocketServer.Event>.Continuation
    private var deadline: Scheduled<Void>?
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isAnswered = false
    /// What a wish for a WebSocket got instead.
    var refusal: WebSocketServer.Answer?

    init(
        _ configuration: WebSocketServer.Configuration,
        _ events: AsyncStream<WebSocketServer.Event>.Continuation
    ) { (self.configuration, self.events) = (configuration, events) }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: .nanoseconds(configuration.handshakeDeadline.nanoseconds)) {
            bound.value.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let part):
            guard !isAnswered else { return }
            guard body.count + part.readableBytes <= configuration.bodyLimitBytes else {
                answer(.init(413, "Too much\n"), context)
                return
            }
            body += part.readableBytesView
        case .end:
            guard let head, !isAnswered else { return }
            if let refusal { answer(refusal, context) } else { ask(head, context) }
        }
    }

    private func ask(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let promise = context.eventLoop.makePromise(of: WebSocketServer.Answer.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        promise.futureResult.whenSuccess { answer in bound.value.0.answer(answer, bound.value.1) }
        if case .terminated = events.yield(.question(Self.question(head, context.channel, body: body), promise)) {
            promise.succeed(.stopping)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The wish that was refused: its answer follows.
        if error is NIOWebSocketUpgradeError { return }
        context.close(promise: nil)
    }

    static func question(_ head: HTTPRequestHead, _ channel: any Channel, body: [UInt8] = [])
        -> WebSocketServer.Question
    {
        WebSocketServer.Question(
            method: head.method.rawValue,
            target: head.uri,
            body: body,
            peer: channel.remoteAddress?.ipAddress ?? "",
            fields: head.headers
        )
    }

    private func answer(_ answer: WebSocketServer.Answer, _ context: ChannelHandlerContext) {
        guard !isAnswered, context.channel.isActive else { return }
        isAnswered = true
        var headers = HTTPHeaders([
            ("Content-Type", answer.contentType), ("Content-Length", String(answer.body.utf8.count)),
            ("Connection", "close"), ("Cache-Control", "no-store"),
        ])
        for header in answer.headers { headers.add(name: header.name, value: header.value) }
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        let body = context.channel.allocator.buffer(string: answer.body)
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil))).whenComplete { _ in bound.value.close(promise: nil) }
    }
}

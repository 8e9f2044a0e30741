internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NIOWebSocket
public import WalletConnect

/// A small server of WebSockets, with room for a few plain HTTP questions beside them: health, metrics, control.
///
/// It listens from the start; ``run(_:)`` serves.
public final class WebSocketServer: Sendable {
    /// What to listen on, and how much to take.
    public struct Configuration: Sendable {
        /// An IP address in numbers.
        public var address = "127.0.0.1"
        /// 0 lets the system choose.
        public var port: UInt16 = 0
        /// For `wss://`.
        public var certificate: Certificate?
        /// A longer message ends its connection with 1009.
        public var messageLimitBytes = 1_310_720
        /// A longer body of a plain request is answered with 413.
        public var bodyLimitBytes = 65_536
        /// Further ones are closed unanswered.
        public var connectionLimit = 20_000
        /// For TLS and the request together.
        public var handshakeDeadline = Duration.seconds(10)
        /// Threads that move bytes. 1 to 64.
        public var threads = 2

        public init() {}
    }

    /// Files in PEM.
    public struct Certificate: Sendable, Equatable {
        public let chainPath: String
        public let keyPath: String

        public init(chainPath: String, keyPath: String) { (self.chainPath, self.keyPath) = (chainPath, keyPath) }
    }

    /// A request, before anything is agreed.
    public struct Question: Sendable {
        public let method: String
        /// Path and query as they came.
        public let target: String
        /// Empty for a WebSocket.
        public let body: [UInt8]
        /// The client's address in numbers.
        public let peer: String
        let fields: HTTPHeaders

        /// The first field of that name, whatever its case.
        public func header(_ name: String) -> String? { fields.first(name: name) }
    }

    /// A plain answer.
    public struct Answer: Sendable, Equatable {
        public var status: Int
        public var contentType: String
        public var body: String
        public var headers: [WebSocketRequest.Header] = []

        public init(_ status: Int, _ body: String = "", contentType: String = "text/plain; charset=utf-8") {
            (self.status, self.body, self.contentType) = (status, body, contentType)
        }
    }

    /// Who decides. Its methods are called at the same time for many clients.
    public protocol Service: Sendable {
        /// What a wish for a WebSocket gets: nil for yes, or the answer instead.
        func refusal(of question: Question) async -> Answer?
        /// Uses one connection to its end. It is closed when this returns.
        func serve(_ connection: WebSocketConnection, _ question: Question) async
        /// Answers a plain request.
        func answer(_ question: Question) async -> Answer
    }

    /// Why nobody can be served, in words for the operator.
    public struct StartError: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    enum Event: Sendable {
        case wish(Question, EventLoopPromise<Answer?>)
        case question(Question, EventLoopPromise<Answer>)
        case opened(WebSocketConnection, Question)
    }

    /// Where it listens.
    public let port: UInt16
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel
    private let events: AsyncStream<Event>

    /// Listens. Connections wait until ``run(_:)``.
    public static func listen(_ configuration: Configuration) async throws(StartError) -> WebSocketServer {
        var tls: NIOSSLContext?
        if let certificate = configuration.certificate { tls = try context(certificate) }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: min(max(configuration.threads, 1), 64))
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let entrance = Entrance(configuration: configuration, tls: tls, events: continuation)
        do {
            let listener = try await ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try entrance.prepare(channel) }
                }
                .bind(host: configuration.address, port: Int(configuration.port)).get()
            return WebSocketServer(group, listener, events)
        } catch {
            try? await group.shutdownGracefully()
            throw StartError(
                description: "cannot listen on \(configuration.address) port \(configuration.port): \(error)"
            )
        }
    }

    private init(_ group: MultiThreadedEventLoopGroup, _ listener: any Channel, _ events: AsyncStream<Event>) {
        (self.group, self.listener, self.events) = (group, listener, events)
        port = UInt16(listener.localAddress?.port ?? 0)
    }

    /// Serves until the task is cancelled, then closes every connection. Call once.
    public func run(_ service: some Service) async {
        await withDiscardingTaskGroup { group in
            for await event in events {
                group.addTask { await Self.handle(event, service) }
            }
            group.cancelAll()
        }
        // Failing to close means that it is closed.
        try? await listener.close().get()
        try? await group.shutdownGracefully()
    }

    private static func handle(_ event: Event, _ service: some Service) async {
        switch event {
        case .wish(let question, let promise): promise.succeed(await service.refusal(of: question))
        case .question(let question, let promise): promise.succeed(await service.answer(question))
        case .opened(let connection, let question):
            await service.serve(connection, question)
            await connection.close(code: 1001)
        }
    }

    private static func context(_ certificate: Certificate) throws(StartError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate.chainPath)
            let key = try NIOSSLPrivateKey(file: certificate.keyPath, format: .pem)
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(key)
            )
            tls.minimumTLSVersion = .tlsv12
            return try NIOSSLContext(configuration: tls)
        } catch {
            throw StartError(description: "the certificate or its key cannot be used: \(error)")
        }
    }
}

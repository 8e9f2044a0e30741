internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NIOWebSocket
public import WalletConnect

/// Opens WebSockets over a network, with TLS for `wss://`.
///
/// Redirections are not followed, no proxy is used, nothing is compressed.
public struct WebSocketClient: WebSocketPort {
    /// Nil where the system's authorities could not be read: looked at again when a line is opened.
    private let context: NIOSSLContext?
    private let allowsPlain: Bool

    /// Whose certificates are believed. Each must be for the host that was asked for.
    public enum Trust: Sendable, Equatable {
        /// The system's authorities.
        case system
        /// Only what is in this file of PEM certificates.
        case file(String)
    }

    /// - Parameter allowsPlain: Whether `ws://` may be used, which everybody on the way can read: one machine only.
    /// - Throws: ``WebSocketFailure/address(reason:)`` when the file of certificates cannot be read. A system without
    ///   authorities is told of when a line is opened: whoever opens none must not fail for it.
    public init(trust: Trust = .system, allowsPlain: Bool = false) throws(WebSocketFailure) {
        self.allowsPlain = allowsPlain
        do throws(WebSocketFailure) { context = try Self.context(trust) } catch {
            guard trust == .system else { throw error }
            context = nil
        }
    }

    private static func context(_ trust: Trust) throws(WebSocketFailure) -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        do {
            if case .file(let path) = trust {
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(path))
            }
            return try NIOSSLContext(configuration: tls)
        } catch {
            throw .address(reason: "the trusted certificates cannot be read")
        }
    }

    public func connect(_ request: WebSocketRequest) async throws(WebSocketFailure) -> any WebSocketLine {
        let target = try WebSocketTarget(request.url)
        guard target.isSecure || allowsPlain else { throw .address(reason: "ws:// is not allowed") }
        guard request.headers.allSatisfy({ $0.isSendable }) else {
            throw .address(reason: "a header is not acceptable")
        }
        let secured: NIOSSLContext?
        if target.isSecure {
            if let context { secured = context } else { secured = try Self.context(.system) }
        } else {
            secured = nil
        }
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = loop.makePromise(of: WebSocketConnection.self)
        let deadline = TimeAmount.nanoseconds(request.deadline.nanoseconds)
        let timer = loop.scheduleTask(in: deadline) { promise.fail(WebSocketFailure.timedOut) }
        defer { timer.cancel() }
        do {
            return try await withTaskCancellationHandler {
                open(target, request, secured, loop, promise)
                return try await promise.futureResult.get()
            } onCancel: {
                promise.fail(WebSocketFailure.cancelled)
            }
        } catch {
            throw WebSocketFailure(opening: error)
        }
    }

    /// Whoever decides `promise` first wins; a connection that comes too late is closed because nobody holds it.
    private func open(
        _ target: WebSocketTarget,
        _ request: WebSocketRequest,
        _ context: NIOSSLContext?,
        _ loop: any EventLoop,
        _ promise: EventLoopPromise<WebSocketConnection>
    ) {
        ClientBootstrap(group: loop)
            .connectTimeout(.nanoseconds(request.deadline.nanoseconds))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                promise.futureResult.whenFailure { _ in channel.close(promise: nil) }
                return channel.eventLoop.makeCompletedFuture {
                    guard let context else { return }  // Plain, which was allowed.
                    // Names only: an address is checked against the certificate's addresses.
                    let name = target.isAddress ? nil : target.host
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: name)
                    try channel.pipeline.syncOperations.addHandler(tls)
                }
            }
            .connect(host: target.host, port: target.port)
            .flatMap { channel -> EventLoopFuture<WebSocketConnection> in
                // On the channel's own loop, so before anything was read.
                do {
                    return try Self.upgrade(channel, target, request).flatMap { connection in connection }
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
            }
            .cascade(to: promise)
    }

    private static func upgrade(
        _ channel: any Channel,
        _ target: WebSocketTarget,
        _ request: WebSocketRequest
    ) throws -> EventLoopFuture<EventLoopFuture<WebSocketConnection>> {
        var headers = HTTPHeaders([("Host", target.authority)])
        for header in request.headers { headers.add(name: header.name, value: header.value) }
        let limit = request.messageLimitBytes
        let upgrader = NIOTypedWebSocketClientUpgrader<EventLoopFuture<WebSocketConnection>>(
            maxFrameSize: limit,
            enableAutomaticErrorHandling: false
        ) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                let connection = try WebSocketConnection.open(channel, isServer: false, limitBytes: limit)
                return channel.eventLoop.makeSucceededFuture(connection)
            }
        }
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: .init(
                upgradeConfiguration: .init(
                    upgradeRequestHead: HTTPRequestHead(
                        version: .http1_1,
                        method: .GET,
                        uri: target.path,
                        headers: headers
                    ),
                    upgraders: [upgrader]
                ) { channel in
                    // An HTTP answer follows: its status says why.
                    let refusal = channel.eventLoop.makePromise(of: WebSocketConnection.self)
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(StatusReader(refusal))
                        return refusal.futureResult
                    }
                }
            )
        )
    }
}

/// Reads the status of an answer that is not the one hoped for, and no more of it.
private final class StatusReader: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    private let refusal: EventLoopPromise<WebSocketConnection>

    init(_ refusal: EventLoopPromise<WebSocketConnection>) { self.refusal = refusal }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = Self.unwrapInboundIn(data) else { return }
        // A status of 101 without the proof that the server understood: some machine in between.
        refusal.fail(
            head.status == .switchingProtocols
                ? WebSocketFailure.blocked(reason: "an answer that no relay gives")
                : WebSocketFailure.rejected(status: Int(head.status.code))
        )
        context.close(promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        refusal.fail(WebSocketFailure.blocked(reason: "the connection is cut before an answer"))
    }
}

/// The parts of a WebSocket's address. Source: RFC 6455, section 3.
struct WebSocketTarget: Sendable, Equatable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// Path and query.
    let path: String
    /// As the `Host` field carries it.
    let authority: String

    init(_ url: String) throws(WebSocketFailure) {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme == "ws" || scheme == "wss", url.dropFirst(scheme.count).hasPrefix("://"),
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), url.utf8.count <= 8192
        else { throw .address(reason: "no address of a WebSocket") }
        let rest = url.dropFirst(scheme.count + 3)
        let authority = rest.prefix { !"/?#".contains($0) }
        let tail = rest.dropFirst(authority.count).prefix { $0 != "#" }
        guard !authority.contains("@") else { throw .address(reason: "an address must not hold a password") }
        var (host, port) = (String(authority), Substring())
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw .address(reason: "half an IPv6 address") }
            host = String(authority[authority.index(after: authority.startIndex)..<end])
            port = authority[authority.index(after: end)...]
        } else if let colon = authority.firstIndex(of: ":") {
            host = String(authority[..<colon])
            port = authority[colon...]
        }
        guard !host.isEmpty else { throw .address(reason: "no host") }
        isSecure = scheme == "wss"
        if port.isEmpty {
            self.port = isSecure ? 443 : 80
        } else {
            guard port.hasPrefix(":"), let number = UInt16(port.dropFirst()), number > 0 else {
                throw .address(reason: "no port")
            }
            self.port = Int(number)
        }
        self.host = host
        self.authority = String(authority)
        path = tail.hasPrefix("/") ? String(tail) : "/" + tail
    }

    /// Whether the host is an address in numbers.
    var isAddress: Bool { (try? SocketAddress(ipAddress: host, port: 0)) != nil }
}

extension WebSocketRequest.Header {
    fileprivate var isSendable: Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }
}

extension WebSocketFailure {
    /// What an error before the connection was open proves.
    init(opening error: any Error) {
        switch error {
        case let failure as WebSocketFailure: self = failure
        case let error as NIOConnectionError: self.init(connecting: error)
        case let error as NIOSSLError: self = .blocked(reason: Self.reason(error))
        case is NIOSSLExtraError: self = .blocked(reason: "the certificate is for another host")
        case let error as BoringSSLError: self = .blocked(reason: "TLS: \(error)")
        case let error as ChannelError:
            if case .connectTimeout = error {
                self = .timedOut
            } else {
                self = .blocked(reason: "the connection is cut")
            }
        case let error as IOError: self = Self.system(error.errnoCode)
        default: self = .blocked(reason: "the answer is no WebSocket's")
        }
    }

    private init(connecting error: NIOConnectionError) {
        guard let first = error.connectionErrors.first else {
            self = .noNetwork(reason: "no address for \(error.host)")
            return
        }
        // The address that came furthest says most: refused beats unreachable.
        let failures = error.connectionErrors.map { WebSocketFailure(opening: $0.error) }
        self =
            failures.first { if case .refused = $0 { true } else { false } }
            ?? failures.first { $0 == .timedOut } ?? WebSocketFailure(opening: first.error)
    }

    private static func system(_ code: CInt) -> WebSocketFailure {
        switch code {
        case ECONNREFUSED: .refused(reason: "nobody listens there")
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL: .noNetwork(reason: "no way leads there")
        case EACCES, EPERM: .blocked(reason: "a firewall of this machine")
        case ETIMEDOUT: .timedOut
        default: .blocked(reason: "the connection is cut")
        }
    }

    private static func reason(_ error: NIOSSLError) -> String {
        if case .handshakeFailed = error { return "its certificate cannot be trusted, or TLS is broken on the way" }
        return "TLS ends early"
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
    }
}

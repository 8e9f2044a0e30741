import CMicrohttpd
import CMicrohttpdRefusals
import Dispatch
import Glibc
import Locks

/// An HTTP/1.1 server over libmicrohttpd, for one terminal's pages and programs.
///
/// It serves from `init` until `stop()`; dropping the value does not stop it. One thread, libmicrohttpd's, does the
/// network and runs the handlers; nothing that waits may run there (see `WebAnswer`).
///
/// What reaches a handler is complete, bounded and unambiguous: see `Limits`, and `WebRequest.path` for addresses.
/// Everything else is answered by the server, as JSON of the shape `{"code", "message", "action"}`.
///
/// Source: microhttpd.h 0.9.75.
public final class WebServer: Sendable {
    /// The TCP port it listens on; the system's choice when the configuration says 0.
    public let port: UInt16

    /// The version of libmicrohttpd that serves, such as `0.9.75`.
    public static var engineVersion: String { unsafe String(cString: MHD_get_version()) }

    private let daemon: Daemon
    private let sweeper: Task<Void, Never>
    private let stopping = Mutex<Task<Void, Never>?>(nil)
    private let runs = Mutex<[AsyncStream<Never>.Continuation]>([])

    /// Listens and serves at once.
    /// - Throws: `StartError`; its cases tell what to change.
    public init(configuration: Configuration, handler: @escaping WebHandler) throws(StartError) {
        let daemon = try Daemon(ServerContext(configuration: configuration, handler: handler))
        self.daemon = daemon
        port = daemon.port
        let context = daemon.context
        sweeper = Task {
            // A server that nobody is connected to sleeps.
            for await _ in context.links.awakenings {
                while !Task.isCancelled, !context.links.isEmpty || !context.lingering.isEmpty {
                    try? await Task.sleep(for: .milliseconds(250))  // Cancelled: the loop ends.
                    context.sweep(at: monotonicNanoseconds())
                }
            }
        }
    }

    /// Serves until the calling task is cancelled, then stops. Returns when nothing of the server is left.
    ///
    /// In a service group: `try await cancelWhenGracefulShutdown { try await server.run() }`.
    public func run() async throws {
        let (never, end) = AsyncStream<Never>.makeStream()
        runs.withLock { $0.append(end) }
        if stopping.withLock({ $0 != nil }) { end.finish() }
        for await _ in never {}
        await stop()
    }

    /// Takes no more requests, ends event streams, cancels handlers and waits for them, closes every connection.
    ///
    /// Handlers get `Limits.stopping` to answer; then their clients are answered 503. This returns when the last
    /// handler's task has ended, so do not call it from a handler. May be called more than once, and goes on when the
    /// caller is cancelled.
    public func stop() async {
        let task = stopping.withLock { stopping in
            if let stopping { return stopping }
            let task = Task { await shutDown() }
            stopping = task
            return task
        }
        await task.value
    }

    private func shutDown() async {
        let (context, limits) = (daemon.context, daemon.context.configuration.limits)
        daemon.stopAccepting()
        context.beginStopping()
        await context.ledger.wait(atMost: limits.stopping) { !context.links.contains { $0.isAnswering } }
        context.ledger.seal()
        for link in context.links.all {
            switch link.activity {
            case .none: break
            case .answer(let answer): answer.giveUp(answering: .stopping)
            case .events(let feed):
                feed.finish()
                context.links.cut(link)
            }
        }
        // Suspended connections abort `MHD_stop_daemon`. All have been resumed: libmicrohttpd only has to notice.
        await context.ledger.wait { !context.ledger.hasParked }
        await context.ledger.wait(atMost: .milliseconds(500)) { !context.links.contains { $0.isAnswering } }
        await daemon.stop()
        await context.ledger.wait { !context.ledger.hasTasks }
        sweeper.cancel()
        await sweeper.value
        context.lingering.end()
        runs.withLock { runs in
            for run in runs { run.finish() }
            runs = []
        }
    }

    /// Does now what the server does four times a second: end what is overdue. For tests, with the time of their choice.
    func sweep(after elapsed: Duration) { daemon.context.sweep(at: monotonicNanoseconds() + elapsed.nanoseconds) }
}

/// The libmicrohttpd daemon with everything it points to.
@safe private final class Daemon: Sendable {
    let port: UInt16
    let context: ServerContext

    // Started last and stopped once, by `stop`; in between libmicrohttpd itself guards it.
    nonisolated(unsafe) private let daemon: OpaquePointer
    /// Ours to close, but not before libmicrohttpd has stopped. Source: microhttpd.h 0.9.75, `MHD_quiesce_daemon`.
    private let listeningSocket: Int32
    /// Joining libmicrohttpd's thread blocks: it has its own queue, not a thread of the cooperative pool.
    private let queue = DispatchQueue(label: "till.webserver.stop")

    init(_ context: ServerContext) throws(WebServer.StartError) {
        self.context = context
        let configuration = context.configuration
        let socket = try ListeningSocket(address: configuration.address, port: configuration.port)
        port = socket.port
        // libmicrohttpd closes the socket it is given when it fails to start (seen with 0.9.75): it gets its own.
        let descriptor = try socket.duplicate()
        listeningSocket = descriptor
        unsafe till_write_refusals_with(writeRefusal)
        let tls = configuration.tls
        let started = unsafe Self.withCStrings(tls) { certificate, key, priorities in
            var settings = unsafe till_web_settings(context, socket: descriptor)
            unsafe settings.tls_certificate = certificate
            unsafe settings.tls_key = key
            unsafe settings.tls_priorities = priorities
            return unsafe till_start_web_daemon(&settings)
        }
        guard let started = unsafe started else {
            unsafe Unmanaged.passUnretained(context).release()
            let detail = context.lastMessage.withLock { $0 }
            throw tls == nil ? .system(detail: detail) : .tlsIdentityRefused(detail: detail)
        }
        unsafe daemon = started
    }

    /// libmicrohttpd reads the three strings while it starts and not later.
    private static func withCStrings<Result>(
        _ tls: TLSIdentity?,
        _ body: (UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Result
    ) -> Result {
        guard let tls else { return body(nil, nil, nil) }
        return unsafe tls.certificatePEM.withCString { certificate in
            unsafe tls.privateKeyPEM.withCString { key in
                unsafe TLSIdentity.priorities.withCString { unsafe body(certificate, key, $0) }
            }
        }
    }

    func stopAccepting() { _ = unsafe MHD_quiesce_daemon(daemon) }

    /// Joins libmicrohttpd's thread; after this no callback runs. Call once, with no connection suspended.
    func stop() async {
        await withCheckedContinuation { continuation in
            queue.async {
                unsafe MHD_stop_daemon(self.daemon)
                // A child process that is just being started may hold a copy: closing alone would leave the port taken.
                _ = shutdown(self.listeningSocket, Int32(SHUT_RDWR))
                close(self.listeningSocket)
                unsafe Unmanaged.passUnretained(self.context).release()
                continuation.resume()
            }
        }
    }
}

extension till_web_settings {
    /// Connections that were told to go and are not closed yet. Past them new ones wait in the system's queue.
    private static let spareConnections = 128

    /// Retains `context` for the daemon.
    fileprivate init(_ context: ServerContext, socket: Int32) {
        let configuration = context.configuration
        let limits = configuration.limits
        unsafe self.init()
        var flags =
            MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue | MHD_USE_ERROR_LOG.rawValue
        if configuration.tls != nil { flags |= MHD_USE_TLS.rawValue }
        unsafe self.flags = flags
        unsafe listen_socket = socket
        // `Crowd` decides who has to go, one for each that comes; those who go are open for a moment longer.
        unsafe connection_limit = UInt32(clamping: max(1, min(limits.connections, 1 << 20)) + Self.spareConnections)
        unsafe idle_seconds = UInt32(clamping: max(1, limits.idle.components.seconds))
        // It is cleared with every request: no larger than needed.
        unsafe connection_memory_bytes =
            max(1024, limits.headerBytes) + RequestHead.Findings.bytesBeside
            + RequestHead.Findings.bytesForAnswer
        unsafe self.context = Unmanaged.passRetained(context).toOpaque()
        unsafe log = logMessage
        unsafe request_line = requestLine
        unsafe handler = handleRequest
        unsafe request_ended = requestEnded
        unsafe connection_changed = connectionChanged
    }
}

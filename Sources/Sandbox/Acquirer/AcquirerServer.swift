public import WebServer

/// A sandbox acquirer behind a real socket.
public struct AcquirerServer: Sendable {
    /// The port it listens on.
    public let port: UInt16
    /// What clients use as base URL: `http://127.0.0.1:4031`, or https where it has a certificate.
    public let url: String
    public let acquirer: SandboxAcquirer
    private let server: WebServer

    /// Listens and answers at once.
    /// - Parameters:
    ///   - address: An IP address in numbers. The sandbox belongs on loopback: its passwords are known.
    ///   - tls: For a developer's phone, which takes no plain HTTP from another machine.
    /// - Throws: Why the port or the certificate could not be had.
    public init(
        _ acquirer: SandboxAcquirer,
        address: String = "127.0.0.1",
        port: UInt16,
        tls: TLSIdentity? = nil
    ) throws(WebServer.StartError) {
        var settings = WebServer.Configuration(address: address, port: port, tls: tls)
        settings.limits.bodyBytes = 512 * 1024
        settings.limits.idle = .seconds(120)
        settings.limits.answering = .seconds(600)  // A dropped answer is silence: longer than any client waits.
        settings.limits.stopping = .milliseconds(200)
        settings.addresses = .asWritten
        settings.refusal = Self.worded
        server = try WebServer(configuration: settings) { request in Self.handle(request, acquirer) }
        self.acquirer = acquirer
        self.port = server.port
        let scheme = tls == nil ? "http" : "https"
        url = "\(scheme)://\(address.contains(":") ? "[\(address)]" : address):\(server.port)"
    }

    /// Serves until the task is cancelled, then closes every connection.
    public func run() async throws { try await server.run() }

    private static func handle(_ request: WebRequest, _ acquirer: SandboxAcquirer) -> WebAnswer {
        var headers: [String: String] = [:]
        for name in GatewayRequest.headerNames {
            if let value = request.header(name) { headers[name] = value }
        }
        let question = GatewayRequest(request.method, request.rawTarget, headers: headers, body: request.body)
        return .later {
            guard let reply = await acquirer.answer(question) else { return await silence() }
            return WebResponse.file(
                reply.body,
                contentType: reply.contentType,
                status: reply.status,
                headers: WebHeaders(reply.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            )
        }
    }

    /// What the server refuses before the acquirer sees it, in this interface's form.
    private static func worded(_ refusal: WebResponse) -> WebResponse {
        var worded = refusal
        let detail = refusal.status == 503 ? "too many requests at once" : "not acceptable HTTP"
        worded.body = .bytes(Array(#"{"code":"malformed","detail":"\#(detail)"}"#.utf8))
        return worded
    }

    /// No answer: the connection stays open and nothing comes, until the client gives up or the server stops.
    private static func silence() async -> WebResponse {
        try? await Task.sleep(for: .seconds(900))
        return WebResponse(status: 503)
    }
}

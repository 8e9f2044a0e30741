public import WebServer

/// A sandbox gateway behind a real socket.
public struct GatewayServer: Sendable {
    /// The port it listens on.
    public let port: UInt16
    /// What clients use as base URL: `http://127.0.0.1:4021`.
    public let url: String
    public let gateway: Gateway
    private let server: WebServer

    /// Listens and answers at once; held questions and settlements need ``run()``.
    /// - Parameter address: An IP address in numbers. The sandbox belongs on loopback: whoever reaches it can pay.
    /// - Throws: Why the port could not be had.
    public init(
        configuration: GatewayConfiguration,
        address: String = "127.0.0.1",
        port: UInt16,
        clock: SandboxClock
    ) throws(WebServer.StartError) {
        let gateway = Gateway(GatewayState(configuration: configuration), clock: clock)
        try self.init(gateway, address: address, port: port)
    }

    /// The same with a gateway that is there already, such as one that remembers.
    public init(_ gateway: Gateway, address: String = "127.0.0.1", port: UInt16) throws(WebServer.StartError) {
        var settings = WebServer.Configuration(address: address, port: port)
        settings.limits.bodyBytes = 256 * 1024
        settings.limits.connections = 20_000
        settings.limits.connectionsPerAddress = 20_000
        settings.limits.connectionsBeforeRequest = 20_000
        settings.limits.idle = .seconds(120)
        settings.limits.answering = .seconds(600)  // A dropped answer is silence: longer than any client waits.
        settings.limits.stopping = .milliseconds(200)
        // Filters repeat a name, and wallets put whole links into a path: both are this API's own business.
        settings.addresses = .asWritten
        settings.refusal = Self.worded
        server = try WebServer(configuration: settings) { request in Self.handle(request, gateway) }
        self.gateway = gateway
        self.port = server.port
        url = "http://\(address.contains(":") ? "[\(address)]" : address):\(server.port)"
    }

    /// Serves until the task is cancelled, then closes every connection.
    /// - Throws: Also when a state file cannot be written any more.
    public func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await gateway.run() }
            group.addTask { try await server.run() }
        }
    }

    private static func handle(_ request: WebRequest, _ gateway: Gateway) -> WebAnswer {
        var headers: [String: String] = [:]
        for name in GatewayRequest.headerNames {
            if let value = request.header(name) { headers[name] = value }
        }
        let question = GatewayRequest(request.method, request.rawTarget, headers: headers, body: request.body)
        return .later {
            guard let answer = await gateway.answer(question) else { return await silence() }
            return WebResponse.file(
                answer.body,
                contentType: answer.contentType,
                status: answer.status,
                headers: WebHeaders(answer.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            )
        }
    }

    /// What the server refuses before the gateway sees it, in the API's form: `params_validation` is the one code that
    /// each of its routes may answer with 400. It also says that a method or a version of HTTP is unknown (501, 505). `internal_error`
    /// says that there is no room for the request now.
    private static func worded(_ refusal: WebResponse) -> WebResponse {
        let isBusy = refusal.status == 503
        let answer = GatewayAnswer(
            APIError(
                refusal.status,
                isBusy ? "internal_error" : "params_validation",
                isBusy ? "Too many requests at once" : "Validation error: the request is not acceptable HTTP"
            )
        )
        var worded = refusal
        worded.body = .bytes(answer.body)
        return worded
    }

    /// No answer: the connection stays open and nothing comes, until the client gives up or the server stops.
    private static func silence() async -> WebResponse {
        try? await Task.sleep(for: .seconds(900))
        return WebResponse(status: 503)
    }
}

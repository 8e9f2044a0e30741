import WebServer

/// Runs `body` with a server on a port of the system's choice; the server is gone when this returns.
func withServer<Value: Sendable>(
    _ change: (inout WebServer.Configuration) -> Void = { _ in },
    handler: @escaping WebHandler,
    _ body: (WebServer) async throws -> Value
) async throws -> Value {
    var configuration = WebServer.Configuration(port: 0)
    // On a machine that is busy with something else a test's own steps take seconds. Who tests a limit sets it.
    (configuration.limits.idle, configuration.limits.receiving) = (.seconds(600), .seconds(600))
    configuration.limits.opening = .seconds(600)
    (configuration.limits.answering, configuration.limits.sending) = (.seconds(600), .seconds(600))
    change(&configuration)
    let server = try WebServer(configuration: configuration, handler: handler)
    do {
        let value = try await body(server)
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

/// A flag that one side sets and the other waits for, once or often.
final class Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func set() { continuation.finish() }
    /// Not sensitive to cancellation.
    func wait() async { await Task { for await _ in stream {} }.value }
}

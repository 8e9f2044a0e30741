import Payments
import StrictJSON
import WalletConnect
public import WebSocket

/// A relay behind a real socket.
public struct RelayServer: Sendable {
    /// The port it listens on.
    public let port: UInt16
    /// What clients connect to: `ws://127.0.0.1:4025`.
    public let url: String
    private let server: WebSocketServer
    private let relay: Relay

    /// Listens; answers need ``run()``.
    /// - Throws: Why the port or the certificate could not be had.
    public init(_ relay: Relay) async throws(WebSocketServer.StartError) {
        let listen = relay.configuration.listen
        server = try await WebSocketServer.listen(listen)
        (self.relay, port) = (relay, server.port)
        let host = listen.address.contains(":") ? "[\(listen.address)]" : listen.address
        url = "\(listen.certificate == nil ? "ws" : "wss")://\(host):\(server.port)"
    }

    /// Serves until the task is cancelled, then closes every connection.
    /// - Throws: When a state file cannot be written any more.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await relay.run() }
            group.addTask { await server.run(RelayDoor(relay: relay)) }
            defer { group.cancelAll() }
            // To be asked to stop is no error.
            do { try await group.next() } catch is CancellationError where Task.isCancelled {}
        }
    }
}

/// Whom the relay lets in, and what it says to plain HTTP.
private struct RelayDoor: WebSocketServer.Service {
    let relay: Relay

    func refusal(of question: WebSocketServer.Question) async -> WebSocketServer.Answer? {
        let faults = await relay.faultsOfHandshake()
        for fault in faults {
            if case .refuse(let status) = fault.effect { return await relay.counted(.init(status, "on demand\n")) }
        }
        let now = relay.clock.now().secondsSince1970
        guard let refusal = Self.refusal(of: question, relay.configuration, now) else { return nil }
        return await relay.counted(refusal)
    }

    /// Statuses: WalletConnect specifications, "Relay Client Authentication": 401 for what is missing or over, 403 for
    /// what is wrong.
    private static func refusal(
        of question: WebSocketServer.Question,
        _ configuration: RelayConfiguration,
        _ now: Int64
    ) -> WebSocketServer.Answer? {
        guard question.path == "/" else { return .init(404, "No relay here\n") }
        if !configuration.projects.isEmpty {
            guard let project = question.query("projectId") else { return .init(401, "ProjectIdNotSpecified\n") }
            guard configuration.projects.contains(project) else { return .init(401, "ProjectNotFound\n") }
        }
        guard let token = question.token else { return .init(401, "MissingJwt\n") }
        do throws(RelayTokenError) {
            // Its audience is not compared: one wallet names production's relay, wherever it connects.
            _ = try RelayToken(checking: token, now: now)
            return nil
        } catch {
            return .init(error == .expired ? 401 : 403, "InvalidJwt: \(error)\n")
        }
    }

    func serve(_ connection: WebSocketConnection, _ question: WebSocketServer.Question) async {
        let now = relay.clock.now().secondsSince1970
        guard let text = question.token, let token = try? RelayToken(checking: text, now: now) else {
            return connection.close(code: 3000, reason: "InvalidJwt")
        }
        let (id, outgoing) = await relay.open(token.issuer, connection)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await read(connection, id) }
            group.addTask { await write(outgoing, to: connection, id) }
            await group.next()
            // Whatever ended first ends the other: its stream ends, or its connection.
            await relay.end(id)
            group.cancelAll()
        }
    }

    private func read(_ connection: WebSocketConnection, _ id: UInt64) async {
        while true {
            do throws(WebSocketFailure) {
                switch try await connection.receive() {
                case .message(let bytes): await relay.take(bytes, from: id)
                case .ping, .pong: await relay.heard(id)
                }
            } catch {
                return
            }
        }
    }

    private func write(_ outgoing: AsyncStream<RelayOutgoing>, to connection: WebSocketConnection, _ id: UInt64) async {
        var heldBack: [RelayOutgoing] = []
        for await frame in outgoing {
            if frame.isHeldBack {
                heldBack.append(frame)
                continue
            }
            do {
                for frame in [frame] + heldBack { try await write(frame, to: connection, id) }
            } catch {
                return
            }
            heldBack = []
        }
    }

    private func write(_ frame: RelayOutgoing, to connection: WebSocketConnection, _ id: UInt64) async throws {
        guard !frame.dies else { return relay.configuration.onDeath() }
        if frame.stallMilliseconds > 0 { try await relay.clock.sleep(.milliseconds(frame.stallMilliseconds)) }
        if frame.isPing {
            try await connection.ping()
        } else {
            for _ in 0..<frame.copies { try await connection.send(frame.text) }
        }
        await relay.sent(id, bytes: frame.text.utf8.count)
        if let code = frame.closeCode { await relay.close(id, code, "on demand") }
    }

    func answer(_ question: WebSocketServer.Question) async -> WebSocketServer.Answer {
        switch (question.method, question.path) {
        case ("GET", "/healthz"): .init(200, "ok\n")
        case ("GET", "/metrics"):
            .init(200, await relay.metrics, contentType: "text/plain; version=0.0.4; charset=utf-8")
        case (_, let path) where path.hasPrefix("/control/"): await relay.control(question)
        case ("GET", "/"): .init(426, "This is a WalletConnect relay: connect with WebSocket\n")
        default: .init(404, "Nothing here\n")
        }
    }
}

extension WebSocketServer.Question {
    /// Without the query. Some clients leave out the slash.
    var path: String {
        let path = String(target.prefix { $0 != "?" })
        return path.isEmpty ? "/" : path
    }

    /// The first of that name, as it came: nothing that a relay reads needs escaping.
    func query(_ name: String) -> String? {
        guard let start = target.firstIndex(of: "?") else { return nil }
        return target[target.index(after: start)...].split(separator: "&")
            .first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    var token: String? {
        if let header = header("Authorization"), header.lowercased().hasPrefix("bearer ") {
            return String(header.dropFirst(7))
        }
        return query("auth")
    }
}

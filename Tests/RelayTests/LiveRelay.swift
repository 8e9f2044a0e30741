import Payments
import Sandbox
import TestSupport
import WalletConnect
import WebSocket

/// A real relay in this process, on a real socket.
struct LiveRelay: Sendable {
    let relay: Relay
    let server: RelayServer

    /// Runs one beside `body`.
    static func running<Value: Sendable>(
        clock: SandboxClock = .system,
        state: String? = nil,
        _ change: (inout RelayConfiguration) -> Void = { _ in },
        _ body: @Sendable @escaping (LiveRelay) async throws -> Value
    ) async throws -> Value {
        var configuration = RelayConfiguration()
        configuration.listen.threads = 1
        change(&configuration)
        let relay: Relay
        if let state {
            relay = try await Relay.remembering(configuration, in: state, clock: clock).0
        } else {
            relay = Relay(configuration, clock: clock)
        }
        let live = LiveRelay(relay: relay, server: try await RelayServer(relay))
        return try await beside({ try await live.server.run() }) { try await body(live) }
    }

    var host: String { "127.0.0.1:\(server.port)" }
}

/// A real client of a real relay.
struct LiveClient: Sendable {
    /// One for all: each reads the system's authorities when it is made.
    static let plain = Result { () throws(WebSocketFailure) in try WebSocketClient(allowsPlain: true) }

    let client: RelayClient
    let memory = ShortRelayMemory()

    init(
        _ url: String,
        identity: RelayIdentity = RelayIdentity(),
        sockets: (any WebSocketPort)? = nil,
        memory: (any RelayMemory)? = nil,
        _ change: (inout RelayClientSettings) -> Void = { _ in }
    ) throws {
        var settings = RelayClientSettings(url: url, projectID: "0123456789abcdef0123456789abcdef")
        // Loopback answers at once: a test that breaks something must not wait for it like a shop.
        settings.deadline = .seconds(1)
        settings.pauses = [.milliseconds(20)]
        settings.longPause = .milliseconds(100)
        change(&settings)
        let sockets = try sockets ?? Self.plain.get()
        client = try RelayClient(
            settings: settings,
            identity: identity,
            sockets: sockets,
            memory: memory ?? self.memory,
            clock: .system { SandboxClock.system.now().millisecondsSince1970 }
        )
    }

    /// Runs it beside `body`.
    func running<Value: Sendable>(_ body: @Sendable @escaping () async throws -> Value) async throws -> Value {
        try await beside({ await client.run() }, body)
    }

    func connected() async throws { try await until { await client.status.link == .connected } }

    /// Takes, stores and acknowledges until `count` messages came.
    func take(_ count: Int) async -> [String] {
        var taken: [String] = []
        for await message in client.messages {
            taken.append(message.message)
            await client.acknowledge(message)
            if taken.count == count { break }
        }
        return taken
    }
}

import ArgumentParser
import Glibc
import Logging
import Sandbox
import ServiceLifecycle
import UnixSignals
import WebSocket

/// `till-sandbox relay`: serves until SIGTERM or SIGINT.
struct RelayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Carry WalletConnect envelopes between terminals and wallets.",
        discussion: """
            When it listens it prints one line of JSON on standard output: {"ready":true,"url":…,"port":…}.
            It cannot read what it carries. Beside WebSockets it answers GET /healthz and GET /metrics.

            Faults: --fault PLACE:EFFECT[,when=before|after][,from=N][,times=N], any number of times.
              PLACE     \(RelayFault.Place.allCases.map(\.rawValue).joined(separator: ", "))
              EFFECT    close=CODE, stall=MILLISECONDS, reorder, repeat=N, drop, error=TAG, die; for connect refuse=STATUS
            For example: --fault publish:drop,times=1 --fault push:close=4010,from=2,times=1
            """
    )

    @Option(help: "TCP port on which to listen; 0 lets the system choose.")
    var port: UInt16 = 0

    @Option(help: "IP address on which to listen.")
    var address = "127.0.0.1"

    @Option(help: "Serve wss:// with the certificate chain in this PEM file.")
    var certificate: String?

    @Option(help: "The certificate's key, in PEM.")
    var key: String?

    @Option(help: "Keep mailboxes and subscriptions in this file, through kills and restarts.")
    var state: String?

    @Option(help: "A project that may connect; any number of times. Without it everybody may, with or without one.")
    var project: [String] = []

    @Option(help: "The longest message, in bytes.")
    var messageLimit = 1_048_576

    @Option(help: "Messages that wait in one topic.")
    var mailboxLimit = 1000

    @Option(help: "Topics of one client.")
    var topicLimit = 10_000

    @Option(help: "Open connections.")
    var connectionLimit = 20_000

    @Option(
        help: ArgumentHelp("Requests of one client: '900/60' is 900 in a minute; 'none'.", valueName: "calls/seconds")
    )
    var rateLimit = "900/60"

    @Option(help: ArgumentHelp("The longest time of messages with this tag, in seconds.", valueName: "tag=seconds"))
    var tagTtl: [String] = []

    @Option(help: "Seconds without a sign of life until a client is asked for one; after twice as long it has to go.")
    var idle = 30

    @Option(help: "Opens the control API under /control to who sends Authorization: Bearer TOKEN.")
    var controlToken: String?

    @Option(help: ArgumentHelp("Something that goes wrong; see above.", valueName: "place:effect"))
    var fault: [String] = []

    func validate() throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--certificate and --key belong together")
        }
        guard (1...16_777_216).contains(messageLimit) else {
            throw ValidationError("--message-limit is 1 to 16777216 bytes")
        }
        guard [mailboxLimit, topicLimit, connectionLimit].allSatisfy({ (1...1_000_000).contains($0) }) else {
            throw ValidationError("--mailbox-limit, --topic-limit and --connection-limit are 1 to 1000000")
        }
        guard rateLimit == "none" || RateLimit(parsing: rateLimit) != nil else {
            throw ValidationError("--rate-limit is CALLS/SECONDS, for example 900/60, or none")
        }
        guard (1...3600).contains(idle) else { throw ValidationError("--idle is 1 to 3600 seconds") }
        guard tagTtl.allSatisfy({ Self.tagLimit($0) != nil }) else {
            throw ValidationError("--tag-ttl is TAG=SECONDS, for example 1108=300")
        }
        for text in fault { _ = try parsedFault(text) }
    }

    func run() async throws {
        raiseDescriptorLimit()
        let configuration = try relayConfiguration()
        let relay: Relay
        do throws(StateFileError) {
            relay = try await self.relay(configuration)
        } catch {
            Output.failure("The state file cannot be used: \(error)")
            throw ExitCode(66)  // EX_NOINPUT. Source: sysexits.h.
        }
        let server: RelayServer
        do throws(WebSocketServer.StartError) {
            server = try await RelayServer(relay)
        } catch {
            Output.failure("The relay cannot listen: \(error)")
            throw ExitCode(69)  // EX_UNAVAILABLE. Source: sysexits.h.
        }
        Output.line(#"{"ready":true,"url":"\#(server.url)","port":\#(server.port)}"#)
        let group = ServiceGroup(
            configuration: .init(
                services: [ServingRelay(server: server)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "till-sandbox", factory: { _ in SwiftLogNoOpLogHandler() })
            )
        )
        try await group.run()
    }

    private func relay(_ configuration: RelayConfiguration) async throws(StateFileError) -> Relay {
        guard let state else { return Relay(configuration, clock: .system) }
        let (relay, tornBytes) = try await Relay.remembering(configuration, in: state, clock: .system)
        if tornBytes > 0 {
            Output.failure("\(state): an unfinished last line was dropped; nobody was answered for it")
        }
        return relay
    }

    private func relayConfiguration() throws -> RelayConfiguration {
        var configuration = RelayConfiguration()
        (configuration.listen.address, configuration.listen.port) = (address, port)
        if let certificate, let key {
            configuration.listen.certificate = .init(chainPath: certificate, keyPath: key)
        }
        configuration.listen.connectionLimit = connectionLimit
        configuration.messageLimitBytes = messageLimit
        configuration.listen.messageLimitBytes = messageLimit + messageLimit / 4
        configuration.projects = Set(project)
        configuration.mailboxLimit = mailboxLimit
        configuration.subscriptionLimit = topicLimit
        configuration.rateLimit = RateLimit(parsing: rateLimit)
        configuration.idle = .seconds(idle)
        configuration.controlToken = controlToken
        for text in tagTtl {
            if let (tag, seconds) = Self.tagLimit(text) { configuration.tagLimitSeconds[tag] = seconds }
        }
        configuration.faults = try fault.map(parsedFault)
        configuration.onDeath = { kill(getpid(), SIGKILL) }
        return configuration
    }

    private static func tagLimit(_ text: String) -> (tag: Int64, seconds: Int64)? {
        let parts = text.split(separator: "=").map { Int64($0) }
        guard parts.count == 2, let tag = parts[0], let seconds = parts[1], (1...2_592_000).contains(seconds) else {
            return nil
        }
        return (tag, seconds)
    }

    private func parsedFault(_ text: String) throws -> RelayFault {
        do throws(FaultError) { return try RelayFault(parsing: text) } catch {
            throw ValidationError("--fault \(text): \(error)")
        }
    }
}

/// The relay as a service: asked to shut down, it closes every connection and returns.
private struct ServingRelay: Service {
    let server: RelayServer

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await server.run() }
    }
}

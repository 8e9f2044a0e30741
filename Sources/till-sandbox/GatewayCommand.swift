import ArgumentParser
import Logging
import Sandbox
import ServiceLifecycle
import UnixSignals
import WebServer

/// `till-sandbox gateway`: serves until SIGTERM or SIGINT.
struct GatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Serve the merchant and wallet API of WalletConnect Pay on this machine.",
        discussion: """
            When it listens it prints one line of JSON on standard output: {"ready":true,"url":…,"port":…}.

            Faults: --fault ENDPOINT:EFFECT[,when=before|after][,from=N][,times=N][,for=SECONDS][,amount=N][,account=A],
            any number of times.
              ENDPOINT  \(Endpoint.allCases.map(\.rawValue).joined(separator: ", ")), or * for all
              EFFECT    delay=MILLISECONDS, drop, error=5xx, refuse=CODE, duplicate, forget-key, unknown-status=WORD,
                        garbage, clock-skew=SECONDS, outcome=failed|declined_user|expired|stuck
            For example: --fault create:drop,times=1 --fault status:unknown-status=reviewing,from=2,times=3
            """
    )

    @Option(help: "TCP port on which to listen; 0 lets the system choose.")
    var port: UInt16 = 0

    @Option(help: "IP address on which to listen. Whoever reaches it can pay: leave it on loopback.")
    var address = "127.0.0.1"

    @Option(help: "The merchant whose payments it takes.")
    var merchant: String

    @Option(help: "The merchant's name, as wallets show it.")
    var merchantName = "Sandbox Shop"

    @Option(help: "What the merchant's calls carry in Api-Key.")
    var apiKey: String

    @Option(help: "Seconds from the customer's signature to the final word; 'never' waits for the control API.")
    var settleAfter = "2"

    @Option(help: "Seconds until a payment expires that names no time of its own.")
    var expireAfter = 300

    @Option(help: "Whole tokens that every account has of every token when it is first seen.")
    var faucet: UInt64 = 1000

    @Option(help: "Smallest amount of a payment, in cents.")
    var minimum: UInt64 = 1

    @Flag(help: "Ask for the customer's name and date of birth before they may pay.")
    var collectData = false

    @Flag(help: "Ask for them the older way: as fields whose answers come with the confirmation, without a form.")
    var collectFields = false

    @Flag(help: "With --collect-data: say what is to be signed all the same; only the confirmation wants them.")
    var collectLate = false

    @Flag(help: "The customer's form tells iOS's bridge in objects, not in texts.")
    var formObjects = false

    @Option(help: "Host of the payment links that it makes.")
    var linkHost = "pay.walletconnect.com"

    @Option(help: "Opens the control API under /control to who sends Authorization: Bearer TOKEN.")
    var controlToken: String?

    @Option(help: "Seconds that its clock is ahead (or, negative, behind).")
    var clockSkew = 0

    @Option(help: "Remember everything in this file, through kills and restarts. It is made where it is missing.")
    var state: String?

    @Option(help: "A list of faults with a name, as YAML; several add up. Some are in config/scenarios.")
    var scenario: [String] = []

    @Option(
        help: ArgumentHelp(
            "Refuse further calls of a key with 429: '20/10' is twenty in ten seconds.",
            valueName: "calls/seconds"
        )
    )
    var rateLimit: String?

    @Option(help: "Seconds that an option holds which involves an exchange rate.")
    var quoteLifetime = 300

    @Option(help: "What the address of the customer's form starts with; without it, what the wallet calls the gateway.")
    var formBase: String?

    @Option(help: ArgumentHelp("Something that goes wrong; see above.", valueName: "endpoint:effect"))
    var fault: [String] = []

    func validate() throws {
        if settleAfter != "never" {
            guard let seconds = Double(settleAfter), (0...86_400).contains(seconds) else {
                throw ValidationError("--settle-after is a number of seconds from 0 to 86400, or 'never'")
            }
        }
        guard (1...86_400).contains(expireAfter) else { throw ValidationError("--expire-after is 1 to 86400 seconds") }
        guard abs(clockSkew) <= 86_400 else { throw ValidationError("--clock-skew is at most a day: 86400 seconds") }
        guard !merchant.isEmpty, !apiKey.isEmpty else {
            throw ValidationError("--merchant and --api-key must not be empty")
        }
        guard (1...86_400).contains(quoteLifetime) else {
            throw ValidationError("--quote-lifetime is 1 to 86400 seconds")
        }
        if let rateLimit, RateLimit(parsing: rateLimit) == nil {
            throw ValidationError("--rate-limit is CALLS/SECONDS, for example 20/10")
        }
        if let formBase, !formBase.hasPrefix("http") || !formBase.hasSuffix("/") {
            throw ValidationError("--form-base is an address that ends in a slash")
        }
        guard !(collectData && collectFields) else {
            throw ValidationError("--collect-data and --collect-fields are two ways to ask; choose one")
        }
        guard !collectLate || collectData else { throw ValidationError("--collect-late goes with --collect-data") }
        for text in fault { _ = try parsedFault(text) }
        for path in scenario { _ = try Scenario<Endpoint>(readingFrom: path) }
    }

    func run() async throws {
        raiseDescriptorLimit()
        let configuration = try gatewayConfiguration()
        let gateway: Gateway
        do throws(StateFileError) {
            gateway = try self.gateway(configuration)
        } catch {
            Output.failure("The state file cannot be used: \(error)")
            throw ExitCode(66)  // EX_NOINPUT. Source: sysexits.h.
        }
        let server: GatewayServer
        do throws(WebServer.StartError) {
            server = try GatewayServer(gateway, address: address, port: port)
        } catch {
            Output.failure("The gateway cannot listen on \(address) port \(port): \(error)")
            throw ExitCode(69)  // EX_UNAVAILABLE. Source: sysexits.h.
        }
        Output.line(#"{"ready":true,"url":"\#(server.url)","port":\#(server.port)}"#)
        let group = ServiceGroup(
            configuration: .init(
                services: [Serving(server: server)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "till-sandbox", factory: { _ in SwiftLogNoOpLogHandler() })
            )
        )
        try await group.run()
    }

    private func gateway(_ configuration: GatewayConfiguration) throws(StateFileError) -> Gateway {
        guard let state else { return Gateway(GatewayState(configuration: configuration), clock: .system) }
        let (gateway, tornBytes) = try Gateway.remembering(configuration, in: state, clock: .system)
        if tornBytes > 0 {
            Output.failure("\(state): an unfinished last line was dropped; nobody was answered for it")
        }
        return gateway
    }

    private func gatewayConfiguration() throws -> GatewayConfiguration {
        var configuration = GatewayConfiguration(merchantID: merchant, apiKey: apiKey)
        configuration.merchantName = merchantName
        configuration.settleAfter = Double(settleAfter).map { .milliseconds(Int64($0 * 1000)) }
        configuration.defaultExpiry = .seconds(expireAfter)
        configuration.faucetTokens = faucet
        configuration.minimumMinorUnits = minimum
        configuration.collectsData = collectData
        configuration.collectsFields = collectFields
        configuration.collectsLate = collectLate
        configuration.formPostsObjects = formObjects
        configuration.linkBase = "https://\(linkHost)/"
        configuration.controlToken = controlToken
        configuration.skewSeconds = clockSkew
        configuration.quoteLifetimeSeconds = Int64(quoteLifetime)
        configuration.formBase = formBase
        configuration.rateLimit = rateLimit.flatMap(RateLimit.init(parsing:))
        configuration.faults = try fault.map(parsedFault)
        for path in scenario { configuration.faults += try Scenario(readingFrom: path).faults }
        return configuration
    }

    private func parsedFault(_ text: String) throws -> Fault {
        do throws(FaultError) {
            return try Fault(parsing: text)
        } catch {
            throw ValidationError("--fault \(text): \(error)")
        }
    }
}

/// The gateway as a service: asked to shut down, it closes every connection and returns.
private struct Serving: Service {
    let server: GatewayServer

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await server.run() }
    }
}

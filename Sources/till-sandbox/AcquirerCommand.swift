import ArgumentParser
import Foundation
import Logging
import Sandbox
import ServiceLifecycle
import UnixSignals
import WebServer

/// `till-sandbox acquirer`: serves until SIGTERM or SIGINT.
struct AcquirerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "acquirer",
        abstract: "Serve an acquirer for payments by phone on this machine.",
        discussion: """
            When it listens it prints one line of JSON on standard output: {"ready":true,"url":…,"port":…}.

            Faults: --fault ENDPOINT:EFFECT[,when=before|after][,from=N][,times=N][,for=SECONDS][,amount=N][,account=A],
            any number of times.
              ENDPOINT  \(AcquirerEndpoint.allCases.map(\.rawValue).joined(separator: ", ")), or * for all
              EFFECT    delay=MILLISECONDS, drop, error=5xx, refuse=CODE, duplicate, forget-key, unknown-status=WORD,
                        garbage, clock-skew=SECONDS, outcome=failed|declined_user|expired|stuck,
                        \(AcquirerEndpoint.ownEffects.joined(separator: ", "))
            For example: --fault execute:drop,times=1 --fault execute:outcome=failed,amount=1337
            """
    )

    @Option(help: "TCP port on which to listen; 0 lets the system choose.")
    var port: UInt16 = 0

    @Option(help: "IP address on which to listen. Its passwords are no secrets: leave it on loopback.")
    var address = "127.0.0.1"

    @Option(help: "Serve https:// with the certificate chain in this PEM file: for a phone on the network of a test.")
    var certificate: String?

    @Option(help: "The certificate's key, in PEM.")
    var key: String?

    @Option(help: "The acquirer's name in certificates and passes.")
    var issuer = "till-sandbox"

    @Option(help: "The merchant's name at the acquirer.")
    var merchant = "merchant-demo"

    @Option(help: "The merchant's name, as phones show it.")
    var merchantName = "Sandbox Shop"

    @Option(help: ArgumentHelp("How the merchant's terminals log in.", valueName: "email:password"))
    var merchantLogin = "shop@example.com:shop-password"

    @Option(
        help: ArgumentHelp(
            "A customer; any number of times. Without it there is customer-demo.",
            valueName: "id:login:password"
        )
    )
    var customer: [String] = []

    @Option(help: "What integrators' back ends carry in Api-Key to log somebody in.")
    var partnerKey: String?

    @Option(help: "Minor units that each instrument has of each currency when it is first seen.")
    var faucet = 1_000_000

    @Option(help: "Seconds from the bundle to the end of a payment; 'never' waits for the control API.")
    var settleAfter = "0"

    @Option(help: "Opens the control API under /control to who sends Authorization: Bearer TOKEN.")
    var controlToken: String?

    @Option(help: "Seconds that its clock is ahead (or, negative, behind).")
    var clockSkew = 0

    @Option(help: "64 hexadecimal digits from which its keys follow; without it, new ones or those of the state file.")
    var keySeed: String?

    @Option(help: "Remember everything in this file, through kills and restarts. It is made where it is missing.")
    var state: String?

    @Option(help: "A list of faults with a name, as YAML; several add up. Some are in config/scenarios/acquirer.")
    var scenario: [String] = []

    @Option(help: ArgumentHelp("Something that goes wrong; see above.", valueName: "endpoint:effect"))
    var fault: [String] = []

    func validate() throws {
        _ = try acquirerConfiguration()
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--certificate and --key belong together")
        }
    }

    func run() async throws {
        let configuration = try acquirerConfiguration()
        let acquirer: SandboxAcquirer
        do throws(StateFileError) {
            acquirer = try self.acquirer(configuration)
        } catch {
            Output.failure("The state file cannot be used: \(error)")
            throw ExitCode(66)  // EX_NOINPUT. Source: sysexits.h.
        }
        let tls = try identity()
        let server: AcquirerServer
        do throws(WebServer.StartError) {
            server = try AcquirerServer(acquirer, address: address, port: port, tls: tls)
        } catch {
            Output.failure("The acquirer cannot listen on \(address) port \(port): \(error)")
            throw ExitCode(69)  // EX_UNAVAILABLE. Source: sysexits.h.
        }
        Output.line(#"{"ready":true,"url":"\#(server.url)","port":\#(server.port)}"#)
        let group = ServiceGroup(
            configuration: .init(
                services: [ServingAcquirer(server: server)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "till-sandbox", factory: { _ in SwiftLogNoOpLogHandler() })
            )
        )
        try await group.run()
    }

    private func identity() throws -> TLSIdentity? {
        guard let certificate, let key else { return nil }
        func text(_ path: String) throws -> String {
            guard let data = FileManager.default.contents(atPath: path) else {
                Output.failure("\(path): there is no such file, or it cannot be read")
                throw ExitCode(66)  // EX_NOINPUT. Source: sysexits.h.
            }
            return String(decoding: data, as: UTF8.self)
        }
        return TLSIdentity(certificatePEM: try text(certificate), privateKeyPEM: try text(key))
    }

    private func acquirer(_ configuration: AcquirerConfiguration) throws(StateFileError) -> SandboxAcquirer {
        guard let state else { return SandboxAcquirer(AcquirerState(configuration: configuration), clock: .system) }
        let (acquirer, tornBytes) = try SandboxAcquirer.remembering(configuration, in: state, clock: .system)
        if tornBytes > 0 {
            Output.failure("\(state): an unfinished last line was dropped; nobody was answered for it")
        }
        return acquirer
    }

    private func acquirerConfiguration() throws -> AcquirerConfiguration {
        var configuration = AcquirerConfiguration()
        configuration.issuer = issuer
        let login = try Self.parts(merchantLogin, 2, "--merchant-login is EMAIL:PASSWORD")
        configuration.merchants = [.init(id: merchant, name: merchantName, email: login[0], password: login[1])]
        if !customer.isEmpty {
            configuration.customers = try customer.map { text in
                let parts = try Self.parts(text, 3, "--customer is ID:LOGIN:PASSWORD")
                return .init(id: parts[0], name: parts[0], identifier: parts[1], password: parts[2])
            }
        }
        configuration.partnerKey = partnerKey
        guard (0...1_000_000_000_000).contains(faucet) else {
            throw ValidationError("--faucet is 0 to 10^12 minor units")
        }
        configuration.faucetMinorUnits = faucet
        if settleAfter == "never" {
            configuration.settleAfter = nil
        } else {
            guard let seconds = Double(settleAfter), (0...86_400).contains(seconds) else {
                throw ValidationError("--settle-after is a number of seconds from 0 to 86400, or 'never'")
            }
            configuration.settleAfter = .milliseconds(Int64(seconds * 1000))
        }
        configuration.controlToken = controlToken
        guard abs(clockSkew) <= 86_400 else { throw ValidationError("--clock-skew is at most a day: 86400 seconds") }
        configuration.skewSeconds = clockSkew
        if let keySeed {
            guard let seed = AcquirerConfiguration.seed(hexadecimal: keySeed) else {
                throw ValidationError("--key-seed is 64 hexadecimal digits")
            }
            configuration.seed = seed
        }
        configuration.faults = try fault.map(Self.parsedFault)
        for path in scenario { configuration.faults += try Scenario(readingFrom: path).faults }
        return configuration
    }

    private static func parts(_ text: String, _ count: Int, _ rule: String) throws -> [String] {
        let parts = text.split(separator: ":", maxSplits: count - 1).map(String.init)
        guard parts.count == count, (1...48).contains(parts[0].utf8.count) else { throw ValidationError(rule) }
        return parts
    }

    private static func parsedFault(_ text: String) throws -> AcquirerFault {
        do throws(FaultError) {
            return try AcquirerFault(parsing: text)
        } catch {
            throw ValidationError("--fault \(text): \(error)")
        }
    }
}

/// The acquirer as a service: asked to shut down, it closes every connection and returns.
private struct ServingAcquirer: Service {
    let server: AcquirerServer

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await server.run() }
    }
}

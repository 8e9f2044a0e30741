import ArgumentParser
import Ethereum
import Glibc
import Sandbox
import WalletConnect
import WebSocket

/// `till-sandbox wallet connect`: a customer's WalletConnect wallet.
struct WalletConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Be a customer's WalletConnect wallet: scan a code, agree to a session, sign what is asked for.",
        discussion: """
            It prints one line for each thing that happens and ends when the session is over. What it must not forget it \
            keeps in --state; without a code it goes on with that.
            Steps, for --offline-at and --die-at: \
            \(ConnectWalletScript.Step.allCases.map(\.rawValue).joined(separator: ", ")).
            Exit codes: 0 signed; 1 not signed; 2 a signature was made and nobody knows whether it left; 3 declined here; \
            64 wrong usage; 66 the state file cannot be used. Of several wallets, the best one counts.
            """
    )

    @Argument(help: "The text of the QR code: wc:…@2?… Secret. '-' reads it from the standard input.")
    var code: String?

    @Option(help: "The relay. Without it, the environment variable TILL_SANDBOX_RELAY tells.")
    var relay: String?

    @Option(help: "The relay's project, where it asks for one.")
    var projectID: String?

    @Option(help: "A file of PEM certificates: only these are believed.")
    var trust: String?

    @Option(help: "The wallet's private key: 64 hexadecimal digits, or 'fresh'. For the sandbox only: others see it.")
    var key = "fresh"

    @Option(help: "Approve this chain, whatever was proposed; any number of times. A chain's number, for example 137.")
    var chain: [UInt64] = []

    @Flag(help: "Turn the proposal down.")
    var reject = false

    @Flag(help: "Look at the proposal and never answer it.")
    var never = false

    @Flag(help: "Agree to the session and turn the requests down.")
    var rejectRequests = false

    @Flag(help: "Agree to the session and never answer the requests.")
    var neverSign = false

    @Option(help: "Seconds until the customer answers the proposal.")
    var slow: Double = 0

    @Option(help: "Seconds until the customer answers a request.")
    var slowSign: Double = 0

    @Option(
        help: ArgumentHelp("No network from this step on, for so long; any number of times.", valueName: "step:seconds")
    )
    var offlineAt: [String] = []

    @Option(help: ArgumentHelp("Lose the power at this step.", valueName: "step"))
    var dieAt: String?

    @Option(help: "Keep what must not be forgotten in this file. It is made where it is missing, and holds secrets.")
    var state: String?

    @Option(help: "So many wallets scan the same code, each with a key and a memory of its own.")
    var wallets = 1

    @Flag(help: "Say also what the library notes.")
    var verbose = false

    @Option(help: "Seconds until it stops.")
    var timeout: Double = 600

    func validate() throws {
        _ = try script()
        _ = try privateKey()
        guard (1...8).contains(wallets) else { throw ValidationError("--wallets is 1 to 8") }
        guard wallets == 1 || key == "fresh" else { throw ValidationError("several wallets have fresh keys") }
        guard code != nil || state != nil else { throw ValidationError("without a code there must be --state") }
        _ = try Self.seconds(timeout, "--timeout")
    }

    func run() async throws {
        guard let address = relay ?? Self.environment("TILL_SANDBOX_RELAY") else {
            Output.failure("Name the relay with --relay or in TILL_SANDBOX_RELAY.")
            throw ExitCode(64)  // EX_USAGE. Source: sysexits.h.
        }
        let scanned = code == "-" ? readLine() : code
        let (script, count, patience) = (try script(), wallets, try Self.seconds(timeout, "--timeout"))
        let outcomes = await withTaskGroup(of: Result<ConnectWalletOutcome, StartFailure>.self) { group in
            for number in 1...count {
                group.addTask {
                    let label = count == 1 ? "" : "\(number) "
                    do throws(StartFailure) {
                        let phone = try await phone(number, at: address, script, label)
                        return .success(await phone.run(scanning: scanned, for: patience))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        if let code = try Self.exitCode(of: outcomes) { throw code }
    }

    /// Nil: 0.
    private static func exitCode(of outcomes: [Result<ConnectWalletOutcome, StartFailure>]) throws -> ExitCode? {
        for outcome in outcomes {
            if case .failure(let failure) = outcome {
                Output.failure(failure.text)
                return failure.code
            }
        }
        let ends = outcomes.compactMap { try? $0.get() }
        if ends.contains(.signed) { return nil }
        if ends.contains(.unknown) { return ExitCode(2) }
        return ends.contains(.declined) ? ExitCode(3) : .failure
    }
}

/// Why a wallet could not be switched on.
private struct StartFailure: Error {
    let text: String
    let code: ExitCode

    static func usage(_ text: String) -> StartFailure { StartFailure(text: text, code: ExitCode(64)) }  // EX_USAGE

    static func state(_ reason: String) -> StartFailure {
        StartFailure(text: "The state file cannot be used: \(reason)", code: ExitCode(66))  // EX_NOINPUT
    }
}

/// A wallet with its connection, ready to run.
private struct ConnectPhone: Sendable {
    let wallet: ConnectWallet
    let relay: RelayClient
    let label: String

    /// The wallet, its connection and the clock; the first that ends is the wallet.
    func run(scanning code: String?, for patience: Duration) async -> ConnectWalletOutcome {
        await withTaskGroup(of: ConnectWalletOutcome?.self) { group in
            group.addTask {
                await relay.run()
                return nil
            }
            group.addTask {
                var last: RelayLink?
                for await status in await relay.statuses() where status.link != last {
                    last = status.link
                    switch status.link {
                    case .connected: say(.relay(.connected))
                    case .waiting(let trouble, _), .stopped(let trouble):
                        say(.relay(.disconnected(reason: trouble.reason)))
                    case .idle, .connecting: break
                    }
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: patience)  // Throws only when cancelled.
                if !Task.isCancelled { await wallet.stop() }
                return nil
            }
            group.addTask { await wallet.run(scanning: code) }
            var outcome = ConnectWalletOutcome.notSigned("stopped")
            for await ended in group {
                guard let ended else { continue }
                outcome = ended
                group.cancelAll()
            }
            return outcome
        }
    }

    func say(_ event: ConnectWalletEvent) { Output.line(label + event.description) }
}

// MARK: - What the options say

extension WalletConnectCommand {
    private func phone(
        _ number: Int,
        at address: String,
        _ script: ConnectWalletScript,
        _ label: String
    ) async throws(StartFailure) -> ConnectPhone {
        let memory = try memory(number)
        let (key, identity) = try await keys(in: memory)
        let sockets: SwitchableSockets
        do throws(WebSocketFailure) {
            let trust = trust.map(WebSocketClient.Trust.file) ?? .system
            sockets = SwitchableSockets(try WebSocketClient(trust: trust, allowsPlain: true))
        } catch { throw .usage("--trust: \(error)") }
        let relay = try connection(to: address, identity, sockets, memory)
        Output.line("\(label)Wallet    \(key.address.checksummed)")
        let isVerbose = verbose
        do throws(StorageFailure) {
            let client = try await SignClient(metadata: ConnectWallet.metadata, relay: relay, storage: memory)
            let wallet = ConnectWallet(
                script: script,
                key: key,
                client: client,
                network: sockets,
                onDeath: { kill(getpid(), SIGKILL) },
                log: { event in
                    if case .note = event, !isVerbose { return }
                    Output.line(label + event.description)
                }
            )
            return ConnectPhone(wallet: wallet, relay: relay, label: label)
        } catch { throw .state(error.reason) }
    }

    private func memory(_ number: Int) throws(StartFailure) -> ConnectWalletMemory {
        let path = state.map { number == 1 ? $0 : "\($0).\(number)" }
        do throws(StateFileError) {
            return try ConnectWalletMemory(try path.map { path throws(StateFileError) in try PhoneStateFile(path) })
        } catch { throw .state("\(error)") }
    }

    /// The wallet's own key and the one it shows to relays: the given, the kept, or fresh ones.
    private func keys(in memory: ConnectWalletMemory) async throws(StartFailure) -> (PrivateKey, RelayIdentity) {
        let given = (try? privateKey()) ?? nil
        do throws(StorageFailure) {
            let seed = try await memory.secret("relay/identity") { RelayIdentity().seed }
            let kept = try await memory.secret("wallet/key") { Array((given ?? PrivateKey()).exportSecret().utf8) }
            if let key = given ?? (try? PrivateKey(parsing: String(decoding: kept, as: UTF8.self))),
                let identity = try? RelayIdentity(seed: seed)
            {
                return (key, identity)
            }
        } catch { throw .state(error.reason) }
        throw .state("its keys are damaged: delete it to start anew")
    }

    private func connection(
        to address: String,
        _ identity: RelayIdentity,
        _ sockets: SwitchableSockets,
        _ memory: ConnectWalletMemory
    ) throws(StartFailure) -> RelayClient {
        var settings = RelayClientSettings(url: address, projectID: projectID)
        settings.userAgent = "wc-2/till-sandbox-1.0.0/linux"
        do throws(RelaySettingsError) {
            return try RelayClient(
                settings: settings,
                identity: identity,
                sockets: sockets,
                memory: memory,
                clock: .system { SystemWallClock().nowMilliseconds }
            )
        } catch { throw .usage("'\(address)' is no relay's address") }
    }

    private func script() throws -> ConnectWalletScript {
        var script = ConnectWalletScript()
        guard !(reject && never), !(rejectRequests && neverSign) else {
            throw ValidationError("to decline and to do nothing are two different answers")
        }
        script.proposal = never ? .never : reject ? .no : .yes
        script.request = neverSign ? .never : rejectRequests ? .no : .yes
        script.proposalDelay = try Self.seconds(slow, "--slow")
        script.requestDelay = try Self.seconds(slowSign, "--slow-sign")
        script.chains = chain.compactMap { Blockchain(namespace: "eip155", reference: String($0)) }
        script.outages = try offlineAt.map { text in
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let step = ConnectWalletScript.Step(rawValue: parts[0]), let time = Double(parts[1])
            else { throw ValidationError("--offline-at is a step, a colon and seconds, for example asked:5") }
            return .init(at: step, for: try Self.seconds(time, "--offline-at"))
        }
        if let dieAt {
            guard let step = ConnectWalletScript.Step(rawValue: dieAt) else {
                throw ValidationError("--die-at is a step, for example approved")
            }
            script.diesAt = step
        }
        return script
    }

    /// Nil: a fresh one.
    private func privateKey() throws -> PrivateKey? {
        if key == "fresh" { return nil }
        do throws(PrivateKey.Failure) {
            return try PrivateKey(parsing: key.hasPrefix("0x") ? key : "0x" + key)
        } catch {
            throw ValidationError("--key is 64 hexadecimal digits, or 'fresh'")
        }
    }

    private static func seconds(_ seconds: Double, _ name: String) throws -> Duration {
        guard (0...86_400).contains(seconds) else { throw ValidationError("\(name) is 0 to 86400 seconds") }
        return .milliseconds(Int64(seconds * 1000))
    }

    private static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}

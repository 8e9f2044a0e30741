import Ethereum
import Foundation
import Journal
import StrictJSON
import Subprocess
import SystemPackage
import Terminal
import WalletConnect
import WebSocket

/// A payment's exchange without the money: pair, agree, ask, sign. The relay is a program of its own, and the terminal's side
/// keeps everything in a journal on the disk, as it does in a shop.
enum ExchangeBench {
    static let methods = ["eth_signTypedData_v4"]

    /// How long each part of one exchange took.
    struct Times: Sendable {
        /// From the wish for a code to a proposal in its mailbox.
        var code = Duration.zero
        /// From the scan to the proposal on the wallet's screen.
        var pair = Duration.zero
        /// From the approval to a session that both have.
        var settle = Duration.zero
        /// From the request to the wallet's screen.
        var request = Duration.zero
        /// From the wallet's signature to the terminal.
        var answer = Duration.zero
        /// From the scan to the signature. Without the customer's time.
        var total: Duration { pair + settle + request + answer }
    }

    static func run(payments count: Int) async throws {
        let times = try await withRelay([]) { url in
            try await withTerminal(url, .system) { dapp in
                var times: [Times] = []
                for _ in 0...count { times.append(try await exchange(dapp, url)) }
                return Array(times.dropFirst())  // The first warms up.
            }
        }
        let parts: [(String, KeyPath<Times, Duration>)] = [
            ("code: wish to mailbox", \.code), ("scan to proposal shown", \.pair),
            ("approval to settled session", \.settle), ("request to shown", \.request),
            ("signature to terminal", \.answer), ("pair to signed", \.total),
        ]
        for (name, part) in parts { report(name, times.map { $0[keyPath: part] }) }
    }

    static func report(_ name: String, _ times: [Duration]) {
        let sorted = times.map { $0 / .milliseconds(1) }.sorted()
        guard let last = sorted.last else { return }
        let slow = sorted.count > 20 ? sorted[sorted.count * 95 / 100] : last
        print(
            String(
                format: "%@: p50 %.2f ms, p95 %.2f ms, %d exchanges",
                name,
                sorted[sorted.count / 2],
                slow,
                sorted.count
            )
        )
    }

    /// One exchange with a fresh wallet, which is connected before the scan, as a wallet that was opened is.
    private static func exchange(_ dapp: SignClient, _ url: String) async throws -> Times {
        let key = PrivateKey()
        let relay = try client(url, .system, ShortRelayMemory(), RelayIdentity())
        let wallet = try await SignClient(metadata: metadata("Wallet"), relay: relay)
        let streams = wallet.streams
        let (proposals, requests) = (streams.sessionProposals, streams.sessionRequests)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await relay.run() }
            group.addTask { try await wallet.run() }
            for await state in streams.socketConnectionStatuses where state == .connected { break }
            defer { group.cancelAll() }
            var times = Times()
            let clock = ContinuousClock()
            var mark = clock.now
            func lap() -> Duration {
                defer { mark = clock.now }
                return clock.now - mark
            }
            let code = try await code(of: dapp)
            times.code = lap()
            try await wallet.pair(uri: code)
            guard let (proposal, _) = await first(of: proposals) else { throw BenchError.ended }
            times.pair = lap()
            let session = try await agree(dapp, wallet, proposal, key, code.topic)
            times.settle = lap()
            let (id, data) = try await ask(dapp, session)
            guard let (request, _) = await first(of: requests) else { throw BenchError.ended }
            times.request = lap()
            let signature = key.sign(data.digest).hexadecimal
            mark = clock.now
            async let sent: Void = wallet.respond(
                topic: request.topic,
                requestId: request.id,
                response: .response(.string(signature))
            )
            let answer = try await dapp.response(to: id, topic: session.topic)
            times.answer = lap()
            guard answer.result == .response(.string(signature)) else { throw BenchError.refused }
            try await sent
            try await dapp.disconnect(topic: session.topic)
            return times
        }
    }

    private static func agree(
        _ dapp: SignClient,
        _ wallet: SignClient,
        _ proposal: Session.Proposal,
        _ key: PrivateKey,
        _ pairing: Topic
    ) async throws -> Session {
        guard let account = Account("eip155:8453:\(key.address.checksummed)") else { throw BenchError.ended }
        let namespace = SessionNamespace(
            chains: [account.blockchain],
            accounts: [account],
            methods: methods,
            events: []
        )
        async let approved = wallet.approve(proposalId: proposal.id, namespaces: ["eip155": namespace])
        let session = try await dapp.session(pairing: pairing)
        _ = try await approved
        return session
    }

    private static func first<Value: Sendable>(of stream: AsyncStream<Value>) async -> Value? {
        for await value in stream { return value }
        return nil
    }

    // MARK: - The terminal's side

    static func code(of dapp: SignClient) async throws -> WalletConnectURI {
        guard let chain = Blockchain("eip155:8453") else { throw BenchError.ended }
        return try await dapp.connect(
            namespaces: ["eip155": ProposalNamespace(chains: [chain], methods: methods, events: [])]
        )
    }

    /// Asks the session's account for a transfer of 13.50 USDC.
    static func ask(_ dapp: SignClient, _ session: Session) async throws -> (RPCID, TypedData) {
        guard let account = session.accounts.first,
            let token = TokenCatalog.token(chainID: 8453, symbol: "USDC"),
            let domain = TransferAuthorization.Domain(of: token)
        else { throw BenchError.ended }
        let data = try TransferAuthorization(
            domain: domain,
            from: EthereumAddress(parsing: account.address),
            value: UInt256(13_500_000),
            validBefore: UInt256(4_000_000_000),
            nonce: keccak256(session.topic.text)
        ).typedData()
        let id = try await dapp.begin(
            Request(
                topic: session.topic,
                method: methods[0],
                params: .array([.string(account.address), .string(data.json)]),
                chainId: account.blockchain
            )
        )
        return (id, data)
    }

    /// A client whose memory is a journal in a folder that goes afterwards.
    static func withTerminal<Value: Sendable>(
        _ url: String,
        _ trust: WebSocketClient.Trust,
        _ body: (SignClient) async throws -> Value
    ) async throws -> Value {
        let folder = "\(NSTemporaryDirectory())/till-bench-connect-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }  // Of a benchmark: a rest does no harm.
        let key = try DeviceKey.loadOrCreate(at: folder + "/device.key")
        let journal = try Journal.open(directory: folder + "/journal", deviceKey: key)
        let relay = try client(url, trust, ConnectRelayMemory(journal: journal), RelayIdentity())
        let dapp = try await SignClient(
            metadata: metadata("Terminal"),
            relay: relay,
            storage: ConnectStore(journal: journal)
        )
        defer { try? journal.close() }  // Of a benchmark: nobody reads it again.
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await relay.run() }
            group.addTask { try await dapp.run() }
            defer { group.cancelAll() }
            for await state in dapp.streams.socketConnectionStatuses where state == .connected { break }
            return try await body(dapp)
        }
    }

    private static func metadata(_ name: String) -> AppMetadata {
        AppMetadata(name: name, description: "", url: "https://bench.invalid", icons: [])
    }

    private static func client(
        _ url: String,
        _ trust: WebSocketClient.Trust,
        _ memory: any RelayMemory,
        _ identity: RelayIdentity
    ) throws -> RelayClient {
        try RelayClient(
            settings: RelayClientSettings(url: url, projectID: nil),
            identity: identity,
            sockets: trust == .system ? systemSockets.get() : WebSocketClient(trust: trust),
            memory: memory,
            clock: .system { SystemWallClock().nowMilliseconds }
        )
    }

    /// One for all: each reads the system's authorities when it is made.
    private static let systemSockets = Result { () throws(WebSocketFailure) in try WebSocketClient(allowsPlain: true) }

    // MARK: - The relay

    /// Runs one as a program of its own.
    static func withRelay<Value: Sendable>(
        _ options: [String],
        _ body: @escaping @Sendable (String) async throws -> Value
    ) async throws -> Value {
        let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let result = try await Subprocess.run(
            .path(FilePath(folder.appending(path: "till-sandbox").path())),
            arguments: Arguments(["relay", "--rate-limit", "none"] + options),
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            guard let line = try await lines.next(), let json = try? ExactJSON(parsing: line),
                case .string(let url) = json.value(named: "url")
            else { throw BenchError.notReady }
            do {
                let value = try await body(url)
                try execution.send(signal: .kill)
                return value
            } catch {
                try? execution.send(signal: .kill)
                throw error
            }
        }
        return result.closureResult
    }
}

enum BenchError: Error { case notReady, refused, ended }

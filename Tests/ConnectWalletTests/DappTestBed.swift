import Ethereum
import FoundationEssentials
import Payments
import Sandbox
import StrictJSON
import TestSupport
import WalletConnect
import WebSocket

/// A test bed of wallets: a real relay in this process and a dapp connected to it, what a wallet meets at a terminal.
struct DappTestBed: Sendable {
    let url: String
    let dapp: SignClient

    static let base = ConnectFixture.chain("eip155:8453")
    static let methods = ["eth_signTypedData_v4", "eth_sendTransaction"]

    /// Runs both beside `body`.
    static func running<Value: Sendable>(
        overTLS: Bool = false,
        _ body: @Sendable @escaping (DappTestBed) async throws -> Value
    ) async throws -> Value {
        var configuration = RelayConfiguration()
        configuration.listen.threads = 1
        if overTLS {
            configuration.listen.certificate = .init(chainPath: certificate, keyPath: key)
        }
        let server = try await RelayServer(Relay(configuration, clock: .system))
        let client = try client(of: server.url)
        let dapp = try await SignClient(metadata: metadata, relay: client)
        return try await beside({ try await server.run() }) {
            try await beside({ await client.run() }) {
                try await beside({ try await dapp.run() }) {
                    try await body(DappTestBed(url: server.url, dapp: dapp))
                }
            }
        }
    }

    static let metadata = AppMetadata(name: "Dapp", description: "", url: "https://dapp.invalid", icons: [])

    /// A test's own authority; it signs itself. Made for the relay's tests.
    static let certificate = ConnectFixture.path("../RelayTests/Certificates/certificate.pem")
    private static let key = ConnectFixture.path("../RelayTests/Certificates/key.pem")

    static func client(of url: String, memory: any RelayMemory = ShortRelayMemory()) throws -> RelayClient {
        var settings = RelayClientSettings(url: url, projectID: String(repeating: "0", count: 32))
        settings.pauses = [.milliseconds(20)]
        return try RelayClient(
            settings: settings,
            identity: RelayIdentity(),
            sockets: try WebSocketClient(
                trust: url.hasPrefix("wss") ? .file(certificate) : .system,
                allowsPlain: true
            ),
            memory: memory,
            clock: .system { SystemWallClock().nowMilliseconds }
        )
    }

    /// A code whose proposal is in the mailbox.
    func code() async throws -> WalletConnectURI {
        try await dapp.connect(
            namespaces: [
                "eip155": ProposalNamespace(
                    chains: [Self.base, ConnectFixture.polygon],
                    methods: Self.methods,
                    events: []
                )
            ]
        )
    }

    /// Asks the session's first account on Base for a transfer of 13.50 USDC.
    /// - Returns: The request, and what it asks to be signed.
    func ask(_ session: Session, ttlSeconds: Int64 = 300) async throws -> (RPCID, TypedData, EthereumAddress) {
        try session.check(chain: Self.base, method: "eth_signTypedData_v4")
        guard let text = session.accounts.first(where: { $0.blockchain == Self.base })?.address else {
            throw CancellationError()
        }
        let account = try EthereumAddress(parsing: text)
        let data = try ConnectFixture.transfer(from: account)
        let id = try await dapp.begin(
            Request(
                topic: session.topic,
                method: "eth_signTypedData_v4",
                params: .array([.string(text), .string(data.json)]),
                chainId: Self.base,
                ttlSeconds: ttlSeconds
            )
        )
        return (id, data, account)
    }

    /// Asks, and takes the signature.
    /// - Returns: Whether the account's key made it.
    func isSigned(in session: Session) async throws -> Bool {
        let (id, data, account) = try await ask(session)
        let answer = try await dapp.response(to: id, topic: session.topic)
        guard case .response(.string(let text)) = answer.result else { return false }
        return try EthereumSignature(parsing: text).signer(of: data.digest) == account
    }
}

enum ConnectFixture {
    static let polygon = chain("eip155:137")

    static func chain(_ name: String) -> Blockchain {
        guard let chain = Blockchain(name) else { preconditionFailure("'\(name)' is no chain") }
        return chain
    }

    static func path(_ name: String) -> String {
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/" + name
    }

    static func transfer(from account: EthereumAddress) throws -> TypedData {
        guard let token = TokenCatalog.token(chainID: 8453, symbol: "USDC"),
            let domain = TransferAuthorization.Domain(of: token)
        else { throw CancellationError() }
        return try TransferAuthorization(
            domain: domain,
            from: account,
            value: UInt256(13_500_000),
            validBefore: UInt256(4_000_000_000),
            nonce: Bytes32(keccak256("one payment").bytes)
        ).typedData()
    }
}

/// Runs a wallet and what the dapp does with it. Whichever fails ends the other, and nobody waits long for who is gone.
func together<Wallet: Sendable, Dapp: Sendable>(
    _ wallet: @Sendable @escaping () async throws -> Wallet,
    _ dapp: @Sendable @escaping () async throws -> Dapp
) async throws -> (wallet: Wallet, dapp: Dapp) {
    try await withThrowingTaskGroup(of: (Wallet?, Dapp?).self) { group in
        group.addTask { (try await wallet(), nil) }
        group.addTask { (nil, try await dapp()) }
        defer { group.cancelAll() }
        var both: (Wallet?, Dapp?) = (nil, nil)
        for try await (one, other) in group {
            both = (one ?? both.0, other ?? both.1)
            if let wallet = both.0, let dapp = both.1 { return (wallet, dapp) }
            guard let wallet = both.0 else { continue }
            group.addTask {
                // Ends a wait that would never end, with the wallet's own words; a run that passes cancels it.
                try await Task.sleep(for: .seconds(20))
                throw Left(wallet: "\(wallet)")
            }
        }
        throw CancellationError()
    }
}

/// The wallet has ended, and the dapp still waits.
struct Left: Error { let wallet: String }

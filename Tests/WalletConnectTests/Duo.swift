import Testing

@testable import WalletConnect

/// A dapp's and a wallet's client with a relay between them, running while the test's body does.
struct Duo: Sendable {
    let hub: RelayHub
    let clock: TestClock
    let dapp: SignClient
    let wallet: SignClient

    static func run<Value: Sendable>(
        seed: UInt64 = 1,
        faults: RelayHub.Faults = .none,
        stores: (any KeyValueStore, any KeyValueStore)? = nil,
        hub: RelayHub? = nil,
        clock: TestClock = TestClock(),
        _ body: @escaping @Sendable (Duo) async throws -> Value
    ) async throws -> Value {
        let hub = hub ?? RelayHub(seed: seed, faults: faults)
        let dapp = try await SignClient(
            metadata: .terminal,
            relay: hub.port(1),
            storage: stores?.0 ?? TestStore(),
            clock: clock,
            random: TestRandom(seed: seed + UInt64(clock.nowMilliseconds))
        )
        let wallet = try await SignClient(
            metadata: .wallet,
            relay: hub.port(2),
            storage: stores?.1 ?? TestStore(),
            clock: clock,
            random: TestRandom(seed: seed + UInt64(clock.nowMilliseconds) + 500)
        )
        let duo = Duo(hub: hub, clock: clock, dapp: dapp, wallet: wallet)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            for client in [dapp, wallet] {
                group.addTask {
                    try await client.run()
                    return nil
                }
            }
            group.addTask { try await body(duo) }
            defer { group.cancelAll() }
            while let value = try await group.next() { if let value { return value } }
            throw SignError.stopped
        }
    }

    /// Lets a second pass and the relay deliver what it held back.
    func beat(seconds: Int64 = 1) async {
        await clock.advance(seconds: seconds, clients: 2)
        hub.settle()
    }

    /// Up to a session, on a relay without faults.
    func settle() async throws -> (dapp: Session, wallet: Session) {
        var proposals = wallet.streams.sessionProposals.makeAsyncIterator()
        let uri = try await dapp.connect(namespaces: Example.wish())
        try await wallet.pair(uri: uri)
        let proposal = try #require(await proposals.next()).proposal
        let approved = try await wallet.approve(proposalId: proposal.id, namespaces: Example.grant())
        return (try await dapp.session(pairing: uri.topic), approved)
    }

    func sign(_ topic: Topic) throws -> Request {
        Request(
            topic: topic,
            method: "personal_sign",
            params: .strings(["0x6869", Example.address]),
            chainId: try .example("eip155:1")
        )
    }
}

import Ethereum
import Locks
import Payments
import StrictJSON
import Terminal
import TerminalTestSupport
import TestSupport
import WalletConnect
import WebSocket

/// A customer's wallet that knows nothing of payment links: the library's responder, with a customer who does as told.
final class Wallet: Sendable {
    struct Habits: Sendable {
        var approves = true
        /// Networks that it has accounts on.
        var chains = [1, 8453]
        var methods = ["eth_signTypedData_v4", "eth_sendTransaction", "personal_sign"]
        /// Nil: the customer looks at the request and does nothing.
        var signs: Bool? = true
        /// Answers with this in place of a signature.
        var answer: String?
        /// Signs with this in place of its own key.
        var strangersKey: PrivateKey?
    }

    /// What is on the phone while the wallet is closed.
    struct Phone: Sendable {
        var key = PrivateKey()
        var store: any KeyValueStore = MemoryStore()
        let memory = ShortRelayMemory()
        let identity = RelayIdentity()
    }

    let key: PrivateKey
    private let stored: Mutex<Habits>
    private let heard = Mutex<[String]>([])
    let client: SignClient
    private let relay: RelayClient
    private let time: ManualClock

    /// - Parameters:
    ///   - phone: What the wallet remembers, to be the same one after it was closed.
    ///   - behind: How far its clock is behind.
    init(
        _ relay: LiveRelay,
        clock: ManualClock,
        phone: Phone = Phone(),
        behind: Duration = .zero,
        _ change: (inout Habits) -> Void = { _ in }
    ) async throws {
        (key, time) = (phone.key, clock)
        var habits = Habits()
        change(&habits)
        stored = Mutex(habits)
        var settings = RelayClientSettings(
            url: "ws://\(relay.host)",
            projectID: "0123456789abcdef0123456789abcdef"
        )
        settings.pauses = [.milliseconds(100)]
        let terminalClock = clock.terminalClock
        self.relay = try RelayClient(
            settings: settings,
            identity: phone.identity,
            sockets: try ConnectTestBed.plain.get(),
            memory: phone.memory,
            clock: RelayClock(
                elapsed: terminalClock.elapsed,
                wallMilliseconds: { terminalClock.wallTime().millisecondsSince1970 },
                sleep: terminalClock.sleep,
                random: { UInt64.random(in: .min ... .max) }
            )
        )
        client = try await SignClient(
            metadata: AppMetadata(name: "Test Wallet", description: "", url: "https://wallet.example", icons: []),
            relay: self.relay,
            storage: phone.store,
            clock: Watch(clock: terminalClock, behind: behind)
        )
    }

    struct Watch: WallClock {
        let clock: TerminalClock
        let behind: Duration
        var nowMilliseconds: Int64 { clock.wallTime().advanced(by: .zero - behind).millisecondsSince1970 }
        func sleep(for duration: Duration) async throws { try await clock.sleep(duration) }
    }

    var habits: Habits {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
    /// `proposal`, `session`, `request`, `rejected`, `signed`, `end`, `late`.
    var events: [String] { heard.withLock { $0 } }
    func count(_ event: String) -> Int { events.count { $0 == event } }
    private func note(_ event: String) { heard.withLock { $0.append(event) } }

    func scan(_ uri: String) async throws { try await time.passing { try await self.client.pair(scanned: uri) } }

    /// Runs it beside `body`.
    func online(_ body: @Sendable @escaping () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            let (proposals, requests, ends) = (
                client.streams.sessionProposals, client.streams.sessionRequests, client.streams.sessionDeletes
            )
            group.addTask { await self.relay.run() }
            group.addTask { try? await self.client.run() }
            group.addTask { for await (proposal, _) in proposals { await self.decide(proposal) } }
            group.addTask { for await (request, _) in requests { await self.answer(request) } }
            group.addTask { for await _ in ends { self.note("end") } }
            defer { group.cancelAll() }
            try await body()
        }
    }

    private func decide(_ proposal: Session.Proposal) async {
        note("proposal")
        note("from \(proposal.proposer.url)")
        let habits = habits
        guard habits.approves else {
            try? await client.rejectSession(proposalId: proposal.id, reason: .userRejected)
            return note("rejected")
        }
        let accounts = habits.chains.compactMap { Account("eip155:\($0):\(key.address.checksummed)") }
        let namespaces = [
            "eip155": SessionNamespace(
                chains: accounts.map(\.blockchain),
                accounts: accounts,
                methods: habits.methods,
                events: ["accountsChanged", "chainChanged"]
            )
        ]
        do {
            _ = try await client.approve(proposalId: proposal.id, namespaces: namespaces)
            note("session")
        } catch { note("session failed: \(error)") }
    }

    private func answer(_ request: Request) async {
        note("request")
        guard let signs = habits.signs else { return }
        await decide(request, signs: signs)
    }

    /// The customer comes back to a request.
    func respond(_ request: Request, signs: Bool) async throws {
        try await time.passing { await self.decide(request, signs: signs) }
    }

    private func decide(_ request: Request, signs: Bool) async {
        let result: RPCResult =
            signs ? .response(.string(habits.answer ?? signature(request))) : .error(.userRejectedRequest)
        do {
            try await time.passing {
                try await self.client.respond(topic: request.topic, requestId: request.id, response: result)
            }
            note(signs ? "signed" : "rejected")
        } catch { note("late") }
    }

    func signature(_ request: Request) -> String {
        guard request.method == "eth_signTypedData_v4", case .array(let parts) = request.params, parts.count == 2 else {
            return keccak256(request.params.text).hexadecimal
        }
        let data: TypedData? =
            if case .string(let text) = parts[1] { try? TypedData(json: text) } else { try? TypedData(parts[1]) }
        guard let data else { return "0x" }
        return (habits.strangersKey ?? key).sign(data.digest).hexadecimal
    }
}

/// A phone's storage that lets go of no session: what ends one is not heard, as with a phone that is just away.
struct ClingingStore: KeyValueStore {
    private let memory: MemoryStore

    init(_ memory: MemoryStore = MemoryStore()) { self.memory = memory }

    func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue] {
        await Task.yield()
        return try await memory.values(prefix: prefix)
    }

    func apply(_ changes: [StorageChange]) async throws(StorageFailure) {
        await Task.yield()
        for case .remove(let name) in changes where name.hasPrefix("wc2/session/") {
            throw StorageFailure(reason: "it clings to its sessions")
        }
        try await memory.apply(changes)
    }
}

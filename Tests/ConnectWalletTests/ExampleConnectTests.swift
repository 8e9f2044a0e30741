import Subprocess
import SystemPackage
import Testing
import TestSupport
import WalletConnect
import WebSocket

@Suite("The example wallet for sessions", .serialized, .timeLimit(.minutes(2)))
struct ExampleConnectTests {
    /// Runs it to its end. The code goes over its standard input, as any secret should.
    private static func run(_ relay: String, _ code: String) async throws -> (text: String, isDone: Bool) {
        let result = try await Subprocess.run(
            .path(FilePath(BuildFolder.program("till-example-connect"))),
            arguments: [relay],
            input: .string(code + "\n"),
            output: .string(limit: 1 << 16),
            error: .discarded
        )
        return (result.standardOutput, result.terminationStatus.isSuccess)
    }

    @Test func `It scans, agrees, signs and ends with the session`() async throws {
        try await DappTestBed.running { bed in
            let code = try await bed.code()
            let wallet = try await together {
                try await Self.run(bed.url, code.absoluteString)
            } _: {
                let session = try await bed.dapp.session(pairing: code.topic)
                #expect(Set(session.accounts.map(\.blockchain)) == [DappTestBed.base, ConnectFixture.polygon])
                #expect(session.namespaces["eip155"]?.methods == ["eth_signTypedData_v4"])
                #expect(try await bed.isSigned(in: session))
                try await bed.dapp.disconnect(topic: session.topic)
            }.wallet
            #expect(wallet.isDone && wallet.text.contains("Dapp at https://dapp.invalid asks for a session"))
            #expect(wallet.text.contains("Signed a eth_signTypedData_v4 on eip155:8453"))
            #expect(wallet.text.hasSuffix("The session is over\n"))
        }
    }

    @Test func `What it cannot serve it turns down, and the dapp hears why`() async throws {
        try await DappTestBed.running { bed in
            let wish = ProposalNamespace(
                chains: [ConnectFixture.chain("eip155:100")],
                methods: DappTestBed.methods,
                events: []
            )
            let code = try await bed.dapp.connect(namespaces: ["eip155": wish])
            let wallet = try await together {
                try await Self.run(bed.url, code.absoluteString)
            } _: {
                let failure = await #expect(throws: ProposalFailure.self) {
                    try await bed.dapp.session(pairing: code.topic)
                }
                guard case .rejected(let reason)? = failure?.cause else {
                    Issue.record("\(failure.debugDescription)")
                    return
                }
                #expect(reason.code == 5100 && !reason.isDecline)
            }.wallet
            #expect(!wallet.isDone && wallet.text.contains("Stopped: unsupported"))
        }
    }

    /// Mailboxes belong to the key: with a fresh one at each start nobody would be reached after a restart.
    @Test func `A client that is made anew is the same one to the relay`() async throws {
        let store = MemoryStore()
        func key() async throws -> [UInt8]? {
            _ = try await OnlineClient(metadata: DappTestBed.metadata, projectID: nil, storage: store)
            return try await store.values(prefix: "relay/").values.first?.bytes
        }
        let first = try await key()
        #expect(first?.count == 32)
        #expect(try await key() == first)
        try await store.apply([.set(name: "relay/identity", value: StoredValue([1, 2, 3]))])
        await #expect(throws: OnlineClient.Failure.storage(reason: "the key for the relay is damaged")) {
            try await key()
        }
        for address in ["http://relay.test", "relay.test", "wss://", "ws://relay.test", "ws://127.0.0.1@relay.test"] {
            await #expect(throws: OnlineClient.Failure.self, "\(address)") {
                _ = try await OnlineClient(metadata: DappTestBed.metadata, projectID: nil, relayURL: address)
            }
        }
    }

    @Test func `Whoever gives it an address that others could read is told so`() async throws {
        let wallet = try await Self.run("ws://relay.invalid", "wc:x@2")
        #expect(!wallet.isDone && wallet.text.contains("ws://, which is for this machine alone"))
    }
}

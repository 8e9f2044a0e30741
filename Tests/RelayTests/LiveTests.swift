import FoundationEssentials
import Payments
import Sandbox
import StrictJSON
import Testing
import WebSocket

@testable import WalletConnect

@Suite("Clients at a real relay", .serialized, .timeLimit(.minutes(3)))
struct LiveTests {
    private let topic = Topic.numbered(7)

    private func publication(_ message: String) -> RelayPublication {
        RelayPublication(topic: topic, message: message, tag: 1108, ttlSeconds: 300, prompt: true)
    }

    @Test func `What one sends the other gets, while connected and after being away`() async throws {
        try await LiveRelay.running { relay in
            let (dapp, wallet) = (try LiveClient(relay.server.url), try LiveClient(relay.server.url))
            try await dapp.running {
                try await dapp.connected()
                try await dapp.client.publishUntilConfirmed(publication("early"))
                try? await wallet.client.subscribe(topic: topic)
                try await wallet.running {
                    #expect(await wallet.take(1) == ["early"])
                    try await dapp.client.publish(publication("late"))
                    #expect(await wallet.take(1) == ["late"])
                }
            }
        }
    }

    @Test(arguments: [
        "publish:drop,when=before", "publish:drop", "publish:close=4010,when=before", "publish:close=1001",
        "publish:close=1013", "publish:error=TooManyRequests", "publish:error=Internal", "publish:stall=600",
        "publish:repeat=2", "publish:reorder", "push:drop", "push:close=4008", "push:repeat=3", "push:reorder",
        "ack:drop",
        "ack:close=4000", "subscribe:drop", "subscribe:close=1011", "subscribe:error=Internal", "fetch:drop",
        "fetch:error=InvalidMethod", "connect:refuse=503",
    ])
    func `Whatever breaks at whichever call, each message arrives and none twice`(fault: String) async throws {
        for call in 1...2 {
            try await LiveRelay.running { configuration in
                configuration.resendAfter = .milliseconds(300)
                configuration.faults = (try? [RelayFault(parsing: fault + ",from=\(call),times=1")]) ?? []
            } _: { relay in
                #expect(relay.relay.configuration.faults.count == 1)
                let (dapp, wallet) = (
                    try LiveClient(relay.server.url) { $0.deadline = .milliseconds(400) },
                    try LiveClient(relay.server.url) { $0.deadline = .milliseconds(400) }
                )
                try? await wallet.client.subscribe(topic: topic)
                try await dapp.running {
                    try await wallet.running {
                        let sent = (0..<5).map { "\(fault) \(call) \($0)" }
                        try await withThrowingDiscardingTaskGroup { group in
                            group.addTask {
                                for text in sent { try await dapp.client.publishUntilConfirmed(publication(text)) }
                            }
                            #expect(Set(await wallet.take(5)) == Set(sent))
                        }
                        // A sixth would have come by now: the mailbox has been asked again.
                        try? await wallet.client.subscribe(topic: topic)
                        #expect(await wallet.client.status.counts.received == 5)
                    }
                }
            }
        }
    }

    @Test(arguments: [1000 as UInt16, 1001, 1011, 1012, 1013, 4000, 4008, 4010])
    func `A client comes back after close code`(code: UInt16) async throws {
        try await LiveRelay.running {
            $0.controlToken = "t"
        } _: { relay in
            let client = try LiveClient(relay.server.url)
            try await client.running {
                try await client.connected()
                // The client may know of the connection before the relay has it in its list.
                try await until { await !relay.relay.openSessions.isEmpty }
                for session in await relay.relay.openSessions { await relay.relay.closeOnDemand(session, code) }
                try await until { await client.client.status.counts.connections >= 2 }
                try await client.connected()
            }
        }
    }

    @Test func `A client that is told 3000 stays away and says why`() async throws {
        try await LiveRelay.running { relay in
            let client = try LiveClient(relay.server.url)
            try await client.running {
                try await client.connected()
                try await until { await !relay.relay.openSessions.isEmpty }
                for session in await relay.relay.openSessions { await relay.relay.closeOnDemand(session, 3000) }
                try await until { await client.client.status.link.isStopped }
                #expect(await client.client.status.link.trouble?.reason.contains("3000") == true)
            }
        }
    }

    @Test func `An unknown project is refused, and the client says so and stops`() async throws {
        try await LiveRelay.running {
            $0.projects = ["another"]
        } _: { relay in
            let client = try LiveClient(relay.server.url)
            try await client.running {
                try await until { await client.client.status.link.isStopped }
                #expect(await client.client.status.link.trouble?.reason.contains("401") == true)
            }
        }
    }

    @Test func `A message that storage refuses once arrives the second time`() async throws {
        try await LiveRelay.running {
            $0.resendAfter = .milliseconds(200)
        } _: { relay in
            let memory = BrittleMemory()
            await memory.fail(times: 1)
            let (dapp, wallet) = (try LiveClient(relay.server.url), try LiveClient(relay.server.url, memory: memory))
            try? await wallet.client.subscribe(topic: topic)
            try await dapp.running {
                try await wallet.running {
                    try await dapp.client.publishUntilConfirmed(publication("one"))
                    #expect(await wallet.take(2) == ["one", "one"])
                    #expect(await memory.remembered == 1)
                    try await until { await relay.relay.acknowledgedCount == 1 }
                }
            }
        }
    }

    @Test func `wss is served, and only to who trusts its certificate`() async throws {
        let certificate = Vector.path("Certificates/certificate.pem")
        try await LiveRelay.running {
            $0.listen.certificate = .init(chainPath: certificate, keyPath: Vector.path("Certificates/key.pem"))
        } _: { relay in
            #expect(relay.server.url.hasPrefix("wss://127.0.0.1:"))
            let trusting = try WebSocketClient(trust: .file(certificate))
            for host in ["127.0.0.1", "localhost"] {
                let client = try LiveClient("wss://\(host):\(relay.server.port)", sockets: trusting) {
                    $0.deadline = .seconds(5)
                }
                try await client.running { try await client.connected() }
            }
            let other = try WebSocketClient(trust: .file(Vector.path("Certificates/other.pem")))
            let doubtful = try LiveClient(relay.server.url, sockets: other) { $0.deadline = .seconds(5) }
            try await doubtful.running {
                try await until { await doubtful.client.status.link.trouble != nil }
                guard case .blocked = await doubtful.client.status.link.trouble else {
                    Issue.record("an untrusted certificate is \(await doubtful.client.status.link)")
                    return
                }
            }
        }
    }

    @Test func `Nobody there and no such name are told apart`() async throws {
        let port = try await LiveRelay.running { $0.server.port }
        let sockets = try LiveClient.plain.get()
        let refused = await #expect(throws: WebSocketFailure.self) {
            _ = try await sockets.connect(WebSocketRequest(url: "ws://127.0.0.1:\(port)", messageLimitBytes: 1000))
        }
        guard case .refused = refused else { throw Unexpected() }
        let unknown = await #expect(throws: WebSocketFailure.self) {
            _ = try await sockets.connect(WebSocketRequest(url: "ws://relay.invalid", messageLimitBytes: 1000))
        }
        guard case .noNetwork = unknown else { throw Unexpected() }
        let strict = try WebSocketClient()
        await #expect(throws: WebSocketFailure.address(reason: "ws:// is not allowed")) {
            _ = try await strict.connect(WebSocketRequest(url: "ws://127.0.0.1:\(port)", messageLimitBytes: 1000))
        }
    }

    struct Unexpected: Error {}
}

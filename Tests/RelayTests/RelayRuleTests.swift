import Payments
import StrictJSON
import Testing
import WebSocket

@testable import Sandbox
@testable import WalletConnect

@Suite("The relay's rules", .timeLimit(.minutes(1)))
struct RelayRuleTests {
    private let topic = Topic.numbered(3)

    private func token() throws -> WebSocketRequest.Header {
        let text = try RelayToken.signed(
            by: RelayIdentity(),
            subject: String(repeating: "0", count: 64),
            audience: "wss://relay.walletconnect.com",
            issuedAt: SandboxClock.system.now().secondsSince1970
        )
        return .init("Authorization", "Bearer " + text)
    }

    private func line(_ relay: LiveRelay) async throws -> any WebSocketLine {
        let sockets = try LiveClient.plain.get()
        return try await sockets.connect(
            WebSocketRequest(url: relay.server.url, headers: [try token()], messageLimitBytes: 4_194_304)
        )
    }

    private func answer(_ line: any WebSocketLine, _ text: String) async throws -> RelayFrame {
        try await line.send(text)
        while true {
            guard case .message(let bytes) = try await line.receive() else { continue }
            return try RelayFrame(parsing: bytes, limitBytes: 1 << 22)
        }
    }

    private func publish(_ message: String, ttl: String = "300", topic: String? = nil) -> String {
        #"{"id":1000000005,"jsonrpc":"2.0","method":"irn_publish","params":{"topic":"\#(topic ?? self.topic.text)","#
            + #""message":"\#(message)","ttl":\#(ttl),"tag":1108}}"#
    }

    private func refusal(_ line: any WebSocketLine, _ text: String) async throws -> String? {
        if case .failure(_, let error) = try await answer(line, text) { error.tag } else { nil }
    }

    @Test func `It says by name what it does not take`() async throws {
        try await LiveRelay.running {
            $0.messageLimitBytes = 1000
        } _: { relay in
            let line = try await line(relay)
            for (text, expected) in [
                (publish("m", ttl: "0"), "TtlTooShort"), (publish("m", ttl: "2592001"), "TtlTooLong"),
                (publish("m", topic: "short"), "InvalidTopic"), (publish(""), "InvalidParams"),
                (publish(String(repeating: "m", count: 1001)), "PayloadSizeExceeded"), ("no JSON", "Serialization"),
                (#"{"id":1000000005,"jsonrpc":"2.0","method":"irn_watchRegister","params":{}}"#, "InvalidMethod"),
                (publish("m").replacing("1000000005", with: "999999999"), "InvalidRequestId"),
                (publish("m").replacing("1000000005", with: "-1000000005"), "InvalidRequestId"),
                (publish("m").replacing("1000000005", with: "\"999999999\""), "InvalidRequestId"),
            ] { #expect(try await refusal(line, text) == expected) }
            #expect(try await refusal(line, publish(String(repeating: "m", count: 1000))) == nil)
            await line.close(code: 1000)
        }
    }

    @Test func `A frame beyond the limit ends its connection with 1009, and no other`() async throws {
        try await LiveRelay.running {
            $0.listen.messageLimitBytes = 100_000
        } _: { relay in
            let (bad, good) = (try await line(relay), try await line(relay))
            try? await bad.send(String(repeating: "x", count: 200_000))
            let failure = await #expect(throws: WebSocketFailure.self) {
                while true { _ = try await bad.receive() }
            }
            guard case .closed(let code, _) = failure else { throw Unexpected() }
            #expect(code == 1009)
            #expect(try await answer(good, publish("m")) == .result(RelayID(1_000_000_005), .bool(true)))
        }
    }

    @Test func `A message of a whole mebibyte goes through`() async throws {
        try await LiveRelay.running { _ in
        } _: { relay in
            let (dapp, wallet) = (
                try LiveClient(relay.server.url) { $0.deadline = .seconds(10) }, try LiveClient(relay.server.url)
            )
            try? await wallet.client.subscribe(topic: topic)
            try await dapp.running {
                try await wallet.running {
                    let message = String(repeating: "M", count: 1_048_576)
                    try await dapp.client.publishUntilConfirmed(
                        RelayPublication(topic: topic, message: message, tag: 1, ttlSeconds: 300, prompt: false)
                    )
                    #expect(await wallet.take(1) == [message])
                }
            }
        }
    }

    @Test func `A client that asks too often is told so, and others are not`() async throws {
        try await LiveRelay.running {
            $0.rateLimit = RateLimit(calls: 3, seconds: 60)
        } _: { relay in
            let (busy, calm) = (try await line(relay), try await line(relay))
            for number in 0..<3 { #expect(try await refusal(busy, publish("\(number)")) == nil) }
            #expect(try await refusal(busy, publish("4")) == "TooManyRequests")
            #expect(try await refusal(calm, publish("5")) == nil)
        }
    }

    @Test func `A full mailbox refuses, and makes room for who has been served`() async throws {
        var mailboxes = RelayMailboxes()
        let now = WallTime(millisecondsSince1970: 0)
        func letter(_ hash: String) -> RelayMailboxes.Letter {
            .init(
                topic: "t",
                hash: hash,
                message: "m",
                tag: 0,
                attestation: nil,
                sender: "s",
                publishedAt: now,
                expiresAt: now.advanced(by: .seconds(10))
            )
        }
        func keep(_ hash: String) -> RelayMailboxes.Outcome {
            mailboxes.keep(letter(hash), limit: (2, 100), totalBytes: 1000)
        }
        #expect(["a", "b", "a", "c"].map(keep) == [.kept, .kept, .known, .full])
        let isNews = mailboxes.take(.init(topic: "t", hash: "b"), by: "w")
        #expect(isNews)
        #expect(["c"].map(keep) == [.kept])
        #expect(mailboxes.waiting("t", for: "x").map(\.hash) == ["a", "c"])
        #expect(mailboxes.waiting("t", for: "s").isEmpty)
        let gone9 = mailboxes.expire(at: now.advanced(by: .seconds(9)))
        #expect(gone9 == 0)
        let gone10 = mailboxes.expire(at: now.advanced(by: .seconds(10)))
        #expect(gone10 == 2)
        #expect(mailboxes.byteCount == 0)
        #expect(mailboxes.topics.isEmpty)
    }

    @Test func `A long mailbox is fetched page by page`() async throws {
        try await LiveRelay.running {
            $0.rateLimit = nil
        } _: { relay in
            let (dapp, wallet) = (try await line(relay), try await line(relay))
            for number in 0..<250 { _ = try await answer(dapp, publish("m\(number)")) }
            let ask =
                #"{"id":1000000006,"jsonrpc":"2.0","method":"irn_fetchMessages","params":{"topic":"\#(topic.text)"}}"#
            var pages: [Int] = []
            var seen: Set<String> = []
            for _ in 0..<3 {
                guard case .result(_, let page) = try await answer(wallet, ask) else { throw Unexpected() }
                let texts = page.value(named: "messages")?.arrayValue?.compactMap { $0["message"]?.stringValue } ?? []
                pages.append(texts.count)
                seen.formUnion(texts)
                #expect(page.value(named: "hasMore") == .bool(pages.count < 3))
            }
            #expect(pages == [100, 100, 50])
            #expect(seen.count == 250)
        }
    }

    @Test func `A flood that reads no answers is held back and ends nobody else`() async throws {
        try await LiveRelay.running {
            $0.rateLimit = nil
        } _: { relay in
            let (flood, calm) = (try await line(relay), try await line(relay))
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    // It never receives. Sending stops to make progress, or the relay ends it.
                    for number in 0..<20_000 {
                        do { try await flood.send(publish("\(number % 10)", topic: "x")) } catch { return }
                    }
                }
                for number in 0..<20 {
                    let frame = try await answer(calm, publish("c\(number)"))
                    #expect(frame == .result(RelayID(1_000_000_005), .bool(true)))
                }
                await flood.close(code: 1000)
            }
        }
    }

    @Test func `A client that gives no sign of life is sent away with 4008`() async throws {
        let hand = HandClock()
        try await LiveRelay.running(clock: hand.sandbox) { _ in
        } _: { relay in
            let stamp = hand.sandbox.now().secondsSince1970
            let text = try RelayToken.signed(by: RelayIdentity(), subject: "s", audience: "a", issuedAt: stamp)
            let line = try await LiveClient.plain.get().connect(
                WebSocketRequest(
                    url: relay.server.url + "?auth=" + text,
                    messageLimitBytes: 1000
                )
            )
            try await until { await !relay.relay.openSessions.isEmpty }
            // The relay looks each second. The next one passes once it has, and sleeps again.
            for _ in 0..<31 {
                try await until { hand.sleepers.first == .seconds(1) }
                await hand.advance(.seconds(1))
            }
            #expect(try await line.receive() == .ping)
            try await until { hand.sleepers.first == .seconds(1) }
            await hand.advance(.seconds(200), step: .seconds(100))
            let failure = await #expect(throws: WebSocketFailure.self) { while true { _ = try await line.receive() } }
            #expect(failure == .closed(code: 4008, reason: "stale"))
        }
    }

    @Test(arguments: [
        "publish:drop", "push:close=4010,when=before,from=2,times=1", "connect:refuse=503", "ack:drop,times=3",
        "publish:die,when=before,from=3",
    ])
    func `A fault is read, and shown as it was read`(text: String) throws {
        let fault = try RelayFault(parsing: text)
        #expect(try RelayFault(fault.json) == fault)
    }

    @Test(arguments: [
        "publish", "publish:", "nowhere:drop", "publish:refuse=503", "connect:drop", "push:close=99", "push:drop,x=1",
        "publish:die=1", "connect:die",
    ])
    func `A fault that makes no sense is refused with words`(text: String) {
        let error = #expect(throws: FaultError.self) { try RelayFault(parsing: text) }
        #expect(error?.description.isEmpty == false)
    }

    @Test func `The state file is read as it was written`() throws {
        let name = RelayMailboxes.Name(topic: topic.text, hash: RelayRecord.hash("m"))
        for record: RelayRecord in [
            .kept(name, message: "m", tag: 1, attestation: nil, sender: "s", from: 1, until: 2), .taken(name, by: "w"),
            .kept(name, message: "m", tag: 1, attestation: "a", sender: "s", from: 1, until: 2),
            .subscribed("c", topic: "t"), .unsubscribed("c", topic: "t"),
        ] {
            #expect(RelayRecord(line: record.line) == record)
            #expect(RelayRecord(line: String(record.line.dropLast())) == nil)
        }
    }

    struct Unexpected: Error {}
}

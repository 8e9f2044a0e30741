import StrictJSON
import Testing
import TestSupport

@testable import WalletConnect

/// A client whose relay is the test.
struct ScriptedClient: Sendable {
    let sockets = ScriptedSockets()
    let executor = SimulationExecutor()
    let hand: HandClock
    let memory = BrittleMemory()
    let client: RelayClient

    init(_ change: (inout RelayClientSettings) -> Void = { _ in }) throws {
        var settings = RelayClientSettings(url: "wss://relay.test", projectID: "0123456789abcdef0123456789abcdef")
        change(&settings)
        hand = HandClock(executor)
        client = try RelayClient(
            settings: settings,
            identity: RelayIdentity(),
            sockets: sockets,
            memory: memory,
            clock: hand.clock
        )
    }

    /// Runs the client beside `body`, both on the one executor.
    func running<Value: Sendable>(_ body: @Sendable @escaping () async throws -> Value) async throws -> Value {
        try await withTaskExecutorPreference(executor) { try await beside({ await client.run() }, body) }
    }

    /// Runs the client, connected and with these topics subscribed, beside `body`.
    func connected<Value: Sendable>(
        _ topics: [Topic],
        _ body: @Sendable @escaping (ScriptedLine) async throws -> Value
    ) async throws -> Value {
        // Before it runs: remembered, and made with the connection.
        for topic in topics { try? await client.subscribe(topic: topic) }
        return try await running {
            let line = try await sockets.ready()
            try await line.settle(topics: topics.count)
            return try await body(line)
        }
    }
}

@Suite("The relay client", .timeLimit(.minutes(1)))
struct ClientTests {
    private let topic = Topic.numbered(1)

    @Test func `It subscribes before it asks what waits, so that nothing falls between`() async throws {
        let scripted = try ScriptedClient()
        try? await scripted.client.subscribe(topic: topic)
        try await scripted.running {
            let line = try await scripted.sockets.ready()
            let (first, call) = try await line.nextCall()
            #expect(call == .batchSubscribe(topics: [topic.text], partial: false))
            // It asks for nothing before the subscription is confirmed.
            #expect(line.fromClient.count == 0)
            line.say(.result(first, .array([.string("s")])))
            let (_, second) = try await line.nextCall()
            #expect(second == .fetch(topic: topic.text))
        }
    }

    @Test func `It shows its token, its project and its name when it connects`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.running {
            _ = try await scripted.sockets.ready()
            let request = try #require(await scripted.sockets.requests.take())
            #expect(
                request.url.hasPrefix("wss://relay.test/?projectId=0123456789abcdef0123456789abcdef&ua=wc-2%2Ftill")
            )
            let header = try #require(request.headers.first { $0.name == "Authorization" })
            let token = try RelayToken(
                checking: String(header.value.dropFirst(7)),
                now: scripted.hand.clock.wallMilliseconds() / 1000
            )
            #expect(token.audience == "wss://relay.test")
            #expect(token.subject.count == 64)
        }
    }

    @Test func `A message is acknowledged only after storage has taken it`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            line.push("one", topic, number: 11)
            var messages = scripted.client.messages.makeAsyncIterator()
            let message = try #require(await messages.next())
            #expect(message.message == "one")
            await scripted.hand.advance(.seconds(5))
            #expect(line.fromClient.count == 0)
            await scripted.client.acknowledge(message)
            #expect(try await line.nextAcknowledgement() == RelayID(11))
            #expect(await scripted.memory.remembered == 1)
        }
    }

    @Test func `What comes before its topic is asked for again is kept at the relay until it was taken`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.running {
            let line = try await scripted.sockets.ready()
            try await until { await scripted.client.status.link == .connected }
            // The relay remembers what this key subscribed to before a restart.
            line.push("early", topic, number: 11)
            line.push("for nobody", Topic.numbered(2), number: 12)
            try await until { await scripted.client.connection?.strays.count == 2 }
            async let subscribed: Void = scripted.client.subscribe(topic: topic)
            guard case .call(let first, .subscribe(topic.text)) = try await line.next() else {
                Issue.record("acknowledged before anybody took it")
                return
            }
            line.say(.result(first, .string("s")))
            try await subscribed
            let (second, fetch) = try await line.nextCall()
            #expect(fetch == .fetch(topic: topic.text))
            let parcel = RelayParcel(topic: topic.text, message: "early", publishedAt: 1, tag: 1)
            line.say(.mailbox(second, [parcel], hasMore: false))
            var messages = scripted.client.messages.makeAsyncIterator()
            let message = try #require(await messages.next())
            #expect(message.message == "early")
            await scripted.client.acknowledge(message)
            line.push("early", topic, number: 11)
            #expect(try await line.nextAcknowledgement() == RelayID(11))
            // What nobody asks for must not hold up the rest for ever.
            for _ in 0..<4 {
                await scripted.hand.advance(.seconds(10))
                line.say(.pong)
            }
            #expect(try await line.nextAcknowledgement() == RelayID(12))
        }
    }

    @Test func `What storage did not take is not acknowledged and comes again`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            await scripted.memory.fail(times: 1)
            var messages = scripted.client.messages.makeAsyncIterator()
            line.push("one", topic, number: 11)
            await scripted.client.acknowledge(try #require(await messages.next()))
            #expect(await scripted.client.status.counts.unstored == 1)
            // It asks for it again by itself.
            await scripted.hand.advance(.seconds(7))
            let (id, call) = try await line.nextCall()
            #expect(call == .fetch(topic: topic.text))
            line.say(
                .mailbox(id, [RelayParcel(topic: topic.text, message: "one", publishedAt: 1, tag: 1)], hasMore: false)
            )
            let again = try #require(await messages.next())
            #expect(again.message == "one")
            line.push("one", topic, number: 12)
            try await until { await scripted.client.status.counts.duplicates == 1 }
            await scripted.client.acknowledge(again)
            #expect(try await line.nextAcknowledgement() == RelayID(12))
        }
    }

    @Test func `A message that nobody acknowledged is handed on again after half a minute`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            var messages = scripted.client.messages.makeAsyncIterator()
            line.push("one", topic, number: 11)
            _ = await messages.next()
            line.push("one", topic, number: 11)
            try await until { await scripted.client.status.counts.duplicates == 1 }
            for _ in 0..<3 {
                await scripted.hand.advance(.seconds(10))
                line.say(.pong)
            }
            line.push("one", topic, number: 11)
            #expect(await messages.next()?.message == "one")
            #expect(await scripted.client.status.counts.received == 2)
        }
    }

    @Test func `Copies are handed on once and acknowledged each`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            var messages = scripted.client.messages.makeAsyncIterator()
            for number: UInt64 in [1, 2, 2, 3] { line.push("one", topic, number: number) }
            let message = try #require(await messages.next())
            try await until { await scripted.client.status.counts.duplicates == 3 }
            await scripted.client.acknowledge(message)
            var acknowledged: Set<RelayID> = []
            for _ in 0..<3 { acknowledged.insert(try await line.nextAcknowledgement()) }
            #expect(acknowledged == [RelayID(1), RelayID(2), RelayID(3)])
            // Later copies meet the memory.
            line.push("one", topic, number: 4)
            #expect(try await line.nextAcknowledgement() == RelayID(4))
            #expect(await scripted.client.status.counts.received == 1)
        }
    }

    @Test func `An acknowledgement never goes to another connection than its message came from`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { first in
            var messages = scripted.client.messages.makeAsyncIterator()
            first.push("one", topic, number: 11)
            let message = try #require(await messages.next())
            first.end(.closed(code: 1001, reason: ""))
            try await until {
                await scripted.hand.advance(.seconds(1))
                return scripted.sockets.opened.count > 0
            }
            let second = try await scripted.sockets.ready()
            try await second.settle(topics: 1)
            await scripted.client.acknowledge(message)
            second.push("two", topic, number: 12)
            let next = try #require(await messages.next())
            await scripted.client.acknowledge(next)
            #expect(try await second.nextAcknowledgement() == RelayID(12))
        }
    }

    @Test func `What it sent itself does not come back to it`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    try await scripted.client.publish(
                        topic: topic,
                        message: "own",
                        tag: 1100,
                        ttlSeconds: 300,
                        prompt: true
                    )
                }
                let (id, call) = try await line.nextCall()
                let post = RelayPost(topic: topic.text, message: "own", ttlSeconds: 300, tag: 1100, prompt: true)
                #expect(call == .publish(post))
                line.push("own", topic, number: 5)
                #expect(try await line.nextAcknowledgement() == RelayID(5))
                line.say(.result(id, .bool(true)))
            }
            #expect(await scripted.client.status.counts.received == 0)
            #expect(await scripted.client.status.counts.published == 1)
        }
    }

    @Test func `Silence after a publication is said after ten seconds, and the next attempt has the same text`()
        async throws
    {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    let publication = RelayPublication(
                        topic: topic,
                        message: "pay",
                        tag: 1108,
                        ttlSeconds: 300,
                        prompt: true
                    )
                    try await scripted.client.publishUntilConfirmed(publication)
                }
                let (first, call) = try await line.nextCall()
                await scripted.hand.advance(.seconds(9))
                #expect(line.fromClient.count == 0)
                line.say(.pong)
                await scripted.hand.advance(.seconds(3))
                let (second, again) = try await line.nextCall()
                #expect(call == again)
                #expect(first != second)
                line.say(.result(second, .bool(true)))
            }
            #expect(await scripted.client.status.counts.timeouts == 1)
            #expect(await scripted.client.status.counts.republished == 1)
        }
    }

    @Test func `A publication is tried no longer than it would be kept`() async throws {
        let scripted = try ScriptedClient()
        let publication = RelayPublication(topic: topic, message: "pay", tag: 1108, ttlSeconds: 30, prompt: true)
        let ended = Line<Bool>()
        try await withTaskExecutorPreference(scripted.executor) {
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    await #expect(throws: RelayFailure.notConnected) {
                        try await scripted.client.publishUntilConfirmed(publication)
                    }
                    ended.put(true)
                }
                try await until {
                    await scripted.hand.advance(.seconds(1))
                    return ended.count == 1
                }
            }
        }
        #expect(scripted.hand.clock.elapsed() <= .seconds(31))
    }

    @Test func `A refused publication is not repeated`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    await #expect(throws: RelayFailure.refused(code: -32000, reason: "TtlTooLong")) {
                        try await scripted.client.publishUntilConfirmed(
                            RelayPublication(topic: topic, message: "pay", tag: 1, ttlSeconds: 1 << 30, prompt: false)
                        )
                    }
                }
                let (id, _) = try await line.nextCall()
                line.say(.failure(id, .handler("TtlTooLong", "")))
            }
        }
    }

    @Test func `No more requests are under way than allowed, and the others follow`() async throws {
        let scripted = try ScriptedClient { $0.outstandingLimit = 4 }
        try await scripted.connected([topic]) { line in
            try await withThrowingDiscardingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        try await scripted.client.publish(
                            topic: topic,
                            message: "m\(number)",
                            tag: 1,
                            ttlSeconds: 300,
                            prompt: false
                        )
                    }
                }
                try await until { await scripted.client.status.outstanding == 20 }
                try await until { line.fromClient.count == 4 }
                for _ in 0..<20 {
                    #expect(line.fromClient.count <= 4)
                    line.say(.result(try await line.nextCall().0, .bool(true)))
                }
            }
            #expect(await scripted.client.status.outstanding == 0)
        }
    }

    @Test func `A flood is taken as far as there is room, and the rest is asked for again`() async throws {
        let scripted = try ScriptedClient { $0.unstoredLimit = 8 }
        try await scripted.connected([topic]) { line in
            for number in 0..<100 { line.push("m\(number)", topic, number: UInt64(number) + 1) }
            try await until { await scripted.client.status.counts.overflowed == 92 }
            #expect(await scripted.client.status.unstored == 8)
            #expect(line.fromClient.count == 0)
            var messages = scripted.client.messages.makeAsyncIterator()
            for _ in 0..<8 { await scripted.client.acknowledge(try #require(await messages.next())) }
            for _ in 0..<8 { _ = try await line.nextAcknowledgement() }
            await scripted.hand.advance(.seconds(7))
            #expect(try await line.nextCall().1 == .fetch(topic: topic.text))
        }
    }

    @Test func `Nonsense is counted, and a relay that sends nothing else is left`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            for _ in 0..<100 { line.say("nonsense") }
            _ = try #require(await line.closed.take())
            #expect(await scripted.client.status.counts.malformed == 100)
        }
    }

    @Test func `A quiet relay is asked for a sign of life, and left when it gives none`() async throws {
        let scripted = try ScriptedClient()
        try await scripted.connected([topic]) { line in
            await scripted.hand.advance(.seconds(14))
            #expect(line.pings.count == 0)
            await scripted.hand.advance(.seconds(2))
            #expect(line.pings.count == 1)
            line.say(.pong)
            await scripted.hand.advance(.seconds(16))
            #expect(line.pings.count == 2)
            #expect(line.closed.count == 0)
            await scripted.hand.advance(.seconds(15))
            #expect(line.closed.count == 1)
            let status = await scripted.client.status
            #expect([.connecting, .connected].contains(status.link) || status.link.trouble == .silent)
        }
    }

    @Test func `Everything is subscribed again after a break`() async throws {
        let scripted = try ScriptedClient()
        let topics = (1...700).map(Topic.numbered)
        try await scripted.connected(topics) { line in
            line.end(.closed(code: 1006, reason: ""))
            try await until {
                await scripted.hand.advance(.seconds(1))
                return scripted.sockets.opened.count > 0
            }
            let again = try await scripted.sockets.ready()
            var seen: Set<String> = []
            while seen.count < 700 {
                guard case (let id, .batchSubscribe(let batch, _)) = try await again.nextCall() else { continue }
                #expect(batch.count <= 500)
                seen.formUnion(batch)
                again.say(.result(id, .array(batch.map { _ in .string("s") })))
            }
            #expect(seen == Set(topics.map(\.text)))
        }
    }

    @Test func `A refused key is tried again only when someone asks, or after five minutes`() async throws {
        let scripted = try ScriptedClient()
        for _ in 0..<2 { scripted.sockets.failures.put(.rejected(status: 401)) }
        try await scripted.running {
            try await until { await scripted.client.status.link.isStopped }
            await scripted.hand.advance(.seconds(140), step: .seconds(20))
            #expect(scripted.sockets.requests.count == 1)
            await scripted.client.restart()
            try await until { scripted.sockets.requests.count == 2 }
            try await until { await scripted.client.status.link.isStopped }
            // Chance picks the moment, and a relay that answers nothing would be left again before five minutes are over.
            var waited = Duration.zero
            while waited < .seconds(300), scripted.sockets.requests.count == 2 {
                await scripted.hand.advance(.seconds(5), step: .seconds(5))
                waited += .seconds(5)
            }
            _ = try await scripted.sockets.ready()
            #expect(scripted.sockets.requests.count == 3)
            #expect(waited >= .seconds(150))
        }
    }

    @Test func `Pauses grow to five seconds, and chance spreads them`() async throws {
        let scripted = try ScriptedClient()
        for _ in 0..<8 { scripted.sockets.failures.put(.refused(reason: "")) }
        let pauses = try await scripted.running {
            var pauses: [Duration] = []
            while pauses.count < 8 {
                if case .waiting(_, let pause) = await scripted.client.status.link, pauses.last != pause {
                    pauses.append(pause)
                }
                await scripted.hand.advance(.milliseconds(50), step: .milliseconds(50))
            }
            return pauses
        }
        let longest: [Duration] = [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(5)]
        for (index, pause) in pauses.enumerated() {
            let limit = longest[min(index, 4)]
            #expect(pause >= limit / 2 && pause <= limit, "pause \(index)")
        }
        #expect(Set(pauses.suffix(4)).count > 1)
    }

    @Test(arguments: [
        (1000 as UInt16, RelayTrouble.Next.retryAtOnce), (1001, .retryAtOnce), (1002, .retry), (1003, .retry),
        (1005, .retry), (1006, .retry), (1007, .retry), (1008, .retry), (1009, .retry), (1010, .retry), (1011, .retry),
        (1012, .retryAtOnce), (1013, .backOff), (1014, .retry), (1015, .retry), (3000, .stop), (3001, .backOff),
        (3003, .stop), (4000, .backOff), (4008, .retryAtOnce), (4010, .retryAtOnce), (4029, .backOff), (4999, .backOff),
    ])
    func `Each close code has its next step and words for it`(code: UInt16, next: RelayTrouble.Next) {
        let trouble = RelayTrouble(.closed(code: code, reason: "because"))
        #expect(trouble.next == next)
        #expect(trouble.reason.contains(String(code)) || trouble.reason.contains("TLS"))
    }

    @Test func `Every close code there is has a next step`() {
        for code in UInt16.min ... .max { #expect(!RelayTrouble(.closed(code: code, reason: "")).reason.isEmpty) }
    }

    @Test func `No internet, refused and blocked are told apart`() {
        #expect(RelayTrouble(.noNetwork(reason: "")) == .noInternet)
        #expect(RelayTrouble(.refused(reason: "")) == .refused)
        #expect(RelayTrouble(.rejected(status: 302)).reason.contains("portal"))
        #expect(RelayTrouble(.rejected(status: 451)).next == .retry)
        #expect(RelayTrouble(.rejected(status: 403)).next == .stop)
        #expect(RelayTrouble(.rejected(status: 503)).next == .backOff)
    }

    @Test(arguments: ["http://a", "wss://", "wss:///x", "wss://a?b", "wss://a#b", "wss://u@a", "ws://a b", ""])
    func `An address that is none is refused at once`(url: String) {
        #expect(throws: RelaySettingsError.url) {
            try RelayClient(
                settings: .init(url: url, projectID: nil),
                identity: RelayIdentity(),
                sockets: ScriptedSockets(),
                memory: ShortRelayMemory(),
                clock: HandClock().clock
            )
        }
    }
}

extension RelayLink {
    var isStopped: Bool { if case .stopped = self { true } else { false } }

    var trouble: RelayTrouble? {
        switch self {
        case .waiting(let trouble, _), .stopped(let trouble): trouble
        default: nil
        }
    }
}

import Locks
import Testing

@testable import WebServer

/// What hundreds of pages hear at once.
struct EventHubTests {
    /// A listener without a network: as if it were asleep whenever it is given something, or never.
    private final class Ear: EventTaker {
        private let state = Mutex((heard: [String](), isOver: false))
        private let sleeps: Bool

        init(sleeps: Bool = false) { self.sleeps = sleeps }

        func take(_ bytes: [UInt8], number: Int) -> Bool {
            state.withLock { $0.heard.append(String(decoding: bytes, as: UTF8.self)) }
            return sleeps
        }

        func end() { state.withLock { $0.isOver = true } }
        var heard: [String] { state.withLock { $0.heard } }
        var isOver: Bool { state.withLock { $0.isOver } }
    }

    private func event(_ number: Int) -> ServerSentEvent { ServerSentEvent(data: "\(number)") }
    private func text(_ number: Int) -> String { "data: \(number)\n\n" }

    /// Serves the hub's events at `/events`, to those who are `welcome`.
    private func withHub(
        welcome: @escaping @Sendable () -> Bool = { true },
        _ change: (inout WebServer.Configuration) -> Void = { _ in },
        _ body: (WebServer, EventHub, AsyncStream<Void>) async throws -> Void
    ) async throws {
        let (comings, coming) = AsyncStream<Void>.makeStream()
        let hub = EventHub(came: { coming.yield() })
        let handler: WebHandler = { request in
            .now(request.path == "/events" ? .events(of: hub, while: welcome) : .text("quick"))
        }
        try await withServer(change, handler: handler) { server in try await body(server, hub, comings) }
        #expect(hub.count == 0, "a server that has stopped leaves no listener behind")
    }

    private func listener(_ server: WebServer) async throws -> RawClient {
        let client = try RawClient(server)
        try await client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
        return client
    }

    @Test func manyListenersHearEachEventInItsOrder() async throws {
        try await withHub({ $0.limits.eventStreams = 20 }) { server, hub, comings in
            var coming = comings.makeAsyncIterator()
            var clients: [RawClient] = []
            for _ in 0..<20 {
                clients.append(try await listener(server))
                _ = await coming.next()
            }
            for number in 1...5 {
                hub.publish(event(number))
                for client in clients { try await client.expect(text(number)) }
            }
            #expect(try await RawClient(server).get("/").text == "quick")
        }
    }

    @Test func whoComesLaterHearsTheStateNowAndTheOthersHearNothingTwice() async throws {
        try await withHub { server, hub, comings in
            var coming = comings.makeAsyncIterator()
            let first = try await listener(server)
            _ = await coming.next()
            hub.publish(event(1))
            try await first.expect(text(1))
            let second = try await listener(server)
            _ = await coming.next()
            hub.publish(event(2), to: .newcomers)
            try await second.expect(text(2))
            hub.publish(event(3))
            try await second.expect(text(3))
            let heard = try await first.until(text(3))
            #expect(!heard.contains(text(2)))
        }
    }

    @Test func aListenerThatStopsReadingIsCutAndDelaysNobody() async throws {
        try await withHub({ $0.limits.eventBacklogBytes = 200_000 }) { server, hub, comings in
            var coming = comings.makeAsyncIterator()
            let (slow, other) = (try RawClient(server, receiveBuffer: 4096), try RawClient(server))
            try await slow.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await coming.next()
            let line = String(repeating: "x", count: 60_000)
            var sent = 0
            while hub.count > 0, sent < 10_000 {
                sent += 1
                hub.publish(ServerSentEvent(data: line))
                #expect(try await other.get("/").text == "quick")
            }
            #expect(hub.count == 0)
            #expect(try await slow.untilClosed().count < 20_000_000)
        }
    }

    @Test func whoLeavesIsForgotten() async throws {
        try await withHub { server, hub, comings in
            var coming = comings.makeAsyncIterator()
            let client = try await listener(server)
            _ = await coming.next()
            hub.publish(event(1))
            try await client.expect(text(1))
            client.leave()
            while hub.count > 0 { await Task.yield() }
        }
    }

    @Test func whoMayNotHearAnyMoreIsEnded() async throws {
        let isWelcome = Atomic(true)
        try await withHub(welcome: { isWelcome.load(ordering: .sequentiallyConsistent) }) { server, hub, comings in
            var coming = comings.makeAsyncIterator()
            let client = try await listener(server)
            _ = await coming.next()
            isWelcome.store(false, ordering: .sequentiallyConsistent)
            hub.publish(event(1))
            let heard = try await client.until("\r\n0\r\n\r\n")
            #expect(!heard.contains("data:"))
        }
    }

    /// A request comes between, however many listen.
    @Test func aFewAreWokenAtATimeAndTheRestWhenThoseAreAtWork() {
        let hub = EventHub()
        let ears = (0..<10).map { _ in Ear(sleeps: true) }
        for ear in ears { _ = hub.join(ear) { true } }
        hub.publish(event(1))
        for most in [EventHub.atOnce, EventHub.atOnce + 1, EventHub.atOnce + 2] {
            #expect(ears.count { !$0.heard.isEmpty } == most)
            hub.isAtWork()
        }
    }

    @Test func whoIsStillOwedSomethingHearsTheNewestAlone() {
        let hub = EventHub()
        let ears = (0..<10).map { _ in Ear(sleeps: true) }
        for ear in ears { _ = hub.join(ear) { true } }
        for number in 1...3 { hub.publish(event(number)) }
        hub.keepAlive(ServerSentEvent(data: "ping"))
        for _ in 0..<30 { hub.isAtWork() }
        for ear in ears {
            #expect(ear.heard.last == text(3) || ear.heard == [text(1), text(3)])
            #expect(ear.heard.count <= 2)
        }
    }

    @Test func aHeartbeatReachesWhoIsOwedNothing() {
        let hub = EventHub()
        let ear = Ear()
        let name = hub.join(ear) { true }
        hub.publish(event(1))
        hub.keepAlive(event(2))
        hub.leave(name)
        hub.publish(event(3))
        #expect(ear.heard == [text(1), text(2)])
    }
}

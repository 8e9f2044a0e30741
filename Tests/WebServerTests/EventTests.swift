import Testing

@testable import WebServer

/// Event streams over real connections.
struct EventTests {
    private typealias Events = AsyncStream<ServerSentEvent>

    /// Serves one stream for all requests to `/events`.
    private func withEvents(
        _ change: (inout WebServer.Configuration) -> Void = { _ in },
        _ body: (WebServer, Events.Continuation, Signal) async throws -> Void
    ) async throws {
        let (events, continuation) = Events.makeStream()
        let ended = Signal()
        continuation.onTermination = { _ in ended.set() }
        let handler: WebHandler = { request in
            request.path == "/events" ? .now(.events(events)) : .now(.text("quick"))
        }
        try await withServer(change, handler: handler) { server in try await body(server, continuation, ended) }
    }

    @Test func eventsArriveAsTheyHappenUntilTheStreamEnds() async throws {
        try await withEvents { server, events, _ in
            let client = try RawClient(server)
            try await client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = try await client.head()
            #expect(head["Content-Type"] == "text/event-stream")
            #expect(head["Cache-Control"] == "no-store")
            for number in 0..<5 {
                events.yield(ServerSentEvent(event: "terminal", data: "{\"n\":\(number)}"))
                try await client.expect("event: terminal\ndata: {\"n\":\(number)}\n\n")
            }
            events.finish()
            try await client.expect("\r\n0\r\n\r\n")
            #expect(try await client.get("/").text == "quick")
        }
    }

    /// Pitfall: a suspended connection does not notice that its client has left. The sweep does.
    @Test func theStreamEndsWhenTheClientLeaves() async throws {
        try await withEvents { server, _, ended in
            let client = try RawClient(server)
            try await client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await client.head()
            client.leave()
            await ended.wait()
        }
    }

    @Test func aSlowReaderIsCutAndDelaysNobody() async throws {
        try await withEvents({ $0.limits.eventBacklogBytes = 10_000 }) { server, events, ended in
            let (slow, other) = (try RawClient(server, receiveBuffer: 4096), try RawClient(server))
            try await slow.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await slow.head()
            let line = String(repeating: "x", count: 1000)
            for _ in 0..<20_000 { events.yield(ServerSentEvent(data: line)) }
            await ended.wait()
            #expect(try await other.get("/").text == "quick")
            #expect(try await slow.untilClosed().count < 20_000_000)
        }
    }

    @Test func theNumberOfStreamsIsLimited() async throws {
        let handler: WebHandler = { _ in .later { .events(Events { $0.yield(ServerSentEvent(data: "hello")) }) } }
        try await withServer({ $0.limits.eventStreams = 2 }, handler: handler) { server in
            let clients = try (0..<3).map { _ in try RawClient(server) }
            for client in clients[..<2] {
                try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                try await client.expect("hello")
            }
            let answer = try await clients[2].get("/")
            #expect(answer.status == 503)
            #expect(answer.text.contains("too_many_streams"))
        }
    }

    @Test func headOnEventsHasNoBodyAndTakesNoPlace() async throws {
        try await withEvents({ $0.limits.eventStreams = 0 }) { server, _, _ in
            let client = try RawClient(server)
            #expect(try await client.get("/events", method: "HEAD").status == 200)
            #expect(try await client.get("/").text == "quick")
        }
    }
}

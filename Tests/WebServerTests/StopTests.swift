import Locks
import Testing

@testable import WebServer

/// Pitfall: stopping libmicrohttpd while a connection is suspended aborts the process.
struct StopTests {
    @Test(arguments: 0..<10)
    func stopsWithEverythingInFlight(round: Int) async throws {
        let (waiting, ended) = (Signal(), Signal())
        let handler: WebHandler = { request in
            switch request.path {
            case "/events":
                let (events, continuation) = AsyncStream<ServerSentEvent>.makeStream()
                continuation.onTermination = { _ in ended.set() }
                continuation.yield(ServerSentEvent(data: "hello"))
                return .now(.events(events))
            case "/wait":
                return .later {
                    waiting.set()
                    try? await Task.sleep(for: .seconds(1000))
                    return .text(Task.isCancelled ? "cancelled" : "woke")
                }
            default: return .later { .text("quick") }
            }
        }
        let server = try WebServer(configuration: .init(port: 0), handler: handler)
        let (events, slow, half) = (try RawClient(server), try RawClient(server), try RawClient(server))
        try await events.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
        try await slow.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        try await half.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        try await events.expect("hello")
        await waiting.wait()
        let load = (0..<4).map { _ in
            Task {
                let client = try RawClient(server)
                while true { _ = try await client.get("/load") }
            }
        }
        _ = try await RawClient(server).get("/")
        await server.stop()
        await ended.wait()
        #expect(try await slow.answer().text == "cancelled")
        try await events.expect("\r\n0\r\n\r\n")
        #expect(try await half.untilClosed().isEmpty)
        for task in load { await #expect(throws: (any Error).self) { try await task.value } }
        #expect(throws: RawClient.Failure.self) { try RawClient(server) }
        await server.stop()
    }

    @Test func aHandlerThatIgnoresCancellationIsAwaited() async throws {
        let (started, mayEnd) = (Signal(), Signal())
        var configuration = WebServer.Configuration(port: 0)
        configuration.limits.stopping = .milliseconds(50)
        let flag = Flag()
        let server = try WebServer(configuration: configuration) { _ in
            .later {
                started.set()
                await mayEnd.wait()
                // Long enough for a `stop` that does not wait to be noticed.
                await Task { try? await Task.sleep(for: .milliseconds(50)) }.value
                flag.set()
                return .text("late")
            }
        }
        let client = try RawClient(server)
        try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await started.wait()
        async let stopped: Void = server.stop()
        let answer = try await client.answer()
        #expect(answer.status == 503)
        #expect(answer.text.contains("\"stopping\""))
        #expect(try await client.untilClosed().isEmpty)
        #expect(!flag.isSet)
        mayEnd.set()
        await stopped
        #expect(flag.isSet)
    }

    @Test func runServesUntilCancelledAndThenStops() async throws {
        let server = try WebServer(configuration: .init(port: 0)) { _ in .now(.text("up")) }
        let run = Task { try await server.run() }
        let answer = try await RawClient(server).get("/")
        #expect(answer.text == "up")
        run.cancel()
        try await run.value
        #expect(throws: RawClient.Failure.self) { try RawClient(server) }
    }

    @Test func runReturnsWhenSomebodyElseStops() async throws {
        let server = try WebServer(configuration: .init(port: 0)) { _ in .now(.text("up")) }
        let run = Task { try await server.run() }
        await server.stop()
        try await run.value
    }

    @Test func thePortIsFreeAfterwardsAndTakenBefore() async throws {
        let first = try WebServer(configuration: .init(port: 0)) { _ in .now(.text("first")) }
        let port = first.port
        #expect(throws: WebServer.StartError.portInUse(port)) {
            _ = try WebServer(configuration: .init(port: port)) { _ in .now(.text("second")) }
        }
        _ = try await RawClient(first).get("/")
        await first.stop()
        let second = try WebServer(configuration: .init(port: port)) { _ in .now(.text("second")) }
        let answer = try await RawClient(second).get("/")
        #expect(answer.text == "second")
        await second.stop()
    }

    @Test func startErrorsSayWhatToChange() {
        #expect(throws: WebServer.StartError.invalidAddress("localhost")) {
            _ = try WebServer(configuration: .init(address: "localhost", port: 0)) { _ in .now(.text("")) }
        }
        #expect(throws: WebServer.StartError.addressNotAvailable("192.0.2.1")) {
            _ = try WebServer(configuration: .init(address: "192.0.2.1", port: 0)) { _ in .now(.text("")) }
        }
    }

    /// The handler's captures go with the server: neither a request nor a task keeps them alive.
    @Test func stoppingReleasesTheHandler() async throws {
        final class Canary: Sendable {}
        weak var canary: Canary?
        do {
            let kept = Canary()
            canary = kept
            let server = try WebServer(configuration: .init(port: 0)) { request in
                request.path == "/now" ? .now(.text("\(kept)")) : .later { .text("\(kept)") }
            }
            let client = try RawClient(server)
            _ = try await client.get("/now")
            _ = try await client.get("/later")
            try await client.send("GET /broken HTTP/1.1\r\nHost")
            await server.stop()
        }
        #expect(canary == nil)
    }
}

private final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)

    func set() { flag.store(true, ordering: .sequentiallyConsistent) }
    var isSet: Bool { flag.load(ordering: .sequentiallyConsistent) }
}

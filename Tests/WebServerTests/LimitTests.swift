import Testing

@testable import WebServer

/// What a stranger may use up. `server.sweep(after:)` stands for the time that passes.
struct LimitTests {
    private static let echo: WebHandler = { .now(.text("\($0.body.count)")) }

    @Test func anAnnouncedLongBodyIsRefusedUnread() async throws {
        try await withServer({ $0.limits.bodyBytes = 100 }, handler: Self.echo) { server in
            let client = try RawClient(server)
            #expect(try await client.get("/", method: "POST", body: String(repeating: "x", count: 100)).text == "100")
            // The client asks first, as curl does: it is told 413 instead of 100, and has sent nothing.
            try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n")
            let answer = try await client.answer()
            #expect(answer.status == 413)
            #expect(answer.text.contains("body_too_large"))
            #expect(try await client.untilClosed().isEmpty)
        }
    }

    @Test func onePathMayTakeMoreThanTheOthers() async throws {
        func limit(_ configuration: inout WebServer.Configuration) {
            configuration.limits.bodyBytes = 100
            configuration.limits.bodyBytesByPath = ["/wide": 300]
        }
        let cases = [
            ("/wide", 300, 200), ("/wide?a=1", 300, 200), ("/wide", 301, 413), ("/wide/", 101, 413), ("/", 101, 413),
        ]
        try await withServer(limit, handler: Self.echo) { server in
            for (path, bytes, status) in cases {
                let body = String(repeating: "x", count: bytes)
                let whole = try await RawClient(server).get(path, method: "POST", body: body)
                #expect(whole.status == status, "\(path) \(bytes)")
                let head = "POST \(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                let client = try RawClient(server)
                try await client.send(head + String(bytes, radix: 16) + "\r\n" + body + "\r\n0\r\n\r\n")
                #expect(try await client.answer().status == status, "\(path) \(bytes) in chunks")
            }
        }
    }

    @Test func aClientThatAsksMaySendItsBody() async throws {
        try await withServer(handler: Self.echo) { server in
            let client = try RawClient(server)
            try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.head().status == 100)
            try await client.send("abc")
            #expect(try await client.answer().text == "3")
        }
    }

    @Test func aChunkedBodyIsCountedAsItComes() async throws {
        try await withServer({ $0.limits.bodyBytes = 1000 }, handler: Self.echo) { server in
            let client = try RawClient(server)
            let chunk = "1f4\r\n" + String(repeating: "x", count: 500) + "\r\n"
            let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            try await client.send(head + chunk + chunk + "0\r\n\r\n")
            #expect(try await client.answer().text == "1000")
            try await client.send(head + chunk + chunk + chunk + "0\r\n\r\n")
            #expect(try await client.answer().status == 413)
        }
    }

    @Test func aFloodOfChunksIsCut() async throws {
        let handler: WebHandler = { _ in
            Issue.record("the handler was asked")
            return .now(.text(""))
        }
        try await withServer({ $0.limits.bodyBytes = 1000 }, handler: handler) { server in
            let client = try RawClient(server)
            try await client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1000\r\n" + String(repeating: "x", count: 4096) + "\r\n"
            await #expect(throws: RawClient.Failure.self) {
                for _ in 0..<10_000 { try await client.send(chunk) }
            }
        }
    }

    @Test func aLongHeadIsRefused() async throws {
        try await withServer({ $0.limits.headerBytes = 1000 }, handler: Self.echo) { server in
            let fits = try await RawClient(server).get("/", headers: "X: \(String(repeating: "x", count: 900))\r\n")
            #expect(fits.status == 200)
            let tooLong = try await RawClient(server).get("/", headers: "X: \(String(repeating: "x", count: 1000))\r\n")
            #expect(tooLong.status == 431)
            #expect(tooLong.text.contains("headers_too_large"))
            // Past the connection's memory libmicrohttpd itself says no.
            let client = try RawClient(server)
            try? await client.send("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n")
            #expect(try await client.head().status == 431)
        }
    }

    @Test func aHeadAtItsLimitLeavesRoomForTheAnswer() async throws {
        try await withServer(handler: Self.wordy) { server in
            let client = try RawClient(server)
            for _ in 0..<2 {
                try await client.send(Self.fullHead(fields: 20) + String(repeating: "b", count: 60_000))
                let answer = try await client.answer()
                #expect(answer.status == 200 && answer.text.hasSuffix("60000"))
            }
        }
    }

    /// Who cannot be answered is refused before anything is done: an answer that does not fit any more would be lost.
    @Test(arguments: [
        fullHead(fields: 20, cookieBytes: 6000), fullHead(fields: 120), fullHead(fields: 20, cookies: 120),
    ])
    func aHeadThatLeavesNoRoomForTheAnswerIsRefused(head: String) async throws {
        let handler: WebHandler = { request in
            Issue.record("the handler was asked")
            return Self.wordy(request)
        }
        try await withServer(handler: handler) { server in
            let client = try RawClient(server)
            try await client.send(head)
            // Where not even the fields find room, libmicrohttpd says so in its own words, or closes.
            let answer = try? await client.answer()
            #expect(answer.map { $0.status == 431 } ?? true)
        }
    }

    private static let wordy: WebHandler = { request in
        let policy = String(repeating: "p", count: 1500)
        return .now(.text("\(request.body.count)", headers: ["Content-Security-Policy": policy]))
    }

    /// As long as a head may be.
    private static func fullHead(fields count: Int, cookieBytes: Int = 0, cookies: Int = 0) -> String {
        let cookie = String(repeating: "c", count: cookieBytes) + String(repeating: "; a=b", count: cookies)
        let start =
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n"
            + (cookie.isEmpty ? "" : "Cookie: a=\(cookie)\r\n")
        let padding = 8 * 1024 - start.utf8.count - 2
        let fields = (0..<count).map { "X-\($0 + 10): " + String(repeating: "x", count: padding / count - 8) + "\r\n" }
        return start + fields.joined() + "\r\n"
    }

    /// Slowloris: whoever sends its head byte by byte keeps the idle timer alive, not the deadline.
    @Test func aRequestThatDripsIsCutAtItsDeadline() async throws {
        try await withServer({ $0.limits.receiving = .seconds(1000) }, handler: Self.echo) { server in
            let starts = [
                "", "GET / HT", "GET / HTTP/1.1\r\nHost: a\r\nX",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab",
            ]
            let clients = try starts.map { _ in try RawClient(server) }
            for (client, start) in zip(clients, starts) { try await client.send(start) }
            try await Self.untilAccepted(server)
            server.sweep(after: .seconds(900))
            for (client, start) in zip(clients, starts).dropFirst(2) {
                try await client.send(start.hasPrefix("GET") ? ": 1\r\n\r\n" : "cdefghi")
                #expect(try await client.answer().status == 200)
            }
            server.sweep(after: .seconds(1001))
            for client in clients[..<2] { #expect(try await client.untilClosed().isEmpty) }
        }
    }

    /// A kept connection is not cut while it waits for its next request; that request has its own deadline.
    @Test func theDeadlineBeginsAnewWithEachRequest() async throws {
        let change = { (configuration: inout WebServer.Configuration) in
            configuration.limits.receiving = .seconds(1000)
            configuration.limits.idle = .seconds(100)
            configuration.limits.sending = .seconds(5000)  // Runs until the server notes that the answer is sent.
        }
        try await withServer(change, handler: Self.echo) { server in
            let client = try RawClient(server)
            #expect(try await client.get("/").status == 200)
            server.sweep(after: .seconds(1050))
            #expect(try await client.get("/").status == 200)
            try await client.send("GET / HTTP/1.1\r\nHo")
            // Another client's answer: by then the server has read the line above.
            let other = try await RawClient(server).get("/")
            #expect(other.status == 200)
            server.sweep(after: .seconds(1001))
            #expect(try await client.untilClosed().isEmpty)
        }
    }

    @Test func anIdleConnectionIsClosed() async throws {
        try await withServer({ $0.limits.idle = .seconds(1) }, handler: Self.echo) { server in
            let client = try RawClient(server)
            #expect(try await client.get("/").status == 200)
            let start = ContinuousClock.now
            #expect(try await client.untilClosed().isEmpty)
            #expect(ContinuousClock.now - start < .seconds(10))
        }
    }

    @Test func anAnswerThatNobodyReadsIsCut() async throws {
        let big = WebResponse.file([UInt8](repeating: 0, count: 50_000_000), contentType: "application/octet-stream")
        let change = { (configuration: inout WebServer.Configuration) in
            configuration.limits.sending = .seconds(1000)
            configuration.limits.idle = .seconds(600)
        }
        try await withServer(change, handler: { _ in .now(big) }) { server in
            let client = try RawClient(server, receiveBuffer: 4096)
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await client.head()
            server.sweep(after: .seconds(1001))
            #expect(try await client.untilClosed().count < 50_000_000)
        }
    }

    /// The server knows of a connection once it accepted it, which a client cannot see.
    private static func untilAccepted(_ server: WebServer) async throws {
        // Connections are accepted in order: when a later one is answered, the earlier ones are known.
        _ = try await RawClient(server).get("/")
    }
}

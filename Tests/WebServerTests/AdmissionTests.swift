import Testing

@testable import WebServer

/// Bodies are judged by their heads. Known is who shows a header `X-Known`; who shows `X-Refused` is refused.
struct AdmissionTests {
    private static let echo: WebHandler = { .now(.text("\($0.path) \($0.body.count)")) }
    private static let no = WebResponse.refusal(401, code: "not_signed_in", message: "m", action: "a")

    private func withJudge(
        _ change: (inout WebServer.Configuration) -> Void = { _ in },
        handler: @escaping WebHandler = Self.echo,
        _ body: (WebServer, Signal) async throws -> Void
    ) async throws {
        let wasNoted = Signal()
        let judge: @Sendable (WebRequest, WebServer.AnnouncedBody) -> WebServer.Admission = { request, _ in
            let isKnown = request.header("X-Known") != nil
            if request.header("X-Refused") != nil {
                return .init(isKnown: isKnown, .refuse(answer: Self.no) { wasNoted.set() })
            }
            return .init(isKnown: isKnown, .take(bodyBytes: isKnown ? .max : 1000))
        }
        try await withServer(
            { configuration in
                configuration.admission = judge
                change(&configuration)
            },
            handler: handler
        ) { server in try await body(server, wasNoted) }
    }

    private static func head(_ bytes: Int, _ fields: String = "") -> String {
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(bytes)\r\n\(fields)\r\n"
    }

    /// Forty at once: each announces a long body, sends some of it, and hears why it is not taken while it still has to send.
    @Test func aLongBodyThatIsRefusedIsAnsweredBeforeItComes() async throws {
        let handler: WebHandler = { _ in
            Issue.record("the handler was asked")
            return .now(.text(""))
        }
        try await withJudge({ $0.limits.bodyBytes = 800_000 }, handler: handler) { server, wasNoted in
            let clients = try (0..<40).map { try RawClient(server, from: "127.0.6.\(1 + $0 % 4)") }
            for client in clients { try await client.send(Self.head(700_000, "X-Refused: 1\r\n") + "begin") }
            for client in clients { #expect(try await client.answer().status == 401) }
            await wasNoted.wait()
            let chunked = try RawClient(server)
            try await chunked.send("POST / HTTP/1.1\r\nHost: a\r\nX-Refused: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(try await chunked.answer().status == 401)
        }
    }

    /// Who sends all of a long body at once, as a browser does, hears the answer all the same, and not a broken connection.
    @Test func aClientThatSendsOnHearsWhyItsBodyIsRefused() async throws {
        try await withJudge({ $0.limits.bodyBytes = 800_000 }) { server, _ in
            for _ in 0..<20 {
                let client = try RawClient(server)
                try await client.send(Self.head(300_000, "X-Refused: 1\r\n"))
                // More than libmicrohttpd has read, less than the system's buffers.
                try? await client.send([UInt8](repeating: 0x78, count: 60_000))
                #expect(try await client.answer().status == 401)
            }
        }
    }

    @Test func aShortBodyThatIsRefusedIsDroppedAndTheConnectionGoesOn() async throws {
        try await withJudge { server, _ in
            let client = try RawClient(server)
            try await client.send(Self.head(5, "X-Refused: 1\r\n") + "hello")
            #expect(try await client.answer().text == "/ 0", "the handler refuses it, and has no body")
            #expect(try await client.get("/next", method: "POST", body: "abc").text == "/next 3")
        }
    }

    @Test func whoAsksBeforeSendingARefusedBodySendsNothing() async throws {
        try await withJudge { server, _ in
            let client = try RawClient(server)
            try await client.send(Self.head(5, "X-Refused: 1\r\nExpect: 100-continue\r\n"))
            #expect(try await client.answer().status == 401)
        }
    }

    @Test func aStrangersBodyIsShort() async throws {
        try await withJudge { server, _ in
            for bytes in [1000, 1001] {
                let body = String(repeating: "x", count: bytes)
                let client = try RawClient(server)
                #expect(try await client.get("/", method: "POST", body: body).status == (bytes == 1000 ? 200 : 413))
                let other = try RawClient(server)
                let size = String(bytes, radix: 16)
                let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                try await other.send(head + "\(size)\r\n\(body)\r\n0\r\n\r\n")
                #expect(try await other.answer().status == (bytes == 1000 ? 200 : 413))
            }
            let body = String(repeating: "x", count: 60_000)
            let known = try RawClient(server)
            #expect(try await known.get("/", method: "POST", headers: "X-Known: 1\r\n", body: body).text == "/ 60000")
        }
    }

    /// A dozen addresses fill the strangers' share with bodies that never end. Whoever is known is served all the same.
    @Test func unfinishedBodiesOfStrangersLeaveRoomForTheKnown() async throws {
        let change = { (configuration: inout WebServer.Configuration) in
            configuration.limits.unknownBodiesBytes = 24_000
            configuration.limits.longBodiesBytes = 100_000
            configuration.limits.bodiesBytes = 200_000
            configuration.limits.bodyBytesByPath = ["/long": 100_000]
        }
        try await withJudge(change) { server, _ in
            let strangers = try (0..<24).map { try RawClient(server, from: "127.0.5.\(1 + $0 % 12)") }
            for stranger in strangers { try await stranger.send(Self.head(1000) + "begin") }
            let late = try RawClient(server)
            try await late.send(Self.head(1000) + String(repeating: "x", count: 1000))
            let refusal = try await late.answer()
            #expect(refusal.status == 503 && refusal["Retry-After"] != nil && refusal.text.contains("terminal_busy"))
            // A long body has its share, and only that.
            let long = "POST /long HTTP/1.1\r\nHost: a\r\nX-Known: 1\r\nContent-Length: 90000\r\n\r\n"
            let (first, second) = (try RawClient(server), try RawClient(server))
            try await first.send(long + "begin")
            try await second.send(long)
            #expect(try await second.answer().status == 503)
            let till = try RawClient(server)
            let sale = String(repeating: "x", count: 60_000)
            for _ in 0..<3 {
                let answer = try await till.get("/", method: "POST", headers: "X-Known: 1\r\n", body: sale)
                #expect(answer.text == "/ 60000")
            }
            // What ended gives its room back.
            try await strangers[0].send(String(repeating: "x", count: 995))
            #expect(try await strangers[0].answer().text == "/ 1000")
            let again = try RawClient(server)
            #expect(try await again.get("/", method: "POST", body: String(repeating: "x", count: 900)).status == 200)
        }
    }

    @Test func roomThatIsTakenIsGivenBack() {
        var limits = WebServer.Limits()
        (limits.bodiesBytes, limits.unknownBodiesBytes, limits.longBodiesBytes) = (100, 20, 50)
        let budget = BodyBudget(limits)
        for kind in BodyBudget.Kind.allCases {
            let share = kind == .unknown ? 20 : kind == .long ? 50 : 100
            #expect(!budget.take(share + 1, for: kind))
            #expect(budget.take(share, for: kind) && !budget.take(1, for: kind))
            budget.giveBack(share, for: kind)
            #expect(budget.bytes == 0)
        }
        #expect(budget.take(20, for: .unknown) && budget.take(50, for: .long))
        #expect(budget.take(30, for: .usual) && !budget.take(1, for: .usual))
    }

    @Test func strangersLeaveEventStreamsForTheKnown() async throws {
        let handler: WebHandler = { _ in .now(.events(AsyncStream { $0.yield(ServerSentEvent(data: "a")) })) }
        try await withJudge({ $0.limits.eventStreams = 4 }, handler: handler) { server, _ in
            let strangers = try (0..<4).map { _ in try RawClient(server) }
            for (number, stranger) in strangers.enumerated() {
                try await stranger.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await stranger.head().status == (number < 3 ? 200 : 503))
            }
            let known = try RawClient(server)
            try await known.send("GET / HTTP/1.1\r\nHost: a\r\nX-Known: 1\r\n\r\n")
            #expect(try await known.head().status == 200)
        }
    }
}

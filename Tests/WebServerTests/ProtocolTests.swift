import Testing

@testable import WebServer

/// What reaches a handler, and what is answered before one is asked.
struct ProtocolTests {
    private static let echo: WebHandler = { request in
        .now(.text("\(request.method) \(request.path) \(String(decoding: request.body, as: UTF8.self))"))
    }

    /// Pitfall: an answer given at the handler's first call closes the connection.
    @Test func aConnectionServesManyRequests() async throws {
        try await withServer(handler: Self.echo) { server in
            let client = try RawClient(server)
            for number in 0..<20 {
                let answer = try await client.get("/\(number)", method: "PUT", body: "body \(number)")
                #expect(answer.status == 200)
                #expect(answer.text == "PUT /\(number) body \(number)")
                #expect(answer["Connection"] == nil)
            }
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await withServer(handler: Self.echo) { server in
            let client = try RawClient(server)
            let requests = (0..<5).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
            try await client.send(requests)
            for number in 0..<5 { #expect(try await client.answer().text == "GET /\(number) ") }
        }
    }

    @Test func aHandlerSeesWhatWasSent() async throws {
        let handler: WebHandler = { request in
            let parts = [
                request.path, request.rawTarget, request.query["q"] ?? "-", request.header("x-NAME") ?? "-",
                request.headers("X-Name").joined(separator: "|"), request.cookies["a"] ?? "-", request.peerAddress,
                "\(request.isSecure)",
            ]
            return .now(.text(parts.joined(separator: "\n")))
        }
        try await withServer(handler: handler) { server in
            let client = try RawClient(server)
            let answer = try await client.get(
                "/caf%C3%A9?q=1%202",
                headers: "X-Name: 1\r\nX-Name: 2\r\nCookie: a=b\r\n"
            )
            #expect(answer.text == "/café\n/caf%C3%A9?q=1%202\n1 2\n1\n1|2\nb\n127.0.0.1\nfalse")
        }
    }

    @Test func clientsOfBothIPVersionsAreServed() async throws {
        let handler: WebHandler = { .now(.text($0.peerAddress)) }
        try await withServer({ $0.address = "::" }, handler: handler) { server in
            let (four, six) = (try RawClient(server), try RawClient(server, address: "::1"))
            #expect(try await four.get("/").text == "127.0.0.1")
            #expect(try await six.get("/").text == "::1")
        }
    }

    @Test func headIsAnsweredLikeGetWithoutTheBody() async throws {
        try await withServer(handler: Self.echo) { server in
            let client = try RawClient(server)
            let answer = try await client.get("/abc", method: "HEAD")
            #expect(answer.status == 200)
            #expect(answer["Content-Length"] == "9")
            #expect(try await client.get("/next").text == "GET /next ")
        }
    }

    @Test func anAnswerWithoutBodyKeepsTheConnection() async throws {
        try await withServer(handler: { _ in .now(WebResponse(status: 204)) }) { server in
            let client = try RawClient(server)
            #expect(try await client.get("/").status == 204)
            #expect(try await client.get("/").status == 204)
        }
    }

    /// Each line is a request no handler may see, and the status it is answered with.
    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400
        ),
        ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\nx", 400),
        ("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: junk\r\n\r\nx", 417),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, junk\r\n\r\n", 417),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: 200-ok\r\n\r\n", 417),
        ("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("get / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        ("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a%2f..%2fb HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /?a=1&a=1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1}b\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ])
    func refusesWhatTwoProgramsMayReadDifferently(request: String, status: Int) async throws {
        let wasAsked = Signal()
        let handler: WebHandler = { _ in
            wasAsked.set()
            Issue.record("the handler was asked")
            return .now(.text("reached"))
        }
        try await withServer({ $0.defaultHeaders = ["X-Default": "1"] }, handler: handler) { server in
            let client = try RawClient(server)
            try await client.send(request)
            let answer = try await client.answer()
            #expect(answer.status == status)
            #expect(answer["Server"] == nil)
            // Also where libmicrohttpd refuses it by itself.
            #expect(answer.fields.filter { $0.name == "X-Default" }.map(\.value) == ["1"])
            #expect(answer["Content-Type"] == "application/json" && answer.text.hasPrefix("{\"code\":\""))
            #expect(try await client.untilClosed().isEmpty, "one answer, and nothing behind it")
        }
    }

    /// What libmicrohttpd has no memory for. It answers by itself, in the server's words.
    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\nCookie: " + String(repeating: "a=b; ", count: 1500) + "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 1200) + "\r\n",
        "GET /" + String(repeating: "a", count: 20_000) + " HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func aHeadThatIsTooMuchIsRefusedInTheServersWords(request: String) async throws {
        let handler: WebHandler = { _ in
            Issue.record("the handler was asked")
            return .now(.text("reached"))
        }
        try await withServer({ $0.defaultHeaders = ["X-Default": "1"] }, handler: handler) { server in
            let client = try RawClient(server)
            try await client.send(request)
            let answer = try await client.answer()
            #expect(answer.status == 431 && answer.text.contains("headers_too_large"))
            #expect(answer.fields.filter { $0.name == "X-Default" }.map(\.value) == ["1"])
        }
    }

    @Test func anExpectationOfAnOldClientIsPassedOver() async throws {
        try await withServer(handler: Self.echo) { server in
            let client = try RawClient(server)
            try await client.send("GET /a HTTP/1.0\r\nHost: a\r\nExpect: junk\r\n\r\n")
            #expect(try await client.answer().text == "GET /a ")
        }
    }

    /// A NUL in the request line must not make `/secret` out of `/secret\0/public`.
    @Test func aZeroByteNeverReachesAHandler() async throws {
        let handler: WebHandler = { request in
            Issue.record("the handler was asked for \(request.path)")
            return .now(.text("reached"))
        }
        try await withServer(handler: handler) { server in
            for request in ["GET /secret\0/public HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"]
            {
                let client = try RawClient(server)
                try await client.send(request)
                #expect(String(decoding: try await client.untilClosed(), as: UTF8.self).contains(" 400 "))
            }
        }
    }

    @Test func ownRefusalsAreJSONWithTheDefaultHeaders() async throws {
        let defaults: WebHeaders = ["X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"]
        try await withServer({ $0.defaultHeaders = defaults }, handler: Self.echo) { server in
            for (method, code) in [("TRACE", "method_not_allowed"), ("BREW", "method_unknown")] {
                let answer = try await RawClient(server).get("/", method: method)
                #expect(answer["X-Content-Type-Options"] == "nosniff")
                #expect(answer["Content-Type"] == "application/json")
                #expect(answer.text.hasPrefix("{\"code\":\"\(code)\",\"message\":\""))
            }
        }
    }

    @Test func aResponsesOwnHeaderReplacesTheDefault() async throws {
        let handler: WebHandler = { request in
            var response = WebResponse.text("x")
            if request.path == "/own" { response.headers["cache-control"] = "max-age=1" }
            response.headers.add("Set-Cookie", "a=1")
            response.headers.add("Set-Cookie", "b=2")
            return .now(response)
        }
        try await withServer({ $0.defaultHeaders = ["Cache-Control": "no-store"] }, handler: handler) { server in
            let client = try RawClient(server)
            let (own, other) = (try await client.get("/own"), try await client.get("/other"))
            #expect(own.fields.filter { $0.name.lowercased() == "cache-control" }.map(\.value) == ["max-age=1"])
            #expect(other["Cache-Control"] == "no-store")
            #expect(own.fields.filter { $0.name == "Set-Cookie" }.map(\.value) == ["a=1", "b=2"])
        }
    }

    /// A line end in a header value would let its text become a header of its own.
    @Test func aHeaderThatCannotBeSentIsAnError() async throws {
        let handler: WebHandler = { request in
            request.path == "/status"
                ? .now(WebResponse(status: 42))
                : .now(WebResponse(headers: ["Location": "/a\r\nSet-Cookie: evil=1"]))
        }
        try await withServer(handler: handler) { server in
            for path in ["/header", "/status"] {
                let answer = try await RawClient(server).get(path)
                #expect(answer.status == 500)
                #expect(answer["Set-Cookie"] == nil)
                #expect(answer.text.contains("internal_error"))
            }
        }
    }

    @Test(arguments: [
        ("till.local", true), ("TILL.local:8443", true), ("till.local.", true), ("192.168.1.5", true),
        ("[::1]:80", true),
        ("evil.example", false), ("till.local.evil.example", false), ("192.168.1.50", false),
    ])
    func answersOnlyUnderItsOwnNames(host: String, isAllowed: Bool) async throws {
        let names: Set<String> = ["till.local", "192.168.1.5", "::1"]
        try await withServer({ $0.hostIsAllowed = { names.contains($0) } }, handler: Self.echo) { server in
            let client = try RawClient(server)
            try await client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            let answer = try await client.answer()
            #expect(answer.status == (isAllowed ? 200 : 421))
            if !isAllowed { #expect(answer.text.contains("\"code\":\"unknown_host\"")) }
        }
    }

    @Test func aHandlerMadeOnTheMainActorRunsOnTheServersThread() async throws {
        try await Self.serveFromTheMainActor()
    }

    @MainActor private static func serveFromTheMainActor() async throws {
        let words = ["made", "on", "main"]
        try await withServer(handler: { _ in .now(.text(words.joined(separator: " "))) }) { server in
            let answer = try await RawClient(server).get("/")
            #expect(answer.text == "made on main")
        }
    }
}

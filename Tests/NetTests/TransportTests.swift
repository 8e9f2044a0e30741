import Testing
import WalletConnectPay

@testable import Net

/// What the transport concludes from what happens on the wire. The word "not sent" lets a caller believe that no money can
/// move, so it is said only where no byte left.
struct TransportTests {
    private func send(
        _ server: ScriptedServer,
        _ change: (inout HTTPRequest) -> Void = { _ in }
    ) async throws -> Result<HTTPResponse, TransportError> {
        var request = HTTPRequest(
            method: .post,
            url: "http://127.0.0.1:\(server.port)/v1/payments",
            headers: [HTTPRequest.Header("Idempotency-Key", "key-1")],
            body: Array(#"{"amount":1}"#.utf8),
            timeout: .seconds(20)
        )
        change(&request)
        let transport = try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
        let result: Result<HTTPResponse, TransportError>
        do throws(TransportError) { result = .success(try await transport.send(request)) } catch {
            result = .failure(error)
        }
        server.stop()
        try await transport.shutdown()
        return result
    }

    private func isSilence(_ result: Result<HTTPResponse, TransportError>) -> Bool {
        if case .failure(.noAnswer) = result { true } else { false }
    }

    private static let answers = [
        "HTTP/1.1 201 Created\r\nContent-Length: 15\r\nX-Request: 7\r\n\r\n{\"status\":\"ok\"}",
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"status\r\n7\r\n\":\"ok\"}\r\n0\r\n\r\n",
    ]

    @Test(arguments: answers)
    func aWholeAnswerArrivesAsItIs(answer: String) async throws {
        let server = try ScriptedServer(.answer(Array(answer.utf8)))
        let response = try await send(server).get()
        #expect(response.status == 201 && response.body == Array(#"{"status":"ok"}"#.utf8))
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("POST /v1/payments HTTP/1.1\r\n") && request.hasSuffix(#"{"amount":1}"#))
        #expect(request.contains("Idempotency-Key: key-1\r\n"))
    }

    @Test(arguments: answers)
    func anAnswerCutAfterAnyByteIsSilenceAndNeverHalfAnAnswer(answer: String) async throws {
        for count in 0..<answer.utf8.count {
            let server = try ScriptedServer(.answer(Array(answer.utf8.prefix(count))))
            let result = try await send(server)
            #expect(isSilence(result), "after \(count) bytes: \(result)")
            #expect(server.requests.count == 1, "a request that may have arrived is never sent again by itself")
        }
    }

    @Test func aRequestCutAfterAnyByteMayHaveArrived() async throws {
        for count in [1, 5, 20, 60, 120, 250, 400] {
            let server = try ScriptedServer(.cutAfterReading(count))
            let result = try await send(server) { $0.body = [UInt8](repeating: UInt8(ascii: " "), count: 400) }
            #expect(isSilence(result), "after \(count) bytes: \(result)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func aServerThatSaysNothingIsGivenUpAtTheLimit() async throws {
        let result = try await send(try ScriptedServer(.silence)) { $0.timeout = .milliseconds(300) }
        #expect(isSilence(result), "\(result)")
    }

    @Test func anAnswerThatDripsIsGivenUpAtTheLimit() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        let result = try await send(try ScriptedServer(.drip(Array(head.utf8)))) { $0.timeout = .milliseconds(300) }
        #expect(isSilence(result), "\(result)")
    }

    @Test func aHeadThatDripsIsGivenUpAtTheLimit() async throws {
        let result = try await send(try ScriptedServer(.drip(Array("HTTP/1.1 200 OK\r\nX: ".utf8)))) {
            $0.timeout = .milliseconds(300)
        }
        #expect(isSilence(result), "\(result)")
    }

    @Test func nobodyListeningIsNotSent() async throws {
        let server = try ScriptedServer(.silence)
        server.stop()
        let result = try await send(server)
        guard case .failure(.notSent) = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func anAnswerThatIsTooLargeIsCutAndSaid() async throws {
        let body = String(repeating: "x", count: 4096)
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n\(body)"
        let server = try ScriptedServer(.answer(Array(answer.utf8)))
        #expect(try await send(server) { $0.responseLimitBytes = 1000 } == .failure(.answerTooLarge(limitBytes: 1000)))
        let endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n\(body.dropLast())\r\n"
        let other = try ScriptedServer(.answer(Array(endless.utf8)))
        #expect(try await send(other) { $0.responseLimitBytes = 1000 } == .failure(.answerTooLarge(limitBytes: 1000)))
    }

    @Test(arguments: ["garbage\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\u{16}\u{3}\u{1}", "HTTP/1.1 2OO OK\r\n\r\n"])
    func whatIsNotHTTPIsSilence(answer: String) async throws {
        let result = try await send(try ScriptedServer(.answer(Array(answer.utf8))))
        #expect(isSilence(result), "\(result)")
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectIsAnAnswerAndIsNotFollowed(status: Int) async throws {
        let elsewhere = try ScriptedServer(.answer(Array(Self.answers[0].utf8)))
        let head = "HTTP/1.1 \(status) X\r\nLocation: http://127.0.0.1:\(elsewhere.port)/\r\nContent-Length: 0\r\n\r\n"
        let response = try await send(try ScriptedServer(.answer(Array(head.utf8)))).get()
        #expect(response.status == status)
        #expect(elsewhere.requests.isEmpty)
        elsewhere.stop()
    }

    @Test func aCancelledCallSaysSo() async throws {
        let server = try ScriptedServer(.silence)
        let call = Task { try await send(server) }
        while server.requests.first?.isEmpty ?? true { await Task.yield() }
        call.cancel()
        #expect(try await call.value == .failure(.cancelled))
    }

    @Test(arguments: [
        "http://gateway.test/v1", "ftp://gateway.test/", "https://user@gateway.test/", "gateway.test", "",
        "http://127.0.0.1.gateway.test/", "http://127.0.0.1@gateway.test/",
    ])
    func anAddressThatIsNotAllowedIsNeverAsked(url: String) async throws {
        let transport = try HTTPClientTransport(hosts: .anyOverTLS(allowsLoopbackHTTP: true))
        await #expect {
            _ = try await transport.send(HTTPRequest(method: .get, url: url))
        } throws: {
            if case .notSent = $0 as? TransportError { true } else { false }
        }
        try await transport.shutdown()
    }

    @Test func plainHTTPToThisMachineIsForTheSandboxOnly() throws {
        let appliance = AllowedHosts.anyOverTLS()
        #expect(appliance.objection(to: "http://127.0.0.1:8080/") != nil)
        #expect(appliance.objection(to: "https://gateway.test/") == nil)
        let one = AllowedHosts.only(["api.pay.walletconnect.com"])
        #expect(one.objection(to: "https://API.pay.walletconnect.com/v1") == nil)
        #expect(one.objection(to: "https://api.pay.walletconnect.com.evil.test/") != nil)
    }
}

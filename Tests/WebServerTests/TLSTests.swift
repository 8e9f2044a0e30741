import Subprocess
import Testing

@testable import WebServer

/// TLS as a client sees it: curl and openssl against the server.
struct TLSTests {
    private struct Output {
        var text: String
        var succeeded: Bool
    }

    private func run(_ program: String, _ arguments: [String]) async throws -> Output {
        let result = try await Subprocess.run(
            .name(program),
            arguments: Arguments(arguments),
            output: .string(limit: 1 << 20),
            error: .discarded
        )
        return Output(text: result.standardOutput, succeeded: result.terminationStatus.isSuccess)
    }

    private func identity() async throws -> TLSIdentity {
        let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=till.local"
        // Key and certificate both go to the standard output.
        let output = try await run("openssl", arguments.split(separator: " ").map(String.init) + ["-keyout", "-"])
        let mark = "-----BEGIN CERTIFICATE-----"
        let start = try #require(output.text.firstRange(of: mark)?.lowerBound)
        return TLSIdentity(certificatePEM: String(output.text[start...]), privateKeyPEM: String(output.text[..<start]))
    }

    private func withTLS(_ body: (WebServer) async throws -> Void) async throws {
        let identity = try await identity()
        let handler: WebHandler = { request in
            .later {
                try? await Task.sleep(for: .milliseconds(5))
                return .text("\(request.isSecure) \(request.body.count)")
            }
        }
        try await withServer({ $0.tls = identity }, handler: handler) { try await body($0) }
    }

    private func curl(_ server: WebServer, _ options: String...) async throws -> Output {
        try await run("curl", ["-sk", "-m", "10"] + options + ["https://127.0.0.1:\(server.port)/"])
    }

    @Test func speaksTLS13AndTLS12() async throws {
        try await withTLS { server in
            let newest = try await curl(server, "-v", "-d", "abc")
            #expect(newest.text == "true 3")
            let result1 = try await curl(server, "--tlsv1.3")
            #expect(result1.succeeded)
            let result2 = try await curl(server, "--tls-max", "1.2")
            #expect(result2.text == "true 0")
        }
    }

    /// A group that the client sent no key for costs every new connection another round trip.
    @Test func takesTheKeyThatBrowsersSendFirst() async throws {
        try await withTLS { server in
            let address = "127.0.0.1:\(server.port)"
            let output = try await run("openssl", ["s_client", "-msg", "-groups", "X25519:P-256", "-connect", address])
            #expect(output.text.split(separator: "\n").count { $0.hasSuffix("ServerHello") } == 1)
        }
    }

    @Test func refusesOlderVersionsAndWeakCiphers() async throws {
        try await withTLS { server in
            let weak = "DEFAULT@SECLEVEL=0"
            let result3 = try await curl(server, "--tlsv1.0", "--tls-max", "1.1", "--ciphers", weak)
            #expect(!result3.succeeded)
            for cipher in ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384"] {
                let result4 = try await curl(server, "--tls-max", "1.2", "--ciphers", "\(cipher):@SECLEVEL=0")
                #expect(!result4.succeeded)
            }
            let result5 = try await curl(server, "--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256")
            #expect(result5.succeeded)
        }
    }

    /// Clients of today refuse old versions by themselves, so the question is put by hand. To 1.2 the server answers.
    @Test(arguments: [1, 2, 3] as [UInt8])
    func anOlderVersionIsRefusedByTheServerItself(minor: UInt8) async throws {
        try await withTLS { server in
            let client = try RawClient(server)
            try await client.send(Self.clientHello(minor: minor))
            #expect(try await client.firstByte() == (minor == 3 ? Self.handshake : nil))
        }
    }

    private static let handshake: UInt8 = 0x16

    /// The first message of TLS 1.0, 1.1 or 1.2 (`minor` 1, 2, 3), with two ciphers of these versions and the curve P-256.
    /// Source: RFC 4346 and RFC 5246, 7.4.1.2.
    private static func clientHello(minor: UInt8) -> [UInt8] {
        let curves: [UInt8] = [0, 10, 0, 4, 0, 2, 0, 23]
        let points: [UInt8] = [0, 11, 0, 2, 1, 0]
        let signatures: [UInt8] = minor == 3 ? [0, 13, 0, 4, 0, 2, 4, 3] : []
        let extensions = curves + points + signatures
        let ciphers: [UInt8] = minor == 3 ? [0, 2, 0xC0, 0x2B] : [0, 4, 0xC0, 0x09, 0xC0, 0x0A]
        var body: [UInt8] = [3, minor] + [UInt8](repeating: 7, count: 32) + [0] + ciphers + [1, 0]
        body += [0, UInt8(extensions.count)] + extensions
        let message = [1, 0, 0, UInt8(body.count)] + body
        return [handshake, 3, minor, 0, UInt8(message.count)] + message
    }

    @Test(
        arguments: [
            ("GET / HTTP/1.1\r\nHost: till.local:8443\r\n\r\n", 308, "https://till.local:8443/"),
            ("GET /charge?x=1 HTTP/1.1\r\nhost: till.local\r\nAccept: */*\r\n\r\n", 308, "https://till.local:"),
            ("POST / HTTP/1.1\r\nHost: till.local\r\nContent-Length: 3\r\n\r\nabc", 403, nil),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, nil),
            ("GET / HTTP/1.1\r\nHost: till.local\r\nHost: evil.example\r\n\r\n", 400, nil),
            ("GET / HTTP/1.1\r\nHost: a\r\n\tb: c\u{1}\r\n\r\n", 421, nil),
            ("GET /\u{1} HTTP/1.1\r\nHost: till.local\r\n\r\n", 400, nil), ("HELLO", 400, nil),
        ] as [(String, Int, String?)]
    )
    func plainHTTPIsToldTheWayToHTTPS(request: String, status: Int, place: String?) async throws {
        let identity = try await identity()
        let change = { (configuration: inout WebServer.Configuration) in
            configuration.tls = identity
            configuration.defaultHeaders = ["X-Content-Type-Options": "nosniff"]
            configuration.hostIsAllowed = { $0 == "till.local" }
            configuration.plainHTTP = { request, port in
                guard request.method == "GET", !request.isSecure else {
                    return .refusal(403, code: "https_needed", message: "m", action: "a")
                }
                let host = request.header("Host") ?? ""
                let place = host.contains(":") ? host : "\(host):\(port)"
                return WebResponse(status: 308, headers: ["Location": "https://\(place)/"])
            }
        }
        let handler: WebHandler = { _ in
            Issue.record("the handler was asked")
            return .now(.text(""))
        }
        try await withServer(change, handler: handler) { server in
            let client = try RawClient(server)
            try await client.send(request)
            let answer = try await client.answer()
            #expect(answer.status == status)
            #expect(answer["X-Content-Type-Options"] == "nosniff" && answer["Connection"] == "close")
            if let place {
                #expect(answer["Location"]?.hasPrefix(place) == true)
            } else {
                #expect(answer["Location"] == nil && !answer.text.isEmpty)
            }
            #expect(try await client.untilClosed().isEmpty)
        }
    }

    /// Sixty at once, beside a browser that speaks TLS.
    @Test func manyWhoSpeakPlainHTTPKeepNobodyElseOut() async throws {
        try await withTLS { server in
            let clients = try (0..<60).map { number in try RawClient(server, from: "127.0.7.\(1 + number % 6)") }
            for client in clients { try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
            for client in clients { #expect(try await client.answer().status == 400) }
            #expect(try await curl(server).text == "true 0")
        }
    }

    @Test func aHandshakeThatNeverComesIsCut() async throws {
        try await withTLS { server in
            let client = try RawClient(server)
            try await client.send([Self.handshake, 3, 1])
            let result6 = try await curl(server)
            #expect(result6.succeeded)
            server.sweep(after: .seconds(1000))
            #expect(try await client.untilClosed().isEmpty)
        }
    }

    @Test func aBadIdentityIsAStartError() async throws {
        let (one, other) = (try await identity(), try await identity())
        let pairs = [
            TLSIdentity(certificatePEM: "nonsense", privateKeyPEM: "nonsense"),
            TLSIdentity(certificatePEM: one.certificatePEM, privateKeyPEM: other.privateKeyPEM),
        ]
        for identity in pairs {
            do {
                let server = try WebServer(configuration: .init(port: 0, tls: identity)) { _ in .now(.text("")) }
                await server.stop()
                Issue.record("started")
            } catch {
                guard case .tlsIdentityRefused = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    @Test func aTLSIdentityNeverPrintsItsKey() {
        let identity = TLSIdentity(certificatePEM: "CERT", privateKeyPEM: "KEY")
        var dumped = ""
        dump(identity, to: &dumped)
        for text in ["\(identity)", String(reflecting: identity), dumped] { #expect(!text.contains("KEY")) }
    }
}

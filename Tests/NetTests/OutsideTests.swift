import Foundation
import Testing
import WalletConnectPay

@testable import Net

/// Where a message may go whose address somebody typed.
@Suite(.timeLimit(.minutes(1)))
struct OutsideTests {
    private static let shop = OutsidePolicy(allowsLoopbackHTTP: false) { ["192.168.1.5", "2001:db8::5"] }
    private static let sandbox = OutsidePolicy(allowsLoopbackHTTP: true) { ["127.0.0.1"] }

    @Test(arguments: [
        "https://shop.example/till", "https://shop.example:8443/a?b=c", "http://192.168.1.20:8080/hook",
        "http://10.0.0.1",
        "http://till-server/x", "https://8.8.8.8/", "https://[2001:4860:4860::8888]/", "http://[fd12:3456::1]:80/",
        "https://192.168.1.20/",
    ])
    func whatAShopHasAServerAtMayBeAsked(url: String) {
        #expect(Self.shop.objection(to: url) == nil)
    }

    @Test(
        arguments: [
            ("ftp://shop.example", OutsideObjection.notAnAddress), ("https://", .notAnAddress),
            ("shop.example", .notAnAddress),
            ("https://user@shop.example", .notAnAddress), ("https://shop.example#x", .notAnAddress),
            ("https://shop.example\\@169.254.169.254/", .notAnAddress), ("https://sh op.example", .notAnAddress),
            ("https://shop.example:0", .notAnAddress), ("https://shop.example:99999", .notAnAddress),
            ("https://%31%32%37.0.0.1", .notAnAddress), ("https://shöp.example", .notAnAddress),
            ("http://8.8.8.8/", .plainHTTP), ("http://[2001:4860:4860::8888]/", .plainHTTP),
            ("http://169.254.169.254/latest/meta-data", .place), ("https://169.254.1.1", .place),
            ("http://100.100.100.200/", .place), ("http://[fd00:ec2::254]/", .place), ("http://[fe80::1]/", .place),
            ("http://127.0.0.1:8443/", .place), ("https://127.9.9.9", .place), ("http://localhost:631", .place),
            ("https://a.localhost", .place), ("http://[::1]/", .place), ("http://[::ffff:127.0.0.1]/", .place),
            ("http://[::ffff:169.254.169.254]/", .place), ("http://[64:ff9b::a9fe:a9fe]/", .place),
            ("http://[2002:7f00:1::]/", .place), ("http://0.0.0.0:8443", .place), ("http://[::]", .place),
            ("http://[::7f00:1]", .place), ("https://255.255.255.255", .place), ("https://224.0.0.1", .place),
            ("https://[ff02::1]", .place), ("http://192.168.1.5:9100", .place), ("https://[2001:DB8:0::5]/", .place),
        ] as [(String, OutsideObjection)]
    )
    func everythingElseIsRefusedByItsText(url: String, objection: OutsideObjection) {
        #expect(Self.shop.objection(to: url) == objection)
    }

    @Test func aReceiptPrinterIsInTheShopAndNeverTheTerminalItself() {
        for address in ["192.168.1.50", "10.0.0.9", "fd12::7", "203.0.113.7"] {
            #expect(Self.shop.allowsPrinter(at: address), "\(address)")
        }
        let own = [
            "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "169.254.169.254", "::ffff:127.0.0.1", "fe80::1%eth0",
            "192.168.1.5", "2001:DB8::5", "x",
        ]
        for address in own {
            #expect(!Self.shop.allowsPrinter(at: address), "\(address)")
        }
        #expect(Self.sandbox.allowsPrinter(at: "127.0.0.1"))
    }

    @Test func aSandboxMayAskItsOwnMachineByThatNameAlone() {
        #expect(Self.sandbox.objection(to: "http://127.0.0.1:8088/") == nil)
        #expect(Self.sandbox.objection(to: "http://localhost:8088/") == nil)
        #expect(Self.sandbox.objection(to: "http://127.0.0.2:8088/") == .place)
        #expect(Self.sandbox.objection(to: "https://localhost/") == .place)
    }

    private func post(_ url: String) -> HTTPRequest {
        HTTPRequest(method: .post, url: url, body: Array("{}".utf8), timeout: .seconds(10), responseLimitBytes: 1024)
    }

    /// A name is judged by where it leads each time it is asked, and what was judged is what is asked.
    @Test(arguments: ["127.0.0.1", "169.254.169.254", "192.168.1.5", "::1", "fe80::1%eth0", "8.8.8.8"])
    func aNameThatLeadsElsewhereIsNotFollowed(address: String) async throws {
        let server = try ScriptedServer(.answer(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)))
        defer { server.stop() }
        let transport = OutsideTransport(policy: Self.shop) { _ in ["192.168.77.7", address] }
        await #expect(throws: OutsideError.objected(address == "8.8.8.8" ? .plainHTTP : .place)) {
            try await transport.send(post("http://shop.example:\(server.port)/"))
        }
        #expect(server.requests.isEmpty)
        await transport.shutdown()
    }

    @Test func theAddressThatWasLookedAtIsTheOneThatIsAskedUnderItsName() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer(.answer(Array(answer.utf8)))
        defer { server.stop() }
        // The system itself cannot resolve this name.
        let transport = try HTTPClientTransport(reaching: "receiver.invalid", at: "127.0.0.1")
        let response = try await transport.send(post("http://receiver.invalid:\(server.port)/Till"))
        #expect(response.status == 200)
        #expect(server.requests[0].hasPrefix("POST /Till HTTP/1.1"))
        #expect(server.requests[0].lowercased().contains("host: receiver.invalid:\(server.port)"))
        try await transport.shutdown()
        // A host in capitals is the same one, so that the system is not asked after all.
        let outside = OutsideTransport(policy: Self.sandbox) { _ in ["127.0.0.1"] }
        #expect(try await outside.send(post("http://LOCALHOST:\(server.port)/Till")).status == 200)
        await outside.shutdown()
    }

    @Test func aRedirectIsAnAnswerAndIsNotFollowed() async throws {
        let answer = "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer(.answer(Array(answer.utf8)))
        defer { server.stop() }
        let transport = OutsideTransport(policy: Self.sandbox)
        #expect(try await transport.send(post("http://127.0.0.1:\(server.port)/")).status == 302)
        #expect(server.requests.count == 1)
        await transport.shutdown()
    }

    @Test func anAnswerWithoutEndIsCutOff() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + String(repeating: "x", count: 5000)
        let server = try ScriptedServer(.answer(Array(head.utf8)))
        defer { server.stop() }
        let transport = OutsideTransport(policy: Self.sandbox)
        await #expect(throws: OutsideError.transport(.answerTooLarge(limitBytes: 1024))) {
            try await transport.send(post("http://127.0.0.1:\(server.port)/"))
        }
        await transport.shutdown()
    }
}

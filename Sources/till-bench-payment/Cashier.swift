import AsyncHTTPClient
import Console
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Terminal

/// What the page does for the owner and the cashier, over the terminal's own TLS.
struct Cashier {
    private let address: String
    private let client: HTTPClient
    private var session: [(name: String, value: String)] = []

    /// Claims the terminal.
    init(_ console: Console, _ desk: ChargeDesk, as password: String = "a password for one run") async throws {
        address = console.address
        // The terminal's own certificate: on loopback nobody stands between.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .init(tlsConfiguration: tls))
        var code: String?
        for await snapshot in await desk.snapshots() {
            guard case .unclaimed(let invitation) = snapshot.phase else { continue }
            code = invitation.code
            break
        }
        guard let code else { throw BenchError.noClaim }
        let answer = try await send(.POST, "/api/v1/claim", ["code": code, "password": password])
        struct Session: Decodable { var csrfToken: String }
        let cookie = String(answer.headers.first(name: "Set-Cookie")?.prefix { $0 != ";" } ?? "")
        let token = try JSONDecoder().decode(Session.self, from: Data(answer.body.readableBytesView)).csrfToken
        session = [("Cookie", cookie), ("X-CSRF-Token", token)]
    }

    func setUp(gateway: String, merchantID: String, key: String) async throws {
        try await send(
            .PUT,
            "/api/v1/settings",
            [
                "operatorID": "op-1", "merchantID": merchantID, "merchantName": "Café Morgenrot",
                "gatewayURL": gateway, "gatewayKey": key, "currency": "EUR", "locale": "de-DE",
            ]
        )
    }

    func charge(cents: Int) async throws {
        let amount = "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
        try await send(
            .POST,
            "/api/v1/charges",
            ["amount": amount],
            [("Idempotency-Key", "bench-\(UUID().uuidString)")]
        )
    }

    func leave() async throws { try await client.shutdown() }

    @discardableResult
    private func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: [String: String],
        _ headers: [(name: String, value: String)] = []
    ) async throws -> (headers: HTTPHeaders, body: ByteBuffer) {
        var request = HTTPClientRequest(url: address + path)
        request.method = method
        request.headers = ["Origin": address, "Content-Type": "application/json"]
        for (name, value) in session + headers { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body)))
        let response = try await client.execute(request, timeout: .seconds(20))
        // Read to its end, as a page does: only then can the connection be used again.
        let text = try await response.body.collect(upTo: 1 << 16)
        guard (200..<300).contains(response.status.code) else { throw BenchError.refused(Int(response.status.code)) }
        return (response.headers, text)
    }
}

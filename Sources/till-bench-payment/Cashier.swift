import Console
import Foundation
import Net
import Terminal
import WalletConnectPay

/// What the page does for the owner and the cashier, over the terminal's own TLS.
struct Cashier {
    private let address: String
    private let transport: HTTPClientTransport
    private var session: [HTTPRequest.Header] = []

    /// Claims the terminal.
    init(_ console: Console, _ desk: ChargeDesk, certificate: String) async throws {
        address = console.address
        transport = try HTTPClientTransport(
            hosts: .anyOverTLS(),
            authorities: [try String(contentsOfFile: certificate, encoding: .utf8)]
        )
        var code: String?
        for await snapshot in await desk.snapshots() {
            guard case .unclaimed(let invitation) = snapshot.phase else { continue }
            code = invitation.code
            break
        }
        guard let code else { throw BenchError.noClaim }
        let answer = try await send(.post, "/api/v1/claim", ["code": code, "password": "a password for one run"])
        struct Session: Decodable { var csrfToken: String }
        let cookie = String(answer.header("Set-Cookie")?.prefix { $0 != ";" } ?? "")
        let token = try JSONDecoder().decode(Session.self, from: Data(answer.body)).csrfToken
        session = [HTTPRequest.Header("Cookie", cookie), HTTPRequest.Header("X-CSRF-Token", token)]
    }

    func setUp(gateway: String, merchantID: String, key: String) async throws {
        _ = try await send(
            .put,
            "/api/v1/settings",
            [
                "operatorID": "op-1", "merchantID": merchantID, "merchantName": "Café Morgenrot",
                "gatewayURL": gateway, "gatewayKey": key, "currency": "EUR", "locale": "de-DE",
            ]
        )
    }

    func charge(cents: Int) async throws {
        let amount = "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
        _ = try await send(
            .post,
            "/api/v1/charges",
            ["amount": amount],
            [HTTPRequest.Header("Idempotency-Key", "bench-\(UUID().uuidString)")]
        )
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: [String: String],
        _ headers: [HTTPRequest.Header] = []
    ) async throws -> HTTPResponse {
        let own = [HTTPRequest.Header("Origin", address), HTTPRequest.Header("Content-Type", "application/json")]
        let response = try await transport.send(
            HTTPRequest(
                method: method,
                url: address + path,
                headers: own + session + headers,
                body: Array(try JSONEncoder().encode(body))
            )
        )
        guard (200..<300).contains(response.status) else { throw BenchError.refused(response.status) }
        return response
    }
}

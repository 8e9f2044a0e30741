import Foundation
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// The shop's own till, or another program with a token.
struct Program: Sendable {
    let console: Console
    private let files: StaticFiles
    let token: String
    let id: String
    static let peer = "192.168.1.30"

    /// A shop that can charge, and a program in it.
    init(_ page: Page, _ scopes: [String] = ["charges", "state", "screen"], name: String = "Till 1") async throws {
        let list = scopes.map { "\"\($0)\"" }.joined(separator: ",")
        let made = try await page.ask("POST", "tokens", #"{"name":"\#(name)","scopes":[\#(list)]}"#)
        #expect(made.status == 201)
        let said = try Page.said(made)
        console = page.console
        files = try StaticFiles(folder: "/usr/share/doc/base-files")
        token = try #require(said["token"] as? String)
        id = try #require(said["id"] as? String)
    }

    /// Claimed and set up, with a rail whose authority is the test.
    static func shop(_ page: Page) async throws -> CustomerShop {
        let shop = try await CustomerShop(page, #"{"enabled":false}"#)
        let settings = """
            {"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk","gatewayURL":"https://gateway.test",
             "gatewayKey":"key","currency":"EUR"}
            """
        #expect(try await page.send("PUT", "settings", settings) == 200)
        await page.desk.use(CustomerShop.merchant, drivers: [shop.rail])
        return shop
    }

    func ask(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        key: String? = nil,
        token: String? = nil,
        headers more: WebHeaders = [:],
        from peer: String = peer
    ) async throws -> WebResponse {
        var headers: WebHeaders = ["Host": "till.local", "Authorization": "Bearer \(token ?? self.token)"]
        if let key { headers.add("Idempotency-Key", key) }
        if body != nil { headers.add("Content-Type", "application/json") }
        for field in more { headers.add(field.name, field.value) }
        let request = try #require(
            WebRequest(
                method: method,
                target: "/api/v1/\(path)",
                headers: headers,
                body: Array((body ?? "").utf8),
                peerAddress: peer
            )
        )
        switch console.handle(request, files) {
        case .now(let response): return response
        case .later(let work): return await work()
        }
    }

    func said(_ method: String, _ path: String, _ body: String? = nil, key: String? = nil) async throws -> [String: Any]
    {
        try Page.said(try await ask(method, path, body, key: key))
    }

    static func code(_ response: WebResponse) throws -> String? { try Page.said(response)["code"] as? String }
}

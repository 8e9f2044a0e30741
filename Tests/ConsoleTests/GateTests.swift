import Foundation
import Payments
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// What another site makes a signed-in owner's browser send does nothing. The cookie goes along in none of these by itself
/// (SameSite=Strict); here it does, and the gate holds all the same.
@Suite(.timeLimit(.minutes(2)))
struct GateTests {
    /// The answer's code; nil where it passes.
    private func refusal(
        _ page: Page,
        _ method: String,
        _ path: String,
        _ changes: [(name: String, value: String?)] = []
    ) throws -> String? {
        let token = try #require(page.token)
        var headers: WebHeaders = [
            "Host": "till.local:8443", "Origin": "https://till.local:8443", "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json", "Cookie": "\(Gate.cookie)=\(token)",
            "X-CSRF-Token": Sessions.csrfToken(of: token),
        ]
        for change in changes { headers[change.name] = nil }
        for case (let name, let value?) in changes { headers.add(name, value) }
        let request = try #require(
            WebRequest(method: method, target: "/api/v1/\(path)", headers: headers, body: Array("{}".utf8))
        )
        let gate = Gate(sessions: page.console.sessions)
        do throws(Problem) { _ = try gate.check(request, isClaimed: true, now: page.clock.wallTime) } catch {
            #expect(error.status == 403 || error.status == 415)
            return error.reason.code
        }
        return nil
    }

    @Test func whatAnotherSiteSendsIsRefusedAndThePagesOwnIsNot() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            #expect(try refusal(page, "POST", "logout") == nil && refusal(page, "GET", "settings") == nil)
            // Questions come without an origin from a page of one's own.
            #expect(try refusal(page, "GET", "settings", [("Origin", nil), ("Sec-Fetch-Site", nil)]) == nil)
            #expect(try refusal(page, "GET", "settings", [("Sec-Fetch-Site", "none")]) == nil)
            for origin in [
                "https://evil.test", "null", "", "http://till.local:8443", "https://till.local",
                "https://till.local:8444",
                "https://evil.till.local:8443", "https://till.local:8443.evil.test", "https://eviltill.local:8443",
            ] {
                #expect(try refusal(page, "POST", "logout", [("Origin", origin)]) == "other_origin", "\(origin)")
                #expect(try refusal(page, "GET", "settings", [("Origin", origin)]) == "other_origin", "\(origin)")
            }
            let own = "https://till.local:8443"
            #expect(
                try refusal(page, "POST", "logout", [("Origin", own), ("Origin", "https://evil.test")])
                    == "other_origin"
            )
            #expect(try refusal(page, "POST", "logout", [("Origin", nil)]) == "other_origin", "a change needs one")
            for site in ["cross-site", "same-site", "nonsense", ""] {
                for (method, path) in [("POST", "logout"), ("GET", "settings")] {
                    #expect(try refusal(page, method, path, [("Sec-Fetch-Site", site)]) == "other_origin", "\(site)")
                }
            }
        }
    }

    /// What a form of another site can send without being asked about: no JSON, and no header of the page's own.
    @Test func aFormOfAnotherSiteCannotBeTakenForThePage() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            for type in ["text/plain", "application/x-www-form-urlencoded", "application/json2", "", nil] as [String?] {
                let code = try refusal(page, "POST", "logout", [("Content-Type", type)])
                #expect(code == "content_type_wrong", "\(type ?? "none")")
            }
            #expect(try refusal(page, "POST", "logout", [("Content-Type", "Application/JSON; charset=utf-8")]) == nil)
            let other = Sessions.csrfToken(of: String(repeating: "A", count: 43))
            for (method, path) in [("POST", "logout"), ("PUT", "settings"), ("DELETE", "sessions")] {
                #expect(try refusal(page, method, path) == nil)
                for token in [nil, "", other] {
                    let code = try refusal(page, method, path, [("X-CSRF-Token", token)])
                    #expect(code == "csrf_token_wrong", "\(method) \(path)")
                }
            }
        }
    }
}

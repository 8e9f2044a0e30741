import Foundation
import Journal
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// What becomes of a body is decided by the head that comes before it.
@Suite(.timeLimit(.minutes(2)))
struct AdmissionTests {
    private static let password = "correct horse battery"

    private func withOwner(_ body: (Page) async throws -> Void) async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            try await body(page)
        }
    }

    /// The status of the refusal; nil where the body is taken, with the bytes of it that are kept.
    private func verdict(
        _ page: Page,
        _ method: String,
        _ path: String,
        _ changes: [(String, String?)] = []
    ) throws -> (refused: Int?, bytes: Int, isKnown: Bool) {
        var headers: WebHeaders = [
            "Host": "till.local", "Origin": "https://till.local", "Content-Type": "application/json",
        ]
        for (name, value) in changes { headers[name] = value }
        let head = try #require(
            WebRequest(method: method, target: path, headers: headers, peerAddress: "192.168.1.66")
        )
        let admission = page.console.admission(of: head, .bytes(700 * 1024))
        switch admission.verdict {
        case .take(let bytes): return (nil, bytes, admission.isKnown)
        case .refuse(let answer, let whenAnswered):
            whenAnswered()
            return (answer.status, 0, admission.isKnown)
        }
    }

    private func cookie(of page: Page) throws -> [(String, String?)] {
        let token = try #require(page.token)
        return [("Cookie", "\(Gate.cookie)=\(token)"), ("X-CSRF-Token", Sessions.csrfToken(of: token))]
    }

    @Test func ofNobodyUnknownMoreThanAFewKiBAreKept() async throws {
        try await withOwner { page in
            let refused = [
                ("PUT", "restore", 401), ("PUT", "update", 401), ("POST", "backup/import", 401), ("PUT", "logo", 401),
                ("PUT", "customers", 401), ("POST", "charges", 401), ("PUT", "nothing", 404), ("PATCH", "charges", 405),
            ]
            for (method, path, status) in refused {
                #expect(try verdict(page, method, "/api/v1/\(path)").refused == status, "\(method) \(path)")
            }
            // The ways in take what a password needs; so does whatever takes no body at all.
            for path in [
                "/api/v1/login", "/api/v1/claim", "/api/v1/login/pin", "/", "/metrics", "/c/x", "/api/v1/openapi.json",
            ] {
                let verdict = try verdict(page, "POST", path)
                #expect(verdict.refused == nil && verdict.bytes == 4096 && !verdict.isKnown, "\(path)")
            }
            #expect(try verdict(page, "POST", "/api/v1/login", [("Origin", "https://evil.test")]).refused == 403)
            #expect(try verdict(page, "POST", "/api/v1/login", [("Content-Type", "text/plain")]).refused == 415)
            #expect(
                try verdict(page, "POST", "/api/v1/charges", [("Authorization", "Bearer till_lan_x")]).refused == 401
            )
        }
    }

    @Test func whoIsKnownSendsWhatTheirRoleMaySend() async throws {
        try await withOwner { page in
            let owner = try cookie(of: page)
            let upload = try verdict(page, "PUT", "/api/v1/restore", owner)
            #expect(upload.refused == nil && upload.bytes == .max && upload.isKnown)
            #expect(try verdict(page, "PUT", "/api/v1/restore", [owner[0]]).refused == 403, "without the page's token")
            let made = try Page.said(try await page.ask("POST", "tokens", #"{"name":"Till","scopes":["charges"]}"#))
            let token = try #require(made["token"] as? String)
            let program = [("Authorization", "Bearer \(token)" as String?), ("Origin", nil)]
            #expect(try verdict(page, "POST", "/api/v1/charges", program).bytes == .max)
            #expect(try verdict(page, "POST", "/api/v1/screen", program).refused == 403, "not in its scopes")
            #expect(try verdict(page, "PUT", "/api/v1/restore", program).refused == 403, "not for programs")
            #expect(try verdict(page, "POST", "/api/v1/charges", program + [owner[0]]).refused == 400, "two at once")
        }
    }

    /// A browser that polls is signed out for idling all the same: to be known is not to be active.
    @Test func beingKnownIsNoUse() async throws {
        try await withOwner { page in
            let token = try #require(page.token)
            let before = page.console.sessions.list(at: page.clock.wallTime).map(\.usedAt)
            let later = page.clock.wallTime.advanced(by: .seconds(3600))
            #expect(page.console.sessions.has(token, at: later))
            #expect(page.console.sessions.list(at: later).map(\.usedAt) == before)
            let tomorrow = page.clock.wallTime.advanced(by: .seconds(13 * 3600))
            #expect(!page.console.sessions.has(token, at: tomorrow))
            #expect(!page.console.sessions.has(String(repeating: "a", count: 64), at: later))
        }
    }

    @Test func whatIsRefusedByItsHeadIsOnRecord() async throws {
        try await withOwner { page in
            let before = try await page.rows().count
            for _ in 0..<3 { _ = try verdict(page, "PUT", "/api/v1/restore") }
            while try await page.rows().count < before + 3 { await Task.yield() }
            let rows = try await page.rows().suffix(3)
            #expect(rows.allSatisfy { $0.what == "request" && $0.result == "refused" && $0.from == "192.168.1.66" })
            #expect(rows.allSatisfy { $0.detail.hasPrefix("not_signed_in /api/v1/restore") })
        }
    }

    /// As many as are asked at once, and a line that is full: none waits, and each is counted.
    @Test func aFloodOfRefusalsIsCounted() throws {
        let refusals = HeadRefusals()
        let head = try #require(WebRequest(method: "PUT", target: "/api/v1/restore"))
        for _ in 0..<100 { refusals.note(head, .notSignedIn) }
        #expect(refusals.takeUnwritten() == 68)
        #expect(refusals.takeUnwritten() == 0)
    }
}

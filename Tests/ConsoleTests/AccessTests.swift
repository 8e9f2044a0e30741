import Foundation
import Journal
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// Takes every address and every message.
private struct NoCarrier: WebhookCarrier {
    func objection(to url: String) -> WebhookObjection? { nil }

    func post(_ url: String, headers: [(name: String, value: String)], body: [UInt8]) async -> WebhookAnswer {
        await Task.yield()
        return .status(204, retryAfter: nil)
    }
}

/// What a stolen session can make to last, and how an owner ends it.
@Suite(.timeLimit(.minutes(2)))
struct AccessTests {
    private static let proof = #"{"password":"\#(StaffShop.password)"}"#

    private static let lasting: [(method: String, path: String, body: String)] = [
        ("POST", "tokens", #"{"name":"thief","scopes":["charges"]}"#),
        ("POST", "webhooks", #"{"url":"https://thief.test/","events":["succeeded"]}"#),
        ("POST", "staff", #"{"name":"Thief","role":"manager","pin":"7391"}"#),
        ("POST", "browsers", "{}"),
        ("PUT", "connect", #"{"enabled":true}"#),
    ]

    @Test func aSessionAloneMakesNothingThatOutlivesIt() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            page.clock.advance(by: .milliseconds(Proof.lifetime + 1))
            let person = ("PUT", "staff/\(ada)", #"{"role":"manager"}"#)
            let pin = ("PUT", "staff/\(ada)", #"{"pin":"7391"}"#)
            let code = ("POST", "staff/\(ada)/code", "{}")
            let rules = ("PUT", "staff", #"{"cashierMaximumMinor":null}"#)
            let printer = ("PUT", "receipts", #"{"printer":"203.0.113.5:9100"}"#)
            for (method, path, body) in Self.lasting + [person, pin, code, rules, printer] {
                let answer = try await page.ask(method, path, body)
                #expect(
                    answer.status == 403 && answer.said["code"] as? String == "proof_needed",
                    "\(method) \(path) \(body)"
                )
            }
            #expect((try await page.ask("GET", "tokens").said["tokens"] as? [Any])?.isEmpty == true)
            #expect(await page.console.staff.book.people.map(\.role) == [.cashier])
            #expect(await page.console.staff.browsers.isEmpty)
            // Taking away waits for nobody.
            #expect(try await page.send("PUT", "staff/\(ada)", #"{"enabled":false}"#) == 200)
            #expect(try await page.send("PUT", "staff/\(ada)", #"{"enabled":true}"#) == 403)
        }
    }

    @Test func thePasswordOnceMoreLetsItBeMadeAndTheOldTokenIsWorthNothing() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            page.clock.advance(by: .milliseconds(Proof.lifetime + 1))
            let thief = page.another()
            thief.take(page)
            #expect(try await thief.send("GET", "settings", "") == 200, "a copy of the cookie")
            #expect(try await page.send("POST", "proof", #"{"password":"not the password"}"#) == 422)
            #expect(try await page.send("POST", "proof", "{}") == 422)
            #expect(try await page.send("POST", "proof", Self.proof) == 200)
            #expect(try await page.send("POST", "tokens", #"{"name":"till","scopes":["charges"]}"#) == 201)
            #expect(try await thief.send("GET", "settings", "") == 401)
            #expect(try await thief.send("POST", "tokens", #"{"name":"x","scopes":["charges"]}"#) == 401)
            page.clock.advance(by: .milliseconds(Proof.lifetime + 1))
            #expect(
                try await page.send("POST", "tokens", #"{"name":"x","scopes":["charges"]}"#) == 403,
                "for ten minutes"
            )
        }
    }

    @Test func aManagerShowsThePIN() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            page.clock.advance(by: .milliseconds(Proof.lifetime + 1))
            #expect(try await manager.send("POST", "staff", #"{"name":"Bob","role":"cashier"}"#) == 403)
            #expect(try await manager.send("POST", "proof", #"{"pin":"0001"}"#) == 422)
            #expect(try await manager.send("POST", "proof", Self.proof) == 422, "the owner's password is not theirs")
            #expect(try await manager.send("POST", "proof", #"{"pin":"7391"}"#) == 200)
            #expect(try await manager.send("POST", "staff", #"{"name":"Bob","role":"cashier"}"#) == 201)
        }
    }

    @Test func aNewPasswordListsWhatLastsAndOneRequestEndsIt() async throws {
        try await withConsole(webhooks: NoCarrier()) { page in
            try await StaffShop.open(page)
            let token =
                try await page.ask("POST", "tokens", #"{"name":"thief","scopes":["state"]}"#).said["token"] as? String
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            #expect(
                try await page.send("POST", "webhooks", #"{"url":"https://thief.test/","events":["succeeded"]}"#) == 201
            )
            let change = #"{"currentPassword":"\#(StaffShop.password)","newPassword":"staple battery horse"}"#
            #expect(try await page.send("PUT", "password", change) == 200)
            let said = try await page.ask("GET", "access").said
            let counts = ["tokens", "webhooks", "browsers", "people"].map { (said[$0] as? [Any])?.count }
            #expect(counts == [1, 1, 1, 1])
            #expect(try await page.send("POST", "access/end", "{}") == 422, "nothing ends by itself")
            let all = #"{"tokens":true,"webhooks":true,"browsers":true,"people":true}"#
            let after = try await page.ask("POST", "access/end", all)
            #expect(after.status == 200)
            #expect(
                ["tokens", "webhooks", "browsers", "people"].allSatisfy { (after.said[$0] as? [Any])?.isEmpty == true }
            )
            #expect(try await StaffShop.pin(manager, mia, "7391") == 403, "the browser is not known")
            #expect(await page.console.staff.book.people.map(\.isEnabled) == [false], "and can be switched on again")
            #expect(await page.console.tokens.check(token, from: "10.0.0.9") == .refused)
            #expect(try await page.rows().filter { $0.what == "access.end" && $0.result == "ok" }.count == 4)
        }
    }

    @Test func whoeverIsSignedInForLongEndsNothingWithoutThePassword() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            page.clock.advance(by: .milliseconds(Proof.lifetime + 1))
            #expect(try await page.send("GET", "access", "") == 200)
            #expect(try await page.send("POST", "access/end", #"{"tokens":true}"#) == 403)
        }
    }

    /// Source: OWASP ASVS 5.0, 7.2.4.
    @Test func aSecondSignInEndsTheBrowsersEarlierSession() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let copy = page.another()
            copy.take(page)
            #expect(try await page.send("POST", "login", Self.proof) == 200)
            #expect(try await copy.send("GET", "settings", "") == 401)
            #expect(page.console.sessions.list(at: page.clock.wallTime).count == 1)
        }
    }

    @Test func theSamePasswordOnceMoreIsNoNewOne() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let same = #"{"currentPassword":"\#(StaffShop.password)","newPassword":"\#(StaffShop.password)"}"#
            let answer = try await page.ask("PUT", "password", same)
            let fields = answer.said["fields"] as? [String: [String: Any]]
            #expect(answer.status == 422 && fields?["newPassword"]?["code"] as? String == "password_same")
            #expect(try await page.another().send("POST", "login", Self.proof) == 200)
            // Whoever does not know it learns nothing of it.
            let guess = #"{"currentPassword":"staple battery","newPassword":"staple battery"}"#
            let wrong = try await page.ask("PUT", "password", guess).said["fields"] as? [String: Any]
            #expect(wrong?.keys.sorted() == ["currentPassword"])
        }
    }
}

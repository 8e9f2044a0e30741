import Foundation
import WebServer
import Payments
import Testing

@testable import Console
@testable import Terminal

/// A shop with an owner, who is signed in at the first browser.
enum StaffShop {
    static let password = "correct horse battery"
    static let settings = """
        {"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk","gatewayURL":"https://gateway.test",
         "gatewayKey":"key","currency":"EUR"}
        """

    /// Claims the terminal and, with `settings`, sets it up.
    static func open(_ page: Page, settings: Bool = false) async throws {
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(password)"}"#) == 201)
        guard settings else { return }
        #expect(try await page.send("PUT", "settings", Self.settings) == 200)
        await page.untilReady()
    }

    /// Adds somebody and returns their id.
    static func add(_ page: Page, _ name: String, _ role: String = "cashier", pin: String = "4826") async throws
        -> String
    {
        let answer = try await page.ask("POST", "staff", #"{"name":"\#(name)","role":"\#(role)","pin":"\#(pin)"}"#)
        #expect(answer.status == 201)
        return try #require(try person(name, in: answer.said)["id"] as? String)
    }

    /// The browser becomes a counter.
    static func makeCounter(_ page: Page) async throws {
        #expect(try await page.send("POST", "browsers", "{}") == 201)
        #expect(page.browser != nil)
    }

    /// Another browser with a counter's cookie, where nobody is signed in.
    static func counter(_ page: Page) async throws -> Page {
        try await makeCounter(page)
        let counter = page.another()
        counter.browser = page.browser
        return counter
    }

    static func pin(_ page: Page, _ id: String, _ pin: String = "4826") async throws -> Int {
        try await page.send("POST", "login/pin", #"{"person":"\#(id)","pin":"\#(pin)"}"#)
    }

    /// A browser at which that person is signed in.
    static func signIn(_ owner: Page, as id: String, pin: String = "4826") async throws -> Page {
        let counter = try await counter(owner)
        #expect(try await Self.pin(counter, id, pin) == 200)
        return counter
    }

    static func person(_ name: String, in answer: [String: Any]) throws -> [String: Any] {
        let people = answer["people"] as? [[String: Any]] ?? []
        return try #require(people.first { $0["name"] as? String == name })
    }

    static func list(_ page: Page) async throws -> [String: Any] { try await page.ask("GET", "staff").said }
}

extension WebResponse {
    /// What the answer's JSON says; nothing where it is none.
    var said: [String: Any] { (try? Page.said(self)) ?? [:] }
}

import Foundation
import Journal
import Logging
import Payments
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// The set-up of a new terminal, over its own API.
@Suite(.timeLimit(.minutes(2)))
struct SetUpTests {
    private static let password = "correct horse battery"
    private static let settings =
        #"{"operatorID":"op","merchantID":"mrch_1","merchantName":"Zoë","gatewayURL":"https://gateway.example","#
        + #""gatewayKey":"wcp_canary","currency":"EUR"}"#

    private func claim(_ page: Page) async throws {
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#) == 201)
    }

    /// The answer's status, its code, and the names of the fields that are wrong.
    private func put(_ page: Page, _ body: String) async throws -> (status: Int, code: String?, fields: [String]) {
        let answer = try await page.ask("PUT", "setup", body)
        let said = try Page.said(answer)
        let fields = said["fields"] as? [String: Any]
        return (answer.status, said["code"] as? String, fields?.keys.sorted() ?? [])
    }

    private func state(_ page: Page) async throws -> [String: Any] {
        try Page.said(try await page.ask("GET", "setup"))
    }

    @Test func itStandsWhereItWasAfterTheTerminalWasSwitchedOff() async throws {
        try await withConsole { page in
            try await claim(page)
            #expect(try await put(page, #"{"version":0,"step":"country"}"#).status == 200)
            #expect(try await put(page, #"{"version":1,"step":"ids","country":"DE","currency":"EUR"}"#).status == 200)
            let again = SetUpDesk(
                journal: page.journal,
                desk: page.desk,
                settings: page.console.settings,
                clock: page.clock.terminalClock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            try await again.load()
            let stored = try #require(await again.current)
            #expect(stored.step == .ids && stored.furthest == .ids && stored.state == .open)
            #expect(stored.draft == ["country": "DE", "currency": "EUR"])
        }
    }

    @Test func nobodyGetsPastWhatChargesNeed() async throws {
        try await withConsole { page in
            try await claim(page)
            for step in SetUpStep.allCases where step.number >= SetUpStep.firstOptional.number {
                let refused = try await put(page, #"{"version":0,"step":"\#(step.rawValue)"}"#)
                #expect(refused.status == 409 && refused.code == "gateway_needed", "\(step)")
            }
            for state in ["later", "done"] {
                #expect(try await put(page, #"{"version":0,"state":"\#(state)"}"#).code == "gateway_needed")
            }
            let refused = try await put(page, #"{"version":0,"step":"gateway","currency":"EUR","operatorID":"op"}"#)
            #expect(refused.status == 422 && refused.fields == ["merchantID", "merchantName"])
            #expect(try await state(page)["version"] as? Int == 0, "nothing was stored")
            #expect(try await page.send("PUT", "settings", Self.settings) == 200)
            #expect(try await put(page, #"{"version":0,"state":"later"}"#).status == 200)
        }
    }

    @Test func ofTwoWhoGoOnTheLaterOneIsTold() async throws {
        try await withConsole { page in
            try await claim(page)
            #expect(try await put(page, #"{"version":0,"step":"country"}"#).status == 200)
            let late = try await put(page, #"{"version":0,"currency":"USD"}"#)
            #expect(late.status == 409 && late.code == "set_up_changed")
            #expect((try await state(page)["answers"] as? [String: String])?.isEmpty == true)
        }
    }

    @Test func onlyTheOwnerSeesIt() async throws {
        try await withConsole { page in
            #expect(try await page.send("GET", "setup", "") == 403, "nobody owns the terminal yet")
            try await claim(page)
            #expect(try await page.another().send("GET", "setup", "") == 401)
            #expect(Route.setUp.roles == [.owner] && Route.saveSetUp.roles == [.owner])
            #expect(try await page.ask("PUT", "setup", "{}", csrf: "wrong").status == 403)
        }
    }

    @Test(arguments: [
        (#"{"version":0,"gatewayKey":"wcp_canary"}"#, "gatewayKey"),
        (#"{"version":0,"operatorID":"a b"}"#, "operatorID"),
        (#"{"version":0,"merchantName":"  "}"#, "merchantName"), (#"{"version":0,"country":"Deutschland"}"#, "country"),
        (#"{"version":0,"country":"d3"}"#, "country"),
        (#"{"version":0,"gatewayURL":"http://127.0.0.1:1"}"#, "gatewayURL"),
        (#"{"version":0,"step":"nowhere"}"#, "step"), (#"{"version":0.5}"#, "version"),
        (#"{"version":0,"testCharge":"1"}"#, "testCharge"), (#"{"version":0,"locale":"xx-XX"}"#, "locale"),
    ])
    func whatIsNoAnswerIsRefusedAtItsField(body: String, field: String) async throws {
        try await withConsole { page in
            try await claim(page)
            let refused = try await put(page, body)
            #expect(refused.status == 422 && refused.fields == [field])
            #expect(try await state(page)["version"] as? Int == 0)
            let rows = try await page.rows()
            #expect(!rows.contains { $0.detail.contains("canary") })
        }
    }

    @Test func theScreenSaysHowFarItIsUntilItIsDoneOrLeft() async throws {
        try await withConsole { page in
            #expect(await page.desk.snapshot.setUp == SetUpProgress(step: 1, count: 9))
            try await claim(page)
            #expect(try await put(page, #"{"version":0,"step":"country","currency":"EUR"}"#).status == 200)
            #expect(try await put(page, #"{"version":1,"step":"ids"}"#).status == 200)
            #expect(await page.desk.snapshot.setUp == SetUpProgress(step: 3, count: 9))
            #expect(try await page.send("PUT", "settings", Self.settings) == 200)
            #expect(await page.desk.snapshot.setUp == SetUpProgress(step: 3, count: 9))
            #expect(try await put(page, #"{"version":2,"state":"later","step":"test"}"#).status == 200)
            #expect(await page.desk.snapshot.setUp == nil)
            #expect(try await put(page, #"{"version":3,"state":"open"}"#).status == 200)
            #expect(await page.desk.snapshot.setUp == SetUpProgress(step: 9, count: 9))
            #expect(try await put(page, #"{"version":4,"state":"done","step":"done"}"#).status == 200)
            #expect(await page.desk.snapshot.setUp == nil)
        }
    }

    @Test func aTerminalThatWasSetUpWithoutItIsNotAskedAgain() async throws {
        try await withConsole { page in
            try await claim(page)
            #expect(try await page.send("PUT", "settings", Self.settings) == 200)
            #expect(await page.desk.snapshot.setUp == nil)
            let session = try Page.said(try await page.ask("GET", "session"))
            #expect(session["setUp"] as? Bool == true && session["setUpState"] is NSNull)
        }
    }

    @Test func whatCannotBeReadBeginsAnewAndStopsNothing() async throws {
        try await withConsole { page in
            _ = try await page.journal.setDocument(
                "set-up",
                Array(#"{"step":"of another version"}"#.utf8),
                expecting: .any,
                with: nil,
                by: .terminal,
                at: page.clock.wallTime
            )
            try await page.console.setUp.load()
            try await claim(page)
            #expect(try await state(page)["step"] as? String == "language")
            #expect(try await put(page, #"{"version":1,"step":"country"}"#).status == 200)
        }
    }

    @Test func aStepThatCannotBeStoredIsNotTaken() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try await claim(page)
            try box.storage.fail("set-up")
            #expect(try await put(page, #"{"version":0,"step":"country"}"#).status == 503)
            #expect(try await state(page)["step"] as? String == "language")
            try box.storage.fail()
            #expect(try await put(page, #"{"version":0,"step":"country"}"#).status == 200)
        }
    }
}

import Foundation
import Journal
import Logging
import Payments
import Testing
import WalletConnect
import WebServer

@testable import Console
@testable import Terminal

/// A machine without internet.
private struct NoSockets: WebSocketPort {
    func connect(_ request: WebSocketRequest) async throws(WebSocketFailure) -> any WebSocketLine {
        await Task.yield()
        throw .noNetwork(reason: "no network")
    }
}

/// Connect on a terminal that reaches no relay.
func unreachableWallets(
    _ journal: Journal,
    _ desk: ChargeDesk,
    _ clock: StillClock,
    _ logger: Logger
) async throws -> ConnectDesk {
    let station = ConnectStation(
        store: ConnectStore(journal: journal),
        memory: ConnectRelayMemory(journal: journal),
        sockets: NoSockets(),
        clock: clock.terminalClock,
        logger: logger
    )
    let wallets = ConnectDesk(
        journal: journal,
        desk: desk,
        station: station,
        clock: clock.terminalClock,
        allowsPlain: false
    ) { _, _ in nil }
    try await wallets.load()
    return wallets
}

/// What the page may see and change about wallets that connect, over its own API.
@Suite(.timeLimit(.minutes(2)))
struct WalletsTests {
    private static let project = "0123456789abcdef0123456789abcdef"

    private func claim(_ page: Page) async throws {
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"correct horse battery"}"#) == 201)
    }

    @Test func addressesAreForTheOwnerAndTheCodeForWhoeverCharges() throws {
        #expect(try Route("GET", "/api/v1/connect", query: [:]).roles == [.owner])
        #expect(try Route("PUT", "/api/v1/connect", query: [:]).roles == [.owner])
        let forget = try Route("POST", "/api/v1/connect/forget", query: [:])
        #expect(forget.roles == [.owner] && forget.changesState)
        let id = "01990000-0000-7000-8000-000000000000"
        let turn = try Route("POST", "/api/v1/charges/\(id)/code", query: [:])
        #expect(turn.roles == [.owner, .manager, .cashier])
        #expect(turn.changesState)
        #expect(throws: Problem.self) { try Route("GET", "/api/v1/charges/\(id)/code", query: [:]) }
    }

    @Test func nobodyElseSeesOrChangesIt() async throws {
        try await withConsole { page in
            try await claim(page)
            let stranger = page.another()
            #expect(try await stranger.send("GET", "connect", "") == 401)
            #expect(try await stranger.send("PUT", "connect", #"{"enabled":true}"#) == 401)
            #expect(try await stranger.send("POST", "connect/forget", "") == 401)
        }
    }

    @Test func whatIsSavedHoldsAndSaysWhatHindersIt() async throws {
        try await withConsole { page in
            try await claim(page)
            let before = try Page.said(try await page.ask("GET", "connect", ""))
            #expect(before["enabled"] as? Bool == false)
            #expect(before["version"] as? Int == 0)
            await page.desk.setGateway(.ready)
            let form = #"{"enabled":true,"projectID":"\#(Self.project)","oneCode":false,"version":0}"#
            #expect(try await page.send("PUT", "connect", form) == 200)
            let after = try Page.said(try await page.ask("GET", "connect", ""))
            #expect(after["enabled"] as? Bool == true)
            #expect(after["oneCode"] as? Bool == false)
            #expect(after["projectID"] as? String == Self.project)
            #expect((after["light"] as? [String: Any])?["state"] as? String != "off")
            // What is known of the gateway stays known.
            #expect(await page.desk.snapshot.gateway == .ready)
            // Made from the settings before these.
            #expect(try await page.send("PUT", "connect", form) == 409)
        }
    }

    @Test func walletsAreForgottenWithoutAFormAndTheSettingsStay() async throws {
        try await withConsole { page in
            try await claim(page)
            let form = #"{"enabled":true,"projectID":"\#(Self.project)","version":0}"#
            #expect(try await page.send("PUT", "connect", form) == 200)
            #expect(try await page.send("POST", "connect/forget", #"{"all":true}"#) == 422)
            let answer = try await page.ask("POST", "connect/forget", "")
            #expect(answer.status == 200)
            #expect(try Page.said(answer)["enabled"] as? Bool == true)
        }
    }

    @Test(arguments: [
        ("relayURL", "http://relay.example"), ("projectID", "short"), ("chains", "everywhere"),
    ])
    func whatIsWrongIsSaidAtItsField(field: String, value: String) async throws {
        try await withConsole { page in
            try await claim(page)
            var members = ["projectID": Self.project]
            members[field] = value
            let rest = members.map { #""\#($0.key)":"\#($0.value)""# }.joined(separator: ",")
            let answer = try await page.ask("PUT", "connect", #"{"enabled":true,\#(rest)}"#)
            #expect(answer.status == 422)
            #expect((try Page.said(answer)["fields"] as? [String: Any])?[field] != nil)
            let now = try Page.said(try await page.ask("GET", "connect", ""))
            #expect(now["enabled"] as? Bool == false)
        }
    }
}

import Foundation
import Journal
import Logging
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// When a code can be asked for, and what it takes.
struct ResetTests {
    private static let minute = Duration.seconds(60)

    private func running(at now: Duration = .zero) throws -> (reset: Reset, code: String) {
        var reset = Reset(switchedOnAt: .zero)
        #expect(reset.start(at: now) == .shown)
        return (reset, try #require(reset.code))
    }

    @Test func theCodeWorksOnceForFifteenMinutes() throws {
        var (reset, code) = try running()
        #expect(code.count == 9 && reset.expiresAt == Self.minute * 15)
        #expect(reset.guess(code.lowercased(), at: Self.minute * 15 - .milliseconds(1)) == .right)
        #expect(reset.code == nil && reset.guess(code, at: Self.minute * 14) == .none)
        (reset, code) = try running()
        #expect(reset.guess(code, at: Self.minute * 15) == .none)
    }

    @Test func fiveWrongGuessesEndIt() throws {
        var (reset, code) = try running()
        for _ in 0..<5 { #expect(reset.guess("AAAA-AAAA", at: .seconds(1)) == .wrong) }
        #expect(reset.code == nil && reset.guess(code, at: .seconds(1)) == .none)
    }

    @Test func onlyShortlyAfterTheTerminalWasSwitchedOn() {
        var reset = Reset(switchedOnAt: .seconds(100))
        #expect(reset.start(at: .seconds(100) + Self.minute * 15) == .tooLate)
        #expect(reset.code == nil)
        #expect(reset.start(at: .seconds(99) + Self.minute * 15) == .shown)
    }

    @Test func thereIsOneAtATime() throws {
        var (reset, code) = try running()
        #expect(reset.start(at: .seconds(5)) == .isRunning)
        #expect(reset.code == code, "whoever asks again does not take it from the one who reads it")
    }

    @Test func afterOneThatWasNotUsedTheNextWaitsTwiceAsLong() throws {
        var (reset, _) = try running()
        var now = Duration.zero
        for pause in [30, 60, 120, 240] {
            for _ in 0..<5 { #expect(reset.guess("AAAA-AAAA", at: now) == .wrong) }
            #expect(reset.start(at: now) == .paused(.seconds(pause)))
            now += .seconds(pause)
            #expect(reset.start(at: now) == .shown)
        }
        reset.forgive()
        #expect(reset.start(at: now) == .shown)
    }
}

/// A forgotten password: the code on the terminal's screen, over the page's own API.
@Suite(.timeLimit(.minutes(2)))
struct ForgottenPasswordTests {
    private static let password = "correct horse battery"
    private static let new = "staple battery horse"

    private func claim(_ page: Page) async throws {
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#) == 201)
    }

    private func finish(_ page: Page, _ code: String, _ password: String = new) async throws -> Int {
        try await page.send("PUT", "reset", #"{"code":"\#(code)","password":"\#(password)"}"#)
    }

    @Test func theCodeOnTheScreenSetsANewPasswordAndSignsEverybodyOut() async throws {
        try await withConsole { page in
            try await claim(page)
            let stranger = page.another()
            let answer = try await stranger.ask("POST", "reset")
            #expect(answer.status == 202)
            let code = try await page.claimCode()
            guard case .resetting(let invitation) = await page.phase() else {
                Issue.record("the screen does not show it")
                return
            }
            #expect(invitation.code == code && invitation.url.hasPrefix(page.console.address))
            #expect(invitation.url.contains("/#reset=\(code)&cert="))
            let said = try Page.said(answer)
            #expect(!"\(said)".contains(code), "only the screen says it")
            #expect(try await stranger.send("POST", "reset", "{}") == 202)
            #expect(try await page.claimCode() == code)

            #expect(try await finish(stranger, "AAAA-AAAA") == 403)
            #expect(try await finish(stranger, code, "kite") == 422, "and the code is still good")
            #expect(try await finish(stranger, code) == 200)
            #expect(await page.desk.invitation == nil)
            #expect(try await finish(page.another(), code) == 409, "it works once")
            #expect(try await stranger.send("GET", "settings", "") == 200)
            #expect(try await page.send("GET", "settings", "") == 401)
            #expect(try await page.send("POST", "login", #"{"password":"\#(Self.password)"}"#) == 401)
            #expect(try await page.send("POST", "login", #"{"password":"\#(Self.new)"}"#) == 200)
            let rows = try await page.rows().filter { $0.what.hasPrefix("reset") }
            #expect(
                rows.map { "\($0.what) \($0.result)" } == [
                    "reset.start ok", "reset refused", "reset ok", "reset refused",
                ]
            )
        }
    }

    @Test func ofTwoWithTheRightCodeExactlyOneSetsThePassword() async throws {
        try await withConsole { page in
            try await claim(page)
            #expect(try await page.send("POST", "reset", "{}") == 202)
            let code = try await page.claimCode()
            let entrance = page.console.entrance
            let won = await withTaskGroup(of: Bool.self, returning: Int.self) { group in
                for number in 0..<2 {
                    group.addTask {
                        do {
                            _ = try await entrance.finishReset(
                                code: code,
                                password: "\(Self.new) \(number)",
                                from: "192.168.1.\(number)"
                            )
                            return true
                        } catch { return false }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(won == 1)
        }
    }

    @Test func strangersHaveNoCodeOnTheScreenOfATerminalThatHasRunForLong() async throws {
        try await withConsole { page in
            try await claim(page)
            page.clock.advance(by: Reset.window)
            let answer = try await page.another().ask("POST", "reset")
            #expect(try Page.said(answer)["code"] as? String == "reset_needs_restart" && answer.status == 409)
            #expect(await page.desk.invitation == nil)
        }
    }

    @Test func anUnclaimedTerminalHasNothingToReset() async throws {
        try await withConsole { (page: Page) async throws in
            #expect(try await page.send("POST", "reset", "{}") == 403)
            #expect(try await finish(page, "AAAA-AAAA") == 403)
            guard case .unclaimed = await page.phase() else {
                Issue.record("the claim's code has gone")
                return
            }
        }
    }

    @Test func whoRemembersThePasswordTakesTheCodeOffTheScreen() async throws {
        try await withConsole { page in
            try await claim(page)
            let other = page.another()
            #expect(try await other.send("POST", "reset", "{}") == 202)
            #expect(try await other.send("POST", "login", #"{"password":"\#(Self.password)"}"#) == 200)
            #expect(await page.desk.invitation == nil)
        }
    }

    @Test func aChargeComesBeforeTheCode() async throws {
        try await withConsole { page in
            try await claim(page)
            let settings = """
                {"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk","gatewayURL":"https://gateway.test",
                 "gatewayKey":"key","currency":"EUR"}
                """
            #expect(try await page.send("PUT", "settings", settings) == 200)
            await page.untilReady()
            #expect(try await page.send("POST", "reset", "{}") == 202)
            guard case .resetting = await page.phase() else {
                Issue.record("the screen does not show the code")
                return
            }
            #expect(try await page.send("POST", "charges", #"{"amountMinor":1250}"#) == 201, "nobody waits for it")
            guard case .charging = await page.phase() else {
                Issue.record("the code stands before the charge")
                return
            }
        }
    }

    @Test func aCodeWhoseTimeIsOverLeavesTheScreen() async throws {
        let folder = try TemporaryFolder()
        let (journal, still) = (try folder.openJournal(), StillClock())
        // Who sleeps is woken at once, and then it is as late as it wanted it to be.
        let clock = TerminalClock(
            elapsed: still.terminalClock.elapsed,
            sleep: { still.advance(by: $0) },
            wallTime: { still.wallTime }
        )
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let desk = ChargeDesk(archive: journal, clock: clock, logger: logger)
        let entrance = Entrance(
            journal: journal,
            desk: desk,
            sessions: Sessions(journal: journal),
            clock: clock,
            logger: logger,
            address: "https://till.local",
            codeAddress: "https://till.local",
            fingerprint: "",
            hashRounds: 1 << 10
        )
        try await entrance.load()
        let code = try #require(await desk.invitation?.code)
        _ = try await entrance.claim(code: code, password: Self.password, from: Page.peer)
        try await entrance.startReset(from: Page.peer)
        #expect(await desk.invitation?.purpose == .reset)
        let keeping = Task { await entrance.keepResetFresh() }
        for await _ in await desk.snapshots() where await desk.invitation == nil { break }
        keeping.cancel()
        await keeping.value
        #expect(clock.elapsed() == Claim.lifetime)
    }

    @Test func anAskedForCodeIsAlwaysInTheLog() async throws {
        try await withConsole { page in
            try await claim(page)
            let stranger = page.another()
            for _ in 0..<40 { _ = try await stranger.send("POST", "charges", "{}") }
            #expect(try await page.rows().count < 40, "the strangers' budget is used up")
            #expect(try await stranger.send("POST", "reset", "{}") == 202)
            #expect(try await page.rows().last?.what == "reset.start")
        }
    }
}

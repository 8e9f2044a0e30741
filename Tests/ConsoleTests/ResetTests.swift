import Foundation
import Journal
import Logging
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// When a code for a new password is shown, and what it takes.
struct ResetTests {
    private static let minute = Duration.seconds(60)

    /// With the code on the screen.
    private func open() throws -> (reset: Reset, code: String) {
        var reset = Reset(startingWith: [])
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: .zero) == .began)
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: Reset.wait) == .opened)
        return (reset, try #require(reset.code))
    }

    @Test func theCodeComesAfterAQuarterOfAnHourAndNoSooner() throws {
        var reset = Reset(startingWith: [])
        #expect(reset.look(at: [], isCharging: false, now: .zero) == nil && !reset.isUnderWay)
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: .zero) == .began)
        #expect(reset.minutesLeft(at: .zero) == 15 && reset.minutesLeft(at: .seconds(61)) == 14)
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: Reset.wait - .milliseconds(1)) == nil)
        #expect(reset.code == nil && reset.minutesLeft(at: Reset.wait - .milliseconds(1)) == 1)
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: Reset.wait) == .opened)
        #expect(reset.code?.count == 9 && reset.minutesLeft(at: Reset.wait) == nil)
    }

    @Test func theCodeWorksOnceForFifteenMinutes() throws {
        var (reset, code) = try open()
        #expect(reset.guess(code.lowercased(), at: Reset.wait + Self.minute * 15 - .milliseconds(1)) == .right)
        #expect(reset.code == nil && reset.guess(code, at: Reset.wait) == .none)
        #expect(
            reset.look(at: ["sdb1"], isCharging: false, now: Reset.wait) == nil,
            "the same stick begins nothing again"
        )
        (reset, code) = try open()
        #expect(reset.guess(code, at: Reset.wait + Self.minute * 15) == .none)
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: Reset.wait + Self.minute * 15) == .over)
    }

    @Test func wrongGuessesEndNothing() throws {
        var (reset, code) = try open()
        for _ in 0..<50 { #expect(reset.guess("AAAA-AAAA", at: Reset.wait) == .wrong) }
        #expect(reset.guess(code, at: Reset.wait) == .right)
    }

    @Test func aStickThatIsPulledOutEndsTheWaitAndTheCode() throws {
        var reset = Reset(startingWith: [])
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: .zero) == .began)
        #expect(
            reset.look(at: ["sdc1"], isCharging: false, now: Self.minute) == .withdrawn,
            "another stick is another act"
        )
        #expect(reset.look(at: ["sdc1"], isCharging: false, now: Self.minute) == .began)
        #expect(reset.minutesLeft(at: Self.minute) == 15)
        var (opened, code) = try open()
        #expect(opened.look(at: [], isCharging: false, now: Reset.wait) == .withdrawn)
        #expect(opened.code == nil && opened.guess(code, at: Reset.wait) == .none)
    }

    /// A crash, an update, a restore and a power cut all end in a start.
    @Test func aStickThatIsInAtTheStartOpensNothingHoweverLongTheProgramRuns() {
        var reset = Reset(startingWith: ["sdb1"])
        for minutes in 0..<600 {
            #expect(reset.look(at: ["sdb1"], isCharging: false, now: Self.minute * minutes) == nil)
            #expect(reset.code == nil)
        }
        #expect(reset.look(at: [], isCharging: false, now: Self.minute * 600) == nil)
        #expect(
            reset.look(at: ["sdb1"], isCharging: false, now: Self.minute * 601) == .began,
            "plugged in again it counts"
        )
    }

    @Test func aChargeKeepsTheWaitFromBeginningAndTheCodeFromBeingShown() {
        var reset = Reset(startingWith: [])
        #expect(reset.look(at: ["sdb1"], isCharging: true, now: .zero) == nil && !reset.isUnderWay)
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: Self.minute) == .began)
        #expect(reset.look(at: ["sdb1"], isCharging: true, now: Self.minute * 20) == nil && reset.code == nil)
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: Self.minute * 21) == .opened)
    }

    @Test func afterARefusalNoStickCountsForAnHour() {
        var reset = Reset(startingWith: [])
        let nothing = reset.refuse(at: .zero)
        #expect(!nothing && reset.look(at: ["sdb1"], isCharging: false, now: .zero) == .began)
        let refused = reset.refuse(at: Self.minute)
        #expect(refused && !reset.isUnderWay)
        for minutes in 2..<61 {
            #expect(
                reset.look(at: minutes.isMultiple(of: 2) ? [] : ["sdb1"], isCharging: false, now: Self.minute * minutes)
                    == nil
            )
        }
        #expect(reset.look(at: ["sdb1"], isCharging: false, now: Self.minute * 62) == .began)
    }
}

/// A forgotten password: the stick, the wait and the code on the terminal's screen, over the page's own API.
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

    private func look(_ page: Page, _ sticks: Set<String> = ["sdb1"]) async {
        await page.console.entrance.look(at: sticks)
    }

    private func state(_ page: Page) async throws -> String? {
        (try await page.ask("GET", "reset").said["reset"] as? [String: Any])?["state"] as? String
    }

    /// Plugs a stick in and waits.
    private func open(_ page: Page) async throws -> String {
        await look(page)
        page.clock.advance(by: Reset.wait)
        await look(page)
        return try await page.claimCode()
    }

    @Test func nobodyOnTheNetworkHasACodeOnTheScreenHoweverEarlyOrOften() async throws {
        try await withConsole { page in
            try await claim(page)
            for _ in 0..<30 {
                for number in 1...12 {
                    let stranger = page.another()
                    #expect(try await stranger.send("POST", "reset", "{}", from: "10.9.0.\(number)") == 405)
                    #expect(try await finish(stranger, "AAAA-AAAA") == 409)
                    #expect(try await state(stranger) == nil)
                }
                #expect(await page.desk.invitation == nil)
                page.clock.advance(by: .seconds(60))
                await look(page, [])
            }
        }
    }

    @Test func theCodeOnTheScreenSetsANewPasswordAndSignsEverybodyOut() async throws {
        try await withConsole { page in
            try await claim(page)
            let owner = page.another()
            await look(page)
            #expect(try await state(owner) == "waiting")
            #expect(await page.desk.invitation == nil, "no code yet")
            #expect(await page.desk.snapshot.ownerReset == .waiting(minutes: 15), "screen and pages say so")
            let code = try await open(page)
            #expect(try await state(owner) == "shown")
            guard case .resetting(let invitation) = await page.phase() else {
                Issue.record("the screen does not show it")
                return
            }
            #expect(invitation.code == code && invitation.url.hasPrefix(page.console.address))
            #expect(invitation.url.contains("/#reset=\(code)&cert="))
            let told = JSON.terminal(await page.desk.snapshot).text
            #expect(!told.contains(code), "only the screen says it")
            #expect(!"\(try await owner.ask("GET", "reset").said)".contains(code))

            #expect(try await finish(owner, "AAAA-AAAA") == 403)
            #expect(try await finish(owner, code, "kite") == 422, "and the code is still good")
            #expect(try await finish(owner, code) == 200)
            #expect(await page.desk.invitation == nil)
            #expect(try await finish(page.another(), code) == 409, "it works once")
            #expect(try await owner.send("GET", "settings", "") == 200)
            #expect(try await page.send("GET", "settings", "") == 401)
            #expect(try await page.send("POST", "login", #"{"password":"\#(Self.password)"}"#) == 401)
            #expect(try await page.send("POST", "login", #"{"password":"\#(Self.new)"}"#) == 200)
            let rows = try await page.rows().filter { $0.what.hasPrefix("reset") }
            #expect(
                rows.map { "\($0.what) \($0.result)" } == [
                    "reset.start ok", "reset.code ok", "reset refused", "reset ok", "reset refused",
                ]
            )
        }
    }

    @Test func ofTwoWithTheRightCodeExactlyOneSetsThePassword() async throws {
        try await withConsole { page in
            try await claim(page)
            let code = try await open(page)
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

    @Test func aSignedInOwnerRefusesAndNobodyElseDoes() async throws {
        try await withConsole { page in
            try await claim(page)
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            await look(page)
            #expect(try await manager.send("DELETE", "reset", "{}") == 403)
            #expect(try await page.another().send("DELETE", "reset", "{}") == 401)
            #expect(try await state(page) == "waiting")
            #expect(try await page.send("DELETE", "reset", "{}") == 200)
            #expect(await page.desk.snapshot.ownerReset == nil)
            page.clock.advance(by: Reset.wait)
            await look(page)
            #expect(await page.desk.invitation == nil)
            #expect(try await page.rows().last?.what == "reset.refuse")
        }
    }

    @Test func whoSignsInWithThePasswordEndsTheWait() async throws {
        try await withConsole { page in
            try await claim(page)
            _ = try await open(page)
            let other = page.another()
            #expect(try await other.send("POST", "login", #"{"password":"\#(Self.password)"}"#) == 200)
            #expect(await page.desk.invitation == nil)
            #expect(try await state(page) == nil)
        }
    }

    @Test func anUnclaimedTerminalHasNothingToReset() async throws {
        try await withConsole { (page: Page) async throws in
            await look(page)
            page.clock.advance(by: .seconds(60))
            await look(page)
            #expect(try await page.send("GET", "reset", "") == 403)
            #expect(try await finish(page, "AAAA-AAAA") == 403)
            #expect(await page.desk.snapshot.ownerReset == nil)
            guard case .unclaimed = await page.phase() else {
                Issue.record("the claim's code has gone")
                return
            }
        }
    }

    @Test func aChargeComesBeforeTheCodeAndNoPasswordIsSetWhileItIsOpen() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let code = try await open(page)
            guard case .resetting = await page.phase() else {
                Issue.record("the screen does not show the code")
                return
            }
            let opened = try await page.ask("POST", "charges", #"{"amountMinor":1250}"#)
            #expect(opened.status == 201, "nobody waits for it")
            guard case .charging = await page.phase() else {
                Issue.record("the code stands before the charge")
                return
            }
            let refused = try await page.another().ask(
                "PUT",
                "reset",
                #"{"code":"\#(code)","password":"\#(Self.new)"}"#
            )
            #expect(refused.status == 409 && refused.said["code"] as? String == "reset_waits_for_charge")
        }
    }

    @Test func everybodyWhoFollowsTheTerminalHearsOfTheWait() async throws {
        try await withConsole { page in
            try await claim(page)
            await look(page)
            page.clock.advance(by: .seconds(5 * 60))
            await look(page)
            #expect(await page.desk.snapshot.ownerReset == .waiting(minutes: 10))
            #expect(
                JSON.terminal(await page.desk.snapshot).text.contains(#""ownerReset":{"minutes":10,"state":"waiting"}"#)
            )
            await look(page, [])
            #expect(JSON.terminal(await page.desk.snapshot).text.contains(#""ownerReset":null"#))
            #expect(try await page.rows().suffix(2).map(\.what) == ["reset.start", "reset.end"])
        }
    }

    @Test func webhooksHearOfEachStep() async throws {
        let receiver = WebhookReceiver()
        try await withConsole(webhooks: receiver) { page in
            try await claim(page)
            let hook = #"{"url":"https://shop.test/till","events":["failed"]}"#
            #expect(try await page.ask("POST", "webhooks", hook).status == 201)
            let code = try await open(page)
            #expect(try await finish(page.another(), code) == 200)
            await look(page, [])
            await look(page, ["sdc1"])
            await look(page, [])
            var heard: [String] = []
            while heard.count < 5, let post = await receiver.next() { heard.append(post.type) }
            // Each is sent by itself: a receiver that does not answer keeps no other news back.
            #expect(
                heard.sorted() == [
                    "terminal.password_reset", "terminal.reset_ended", "terminal.reset_shown", "terminal.reset_waiting",
                    "terminal.reset_waiting",
                ]
            )
            #expect(ResetNews.ended(.signedIn).data.text == #"{"why":"signed_in"}"#)
        }
    }

    @Test func foldersThatTheMachineMakesAreSticksAndNothingElseIs() throws {
        let folder = try TemporaryFolder()
        let sticks = OwnerSticks(folder: folder.path, mustBeMounted: false)
        #expect(sticks.present().isEmpty)
        try FileManager.default.createDirectory(atPath: folder.path + "/sdb1", withIntermediateDirectories: false)
        #expect(FileManager.default.createFile(atPath: folder.path + "/sdc1", contents: Data()))
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/sdd1", withDestinationPath: "/")
        #expect(sticks.present() == ["sdb1"])
        #expect(OwnerSticks(folder: folder.path).present().isEmpty, "a folder that is no mount is no stick")
        #expect(OwnerSticks(folder: folder.path + "/none").present().isEmpty)
    }

    @Test func theMachinesAdministratorSetsAPasswordAndEverybodyIsSignedOut() async throws {
        let folder = try TemporaryFolder()
        let (journal, clock) = (try folder.openJournal(), StillClock())
        await #expect(throws: OwnerPassword.Failure.noOwner) {
            try await OwnerPassword.set(Self.new, in: journal, at: clock.wallTime)
        }
        let first = await entrance(journal, clock)
        try await first.entrance.load()
        let code = try #require(await first.desk.invitation?.code)
        _ = try await first.entrance.claim(code: code, password: Self.password, from: Page.peer)
        clock.advance(by: .seconds(60))
        await #expect(throws: OwnerPassword.Failure.self) {
            try await OwnerPassword.set("kite", in: journal, at: clock.wallTime)
        }
        try await OwnerPassword.set(Self.new, in: journal, at: clock.wallTime)
        let sessions = Sessions(journal: journal)
        let second = await entrance(journal, clock, sessions)
        try await second.entrance.load()
        #expect(sessions.list(at: clock.wallTime).isEmpty)
        await #expect(throws: Problem.self) {
            try await second.entrance.signIn(password: Self.password, from: Page.peer)
        }
        #expect(try await second.entrance.signIn(password: Self.new, from: Page.peer).session.role == .owner)
        let rows = try await journal.auditEntries(before: nil, limit: 100).map(\.entry)
        #expect(rows.contains { $0.what == "reset" && $0.from == "till reset-owner" })
    }

    private func entrance(
        _ journal: Journal,
        _ clock: StillClock,
        _ sessions: Sessions? = nil
    ) async -> (entrance: Entrance, desk: ChargeDesk) {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let desk = ChargeDesk(archive: journal, clock: clock.terminalClock, logger: logger)
        let entrance = Entrance(
            journal: journal,
            desk: desk,
            sessions: sessions ?? Sessions(journal: journal),
            clock: clock.terminalClock,
            logger: logger,
            address: "https://till.local",
            codeAddress: "https://till.local",
            fingerprint: "",
            hashRounds: 1 << 10
        )
        return (entrance, desk)
    }
}

import Dispatch
import Foundation
import Journal
import Locks
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// What wrong guesses cost, whom they cost it, and whom they never do.
struct GuessingTests {
    private static let start: Int64 = 1_790_000_000_000

    private static func address(_ number: Int) -> GuessSource {
        GuessSource(address: "10.0.\(number / 250).\(number % 250 + 1)")
    }

    // MARK: - The code on the screen

    @Test func wrongGuessesNeitherEndACodeNorMakeOthersWait() {
        var (pace, claim) = (CodePace(), Claim(at: .zero))
        let code = claim.code
        for number in 0..<12 {
            for _ in 0..<5 {
                #expect(pace.take(Self.address(number), at: .seconds(1)) == nil)
                #expect(claim.guess("AAAA-AAAA", at: .seconds(1)) == false)
            }
            #expect(pace.take(Self.address(number), at: .seconds(1)) == .seconds(10))
        }
        #expect(claim.code == code, "whoever reads it can type it")
        #expect(pace.take(Self.address(200), at: .seconds(1)) == nil)
        #expect(claim.guess(code, at: .seconds(1)) == true)
    }

    /// 40 bits against a pace: at 10 a second a code of 15 minutes is guessed once in a hundred million.
    @Test func nobodyGuessesACodeHoweverManyAddressesTheyHave() {
        var (pace, looked) = (CodePace(), 0)
        for second in 0..<60 {
            for number in 0..<2_000 where pace.take(Self.address(number), at: .seconds(second)) == nil { looked += 1 }
        }
        #expect(looked < 512 + 100 + 10 * 60 + 1, "\(looked) looked at")
        #expect(pace.remembered <= CodePace.capacity + 1)
    }

    @Test func aNetworkOfManyAddressesIsOneGuesser() {
        var (pace, looked) = (CodePace(), 0)
        for number in 0..<5_000 {
            let guesser = GuessSource(address: "2001:db8:1:2::\(String(number, radix: 16))")
            if pace.take(guesser, at: .zero) == nil { looked += 1 }
        }
        #expect(looked == Int(CodePace.burstOfNetwork))
        #expect(pace.take(GuessSource(address: "2001:db8:1:3::1"), at: .zero) == nil)
        #expect(pace.take(GuessSource(address: "10.0.0.2"), at: .zero) == nil)
    }

    // MARK: - Where a guess comes from

    @Test(
        arguments: [
            ("10.0.0.9", "10.0.0.9", nil), ("::ffff:10.0.0.9", "10.0.0.9", nil),
            ("2001:db8::1", "20010db8000000000000000000000001", "20010db800000000"),
            ("2001:0DB8:0:0::1", "20010db8000000000000000000000001", "20010db800000000"),
            ("fe80::1%eth0", "fe800000000000000000000000000001", "fe80000000000000"), ("", "", nil),
        ] as [(String, String, String?)]
    )
    func oneMachineIsOneGuesserHoweverItsAddressIsWritten(text: String, name: String, network: String?) {
        let source = GuessSource(address: text)
        #expect(source.name == name && source.network == network)
    }

    // MARK: - The password

    @Test func guessingGetsSlowerWhereItComesFromAndNowhereElse() {
        var throttle = Throttle(.password)
        let (stranger, owner) = (GuessSource(address: "10.0.0.9"), GuessSource(address: "10.0.0.2"))
        var now = Self.start
        for _ in 0..<3 {
            #expect(throttle.pause(account: "owner", source: stranger, at: now) == .zero)
            throttle.fail(account: "owner", source: stranger, at: now)
        }
        var last = Duration.zero
        for _ in 0..<15 {
            let pause = throttle.pause(account: "owner", source: stranger, at: now)
            #expect(pause > .zero && pause >= last && pause <= .milliseconds(Throttle.longestPause))
            last = pause
            now += pause.components.seconds * 1000 + 1000
            throttle.fail(account: "owner", source: stranger, at: now)
        }
        #expect(throttle.pause(account: "owner", source: owner, at: now) == .zero)
        throttle.forgive(account: "owner", source: stranger)
        #expect(throttle.pause(account: "owner", source: stranger, at: now) == .zero)
    }

    /// As fast as each may, for ten minutes and then for a day: the owner at a new address waits for none of them.
    @Test func aDozenAddressesNeverKeepTheOwnerOut() {
        var (throttle, now, looked) = (Throttle(.password), Self.start, 0)
        let guessers = (0..<12).map(Self.address)
        while now < Self.start + 86_400_000 {
            for guesser in guessers where throttle.pause(account: "owner", source: guesser, at: now) == .zero {
                throttle.fail(account: "owner", source: guesser, at: now)
                looked += 1
            }
            if throttle.pause(account: "owner", source: Self.address(100), at: now) != .zero {
                Issue.record("the owner waits after \((now - Self.start) / 1000) s and \(looked) guesses")
                return
            }
            now += now < Self.start + 1_200_000 ? 1000 : 30_000
        }
        #expect(looked > 1000 && looked < 1_500, "\(looked) in a day")
    }

    @Test func whoHasAThousandAddressesGuessesAtAPaceAndNotWhereTheOwnerHasSignedIn() {
        var (throttle, now, looked) = (Throttle(.password), Self.start, 0)
        let owner = GuessSource(address: "192.168.1.20")
        throttle.fail(account: "owner", source: owner, at: now)
        throttle.succeed(account: "owner", source: owner)
        for second in 0..<600 {
            for number in 0..<1_000
            where throttle.pause(account: "owner", source: Self.address(number), at: now) == .zero {
                throttle.fail(account: "owner", source: Self.address(number), at: now)
                looked += 1
            }
            #expect(throttle.pause(account: "owner", source: owner, at: now) == .zero, "after \(second) s")
            now += 1000
        }
        #expect(looked >= 200 && looked <= 200 + 30 + 1, "\(looked) in ten minutes")
        #expect(
            throttle.pause(account: "owner", source: Self.address(1_001), at: now) <= .seconds(20),
            "a pace, no pause"
        )
        #expect(
            throttle.pause(account: "ada", source: Self.address(1_001), at: now) == .zero,
            "nobody else waits for that"
        )
    }

    @Test func anIPv6NetworkDoesNotUseUpThePaceOfAll() {
        var (throttle, looked) = (Throttle(.password), 0)
        for number in 0..<5_000 {
            let guesser = GuessSource(address: "2001:db8:1:2::\(String(number, radix: 16))")
            guard throttle.pause(account: "owner", source: guesser, at: Self.start) == .zero else { continue }
            throttle.fail(account: "owner", source: guesser, at: Self.start)
            looked += 1
        }
        #expect(looked == Throttle.freeTriesOfNetwork)
        #expect(
            throttle.pause(account: "owner", source: GuessSource(address: "2001:db8:1:3::1"), at: Self.start) == .zero
        )
    }

    @Test func aClockThatJumpedBackKeepsNobodyOutForLong() {
        var throttle = Throttle(.password)
        let source = GuessSource(address: "10.0.0.9")
        for _ in 0..<8 { throttle.fail(account: "owner", source: source, at: Self.start) }
        let past = Self.start - 10 * 365 * 86_400_000
        throttle.follow(clock: past)
        let pause = throttle.pause(account: "owner", source: source, at: past)
        #expect(pause > .zero)
        #expect(
            throttle.pause(account: "owner", source: source, at: past + pause.components.seconds * 1000 + 1000) == .zero
        )
    }

    /// More addresses than are remembered wash nothing away that slows a guesser down.
    @Test func theThrottlesMemoryIsBoundedAndAnAccountsOwnCountStays() {
        var throttle = Throttle(.pin)
        for index in 0..<30 {
            throttle.fail(account: "ada", source: GuessSource(browser: "\(index)", person: "ada"), at: 0)
        }
        for index in 0..<5000 {
            throttle.fail(account: "bob", source: GuessSource(browser: "\(index)", person: "bob"), at: 1)
        }
        #expect(throttle.counts.count <= Throttle.capacity + 2)
        let another = GuessSource(browser: "another", person: "ada")
        #expect(throttle.pause(account: "ada", source: another, at: 2) == .milliseconds(599_998))
    }

    @Test func whatIsKeptIsReadAgainAndSoIsWhatAnEarlierVersionKept() throws {
        var throttle = Throttle(.password)
        let source = GuessSource(address: "10.0.0.9")
        for _ in 0..<4 { throttle.fail(account: "owner", source: source, at: Self.start) }
        throttle.forgive(account: "owner", source: GuessSource(address: "10.0.0.2"))
        let bytes = try JSONEncoder().encode(throttle.kept)
        #expect(try JSONDecoder().decode(Throttle.Kept.self, from: bytes).throttle(.password) == throttle)
        let earlier = #"{"counts":{"source:10.0.0.9":{"failures":4,"lastFailure":\#(Self.start)}}}"#
        let read = try JSONDecoder().decode(Throttle.Kept.self, from: Data(earlier.utf8)).throttle(.password)
        #expect(read.pause(account: "owner", source: source, at: Self.start) == .seconds(2))
        let activity = #"{"throttle":{"counts":{}},"used":{"ada":5}}"#
        #expect(try JSONDecoder().decode(StaffActivity.self, from: Data(activity.utf8)).used == ["ada": 5])
    }
}

/// A stranger with a dozen addresses against a terminal, over the page's own API.
@Suite(.timeLimit(.minutes(3)))
struct StrangerTests {
    private static let password = "correct horse battery"
    private static let strangers = (1...12).map { "10.9.0.\($0)" }

    /// Each stranger guesses as often as the terminal lets them, for a while by the terminal's clock, and the owner tries in between.
    private func guess(
        _ page: Page,
        _ method: String,
        _ path: String,
        _ body: String,
        for seconds: Int,
        meanwhile: () async throws -> Void
    ) async throws {
        let stranger = page.another()
        for second in 0..<seconds {
            for address in Self.strangers {
                let status = try await stranger.send(method, path, body, from: address)
                #expect([401, 403, 409, 429].contains(status))
            }
            if second == seconds / 2 { try await meanwhile() }
            page.clock.advance(by: .seconds(1))
        }
    }

    @Test func aDozenWhoGuessTheClaimCodeKeepTheOwnerFromNothing() async throws {
        try await withConsole { page in
            let before = try await page.claimCode()
            let body = #"{"code":"AAAA-AAAA","password":"a stranger's own password"}"#
            try await guess(page, "POST", "claim", body, for: 600) { () async throws in
                #expect(try await page.claimCode() == before, "the code that the owner is typing stays")
                let own = #"{"code":"\#(before)","password":"\#(Self.password)"}"#
                #expect(try await page.send("POST", "claim", own) == 201)
            }
            #expect(try await page.send("GET", "settings", "") == 200)
        }
    }

    @Test func aDozenWhoGuessThePasswordKeepTheOwnerFromNothing() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let guess = #"{"password":"not the password"}"#
            try await self.guess(page, "POST", "login", guess, for: 600) { () async throws in
                let owner = page.another()
                let right = #"{"password":"\#(StaffShop.password)"}"#
                #expect(try await owner.send("POST", "login", right, from: "192.168.1.77") == 200, "at a new address")
                // Whoever is signed in proves it in a count of their own.
                let elsewhere = StaffShop.settings.replacing("mrch_1", with: "mrch_2").replacing(
                    #""currency""#,
                    with: #""password":"\#(StaffShop.password)","currency""#
                )
                #expect(try await page.send("PUT", "settings", elsewhere, from: "192.168.1.20") == 200)
                let change = #"{"currentPassword":"\#(StaffShop.password)","newPassword":"staple battery horse"}"#
                #expect(try await page.send("PUT", "password", change, from: "192.168.1.20") == 200)
            }
        }
    }

    @Test func aDozenWhoGuessTheResetCodeKeepTheOwnerFromNothing() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let owner = page.another()
            await page.console.entrance.look(at: ["sdb1"])
            page.clock.advance(by: Reset.wait)
            await page.console.entrance.look(at: ["sdb1"])
            let code = try await page.claimCode()
            let body = #"{"code":"AAAA-AAAA","password":"a stranger's own password"}"#
            try await guess(page, "PUT", "reset", body, for: 600) { () async throws in
                #expect(try await page.claimCode() == code)
                let own = #"{"code":"\#(code)","password":"staple battery horse"}"#
                #expect(try await owner.send("PUT", "reset", own, from: "192.168.1.77") == 200)
            }
        }
    }

    @Test func oneWhoIsSignedInAndGuessesIsSlowedDownAlone() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let thief = page.another()
            #expect(try await thief.send("POST", "login", #"{"password":"\#(StaffShop.password)"}"#) == 200)
            var statuses: [Int] = []
            for number in 0..<15 {
                statuses.append(try await thief.send("POST", "proof", #"{"password":"guess \#(number)"}"#))
            }
            #expect(statuses == Array(repeating: 422, count: 10) + Array(repeating: 429, count: 5))
            #expect(try await page.send("POST", "proof", #"{"password":"\#(StaffShop.password)"}"#) == 200)
            #expect(try await page.another().send("POST", "login", #"{"password":"\#(StaffShop.password)"}"#) == 200)
        }
    }
}

import Foundation
import Journal
import Logging
import Payments
import Testing
import TestSupport
import WalletConnectPay
import WebServer

@testable import Console
@testable import Terminal

/// How much strangers may write.
struct AuditBudgetTests {
    @Test func thirtyAtOnceThenOneEachTenSeconds() {
        var budget = AuditBudget()
        for _ in 0..<30 { #expect(budget.take(at: .zero) == 0) }
        for second in 0..<10 { #expect(budget.take(at: .seconds(second)) == nil) }
        #expect(budget.take(at: .seconds(10)) == 10, "it says how many were left out")
        #expect(budget.take(at: .milliseconds(19_999)) == nil)
        #expect(budget.take(at: .seconds(20)) == 1)
        #expect(budget.take(at: .seconds(35)) == 0)
        #expect(budget.take(at: .milliseconds(39_999)) == nil)
        #expect(budget.take(at: .seconds(40)) == 1, "the five seconds left over count")
    }

    @Test func inADayAThousandAndNoMore() {
        var budget = AuditBudget()
        var (written, said) = (0, 0)
        for tenth in 0..<8640 {
            guard let unwritten = budget.take(at: .seconds(10 * tenth)) else { continue }
            (written, said) = (written + 1, said + unwritten)
        }
        #expect(written == 1000)
        let tomorrow = Duration.seconds(24 * 3600)
        #expect(budget.take(at: tomorrow) == 8640 - 1000 - said, "what was left out is said the next day")
        #expect(budget.take(at: tomorrow) == 0)
    }

    @Test func aQuietTimeEarnsThirtyAndNoMore() {
        var budget = AuditBudget()
        for _ in 0..<35 { _ = budget.take(at: .seconds(1000)) }
        let later = Duration.seconds(1_000_000)
        #expect(budget.take(at: later) == 5)
        for _ in 1..<30 { #expect(budget.take(at: later) == 0) }
        #expect(budget.take(at: later) == nil && budget.take(at: later + .milliseconds(9_999)) == nil)
        #expect(budget.take(at: later + .seconds(10)) == 2)
    }
}

/// What is written down of who did what, and what guessing leaves behind over a restart.
@Suite(.timeLimit(.minutes(2)))
struct AuditTests {
    private static let password = "correct horse battery"
    private static let peer = "192.168.1.20"
    private static let owner = Payments.Actor.staff(name: "owner")

    @Test func everyStepOfADayLeavesARow() async throws {
        try await withConsole { page in
            // A stranger guesses; the owner takes the terminal over.
            #expect(
                try await page.send("POST", "claim", #"{"code":"AAAA-AAAA","password":"\#(Self.password)"}"#) == 403
            )
            let code = try await page.claimCode()
            #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#) == 201)
            #expect(try await page.send("POST", "logout", "{}") == 200)

            // Somebody mistypes, then signs in.
            #expect(try await page.send("POST", "login", #"{"password":"wrong horse battery"}"#) == 401)
            #expect(try await page.send("POST", "login", #"{"password":"\#(Self.password)"}"#) == 200)

            // Settings, first with a mistake.
            #expect(try await page.send("PUT", "settings", Self.settings(gatewayURL: "ftp://x")) == 422)
            #expect(try await page.send("PUT", "settings", Self.settings()) == 200)

            // A charge above the limit, one that begins, and one too many.
            await page.untilReady()
            #expect(try await page.send("POST", "charges", #"{"amountMinor":5001}"#) == 422)
            #expect(try await page.send("POST", "charges", #"{"amountMinor":1250}"#) == 201)
            #expect(try await page.send("POST", "charges", #"{"amountMinor":1250}"#) == 409)

            // Another page tries to use the session.
            #expect(try await page.send("POST", "charges", #"{"amountMinor":1}"#, csrf: "0") == 403)

            let rows = try await page.rows()
            let stranger = Payments.Actor.stranger
            let expected: [(what: String, result: String, who: Payments.Actor)] = [
                ("claim", "refused", stranger), ("claim", "ok", Self.owner), ("logout", "ok", Self.owner),
                ("login", "refused", stranger), ("login", "ok", Self.owner), ("settings", "refused", Self.owner),
                ("settings", "ok", Self.owner), ("charge", "refused", Self.owner), ("charge", "ok", Self.owner),
                ("charge", "refused", Self.owner), ("request", "refused", stranger),
            ]
            #expect(rows.map { "\($0.what) \($0.result) \($0.who)" } == expected.map { "\($0.0) \($0.1) \($0.2)" })
            #expect(rows.allSatisfy { $0.from == Self.peer && $0.at == page.clock.wallTime })
            let details = rows.map(\.detail)
            #expect(details[0] == "wrong code" && details[3] == "wrong password")
            #expect(details[7] == "5001 EUR: amount_above_limit" && details[9] == "1250 EUR: busy")
            #expect(ChargeID(details[8]) != nil, "the row names the charge")
            #expect(details[10] == "csrf_token_wrong /api/v1/charges")
            guard case .intact(count: rows.count, head: _) = try await page.journal.verifyAudit() else {
                Issue.record("the chain of rows is broken")
                return
            }
        }
    }

    @Test func noSecretIsEverInARow() async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"ZZZZ-ZZZZ","password":"\#(Self.password)"}"#)
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            _ = try await page.send("POST", "login", #"{"password":"wrong horse battery"}"#)
            _ = try await page.send("PUT", "settings", Self.settings())
            let token = try #require(page.token)
            let text = try await page.rows().map { "\($0)" }.joined(separator: "\n")
            let plainCode = code.filter { $0 != "-" }
            for secret in [
                Self.password, "wrong horse", code, plainCode, "ZZZZ", "wcp_canary", token,
                Sessions.csrfToken(of: token),
            ] {
                #expect(!text.contains(secret), "\(secret)")
            }
            #expect(text.contains("settings"), "there was something to look through")
        }
    }

    @Test func strangersCannotFillTheLog() async throws {
        try await withConsole { page in
            for _ in 0..<100 { #expect(try await page.send("POST", "charges", "{}") == 403) }
            #expect(try await page.rows().count == 30)
            page.clock.advance(by: .seconds(10))
            _ = try await page.send("POST", "charges", "{}")
            _ = try await page.send("POST", "charges", "{}")
            let rows = try await page.rows()
            #expect(rows.count == 31 && rows.last?.detail.hasSuffix("(and 70 more since the last entry)") == true)
            // What the owner does is written all the same.
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            #expect(try await page.rows().last?.who == Self.owner)
        }
    }

    @Test func aRestartDoesNotForgetWrongPasswords() async throws {
        let folder = try TemporaryFolder()
        let (journal, clock) = (try folder.openJournal(), StillClock())
        let first = try await entrance(journal, clock)
        let code = try #require(first.code)
        let claimed = try await first.entrance.claim(code: code, password: Self.password, from: Self.peer)
        #expect(claimed.session.role == .owner)
        for _ in 0..<3 {
            #expect(await status { try await first.entrance.signIn(password: "wrong horse", from: Self.peer) } == 401)
        }

        let second = try await entrance(journal, clock)
        #expect(second.entrance.claimed.value && second.code == nil)
        // Even the right password waits; from elsewhere it does not.
        let right = { @Sendable (entrance: Entrance, peer: String) async -> Int? in
            await self.status { try await entrance.signIn(password: Self.password, from: peer) }
        }
        #expect(await right(second.entrance, Self.peer) == 429)
        clock.advance(by: .milliseconds(999))
        #expect(await right(second.entrance, Self.peer) == 429)
        clock.advance(by: .milliseconds(1))
        #expect(await status { try await second.entrance.signIn(password: "wrong horse", from: Self.peer) } == 401)

        // The next pause is twice as long, counted over the restarts.
        let third = try await entrance(journal, clock)
        clock.advance(by: .milliseconds(1999))
        #expect(await right(third.entrance, Self.peer) == 429)
        #expect(await right(third.entrance, "192.168.1.21") == nil)
        clock.advance(by: .milliseconds(1))
        #expect(await right(third.entrance, Self.peer) == nil)

        // The right password ends it, over a restart too.
        let fourth = try await entrance(journal, clock)
        #expect(await status { try await fourth.entrance.signIn(password: "wrong horse", from: Self.peer) } == 401)
        #expect(await right(fourth.entrance, Self.peer) == nil)
        let rows = try await journal.auditEntries(before: nil, limit: 100).map(\.entry)
        #expect(rows.filter { $0.detail == "too many tries" }.count == 3)
        #expect(rows.filter { $0.what == "login" && $0.result == "ok" }.count == 3)
    }

    /// The status of the refusal; nil where it was none.
    private func status<Value>(_ work: () async throws -> Value) async -> Int? {
        do {
            _ = try await work()
            return nil
        } catch { return (error as? Problem)?.status ?? 0 }
    }

    private func entrance(_ journal: Journal, _ clock: StillClock) async throws -> (entrance: Entrance, code: String?) {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let sessions = Sessions(journal: journal)
        let desk = ChargeDesk(archive: journal, clock: clock.terminalClock, logger: logger)
        let entrance = Entrance(
            journal: journal,
            desk: desk,
            sessions: sessions,
            clock: clock.terminalClock,
            logger: logger,
            address: "https://till.local",
            codeAddress: "https://till.local",
            fingerprint: "",
            hashRounds: 1 << 10
        )
        try await entrance.load()
        return (entrance, await desk.invitation?.code)
    }

    private static func settings(gatewayURL: String = "https://gateway.test") -> String {
        """
        {"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk","gatewayURL":"\(gatewayURL)",
         "gatewayKey":"wcp_canary","currency":"EUR","chargeLimitMinor":5000}
        """
    }
}

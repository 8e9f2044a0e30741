import Foundation
import Journal
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// The shop's own till drives the terminal: what it may, what it may not, and how it learns what became of a charge.
@Suite(.timeLimit(.minutes(4)))
struct ProgramTests {
    @Test func aTillChargesWithItsTokenAloneAndTheBooksSayThatItWasIt() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page, name: "Counter 2")
            let opened = try await till.ask(
                "POST",
                "charges",
                #"{"amountMinor":1250,"currency":"EUR","reference":"A 7"}"#,
                key: "sale-1"
            )
            #expect(opened.status == 201)
            let id = try #require(try Page.said(opened)["id"] as? String)
            #expect(try await till.said("GET", "charges/current")["id"] as? String == id)
            let listed = try await till.said("GET", "charges?q=A%207")["charges"] as? [[String: Any]]
            #expect(listed?.first?["openedBy"] as? String == "till:Counter 2")
            #expect(try await till.ask("GET", "charges/\(id)/receipt").status == 200)
            #expect(try await till.ask("POST", "charges/\(id)/cancel").status == 200)
            #expect(try await till.ask("POST", "charges/\(id)/release").status == 409)
            let rows = try await page.rows().filter { $0.who == .till(token: "Counter 2") }
            #expect(rows.map(\.what) == ["charge", "charge.cancel", "charge.release"])
            _ = shop
        }
    }

    /// 1,000 yen are not 10.00 euro.
    @Test func aChargeInAnotherCurrencyThanTheShopsIsRefused() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            for currency in ["JPY", "USD", "KWD"] {
                let body = #"{"amountMinor":1000,"currency":"\#(currency)"}"#
                let answer = try await till.ask("POST", "charges", body, key: "sale-\(currency)")
                #expect(answer.status == 422, "\(currency)")
            }
            #expect(try await page.journal.records(before: nil, limit: 1, state: nil).isEmpty)
        }
    }

    @Test func aTokenDoesWhatItsScopesSayAndNothingElse() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let scopes: [(String, [(String, String)])] = [
                ("charges", [("GET", "charges"), ("GET", "charges/current"), ("GET", "charges/lookup?key=x")]),
                ("state", [("GET", "terminal"), ("GET", "diagnosis")]), ("screen", [("GET", "screen")]),
            ]
            for (scope, _) in scopes {
                let program = try await Program(page, [scope], name: scope)
                for (other, routes) in scopes {
                    for (method, path) in routes {
                        let answer = try await program.ask(method, path)
                        #expect((answer.status != 403) == (scope == other), "\(scope): \(path)")
                        if scope != other { #expect(try Program.code(answer) == "scope_missing") }
                    }
                }
            }
            let till = try await Program(page)
            for (method, path) in [
                ("GET", "settings"), ("PUT", "settings"), ("GET", "tokens"), ("POST", "tokens"), ("GET", "session"),
                ("POST", "login"), ("POST", "claim"), ("GET", "totals"), ("GET", "export.csv"), ("GET", "taps"),
                ("PUT", "reset"), ("GET", "sessions"),
            ] {
                let answer = try await till.ask(method, path)
                #expect(answer.status == 403, "\(path)")
                #expect(try Program.code(answer) == "not_for_tokens")
            }
            let refused = try await page.rows().last { $0.what == "request" }
            #expect(refused?.who == .till(token: "Till 1") && refused?.detail == "not_for_tokens /api/v1/sessions")
            #expect(try await till.ask("GET", "nothing").status == 404)
            #expect(try await till.ask("DELETE", "charges").status == 405)
        }
    }

    /// A table's ordering program has no business with the bar's charges.
    @Test func aTokenForItsOwnChargesSeesAndCancelsNoOthers() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let all = try await Program(page, ["charges"], name: "Bar")
            let own = try await Program(page, ["ownCharges"], name: "Table")
            let others = try #require(
                try await all.said("POST", "charges", #"{"amountMinor":900}"#, key: "1")["id"] as? String
            )
            for (method, path) in [
                ("GET", "charges/\(others)"), ("GET", "charges/\(others)?wait=1"), ("POST", "charges/\(others)/cancel"),
                ("POST", "charges/\(others)/release"), ("GET", "charges/\(others)/receipt"),
                ("GET", "charges/lookup?key=1"),
            ] {
                let answer = try await own.ask(method, path)
                #expect(try answer.status == 404 && Program.code(answer) == "charge_not_found", "\(method) \(path)")
            }
            #expect(try await own.ask("GET", "charges/current").status == 204)
            #expect(try await own.ask("GET", "terminal").status == 403)
            #expect(try await all.ask("POST", "charges/\(others)/cancel").status == 200)
            let mine = try #require(
                try await own.said("POST", "charges", #"{"amountMinor":700}"#, key: "1")["id"] as? String
            )
            for query in ["", "?by=till:Bar"] {
                let listed = try await own.said("GET", "charges\(query)")["charges"] as? [[String: Any]]
                #expect(listed?.map { $0["id"] as? String } == [mine])
            }
            let whole = try await all.said("GET", "charges")["charges"] as? [Any]
            #expect(whole?.count == 2)
            #expect(try await own.ask("GET", "charges/\(mine)").status == 200)
            #expect(try await own.ask("POST", "charges/\(mine)/cancel").status == 200)
        }
    }

    @Test func aTokenAndASessionNeverComeTogetherAndNoOtherPageSendsOne() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            let cookie = try #require(page.token)
            let both = try await till.ask("GET", "charges", headers: ["Cookie": "\(Gate.cookie)=\(cookie)"])
            #expect(both.status == 400)
            #expect(try Program.code(both) == "two_credentials")
            for headers: WebHeaders in [["Origin": "https://evil.test"], ["Sec-Fetch-Site": "cross-site"]] {
                let answer = try await till.ask("GET", "events", headers: headers)
                #expect(answer.status == 403)
                #expect(try Program.code(answer) == "other_origin")
            }
            #expect(try await till.ask("GET", "charges", headers: ["Origin": "https://till.local"]).status == 200)
            #expect(try await till.ask("GET", "charges", headers: ["Authorization": "Bearer x"]).status == 401)
        }
    }

    @Test func tenThousandGuessesAreRefusedWaitAndDoNotFillTheAuditLog() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            let before = try await page.rows().count
            var counts: [Int: Int] = [:]
            for guess in 0..<10_000 {
                let answer = try await till.ask("GET", "charges", token: "till_lan_\(guess)", from: "10.0.0.66")
                counts[answer.status, default: 0] += 1
                if answer.status == 401 {
                    #expect(answer.headers["WWW-Authenticate"] == "Bearer realm=\"till\"")
                } else {
                    #expect(answer.headers["Retry-After"] != nil)
                }
            }
            #expect(counts == [401: 60, 429: 9940])
            #expect(try await page.rows().count - before <= 30)
            #expect(try await !page.rows().contains { $0.detail.contains("till_lan_") })
            // From an address for each guess it fills the log no more than from one.
            for guess in 0..<2000 {
                let peer = "10.1.\(guess / 250).\(guess % 250)"
                let answer = try await till.ask("GET", "charges", token: "till_lan_\(guess)", from: peer)
                #expect(answer.status == 401)
            }
            #expect(try await page.rows().count - before <= 30)
            // Whoever guesses beside it costs the till nothing.
            #expect(try await till.ask("GET", "charges", from: "10.0.0.66").status == 200)
        }
    }

    @Test func aTillThatRunsInACircleIsSlowedDownAndNobodyElseIs() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let (wild, calm) = (try await Program(page), try await Program(page, name: "Till 2"))
            var refused: WebResponse?
            for _ in 0...Int(TokenPace.burst) { refused = try await wild.ask("GET", "terminal") }
            let answer = try #require(refused)
            #expect(answer.status == 429 && answer.headers["Retry-After"] == "1")
            #expect(try Program.code(answer) == "too_many_requests")
            #expect(try await calm.ask("GET", "terminal").status == 200)
            #expect(try await page.ask("GET", "charges").status == 200)
            page.clock.advance(by: .seconds(1))
            for _ in 0..<Int(TokenPace.perSecond) { #expect(try await wild.ask("GET", "terminal").status == 200) }
            #expect(try await wild.ask("GET", "terminal").status == 429)
            // What it is refused is written within a budget.
            page.clock.advance(by: .seconds(3600))
            let before = try await page.rows().count
            for _ in 0..<90 { _ = try await wild.ask("POST", "charges/\(Self.noCharge)/cancel") }
            #expect(try await page.rows().count - before <= 30)
        }
    }

    private static let noCharge = "01941f29-7c00-7000-8000-000000000001"

    // MARK: - A lost answer

    @Test func aLostAnswerIsFoundByTheSameKeyAndNothingIsChargedTwice() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            let body = #"{"amountMinor":1250}"#
            let unheard = try await till.ask("GET", "charges/lookup?key=sale-1")
            #expect(unheard.status == 404)
            #expect(try Program.code(unheard) == "charge_not_found")
            let first = try await till.ask("POST", "charges", body, key: "sale-1")
            let again = try await till.ask("POST", "charges", body, key: "sale-1")
            #expect(first.status == 201 && again.status == 200)
            let id = try #require(try Page.said(first)["id"] as? String)
            #expect(try Page.said(again)["id"] as? String == id)
            #expect(try await till.said("GET", "charges/lookup?key=sale-1")["id"] as? String == id)
            let other = try await till.ask("POST", "charges", #"{"amountMinor":1300}"#, key: "sale-1")
            #expect(other.status == 409)
            #expect(try Program.code(other) == "idempotency_conflict")
            #expect((try await till.said("GET", "charges")["charges"] as? [Any])?.count == 1)
        }
    }

    /// The charge may be among those that the record lacks: then nobody says that nothing was charged.
    @Test(arguments: [RecordGap.Kind.restored, .endLost])
    func aKeyThatTheRecordDoesNotKnowIsNotKnownWhileTheRecordMayLackCharges(kind: RecordGap.Kind) async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            let opened = try await till.ask("POST", "charges", #"{"amountMinor":1250}"#, key: "sale-1")
            #expect(opened.status == 201)
            try await page.journal.note(RecordGap(kind, at: page.clock.wallTime), by: .terminal)
            let unknown = try await till.ask("GET", "charges/lookup?key=sale-0")
            #expect(unknown.status == 409)
            #expect(try Program.code(unknown) == "charge_not_known")
            let known = try await till.ask("GET", "charges/lookup?key=sale-1")
            #expect(known.status == 200, "what stands in the record is known")
            page.clock.advance(by: .seconds(31 * 86_400))
            let later = try await till.ask("GET", "charges/lookup?key=sale-0")
            #expect(try later.status == 404 && Program.code(later) == "charge_not_found")
        }
    }

    /// Two tills that count their sales alike must not get each other's charges.
    @Test func eachTillsKeysAreItsOwn() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let (one, two) = (try await Program(page), try await Program(page, name: "Till 2"))
            #expect(try await one.ask("POST", "charges", #"{"amountMinor":1250}"#, key: "1").status == 201)
            let busy = try await two.ask("POST", "charges", #"{"amountMinor":1250}"#, key: "1")
            #expect(busy.status == 409)
            #expect(try Program.code(busy) == "busy")
            #expect(try await two.ask("GET", "charges/lookup?key=1").status == 404)
            // A token of the same name goes on where the old one ended.
            #expect(try await page.send("DELETE", "tokens/\(one.id)", "{}") == 200)
            let renewed = try await Program(page)
            #expect(try await renewed.ask("GET", "charges/lookup?key=1").status == 200)
            #expect(try await page.send("POST", "tokens", #"{"name":"till 2","scopes":["state"]}"#) == 422)
        }
    }

    // MARK: - Waiting

    @Test func aWaitIsAnsweredWhenTheStateChanges() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page)
            let id = try await shop.offered()
            // What is known is out of date: answered at once.
            let now = try await till.said("GET", "charges/\(id)?wait=60&since=created")
            #expect(now["state"] as? String == "requiresAction")
            async let waiting = Page.said(try await till.ask("GET", "charges/\(id)?wait=60&since=requiresAction"))
            try await shop.pay(id)
            #expect(try await waiting["state"] as? String == "succeeded")
            for query in ["wait=0", "wait=61", "wait=x", "wait=", "since=created", "wait=1&since=paid", "wait=1&x=1"] {
                let answer = try await till.ask("GET", "charges/\(id)?\(query)")
                #expect(answer.status == 422, "\(query)")
            }
            #expect(try await till.ask("GET", "charges/\(Self.noCharge)?wait=60").status == 404)
        }
    }

    @Test func waitsAreFewAndEndWithTheirToken() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page)
            let id = try await shop.offered()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0...TokenUse.wait.mostOfOne {
                    group.addTask { try await till.ask("GET", "charges/\(id)?wait=60").status }
                }
                // One too many is told so; the others wait until they may not any more.
                #expect(try await group.next() == 429)
                #expect(try await page.send("DELETE", "tokens/\(till.id)", "{}") == 200)
                for try await status in group { #expect(status == 401) }
            }
        }
    }

    @Test func allTokensTogetherLeaveRoomForThePage() async throws {
        try await withConsole { page in
            _ = try await CustomerShop(page)
            let desk = page.console.tokens
            var begun: [Int] = []
            for number in 0..<4 {
                let (token, _) = try await desk.make("Till \(number)", [.charges], by: .staff(name: "owner"))
                for _ in 0...TokenUse.events.mostOfOne {
                    if let use = await desk.begin(.events, token)?.use { begun.append(use) }
                }
            }
            #expect(begun.count == TokenUse.events.most)
            let last = try #require(await desk.list.last)
            #expect(await desk.begin(.events, last) == nil)
            await desk.end(begun[0])
            #expect(await desk.begin(.events, last) != nil)
        }
    }

    @Test func aWaitEndsWhenTheTerminalStops() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page)
            let id = try await shop.offered()
            let waiting = Task { try await till.ask("GET", "charges/\(id)?wait=60").status }
            waiting.cancel()  // As the server does.
            #expect(try await waiting.value == 200)
            // Nothing is left of it: as many as ever can wait.
            for _ in 0...TokenUse.wait.mostOfOne {
                let another = Task { try await till.ask("GET", "charges/\(id)?wait=60").status }
                another.cancel()
                #expect(try await another.value == 200)
            }
        }
    }

    // MARK: - Events

    private func lines(_ response: WebResponse) throws -> AsyncStream<ServerSentEvent>.Iterator {
        guard case .events(let stream) = response.body else { throw Problem.notFound }
        return stream.makeAsyncIterator()
    }

    @Test func eachChangeIsOneEventAndWhoComesBackMissesNone() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page)
            var events = try lines(try await till.ask("GET", "events"))
            let first = try #require(await events.next())
            #expect(first.event == "resync")
            let id = try await shop.offered()
            var (seen, last) = ([String](), "")
            while seen.last != "requiresAction" {
                let event = try #require(await events.next())
                let data = try #require(event.data.map { Data($0.utf8) })
                let said = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
                #expect(event.event == "charge" && said["id"] as? String == id.rawValue)
                seen.append(try #require(said["state"] as? String))
                last = try #require(event.id)
            }
            #expect(seen.first == "created")
            try await shop.pay(id)  // Nobody listens.
            let start = try #require(first.id)
            for (known, expected) in [(last, "charge"), (start, "charge"), ("0-3", "resync"), ("nonsense", "resync")] {
                var back = try lines(try await till.ask("GET", "events", headers: ["Last-Event-ID": known]))
                let event = try #require(await back.next())
                #expect(event.event == expected, "\(known)")
                if known == last { #expect(event.data?.contains("succeeded") == true) }
                if known == start { #expect(event.data?.contains(#""state":"created""#) == true) }
            }
        }
    }

    @Test func anEventStreamEndsAtOnceWithItsTokenAndThereAreFew() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            var streams: [WebResponse] = []
            for _ in 0..<TokenUse.events.mostOfOne { streams.append(try await till.ask("GET", "events")) }
            let refused = try await till.ask("GET", "events")
            #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
            #expect(try Program.code(refused) == "too_many_waiting")
            #expect(try await page.send("DELETE", "tokens/\(till.id)", "{}") == 200)
            for response in streams {
                var events = try lines(response)
                while await events.next() != nil {}  // Ends, or the test's time does.
            }
            #expect(try await till.ask("GET", "events").status == 401)
        }
    }

    // MARK: - The terminal

    /// A till that opens a charge then would wait for a code that does not come.
    @Test func aTerminalWhoseGatewayAsksToWaitIsNotReadyAndSaysUntilWhen() async throws {
        try await withConsole { page in
            _ = try await Program.shop(page)
            let till = try await Program(page)
            await page.desk.setGateway(.paused(until: page.clock.wallTime.advanced(by: .seconds(60))))
            let said = try await till.said("GET", "terminal")
            #expect(said["ready"] as? Bool == false)
            let reason = try #require(said["reason"] as? [String: Any])
            #expect(reason["code"] as? String == "gateway_paused" && "\(reason)".contains(":"))
            let rails = try #require(said["rails"] as? [String: [String: Any]])
            #expect(rails["scan"]?["state"] as? String == "hindered")
            await page.desk.setGateway(.ready)
            #expect(try await till.said("GET", "terminal")["ready"] as? Bool == true)
        }
    }

    /// Nobody types a password for a slash, and whoever moves payments elsewhere hears how many it concerns.
    @Test func savingTheSameGatewayWrittenAnotherWayNeedsNoPasswordAndSaysHowManyPaymentsAreOpen() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let merchant = MerchantSettings(
                operatorID: "op-1",
                merchantID: "mrch_1",
                merchantName: "Kiosk",
                gatewayURL: "https://gateway.test",
                currency: .euro
            )
            await page.desk.use(merchant, drivers: [shop.rail])
            _ = try await shop.offered()
            func settings(_ gateway: String, _ merchant: String = "mrch_1") -> String {
                """
                {"operatorID":"op-1","merchantID":"\(merchant)","merchantName":"Kiosk","gatewayURL":"\(gateway)","currency":"EUR"}
                """
            }
            #expect(try await page.send("PUT", "settings", settings("https://gateway.test/v1/")) == 200)
            let said = try Page.said(try await page.ask("GET", "settings"))
            #expect(said["gatewayURL"] as? String == "https://gateway.test")
            #expect(said["openPayments"] as? [String: Int] == ["here": 1, "followed": 0, "stranded": 0])
            #expect(try await page.send("PUT", "settings", settings("https://gateway.test", "MRCH_1")) == 422)
        }
    }

    @Test func theTerminalSaysWhetherItIsReadyAndWhyNot() async throws {
        try await withConsole { page in
            let shop = try await Program.shop(page)
            let till = try await Program(page)
            await page.desk.setGateway(.ready)
            var said = try await till.said("GET", "terminal")
            #expect(said["ready"] as? Bool == true && said["reason"] is NSNull && said["currency"] as? String == "EUR")
            let rails = try #require(said["rails"] as? [String: [String: Any]])
            #expect(rails["scan"]?["state"] as? String == "ready" && rails["tap"]?["state"] as? String == "off")
            let id = try await shop.offered()
            said = try await till.said("GET", "terminal")
            #expect(said["ready"] as? Bool == false)
            #expect((said["reason"] as? [String: Any])?["code"] as? String == "busy")
            #expect((said["charge"] as? [String: Any])?["id"] as? String == id.rawValue)
            let diagnosis = try await till.said("GET", "diagnosis")
            #expect((diagnosis["payments"] as? [String: Any])?["open"] as? Int == 1)
            #expect((diagnosis["storage"] as? [String: Any])?["freeBytes"] as? Int ?? 0 > 0)
            #expect((diagnosis["fingerprint"] as? String)?.utf8.count ?? 0 > 60)
            let text = "\(said) \(diagnosis)"
            for secret in ["canary", till.token, "gateway.test"] { #expect(!text.contains(secret)) }
        }
    }

    @Test func aTokenOfAnEarlierVersionStillReadsMetrics() async throws {
        try await withConsole { page in
            let old = Array(#"[{"id":"a","name":"b","scope":"metrics","digest":[],"createdAt":1}]"#.utf8)
            _ = try await page.journal.setDocument(
                "tokens",
                old,
                expecting: .any,
                by: .terminal,
                at: page.clock.wallTime
            )
            let desk = TokenDesk(journal: page.journal, clock: page.clock.terminalClock)
            try await desk.load()
            #expect(await desk.isReadable)
            #expect(await desk.list.first?.scopes == [.metrics])
        }
    }
}

import Foundation
import Journal
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// How people who work here sign in, and what guessing costs.
@Suite(.timeLimit(.minutes(5)))
struct StaffSignInTests {
    @Test func strangersAreNotToldWhoWorksHereAndNoPINOpensTheirBrowser() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let id = try await StaffShop.add(page, "Ada")
            let stranger = page.another()
            let said = try await stranger.ask("GET", "session").said
            #expect((said["people"] as? [Any])?.isEmpty == true && said["browser"] is NSNull)
            #expect(!"\(said)".contains("Ada"))
            for cookie in [nil, "", String(repeating: "a", count: 64)] {
                stranger.browser = cookie
                let answer = try await stranger.ask("POST", "login/pin", #"{"person":"\#(id)","pin":"4826"}"#)
                #expect(answer.status == 403 && answer.said["code"] as? String == "browser_unknown")
            }
            #expect(try await stranger.send("GET", "staff", "") == 401)
        }
    }

    @Test func atACounterOneTapsTheirNameAndTypesTheirPIN() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let ada = try await StaffShop.add(page, "Ada")
            let bob = try await StaffShop.add(page, "Bob", pin: "5093")
            let counter = try await StaffShop.counter(page)
            counter.userAgent = "Mozilla/5.0 (Linux; Android 14) Chrome/126.0 Mobile Safari/537.36"
            let people = try await counter.ask("GET", "session").said["people"] as? [[String: Any]] ?? []
            #expect(people.map { $0["name"] as? String } == ["Ada", "Bob"])
            #expect(try await StaffShop.pin(counter, ada, "4827") == 401)
            #expect(try await StaffShop.pin(counter, ada, "5093") == 401, "Bob's is not hers")
            #expect(try await StaffShop.pin(counter, ada) == 200)
            let before = try #require(counter.token)
            #expect(try await counter.send("POST", "charges", #"{"amountMinor":1250}"#) == 201)
            // Bob takes over; the charge goes on.
            #expect(try await StaffShop.pin(counter, bob, "5093") == 200)
            #expect(page.console.sessions.session(of: before, at: page.clock.wallTime) == nil, "Ada is out")
            let said = try await counter.ask("GET", "session").said
            #expect(said["name"] as? String == "Bob" && said["role"] as? String == "cashier")
            let running = try await counter.ask("GET", "charges/current").said
            let id = try #require(running["id"] as? String)
            #expect(try await counter.send("POST", "charges/\(id)/cancel", "{}") == 200)
            let timeline = try await counter.ask("GET", "charges/\(id)").said["timeline"] as? [[String: Any]] ?? []
            let who = timeline.compactMap { $0["who"] as? String }.filter { $0.hasPrefix("staff:") }
            #expect(who == ["staff:Ada", "staff:Bob"])
            let sessions = try await counter.ask("GET", "sessions").said["sessions"] as? [[String: Any]] ?? []
            #expect(sessions.count == 1 && sessions[0]["name"] as? String == "Bob")
            #expect(sessions[0]["browser"] as? String == "Chrome" && sessions[0]["system"] as? String == "Android")
            let refused = try await page.rows().filter { $0.what == "login.pin" && $0.result == "refused" }
            #expect(refused.map(\.detail) == ["\(ada): pin_wrong", "\(ada): pin_wrong"])
        }
    }

    @Test func aCounterThatWasTakenOffTheListTakesNoPIN() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let counter = try await StaffShop.counter(page)
            let browsers = try await StaffShop.list(page)["browsers"] as? [[String: Any]] ?? []
            let id = try #require(browsers.first?["id"] as? String)
            #expect(
                browsers.first?["current"] as? Bool == true && browsers.first?["madeBy"] as? String == "staff:owner"
            )
            #expect(try await page.send("DELETE", "browsers/\(id)", "{}") == 200)
            #expect(try await StaffShop.pin(counter, ada) == 403)
        }
    }

    /// Four digits hold because of this: a day of guessing at a counter gets through a hundredth of them.
    @Test func tenThousandGuessesTakeMonthsAndTheOwnerGetsInAtAnyTime() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let bob = try await StaffShop.add(page, "Bob", pin: "5093")
            let counter = try await StaffShop.counter(page)
            let start = page.clock.wallTime
            var (looked, asked) = (0, 0)
            while asked < 10_000, page.clock.wallTime.millisecondsSince1970 - start.millisecondsSince1970 < 86_400_000 {
                let guess = String(format: "%04d", asked % 4826)
                let answer = try await counter.ask("POST", "login/pin", #"{"person":"\#(ada)","pin":"\#(guess)"}"#)
                asked += 1
                if answer.status == 401 { looked += 1 }
                if let wait = answer.headers["Retry-After"].flatMap(Int.init) { page.clock.advance(by: .seconds(wait)) }
                if asked == 20 {
                    // In the middle of it: the owner with the password, a colleague with the PIN, both at once.
                    let owner = page.another()
                    owner.browser = counter.browser
                    #expect(try await owner.send("POST", "login", #"{"password":"\#(StaffShop.password)"}"#) == 200)
                    #expect(try await StaffShop.pin(owner, bob, "5093") == 200)
                }
            }
            #expect(looked > 50 && looked < 130, "\(looked) in a day: ten thousand take \(10_000 / looked) days")
            #expect(try await StaffShop.pin(counter, ada, "0001") == 401)
            #expect(try await StaffShop.pin(counter, ada) == 429, "the right one waits as well")
            #expect(try await page.send("POST", "login", #"{"password":"\#(StaffShop.password)"}"#) == 200)
            // A new PIN from the owner lets Ada in at once.
            #expect(try await page.send("PUT", "staff/\(ada)", #"{"pin":"7391"}"#) == 200)
            #expect(try await StaffShop.pin(counter, ada, "7391") == 200)
        }
    }

    /// Each counter has three tries of its own; all of them together have thirty. A counter where somebody has signed in does not
    /// share these.
    @Test func guessesAtManyCountersCountTogether() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let bob = try await StaffShop.add(page, "Bob", pin: "5093")
            var counters: [Page] = []
            for _ in 0..<11 {
                page.browser = nil  // Each is a browser of its own.
                counters.append(try await StaffShop.counter(page))
            }
            page.browser = nil
            let own = try await StaffShop.counter(page)
            #expect(try await StaffShop.pin(own, ada) == 200)
            for counter in counters.prefix(10) {
                for guess in ["0001", "0002", "0003"] { #expect(try await StaffShop.pin(counter, ada, guess) == 401) }
            }
            let answer = try await counters[10].ask("POST", "login/pin", #"{"person":"\#(ada)","pin":"4826"}"#)
            #expect(answer.status == 429, "also the right one, and where nobody has guessed")
            #expect(try await StaffShop.pin(counters[10], bob, "5093") == 200, "nobody else waits for that")
            #expect(try await StaffShop.pin(own, ada) == 200, "nor does she where she has signed in")
            page.clock.advance(by: .seconds(try #require(answer.headers["Retry-After"].flatMap(Int.init))))
            #expect(try await StaffShop.pin(counters[10], ada) == 200)
        }
    }

    @Test func tenThousandGuessesFromTheNetworkKeepNobodyOut() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let counter = try await StaffShop.counter(page)
            let stranger = page.another()
            for guess in 0..<10_000 {
                let body = #"{"person":"\#(ada)","pin":"\#(String(format: "%04d", guess))"}"#
                #expect(try await stranger.send("POST", "login/pin", body) == 403)
            }
            #expect(try await StaffShop.pin(counter, ada) == 200)
            #expect(try await page.send("POST", "login", #"{"password":"\#(StaffShop.password)"}"#) == 200)
            #expect(try await page.rows().count < 60, "nor do they fill the audit log")
        }
    }

    @Test func wrongPINsAreRememberedOverARestartAndTheScreensCodeStillLetsTheOwnerIn() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let counter = try await StaffShop.counter(page)
            for _ in 0..<4 { _ = try await StaffShop.pin(counter, ada, "0001") }
            #expect(try await StaffShop.pin(counter, ada) == 429)
            let staff = StaffTests.staff(page, page.console.sessions)
            try await staff.load()
            await #expect(throws: Problem.self) {
                try await staff.signIn(ada, pin: "4826", at: counter.browser, on: nil)
            }
            let owner = page.another()
            await page.console.entrance.look(at: ["sdb1"])
            page.clock.advance(by: Reset.wait)
            await page.console.entrance.look(at: ["sdb1"])
            let code = try await page.claimCode()
            let body = #"{"code":"\#(code)","password":"staple battery horse"}"#
            #expect(try await owner.send("PUT", "reset", body) == 200)
        }
    }

    @Test func aCodeSignsOnePhoneInOnceAndThenItsPINWorksThere() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let bob = try await StaffShop.add(page, "Bob", pin: "5093")
            let made = try await page.ask("POST", "staff/\(ada)/code").said
            let code = try #require(made["code"] as? String)
            let url = try #require(made["url"] as? String)
            #expect(url.contains("/#staff=\(code)&cert=") && code.count == 14, "browsers keep what stands behind the #")
            #expect((made["modules"] as? [String])?.isEmpty == false && made["seconds"] as? Int == 120)
            let phone = page.another()
            #expect(try await phone.send("POST", "login/code", #"{"code":"\#(code.lowercased())"}"#) == 200)
            let said = try await phone.ask("GET", "session").said
            #expect(said["name"] as? String == "Ada" && said["browser"] as? String == "own")
            #expect((said["people"] as? [[String: Any]])?.map { $0["name"] as? String } == ["Ada"], "and nobody else")
            let second = page.another()
            #expect(try await second.send("POST", "login/code", #"{"code":"\#(code)"}"#) == 403, "it works once")
            #expect(try await phone.send("POST", "logout", "{}") == 200)
            #expect(try await StaffShop.pin(phone, bob, "5093") == 409, "it is Ada's phone")
            #expect(try await StaffShop.pin(phone, ada) == 200)
            let rows = try await page.rows()
            #expect(rows.allSatisfy { !$0.detail.contains(code) })
            #expect(rows.last { $0.what == "login.code" && $0.result == "ok" }?.who == .staff(name: "Ada"))
        }
    }

    @Test func aCodeAtACounterSignsOutWhoWasThereAndLeavesItACounter() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let bob = try await StaffShop.add(page, "Bob", pin: "5093")
            let counter = try await StaffShop.signIn(page, as: bob, pin: "5093")
            let (before, cookie) = (try #require(counter.token), counter.browser)
            let code = try #require(try await page.ask("POST", "staff/\(ada)/code").said["code"] as? String)
            let answer = try await counter.ask("POST", "login/code", #"{"code":"\#(code)"}"#)
            #expect(answer.status == 200 && answer.headers.values("Set-Cookie").count == 1)
            #expect(page.console.sessions.session(of: before, at: page.clock.wallTime) == nil, "Bob is out")
            let said = try await counter.ask("GET", "session").said
            #expect(said["name"] as? String == "Ada" && said["browser"] as? String == "counter")
            #expect(counter.browser == cookie)
            #expect(try await StaffShop.pin(counter, bob, "5093") == 200, "everybody's PIN still works there")
        }
    }

    @Test func thereAreFewCountersAndFewPhonesOfOnePersonAndWhoMayForgetThemIsSaid() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let ada = try await StaffShop.add(page, "Ada")
            func phone(of id: String) async throws -> Page {
                let code = try #require(try await page.ask("POST", "staff/\(id)/code").said["code"] as? String)
                let phone = page.another()
                #expect(try await phone.send("POST", "login/code", #"{"code":"\#(code)"}"#) == 200)
                return phone
            }
            let first = try await phone(of: ada)
            for _ in 0..<KnownBrowser.mostOfOnePerson { _ = try await phone(of: ada) }
            #expect(try await StaffShop.pin(first, ada) == 403, "the oldest phone has made room")
            let manager = try await phone(of: mia)
            let browsers = try await StaffShop.list(page)["browsers"] as? [[String: Any]] ?? []
            #expect(browsers.count { $0["person"] as? String == ada } == KnownBrowser.mostOfOnePerson)
            let other = try await StaffShop.add(page, "Max", "manager", pin: "8204")
            _ = try await phone(of: other)
            let list = try await StaffShop.list(page)["browsers"] as? [[String: Any]] ?? []
            func browser(of id: String) throws -> String {
                try #require(list.first { $0["person"] as? String == id }?["id"] as? String)
            }
            #expect(try await manager.send("DELETE", "browsers/\(browser(of: other))", "{}") == 404, "no manager's")
            #expect(try await manager.send("DELETE", "browsers/\(browser(of: ada))", "{}") == 200)
            #expect(try await page.send("DELETE", "staff/\(other)", "{}") == 200)
            let left = try await StaffShop.list(page)["browsers"] as? [[String: Any]] ?? []
            #expect(left.allSatisfy { $0["person"] as? String != other }, "their phones went with them")
            // Each counter is a browser of its own: the cookie is not sent along.
            for _ in 0..<KnownBrowser.mostCounters {
                page.browser = nil
                #expect(try await page.send("POST", "browsers", "{}") == 201)
            }
            let last = page.browser
            page.browser = nil
            let refused = try await page.ask("POST", "browsers")
            #expect(refused.status == 409 && refused.said["code"] as? String == "too_many_counters")
            page.browser = last
            #expect(try await page.send("POST", "browsers", "{}") == 201, "one that is a counter makes no more of them")
        }
    }

    @Test func bothCookiesAreForThisPageAndNoScript() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let code = try #require(try await page.ask("POST", "staff/\(ada)/code").said["code"] as? String)
            let answer = try await page.another().ask("POST", "login/code", #"{"code":"\#(code)"}"#)
            let cookies = answer.headers.values("Set-Cookie")
            // Nothing more either: a domain would give them to others.
            let marks = cookies.map { $0.split(separator: "; ").dropFirst().joined(separator: "; ") }
            #expect(cookies.count == 2 && cookies.allSatisfy { $0.hasPrefix("__Host-till") })
            #expect(
                Set(marks) == [
                    "Path=/; Secure; HttpOnly; SameSite=Strict",
                    "Path=/; Max-Age=34560000; Secure; HttpOnly; SameSite=Strict",
                ]
            )
            let own = try #require(cookies.first { $0.hasPrefix("__Host-till=") })
            #expect(!own.contains("Max-Age"), "a session's cookie goes with the browser")
            let out = try await page.ask("POST", "logout").headers["Set-Cookie"]
            #expect(out == "__Host-till=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict")
        }
    }

    @Test func aCodeIsOverAfterTwoMinutesOrWithANewerOneOrWithItsPerson() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            func make() async throws -> String {
                try #require(try await page.ask("POST", "staff/\(ada)/code").said["code"] as? String)
            }
            func use(_ code: String) async throws -> Int {
                try await page.another().send("POST", "login/code", #"{"code":"\#(code)"}"#)
            }
            let first = try await make()
            let second = try await make()
            #expect(try await use(first) == 403)
            page.clock.advance(by: SignInCode.lifetime)
            #expect(try await use(second) == 403)
            let third = try await make()
            #expect(try await page.send("PUT", "staff/\(ada)", #"{"enabled":false}"#) == 200)
            #expect(try await use(third) == 403)
            #expect(try await page.send("POST", "staff/\(ada)/code", "{}") == 409)
            #expect(try await page.send("PUT", "staff/\(ada)", #"{"enabled":true}"#) == 200)
            #expect(try await use(third) == 403, "it does not come back with its person")
            #expect(try await use(try await make()) == 200)
        }
    }

    @Test func whoGuessesAtCodesIsToldToWaitAndOthersAreNot() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.add(page, "Ada")
            let staff = page.console.staff
            var waits = 0
            for _ in 0..<200 {
                do throws(Problem) { _ = try await staff.useCode("AAAA", at: nil, on: nil, from: "10.0.0.9") } catch {
                    if error.status == 429 { waits += 1 }
                }
            }
            #expect(waits == 140, "sixty at once, then at a pace")
            let owner = StaffDesk.Asker(role: .owner, who: .staff(name: "owner"))
            let code = try await staff.makeCode(for: ada, by: owner).code
            #expect(try await staff.useCode(code.text, at: nil, on: nil, from: "10.0.0.9").session.name == "Ada")
        }
    }

    @Test func anUnusedCounterLocksItselfAndOtherBrowsersDoNot() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let ada = try await StaffShop.add(page, "Ada")
            #expect(try await page.send("PUT", "staff", #"{"lockMinutes":0}"#) == 422)
            #expect(try await page.send("PUT", "staff", #"{"lockMinutes":5}"#) == 200)
            let counter = try await StaffShop.signIn(page, as: ada)
            #expect(try await counter.ask("GET", "session").said["lockMinutes"] as? Int == 5)
            page.clock.advance(by: .seconds(299))
            #expect(try await counter.send("GET", "charges/current", "") == 204)
            page.clock.advance(by: .seconds(301))
            #expect(try await counter.send("GET", "charges/current", "") == 401)
            #expect(try await page.send("GET", "settings", "") == 200, "the owner's own browser was let be")
            let code = try #require(try await page.ask("POST", "staff/\(ada)/code").said["code"] as? String)
            let phone = page.another()
            #expect(try await phone.send("POST", "login/code", #"{"code":"\#(code)"}"#) == 200)
            page.clock.advance(by: .seconds(301))
            #expect(try await phone.send("GET", "charges/current", "") == 204, "and so is a person's own phone")
        }
    }

    @Test func peopleChangeTheirOwnPINAndStaySignedInThereOnly() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let id = try await StaffShop.add(page, "Ada")
            let ada = try await StaffShop.signIn(page, as: id)
            let elsewhere = try await StaffShop.signIn(page, as: id)
            #expect(try await ada.send("PUT", "pin", #"{"currentPIN":"0001","newPIN":"7391"}"#) == 422)
            #expect(try await ada.send("PUT", "pin", #"{"currentPIN":"4826","newPIN":"1234"}"#) == 422)
            #expect(try await ada.send("PUT", "pin", #"{"currentPIN":"4826","newPIN":"7391"}"#) == 200)
            #expect(try await ada.send("GET", "charges/current", "") == 204)
            #expect(try await elsewhere.send("GET", "charges/current", "") == 401)
            #expect(try await StaffShop.pin(elsewhere, id) == 401)
            #expect(try await StaffShop.pin(elsewhere, id, "7391") == 200)
        }
    }

    @Test func everybodyEndsTheirOwnSignInsAManagerThoseOfCashiersAndTheOwnerAll() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let ada = try await StaffShop.add(page, "Ada")
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            let cashier = try await StaffShop.signIn(page, as: ada)
            let other = try await StaffShop.signIn(page, as: ada)
            #expect(try await page.sessions().ids.count == 4)
            #expect(try await manager.sessions().ids.count == 3, "not the owner's")
            #expect(try await cashier.sessions().ids.count == 2, "only her own")
            let owners = try #require(try await page.sessions().own.first)
            let managers = try #require(try await manager.sessions().own.first)
            for id in [owners, managers] { #expect(try await cashier.send("DELETE", "sessions/\(id)", "{}") == 404) }
            #expect(try await manager.send("DELETE", "sessions/\(owners)", "{}") == 404)
            #expect(try await cashier.send("DELETE", "sessions", "{}") == 200)
            #expect(try await other.send("GET", "charges/current", "") == 401)
            #expect(try await manager.send("GET", "staff", "") == 200)
            let left = try #require(try await cashier.sessions().own.first)
            #expect(try await manager.send("DELETE", "sessions/\(left)", "{}") == 200)
            #expect(try await cashier.send("GET", "charges/current", "") == 401)
            #expect(try await page.rows().last { $0.what == "session.end" }?.who == .staff(name: "Mia"))
        }
    }
}

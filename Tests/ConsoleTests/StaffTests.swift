import Foundation
import Journal
import Logging
import Payments
import Testing
import TestSupport
import WebServer

@testable import Console
@testable import Terminal

/// What a PIN has to be, and what is kept of it.
struct PINTests {
    @Test(arguments: [
        "", "123", "123456789", "12a4", "١٢٣٤", "４８２６", "12 4",
    ])
    func whatIsNotFourToEightDigitsIsRefused(pin: String) {
        #expect(PINRule.objection(to: pin)?.code == "pin_form")
    }

    @Test(arguments: [
        "0000", "1111", "1234", "4321", "7890", "0987", "2468", "1212", "123123", "1221", "112233", "1984", "2025",
        "2580",
        "1004", "99999999", "12344321", "147258",
    ])
    func whatEverybodyTriesFirstIsRefused(pin: String) {
        #expect(PINRule.objection(to: pin)?.code == "pin_too_common", "\(pin)")
    }

    @Test(arguments: ["4826", "0391", "73914", "804153", "90361827", "1899"])
    func otherDigitsAreTaken(pin: String) { #expect(PINRule.objection(to: pin) == nil) }

    @Test func withoutTheDevicesKeyNoGuessCanBeCompared() throws {
        let (key, other) = (PINKey(), PINKey())
        let kept = try StaffPIN("4826", of: "a1", with: key, rounds: 1 << 10)
        #expect(try kept.matches("4826", of: "a1", with: key))
        #expect(try !kept.matches("4827", of: "a1", with: key))
        #expect(try !kept.matches("4826", of: "b2", with: key), "somebody else's PIN is not theirs")
        #expect(try !kept.matches("4826", of: "a1", with: other), "nor is it with another device's key")
        #expect("\(key)" == "redacted")
    }
}

/// What a browser says of itself becomes words of the terminal's own.
struct DeviceTests {
    @Test(arguments: [
        (
            "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile Safari/537.36",
            "Chrome", "Android"
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/604.1",
            "Safari", "iPhone"
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox", "Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36 Edg/126.0",
            "Edge", "Windows"
        ),
    ])
    func aBrowserIsNamed(userAgent: String, browser: String, system: String) {
        let device = Device(userAgent: userAgent)
        #expect(device.browser == browser && device.system == system)
    }

    @Test func nothingOfWhatItSendsIsKept() {
        for hostile in [
            "<b>owner</b>", String(repeating: "x", count: 100_000) + "Chrome/ Android", "", "\u{202E}Chrome",
        ] {
            #expect(Device(userAgent: hostile) == Device(), "\(hostile.prefix(20))")
        }
        #expect(Device(userAgent: nil) == Device())
    }
}

/// Adding, changing and removing people.
@Suite(.timeLimit(.minutes(2)))
struct StaffTests {
    @Test func theOwnerAddsPeopleAndTheListSaysWho() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let id = try await StaffShop.add(page, "Ada")
            let ada = try StaffShop.person("Ada", in: try await StaffShop.list(page))
            #expect(ada["id"] as? String == id && ada["role"] as? String == "cashier" && ada["pinSet"] as? Bool == true)
            #expect(ada["createdBy"] as? String == "staff:owner" && ada["mayChange"] as? Bool == true)
            #expect(ada["usedAt"] is NSNull && ada["signedIn"] as? Int == 0)
            let row = try #require(try await page.rows().last)
            #expect(row.what == "staff.add" && row.who == .staff(name: "owner") && row.detail == "\(id) cashier Ada")
        }
    }

    @Test(arguments: [
        (#"{"name":"","role":"cashier"}"#, "name", "required"),
        (#"{"name":"\u2060\u2060","role":"cashier"}"#, "name", "invalid_characters"),
        (#"{"name":"Ada\u202eadA","role":"cashier"}"#, "name", "invalid_characters"),
        (#"{"name":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","role":"cashier"}"#, "name", "too_long"),
        (#"{"name":"Owner","role":"cashier"}"#, "name", "person_name_taken"),
        (#"{"name":" ＡＤＡ ","role":"cashier"}"#, "name", "person_name_taken"),
        (#"{"name":"Bob","role":"owner"}"#, "role", "role_unknown"),
        (#"{"name":"Bob"}"#, "role", "role_unknown"),
        (#"{"name":"Bob","role":"cashier","pin":"1234"}"#, "pin", "pin_too_common"),
        (#"{"name":"Bob","role":"cashier","owner":true}"#, "owner", "unknown_field"),
    ])
    func aBadPersonIsRefusedAtItsField(body: String, field: String, code: String) async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            _ = try await StaffShop.add(page, "Ada")
            let answer = try await page.ask("POST", "staff", body)
            let fields = answer.said["fields"] as? [String: [String: Any]]
            #expect(answer.status == 422 && fields?[field]?["code"] as? String == code)
            #expect((try await StaffShop.list(page)["people"] as? [Any])?.count == 1, "nobody was added")
        }
    }

    @Test func thereAreNeverMoreThanFifty() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            for number in 0..<StaffBook.most {
                #expect(try await page.send("POST", "staff", #"{"name":"Person \#(number)","role":"cashier"}"#) == 201)
            }
            let answer = try await page.ask("POST", "staff", #"{"name":"One more","role":"cashier"}"#)
            #expect(answer.status == 409 && answer.said["code"] as? String == "too_many_people")
        }
    }

    @Test func aManagerManagesCashiersOnly() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let max = try await StaffShop.add(page, "Max", "manager", pin: "8204")
            let ada = try await StaffShop.add(page, "Ada")
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            #expect(try await manager.send("POST", "staff", #"{"name":"Bob","role":"cashier","pin":"5093"}"#) == 201)
            #expect(try await manager.send("POST", "staff", #"{"name":"Eve","role":"manager"}"#) == 403)
            #expect(try await manager.send("PUT", "staff/\(ada)", #"{"name":"Ada L."}"#) == 200)
            #expect(try await manager.send("PUT", "staff/\(ada)", #"{"role":"manager"}"#) == 403)
            for other in [max, mia] {
                #expect(try await manager.send("PUT", "staff/\(other)", #"{"enabled":false}"#) == 403)
                #expect(try await manager.send("DELETE", "staff/\(other)", "{}") == 403)
                #expect(try await manager.send("POST", "staff/\(other)/code", "{}") == 403)
            }
            #expect(
                try await manager.send("PUT", "staff", #"{"cashierMaximumMinor":100}"#) == 403,
                "limits are the owner's"
            )
            let list = try await StaffShop.list(manager)
            #expect(try StaffShop.person("Max", in: list)["mayChange"] as? Bool == false)
            #expect(try StaffShop.person("Bob", in: list)["createdBy"] as? String == "staff:Mia")
            let rows = try await page.rows().filter { $0.who == .staff(name: "Mia") && $0.what == "staff.add" }
            #expect(rows.map(\.result) == ["ok", "refused"], "under the manager's own name")
        }
    }

    @Test(arguments: [
        #"{"enabled":false}"#, #"{"role":"manager"}"#, #"{"pin":"5093"}"#, #"{"name":"Ada Lovelace"}"#, "DELETE",
    ])
    func whoIsChangedIsOutAtOnceAndTheirStreamEnds(change: String) async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let id = try await StaffShop.add(page, "Ada")
            let ada = try await StaffShop.signIn(page, as: id)
            let other = try await StaffShop.signIn(
                page,
                as: try await StaffShop.add(page, "Bob", pin: "5093"),
                pin: "5093"
            )
            let events = try await ada.ask("GET", "events")
            let ear = try Ear(events)
            var reader = ear.heard.makeAsyncIterator()
            #expect(await reader.next()?.hasPrefix("event: terminal\n") == true)
            if change == "DELETE" {
                #expect(try await page.send("DELETE", "staff/\(id)", "{}") == 200)
            } else {
                #expect(try await page.send("PUT", "staff/\(id)", change) == 200)
            }
            // The clock stands still: neither a ping nor news can have ended it.
            while let event = await reader.next() { #expect(event.hasPrefix("event: terminal\n")) }
            #expect(try await ada.send("GET", "charges/current", "") == 401)
            #expect(try await other.send("GET", "charges/current", "") == 204, "nobody else is")
            let sessions = Sessions(journal: page.journal)
            try await sessions.load()
            #expect(
                sessions.session(of: ada.token, at: page.clock.wallTime) == nil,
                "after a restart too"
            )
        }
    }

    @Test func aChangeThatCannotBeStoredChangesNothing() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try await StaffShop.open(page)
            let id = try await StaffShop.add(page, "Ada")
            let ada = try await StaffShop.signIn(page, as: id)
            try box.storage.fail("staff")
            #expect(try await page.send("PUT", "staff/\(id)", #"{"enabled":false}"#) == 503)
            #expect(try await ada.send("GET", "charges/current", "") == 204)
            // Where only the sessions cannot be stored, the person's own record ends them over a restart too.
            try box.storage.fail("sessions")
            #expect(try await page.send("PUT", "staff/\(id)", #"{"enabled":false}"#) == 200)
            #expect(try await ada.send("GET", "charges/current", "") == 401)
            let sessions = Sessions(journal: page.journal)
            try await sessions.load()
            let staff = Self.staff(page, sessions)
            #expect(sessions.session(of: ada.token, at: page.clock.wallTime) != nil, "so it was stored")
            try await staff.load()
            #expect(sessions.session(of: ada.token, at: page.clock.wallTime) == nil)
        }
    }

    @Test func aNewPINEndsSessionsOverARestartEvenWhereTheirEndCannotBeStored() async throws {
        let box = Box()
        try await withConsole(keepingIn: { box.wrap($0) }) { page in
            try await StaffShop.open(page)
            let id = try await StaffShop.add(page, "Ada")
            let ada = try await StaffShop.signIn(page, as: id)
            page.clock.advance(by: .seconds(1))
            try box.storage.fail("sessions")
            #expect(try await page.send("PUT", "staff/\(id)", #"{"pin":"5093"}"#) == 200)
            let sessions = Sessions(journal: page.journal)
            try await sessions.load()
            #expect(sessions.session(of: ada.token, at: page.clock.wallTime) != nil, "it was stored before")
            try await Self.staff(page, sessions).load()
            #expect(sessions.session(of: ada.token, at: page.clock.wallTime) == nil)
        }
    }

    @Test func whatAnotherVersionWroteKeepsEverybodyButTheOwnerOut() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let id = try await StaffShop.add(page, "Ada")
            let ada = try await StaffShop.signIn(page, as: id)
            _ = try await page.journal.setDocument(
                "staff",
                Array(#"{"people":7}"#.utf8),
                expecting: .any,
                by: .terminal,
                at: page.clock.wallTime
            )
            let sessions = Sessions(journal: page.journal)
            try await sessions.load()
            let staff = Self.staff(page, sessions)
            try await staff.load()
            #expect(sessions.session(of: ada.token, at: page.clock.wallTime) == nil)
            #expect(sessions.session(of: page.token, at: page.clock.wallTime)?.role == .owner)
            await #expect(throws: Problem.self) {
                try await staff.add(.init(name: "Bob", role: "cashier"), by: .init(role: .owner, who: .terminal))
            }
        }
    }

    @Test func aPINWhoseKeyIsGoneIsSaidToBeMissingAndASetOneWorks() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let id = try await StaffShop.add(page, "Ada")
            try await page.journal.setSecret("staff.pins", nil, by: .terminal, at: page.clock.wallTime)
            let sessions = Sessions(journal: page.journal)
            try await sessions.load()
            let staff = Self.staff(page, sessions)
            try await staff.load()
            let owner = StaffDesk.Asker(role: .owner, who: .staff(name: "owner"))
            let before = try #require(await staff.person(id))
            #expect(await !staff.hasPIN(before))
            let (after, _) = try await staff.change(id, .init(pin: "5093"), by: owner)
            #expect(await staff.hasPIN(after))
        }
    }

    @Test func nothingOfAPINIsInTheStorage() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            _ = try await StaffShop.add(page, "Ada", pin: "90361827")
            let document = try #require(try await page.journal.document("staff"))
            #expect(!String(decoding: document.bytes, as: UTF8.self).contains("90361827"))
            let key = try #require(try await page.journal.secret("staff.pins"))
            #expect(key.count == 32 && Data(document.bytes).firstRange(of: Data(key)) == nil)
            #expect(try await page.rows().allSatisfy { !$0.detail.contains("90361827") })
        }
    }

    static func staff(_ page: Page, _ sessions: Sessions) -> StaffDesk {
        StaffDesk(
            journal: page.journal,
            sessions: sessions,
            clock: page.clock.terminalClock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            address: "https://till.local",
            compactFingerprint: "",
            pinRounds: 1 << 10
        )
    }
}

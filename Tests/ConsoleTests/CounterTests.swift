import Crypto
import Foundation
import Journal
import Payments
import Terminal
import Testing
import WebServer

@testable import Console

/// Notes, tips, refunds and shifts as programs and the page meet them.
struct CounterTests {
    private func withShop(_ body: (Page) async throws -> Void) async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            let claim = #"{"code":"\#(code)","password":"a long enough passphrase"}"#
            #expect(try await page.send("POST", "claim", claim) == 201)
            try await body(page)
        }
    }

    private func sell(
        _ minorUnits: Int64,
        note: String? = nil,
        isPaid: Bool = true,
        in page: Page
    ) async throws -> Charge {
        var generator = SystemRandomNumberGenerator()
        let time = page.clock.terminalClock.wallTime()
        let terms = ChargeTerms(
            id: ChargeID(at: time, using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: minorUnits, currency: .euro),
            tip: Money(minorUnits: 50, currency: .euro),
            reference: nil,
            note: note,
            merchantID: "merchant-1",
            merchantName: "Kiosk",
            operatorID: "operator-1",
            gatewayURL: "https://gateway.test",
            openedBy: .staff(name: "owner"),
            openedAt: time,
            timeLimitSeconds: 300
        )
        var charge = Charge(terms: terms)
        try await page.journal.open(terms, under: nil)
        for event in [
            Charge.Event.attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1),
            .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: nil, expiresAt: nil)),
            .reported(
                attempt: 1,
                report: .succeeded(Evidence(paymentID: "pay_1", transactionID: nil, paid: nil))
            ),
        ].prefix(isPaid ? 4 : 3) {
            _ = charge.handle(event)
            try await page.journal.append(event, to: charge, at: time)
        }
        return charge
    }

    private func text(_ response: WebResponse) -> String {
        guard case .bytes(let bytes) = response.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Before notes and tips there were three fields: what was asked for then and is repeated now is the same.
    @Test func aRepetitionAfterAnUpdateIsStillTheSameRequest() {
        let amount = Money(minorUnits: 1250, currency: .euro)
        let text = #"{"amountMinor":1250,"currency":"EUR","reference":"Table 4"}"#
        #expect(Console.digest(amount, "Table 4", nil, nil) == Array(SHA256.hash(data: Data(text.utf8))))
        let others = [
            Console.digest(amount, "Table 4", nil, "a"), Console.digest(amount, "Table 4", nil, "b"),
            Console.digest(amount, "Table 4", Money(minorUnits: 0, currency: .euro), nil),
            Console.digest(amount, "Table 4", Money(minorUnits: 50, currency: .euro), nil),
        ]
        #expect(Set(others).count == 4 && !others.contains(Console.digest(amount, "Table 4", nil, nil)))
    }

    @Test func theOwnerSetsTheKeypadAndTipsStayAsTheyAre() async throws {
        try await withShop { page in
            func keypad() async throws -> [String: Any] {
                let said = try Page.said(try await page.ask("GET", "counter"))
                return try #require(said["keypad"] as? [String: Any])
            }
            #expect(try await keypad()["mode"] as? String == "on")
            #expect(try await page.send("PUT", "counter", #"{"tipMode":"ask"}"#) == 200)
            #expect(try await page.send("PUT", "counter", #"{"keypadMode":"sometimes"}"#) == 422)
            #expect(try await page.send("PUT", "counter", #"{"keypadMode":"confirm","keypadErase":false}"#) == 200)
            #expect(try await keypad()["mode"] as? String == "confirm")
            #expect(try await keypad()["mayErase"] as? Bool == false)
            let tips = try Page.said(try await page.ask("GET", "counter"))["tips"] as? [String: Any]
            #expect(tips?["mode"] as? String == "ask")
            let stored = try #require(try await page.journal.document("counter"))
            #expect(String(decoding: stored.bytes, as: UTF8.self).contains(#""mode":"confirm""#))
        }
    }

    @Test func theOwnerSetsWhenTheScreenRestsAndWhatIsNoTimeIsRefused() async throws {
        try await withShop { page in
            func screen() async throws -> [String: Any] {
                try #require(try Page.said(try await page.ask("GET", "counter"))["screen"] as? [String: Any])
            }
            #expect(try await screen()["rest"] as? String == "never")
            for wrong in ["24:00", "7", "07:5", "-1:00", "07:60", "٠٧:٠٠", "", "7:00:00"] {
                let form = #"{"screenRest":"dark","screenRestFrom":"\#(wrong)"}"#
                #expect(try await page.send("PUT", "counter", form) == 422, "\(wrong)")
            }
            let same = #"{"screenRest":"dark","screenRestFrom":"07:00","screenRestUntil":"7:00"}"#
            #expect(try await page.send("PUT", "counter", same) == 422)
            #expect(try await screen()["rest"] as? String == "never")
            let form = #"{"screenRest":"dark","screenRestFrom":"23:30","screenRestUntil":"5:15"}"#
            #expect(try await page.send("PUT", "counter", form) == 200)
            let kept = try await screen()
            #expect(kept["from"] as? String == "23:30" && kept["until"] as? String == "05:15")
            #expect(try await page.send("PUT", "counter", #"{"keypadMode":"confirm"}"#) == 200)
            #expect(try await screen()["rest"] as? String == "dark")
        }
    }

    @Test func aNoteIsShownToStaffAndStandsOnNoReceipt() async throws {
        try await withShop { page in
            let charge = try await sell(1250, note: "Lost his umbrella", in: page)
            let said = try Page.said(try await page.ask("GET", "charges/\(charge.id)"))
            #expect(said["note"] as? String == "Lost his umbrella" && said["tipText"] as? String == "€0.50")
            let found = try Page.said(try await page.ask("GET", "charges?q=umbr"))
            #expect((found["charges"] as? [[String: Any]])?.first?["note"] as? String == "Lost his umbrella")
            for format in ["text", "html"] {
                let receipt = try await page.ask("GET", "charges/\(charge.id)/receipt?format=\(format)")
                guard case .bytes(let bytes) = receipt.body else { continue }
                #expect(!bytes.isEmpty && !String(decoding: bytes, as: UTF8.self).contains("umbrella"))
            }
        }
    }

    @Test func aRefundOfAPartIsKeptHereAndOneOfTheWholeWaitsForTheGateway() async throws {
        try await withShop { page in
            let charge = try await sell(1250, in: page)
            let path = "charges/\(charge.id)/refund"
            #expect(try await page.send("POST", path, #"{"amountMinor":1251,"reason":"x"}"#) == 422)
            #expect(try await page.send("POST", path, #"{"amountMinor":50,"reason":""}"#) == 422)
            #expect(try await page.send("POST", "charges/\(ChargeID.unknown)/refund", #"{"reason":"x"}"#) == 404)
            let part = try await page.ask("POST", path, #"{"amountMinor":250,"reason":"one was broken"}"#)
            #expect(part.status == 200)
            let said = try Page.said(part)
            #expect(said["refundedMinor"] as? Int == 250 && said["givenBack"] as? Bool == false)
            let refunds = try #require(said["refunds"] as? [[String: Any]])
            #expect(refunds.first?["mark"] as? String == "keptHere" && refunds.first?["by"] as? String == "staff:owner")
            #expect((said["payments"] as? [[String: Any]])?.first?["leftMinor"] as? Int == 1000)
            // No gateway is set here, so nobody can confirm it.
            #expect(try await page.send("POST", path, #"{"attempt":1,"reason":"all of it"}"#) == 202)
            #expect(try await page.send("POST", path, #"{"attempt":1,"reason":"all of it"}"#) == 409)
            let again = try await page.ask("PUT", path)
            let saidAgain = try Page.said(again)
            #expect(again.status == 202 && saidAgain["refundedMinor"] as? Int == 250)
            let totals = try Page.said(try await page.ask("GET", "totals?by=month"))
            let all = (totals["periods"] as? [[String: Any]])?.flatMap { $0["totals"] as? [[String: Any]] ?? [] }
            #expect(all?.first?["totalMinor"] as? Int == 1250 && all?.first?["refundedMinor"] as? Int == 250)
            let rows = try await page.rows().filter { $0.what.hasPrefix("charge.refund") }
            #expect(
                rows.map(\.result) == ["refused", "refused", "refused", "ok", "unconfirmed", "refused", "unconfirmed"]
            )
        }
    }

    /// The answer got lost on its way, or two tablets ask at once: the key says what is one request and what are two.
    @Test func aRefundIsBookedOncePerKey() async throws {
        try await withShop { page in
            let charge = try await sell(1250, in: page)
            let path = "charges/\(charge.id)/refund"
            let body = #"{"amountMinor":100,"reason":"one was broken"}"#
            func refund(_ key: String, _ body: String) async throws -> [Int?] {
                let answer = try await page.ask("POST", path, body, key: key)
                return [answer.status, try Page.said(answer)["refundedMinor"] as? Int]
            }
            for _ in 0..<3 { #expect(try await refund("a", body) == [200, 100]) }
            #expect(try await refund("b", body) == [200, 200])
            for (key, body, status, code) in [
                ("a", #"{"amountMinor":101,"reason":"one was broken"}"#, 409, "refund_key_used"),
                ("sale 4711", body, 400, "idempotency_key_invalid"),
            ] {
                let refused = try await page.ask("POST", path, body, key: key)
                let said = try Page.said(refused)["code"] as? String
                #expect(refused.status == status && said == code)
            }
            let after = try Page.said(try await page.ask("GET", "charges/\(charge.id)"))
            #expect(after["refundedMinor"] as? Int == 200)
        }
    }

    @Test func aShiftIsBegunCountedClosedAndTakenAlong() async throws {
        try await withShop { page in
            #expect(try Page.said(try await page.ask("GET", "shifts/current"))["shift"] is NSNull)
            _ = try await sell(1250, in: page)
            let current = try Page.said(try await page.ask("GET", "shifts/current"))
            let shift = try #require(current["shift"] as? [String: Any])
            #expect(shift["person"] as? String == "staff:owner" && shift["number"] as? Int == 1)
            let totals = try #require((shift["totals"] as? [[String: Any]])?.first)
            #expect(totals["totalMinor"] as? Int == 1250 && totals["tipMinor"] as? Int == 50)
            #expect(try await page.send("POST", "shifts", "{}") == 200)
            let closed = try Page.said(try await page.ask("POST", "shifts/1/close"))
            #expect(((closed["shift"] as? [String: Any])?["report"] as? [String: Any])?["open"] as? Int == 0)
            #expect(try Page.said(try await page.ask("GET", "shifts/current"))["shift"] is NSNull)
            let listed = try Page.said(try await page.ask("GET", "shifts"))
            #expect((listed["shifts"] as? [[String: Any]])?.count == 1)
            let none = try Page.said(try await page.ask("GET", "shifts?by=staff:Nobody"))
            #expect((none["shifts"] as? [[String: Any]])?.isEmpty == true)
            for (format, text) in [("csv", "1,staff:owner,"), ("txt", "SHIFT 1")] {
                let report = try await page.ask("GET", "shifts/1/report.\(format)")
                guard case .bytes(let bytes) = report.body else { continue }
                #expect(String(decoding: bytes, as: UTF8.self).contains(text) && report.status == 200)
            }
            for path in ["shifts/2", "shifts/0", "shifts/x", "shifts/1/report.pdf", "shifts/9999999999999999999"] {
                #expect(try await page.ask("GET", path).status == 404, "\(path)")
            }
            #expect(try await page.ask("GET", "shifts?from=2026-01-02&to=2026-01-01").status == 422)
            let people = try Page.said(try await page.ask("GET", "people"))
            #expect(people["people"] as? [String] == ["staff:owner"])
        }
    }

    @Test func aCashierSeesAndClosesOnlyTheirOwnShifts() async throws {
        try await withConsole { page in
            try await StaffShop.open(page)
            let ada = try await StaffShop.signIn(page, as: try await StaffShop.add(page, "Ada"))
            let bob = try await StaffShop.signIn(
                page,
                as: try await StaffShop.add(page, "Bob", pin: "5093"),
                pin: "5093"
            )
            let mia = try await StaffShop.signIn(
                page,
                as: try await StaffShop.add(page, "Mia", "manager", pin: "7391"),
                pin: "7391"
            )
            for browser in [ada, bob] { #expect(try await browser.send("POST", "shifts", "{}") == 200) }
            func people(_ browser: Page, _ query: String = "") async throws -> [String] {
                let shifts = try await browser.ask("GET", "shifts\(query)").said["shifts"] as? [[String: Any]] ?? []
                return shifts.compactMap { $0["person"] as? String }
            }
            #expect(try await people(ada) == ["staff:Ada"])
            #expect(try await people(ada, "?by=staff:Bob") == ["staff:Ada"], "whoever is asked for")
            #expect(try await people(mia) == ["staff:Bob", "staff:Ada"])
            for path in ["shifts/2", "shifts/2/report.csv", "shifts/2/report.txt"] {
                let answer = try await ada.ask("GET", path)
                #expect(answer.status == 404 && answer.said["code"] as? String == "shift_not_found", "\(path)")
                for browser in [bob, mia] { #expect(try await browser.send("GET", path, "") == 200, "\(path)") }
            }
            #expect(try await ada.send("POST", "shifts/2/close", "{}") == 404)
            let current = try await bob.ask("GET", "shifts/current").said["shift"] as? [String: Any]
            #expect(current?["number"] as? Int == 2, "it is open still")
            for _ in 0..<2 {
                let closed = try await mia.ask("POST", "shifts/2/close").said["shift"] as? [String: Any]
                #expect(closed?["closedBy"] as? String == "staff:Mia")
            }
            let rows = try await page.rows().filter { $0.what.hasPrefix("shift.") }
            #expect(rows.map(\.what) == ["shift.open", "shift.open", "shift.close"], "closed once")
            #expect(rows.map(\.who) == [.staff(name: "Ada"), .staff(name: "Bob"), .staff(name: "Mia")])
            #expect(rows.last?.detail == "2 staff:Bob")
        }
    }

    @Test func aReportSaysWhatAShiftCameToWhenItWasClosedAndWhatWasNotKnownThen() async throws {
        try await withShop { page in
            let charge = try await sell(1250, in: page)
            _ = try await sell(800, isPaid: false, in: page)
            let before = text(try await page.ask("GET", "shifts/1/report.txt"))
            #expect(before.contains("still open") && before.contains("1 NOT KNOWN YET"))
            #expect(try await page.send("POST", "shifts/1/close", "{}") == 200)
            #expect(
                try await page.send(
                    "POST",
                    "charges/\(charge.id)/refund",
                    #"{"amountMinor":250,"reason":"one was broken"}"#
                ) == 200
            )
            let paper = text(try await page.ask("GET", "shifts/1/report.txt")).split(separator: "\n").map(String.init)
            func line(_ name: String) -> String? { paper.first { $0.hasPrefix(name) } }
            #expect(line("Paid")?.hasSuffix("€12.50") == true && line("Of it tips")?.hasSuffix("€0.50") == true)
            #expect(line("Refunds")?.hasSuffix("€0.00") == true, "nothing was refunded by then")
            #expect(line("1 NOT KNOWN YET") != nil && paper.allSatisfy { $0.count <= 54 })
            let rows = text(try await page.ask("GET", "shifts/1/report.csv")).split(separator: "\r\n")
                .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
            let names = try #require(rows.first)
            func values(_ name: String, asOf time: String) throws -> [String] {
                let (column, moment) = (
                    try #require(names.firstIndex(of: name)), try #require(names.firstIndex(of: "as_of"))
                )
                let state = try #require(names.firstIndex(of: "state"))
                return rows.filter { $0[moment] == time && $0[state] == "succeeded" }.map { $0[column] }
            }
            #expect(try values("total", asOf: "closing") == ["12.50"] && values("total", asOf: "now") == ["12.50"])
            #expect(try values("refunded", asOf: "closing") == ["0.00"] && values("refunded", asOf: "now") == ["2.50"])
        }
    }

    @Test func theOwnerSaysWhichTipsStaffMayAdd() async throws {
        try await withShop { page in
            let before = try Page.said(try await page.ask("GET", "counter"))
            #expect((before["tips"] as? [String: Any])?["mode"] as? String == "none")
            for wrong in [
                #"{"tipMode":"maybe"}"#, #"{"tipMaximumPercent":0}"#, #"{"tipPresets":"5, ten"}"#,
                #"{"tipPresets":"1,2,3,4,5"}"#, #"{"tipPresets":"60","tipMaximumPercent":50}"#,
            ] {
                #expect(try await page.send("PUT", "counter", wrong) == 422, "\(wrong)")
            }
            let body = #"{"tipMode":"ask","tipPresets":"5, 12","tipMaximumPercent":20,"version":0}"#
            #expect(try await page.send("PUT", "counter", body) == 200)
            #expect(try await page.send("PUT", "counter", body) == 409)
            let session = try Page.said(try await page.ask("GET", "session"))
            let tips = try #require(session["tips"] as? [String: Any])
            #expect(tips["mode"] as? String == "ask" && tips["presets"] as? [Int] == [5, 12])
        }
    }
}

extension ChargeID {
    fileprivate static var unknown: ChargeID {
        var generator = SystemRandomNumberGenerator()
        return ChargeID(at: WallTime(millisecondsSince1970: 0), using: &generator)
    }
}

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

    private func sell(_ minorUnits: Int64, note: String? = nil, in page: Page) async throws -> Charge {
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
        ] {
            _ = charge.handle(event)
            try await page.journal.append(event, to: charge, at: time)
        }
        return charge
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

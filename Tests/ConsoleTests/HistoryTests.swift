import Foundation
import Journal
import Payments
import Terminal
import TestSupport
import Testing
import WebServer

@testable import Console

/// What the page and programs get when they look back.
struct HistoryTests {
    /// A charge that was opened some seconds after the clock's beginning and paid by scanning.
    private func sell(
        _ minorUnits: Int64,
        _ reference: String?,
        in page: Page,
        after seconds: Int,
        refused: Bool = false
    ) async throws -> Charge {
        var generator = SystemRandomNumberGenerator()
        let time = page.clock.terminalClock.wallTime().advanced(by: .seconds(seconds))
        let terms = ChargeTerms(
            id: ChargeID(at: time, using: &generator),
            code: ChargeCode(using: &generator),
            amount: Money(minorUnits: minorUnits, currency: .euro),
            reference: reference,
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
        let paid = Report.succeeded(Evidence(paymentID: "pay_\(minorUnits)", transactionID: "0x5e", paid: nil))
        let begin: [Charge.Event] = [.attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1)]
        let refusal = Refusal(code: "merchant_not_found", message: "no merchant")
        let rest: [Charge.Event] =
            refused
            ? [.refused(attempt: 1, refusal: refusal)]
            : [
                .offered(attempt: 1, offer: Offer(paymentID: "pay_\(minorUnits)", link: nil, expiresAt: nil)),
                .reported(attempt: 1, report: paid),
            ]
        for event in begin + rest {
            _ = charge.handle(event)
            try await page.journal.append(event, to: charge, at: time)
        }
        return charge
    }

    private func withShop(_ body: (Page) async throws -> Void) async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            let status = try await page.send(
                "POST",
                "claim",
                #"{"code":"\#(code)","password":"a long enough passphrase"}"#
            )
            #expect(status == 201)
            try await body(page)
        }
    }

    private func text(of response: WebResponse) async throws -> String {
        guard case .parts(let next) = response.body else { return "" }
        var bytes: [UInt8] = []
        while let part = try await next() { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func aSearchGivesWhatFitsAndWhereItGoesOn() async throws {
        try await withShop { page in
            var sold: [Charge] = []
            for number in 0..<5 {
                sold.append(try await sell(Int64(1000 + number), "Sale-\(number)", in: page, after: number))
            }
            let said = try Page.said(try await page.ask("GET", "charges?q=sale&limit=3"))
            let charges = try #require(said["charges"] as? [[String: Any]])
            #expect(charges.map { $0["reference"] as? String } == ["Sale-4", "Sale-3", "Sale-2"])
            #expect(
                charges.first?["rail"] as? String == "scan" && charges.first?["confirmedBy"] as? String == "gateway"
            )
            let next = try #require(said["next"] as? String)
            let rest = try Page.said(try await page.ask("GET", "charges?q=sale&limit=3&before=\(next)"))
            #expect((rest["charges"] as? [[String: Any]])?.count == 2 && rest["next"] is NSNull)
            let newer = try Page.said(try await page.ask("GET", "charges?after=\(sold[2].id)"))
            #expect(
                (newer["charges"] as? [[String: Any]])?.map { $0["id"] as? String }
                    == [sold[4], sold[3]].map(\.id.rawValue)
            )
        }
    }

    /// The page makes its word of `state` and `refused`: they are the same in the list, in the detail and in both files.
    @Test func aRefusedChargeIsCalledThatWhereverItIsShown() async throws {
        try await withShop { page in
            _ = try await sell(1000, nil, in: page, after: 1)
            let refused = try await sell(2000, nil, in: page, after: 2, refused: true)
            let detail = try Page.said(try await page.ask("GET", "charges/\(refused.id)"))
            #expect(detail["state"] as? String == "failed" && detail["refused"] as? Bool == true)
            for query in ["", "?state=failed", "?q=\(refused.terms.code.rawValue)"] {
                let said = try Page.said(try await page.ask("GET", "charges\(query)"))
                let listed = try #require((said["charges"] as? [[String: Any]])?.first)
                #expect(listed["id"] as? String == refused.id.rawValue)
                #expect(listed["state"] as? String == "failed" && listed["refused"] as? Bool == true, "\(query)")
            }
            #expect(try await rows(of: "", in: page).map { $0["refused"] } == ["no", "yes"])
            let json = try await text(of: try await page.ask("GET", "export.json"))
            let said = try #require(
                try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: [[String: Any]]]
            )
            #expect(said["charges"]?.map { $0["refused"] as? Bool } == [false, true])
        }
    }

    @Test func aChargeTellsItsStoryWithItsEvidence() async throws {
        try await withShop { page in
            let charge = try await sell(1250, nil, in: page, after: 0)
            let said = try Page.said(try await page.ask("GET", "charges/\(charge.id)"))
            let timeline = try #require(said["timeline"] as? [[String: Any]])
            #expect(
                timeline.map { $0["kind"] as? String } == [
                    "opened", "attemptStarted", "sending", "offered", "reported",
                ]
            )
            #expect(timeline.first?["who"] as? String == "staff:owner")
            #expect(timeline.last?["text"] as? String == "The gateway says: paid.")
            // And for whoever says it in another language.
            let codes = ["event_opened", "event_attempt_started", "event_sending", "event_offered", "event_reported"]
            #expect(timeline.map { $0["code"] as? String } == codes)
            #expect(timeline.map { $0["message"] as? String } == timeline.map { $0["text"] as? String })
            let values = timeline.map { $0["values"] as? [String: String] ?? [:] }
            #expect(values[0].keys.sorted() == ["amount"] && values[1] == ["case": "scan"])
            #expect(values[2] == ["case": "gateway"] && values[4] == ["case": "paid_gateway"])
            #expect((said["evidence"] as? [String: Any])?["transactionID"] as? String == "0x5e")
        }
    }

    @Test func totalsAddUpADay() async throws {
        try await withShop { page in
            for amount in [1000, 2500] as [Int64] { _ = try await sell(amount, nil, in: page, after: 1) }
            for span in ["day", "month"] {
                let said = try Page.said(try await page.ask("GET", "totals?by=\(span)"))
                let periods = try #require(said["periods"] as? [[String: Any]])
                #expect(periods.count == (span == "day" ? 31 : 12))
                let all = periods.flatMap { $0["totals"] as? [[String: Any]] ?? [] }
                let totals = try #require(all.first)
                #expect(totals["totalMinor"] as? Int == 3500 && totals["paid"] as? Int == 2)
                #expect(totals["netText"] as? String == "€35.00")
            }
        }
    }

    @Test func aFileHoldsEverythingAndNoFormula() async throws {
        try await withShop { page in
            for (number, reference) in ["=1+1", "a \"b\"; c", "@x", "plain", "two\u{2028}lines, one"].enumerated() {
                _ = try await sell(Int64(1000 + number), reference, in: page, after: number)
            }
            let csv = try await text(of: try await page.ask("GET", "export.csv"))
            let lines = csv.components(separatedBy: "\r\n")
            #expect(lines.count == 7 && lines.last == "" && lines[0].hasPrefix("\u{FEFF}id,code,opened_at,"))
            #expect(lines[1].contains(",10.00,10.00,,0.00,0.00,scan,staff:owner,'=1+1,pay_1000,0x5e,no"))
            #expect(lines[2].contains(",\"a \"\"b\"\"; c\","))
            #expect(lines[3].contains(",'@x,"))
            let json = try await text(of: try await page.ask("GET", "export.json?min=1001&max=1003"))
            let said = try #require(
                try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: [[String: Any]]]
            )
            #expect(said["charges"]?.map { $0["totalMinor"] as? Int } == [1001, 1002, 1003])
            let none = try await text(of: try await page.ask("GET", "export.json?q=nothing"))
            #expect(none == "{\"charges\":[\n\n],\n\"refunds\":[\n\n]}\n")
            #expect(try await page.rows().filter { $0.what == "export" }.map(\.detail) == ["csv", "json", "json"])
        }
    }

    @Test(arguments: [
        ("plain", "plain"), ("a,b", "\"a,b\""), ("a\r\nb", "\"a\r\nb\""), ("\"", "\"\"\"\""), ("+4711", "+4711"),
        ("-1", "-1"), ("-20.00", "-20.00"), ("+", "'+"), ("+1+2", "'+1+2"), ("-A1", "'-A1"), ("+49 171", "'+49 171"),
        ("+1.2.3", "'+1.2.3"), ("+.5", "'+.5"),
        ("\t=1", "'\t=1"), ("=\"x\"", "\"'=\"\"x\"\"\""), ("＝1", "'＝1"), ("", ""),
    ])
    func aFieldIsWrittenSoThatItIsReadAsItIs(text: String, written: String) { #expect(CSV.field(text) == written) }

    /// The rows of a file, by the names of its columns.
    private func rows(of query: String, in page: Page) async throws -> [[String: String]] {
        let csv = try await text(of: try await page.ask("GET", "export.csv\(query)"))
        let lines = csv.replacing("\u{FEFF}", with: "").components(separatedBy: "\r\n").dropLast()
            .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        let names = try #require(lines.first)
        return lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(names, $0)) }
    }

    private static let hour: Int64 = 3_600_000

    /// Sales and refunds around the shop's midnights, refunds on later days than their sales, parts and wholes: each day's file
    /// adds up to that day's total, in both forms.
    @Test(arguments: 0..<3) func aDaysFileAddsUpToTheDaysTotal(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        try await withShop { page in
            let settings =
                #"{"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk","gatewayKey":"wcp_1","#
                + #""gatewayURL":"https://gateway.test","currency":"EUR","timeZone":"Europe/Berlin"}"#
            #expect(try await page.send("PUT", "settings", settings) == 200)
            for number in 0..<20 {
                let after = Int.random(in: 0...(4 * 24), using: &random) * 3600 + Int.random(in: -5...5, using: &random)
                let sold = Int64.random(in: 200...5000, using: &random)
                var charge = try await sell(sold, nil, in: page, after: max(after, 0), refused: number % 7 == 6)
                var left = charge.state == .succeeded ? sold : 0
                var time = charge.terms.openedAt
                while left > 0, Int.random(in: 0...2, using: &random) > 0 {
                    let part = Bool.random(using: &random) ? left : Int64.random(in: 1...left, using: &random)
                    left -= part
                    time = time.advanced(by: .seconds(Int.random(in: 1...100_000, using: &random)))
                    let refund = Refund(
                        minorUnits: part,
                        reason: "cold",
                        by: .staff(name: "Ada"),
                        key: "\(number) \(left)"
                    )
                    for event in [
                        Charge.Event.refundAsked(attempt: 1, refund: refund), .refunded(attempt: 1, mark: .keptHere),
                    ] {
                        _ = charge.handle(event)
                        try await page.journal.append(event, to: charge, at: time)
                    }
                }
            }
            let start = ShopTime(
                page.clock.terminalClock.wallTime(),
                in: try #require(TimeZone(identifier: "Europe/Berlin"))
            )
            var (day, days, rowsInAll) = (start.day, 0, 0)
            while days < 8 {
                defer { (day, days) = (day.next, days + 1) }
                let query = "?from=\(day)&to=\(day)"
                let said = try Page.said(try await page.ask("GET", "totals?by=day&from=\(day)&to=\(day)"))
                let period = try #require((said["periods"] as? [[String: Any]])?.first)
                let net = (period["totals"] as? [[String: Any]])?.first?["netMinor"] as? Int ?? 0
                let found = try await rows(of: query, in: page)
                rowsInAll += found.count
                let sum = found.reduce(0) { $0 + (Int(($1["net"] ?? "").replacing(".", with: "")) ?? -1_000_000_000) }
                #expect(sum == net, "\(day)")
                #expect(
                    found.allSatisfy { $0["shop_day"] == day.text && $0["local_time"]?.hasPrefix(day.text) == true }
                )
                let json = try await text(of: try await page.ask("GET", "export.json\(query)"))
                let lists = try #require(
                    try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: [[String: Any]]]
                )
                #expect(
                    lists.values.joined().reduce(0) { $0 + ($1["netMinor"] as? Int ?? -1_000_000_000) } == net,
                    "\(day)"
                )
                let refunded = (period["totals"] as? [[String: Any]])?.first?["refundedMinor"] as? Int ?? 0
                #expect(lists["refunds"]?.reduce(0) { $0 + ($1["amountMinor"] as? Int ?? 0) } == refunded)
            }
            #expect(rowsInAll > 20, "each charge is in one of these days’ files, and refunds are rows of their own")
        }
    }

    /// A sale at half past midnight in Berlin is in UTC still the day before.
    @Test func aRowHasTheShopsDayAndTimeBesideUTC() throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let summer = ShopTime(WallTime(millisecondsSince1970: 1_780_439_400_000), in: zone)  // 2026-06-02T22:30:00Z
        #expect(summer.day.text == "2026-06-03" && summer.text == "2026-06-03 00:30:00")
        // The hour that comes twice, and one beyond every calendar.
        let first = ShopTime(WallTime(millisecondsSince1970: 1_792_887_600_000), in: zone)  // 2026-10-25T00:20:00Z
        let second = ShopTime(WallTime(millisecondsSince1970: 1_792_887_600_000 + Self.hour), in: zone)
        #expect(first.text == second.text && first.moment != second.moment)
        #expect(ShopTime(WallTime(millisecondsSince1970: .max), in: zone).text.hasPrefix("2199-12-31 "))
    }

    @Test func aRefundIsFoundByTheFiltersOfItsCharge() async throws {
        try await withShop { page in
            for (number, reference) in ["Sale-A", "Sale-B"].enumerated() {
                var charge = try await sell(1000, reference, in: page, after: number)
                let refund = Refund(minorUnits: 250, reason: "=cold", by: .staff(name: "Ada"), key: "k")
                for event in [
                    Charge.Event.refundAsked(attempt: 1, refund: refund), .refunded(attempt: 1, mark: .keptHere),
                ] {
                    _ = charge.handle(event)
                    try await page.journal.append(event, to: charge, at: charge.terms.openedAt)
                }
            }
            let found = try await rows(of: "?q=sale-b", in: page)
            #expect(
                found.map { $0["row"] } == ["charge", "refund"] && found.allSatisfy { $0["reference"] == "Sale-B" }
            )
            #expect(found.map { $0["net"] } == ["10.00", "-2.50"] && found[1]["total"] == "")
            #expect(found[1]["refund_reason"] == "'=cold" && found[1]["refunded_by"] == "staff:Ada")
            #expect(try await rows(of: "?state=failed", in: page).isEmpty)
        }
    }

    @Test func onlyOwnersAndManagersGetTotalsAndFiles() throws {
        for path in ["totals", "export.csv", "export.json"] {
            let route = try Route("GET", "/api/v1/\(path)", query: [:])
            #expect(route.roles == [.owner, .manager] && !route.changesState)
        }
    }
}

import Foundation
import Journal
import Payments
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// Who may do what: the whole table, written down a second time.
@Suite(.timeLimit(.minutes(2)))
struct RolesTests {
    /// Who may, in the order owner, manager, cashier, till, metrics; `-`: not. `open`: everybody, without a session.
    private static let table: [(method: String, path: String, who: String)] = [
        ("GET", "session", "open"), ("POST", "claim", "open"), ("POST", "login", "open"),
        ("POST", "login/pin", "open"), ("POST", "login/code", "open"),
        ("GET", "reset", "open"), ("PUT", "reset", "open"), ("DELETE", "reset", "o----"),
        ("POST", "proof", "omc--"), ("GET", "access", "o----"), ("POST", "access/end", "o----"),
        ("POST", "logout", "omc--"), ("PUT", "password", "o----"), ("PUT", "pin", "-mc--"),
        ("GET", "sessions", "omc--"), ("DELETE", "sessions", "omc--"), ("DELETE", "sessions/1", "omc--"),
        ("GET", "staff", "om---"), ("POST", "staff", "om---"), ("PUT", "staff", "o----"),
        ("PUT", "staff/1", "om---"), ("DELETE", "staff/1", "om---"), ("POST", "staff/1/code", "om---"),
        ("POST", "browsers", "om---"), ("DELETE", "browsers/1", "om---"),
        ("GET", "settings", "om---"), ("PUT", "settings", "o----"), ("POST", "settings/test-connection", "o----"),
        ("POST", "settings/name", "o----"),
        ("GET", "taps", "o----"), ("PUT", "taps", "o----"),
        ("GET", "taps/calibration", "o----"), ("POST", "taps/calibration", "o----"),
        ("PUT", "taps/calibration", "o----"), ("DELETE", "taps/calibration", "o----"),
        ("GET", "connect", "o----"), ("PUT", "connect", "o----"), ("POST", "connect/forget", "o----"),
        ("GET", "customers", "o----"), ("PUT", "customers", "o----"),
        ("GET", "tokens", "o----"), ("POST", "tokens", "o----"), ("DELETE", "tokens/1", "o----"),
        ("GET", "outbox", "om---"), ("PUT", "outbox", "o----"), ("POST", "outbox/test", "o----"),
        ("GET", "webhooks", "om---"), ("POST", "webhooks", "o----"), ("PUT", "webhooks/1", "o----"),
        ("DELETE", "webhooks/1", "o----"), ("POST", "webhooks/1/test", "o----"),
        ("GET", "receipts", "o----"), ("PUT", "receipts", "o----"), ("POST", "receipts/test", "o----"),
        ("POST", "charges", "omc--"), ("GET", "charges", "omc--"), ("GET", "charges/current", "omc--"),
        ("GET", "charges/ID", "omc--"), ("POST", "charges/ID/cancel", "omc--"), ("POST", "charges/ID/release", "omc--"),
        ("POST", "charges/ID/put-away", "omc--"),
        ("POST", "charges/ID/seen", "omc--"), ("POST", "charges/ID/code", "omc--"),
        ("POST", "charges/ID/take-back", "om---"),
        ("GET", "charges/ID/receipt", "omc--"), ("POST", "charges/ID/receipt/print", "omc--"),
        ("GET", "charges/ID?wait=5", "omc--"), ("GET", "charges/lookup?key=k", "omc--"),
        ("POST", "charges/ID/refund", "om---"), ("PUT", "charges/ID/refund", "om---"),
        ("GET", "events", "omc--"), ("GET", "people", "omc--"),
        ("GET", "counter", "om---"), ("PUT", "counter", "o----"), ("POST", "counter/sound", "om---"),
        ("GET", "shifts", "omc--"), ("POST", "shifts", "omc--"), ("GET", "shifts/current", "omc--"),
        ("GET", "shifts/1", "omc--"), ("POST", "shifts/1/close", "omc--"), ("GET", "shifts/1/report.csv", "omc--"),
        ("GET", "setup", "o----"), ("PUT", "setup", "o----"), ("GET", "logo", "o----"), ("PUT", "logo", "o----"),
        ("GET", "certificate", "o----"), ("PUT", "certificate", "o----"), ("DELETE", "certificate", "o----"),
        ("GET", "terminal", "omc--"), ("GET", "diagnosis", "om---"),
        ("GET", "screen", "omc--"), ("POST", "screen", "om---"), ("GET", "screen/1", "omc--"),
        ("PUT", "screen/1", "omc--"), ("DELETE", "screen/1", "omc--"),
        ("GET", "health", "om---"), ("GET", "logs", "o----"), ("GET", "support-bundle", "o----"),
        ("GET", "audit", "o----"), ("GET", "audit.csv", "o----"), ("POST", "audit/verify", "o----"),
        ("GET", "wipe", "o----"), ("POST", "wipe", "o----"),
        ("POST", "backup/export", "o----"), ("POST", "backup/import", "o----"),
        ("POST", "backup/everything", "o----"), ("GET", "backup/stick", "o----"), ("POST", "backup/stick", "o----"),
        ("GET", "restore", "o----"), ("POST", "restore", "o----"),
        ("PUT", "restore", "o----"), ("DELETE", "restore", "o----"), ("POST", "restore/check", "o----"),
        ("POST", "restore/apply", "o----"),
        ("GET", "update", "o----"), ("POST", "update", "o----"), ("PUT", "update", "o----"),
        ("DELETE", "update", "o----"),
        ("POST", "update/check", "o----"), ("POST", "update/install", "o----"),
        ("GET", "network", "om---"), ("POST", "network/scan", "om---"), ("PUT", "network/connection", "om---"),
        ("DELETE", "network/connection", "om---"), ("DELETE", "network/known/53686f70-open", "om---"),
        ("GET", "totals?by=day", "om---"), ("GET", "export.csv", "om---"), ("GET", "export.json", "om---"),
        ("GET", "days", "om---"), ("GET", "days/2026-11-20", "om---"), ("POST", "days/2026-11-20/compare", "om---"),
    ]

    private static let order: [(Role, Character)] = [
        (.owner, "o"), (.manager, "m"), (.cashier, "c"), (.till, "t"), (.metrics, "x"),
    ]
    private static let charge = "01941f29-7c00-7000-8000-000000000001"

    private static func route(_ method: String, _ path: String) throws -> Route {
        let parts = path.replacing("ID", with: charge).split(separator: "?")
        var query: [String: String] = [:]
        if parts.count > 1 {
            let pair = parts[1].split(separator: "=").map(String.init)
            query[pair[0]] = pair[1]
        }
        return try Route(method, "/api/v1/\(parts[0])", query: query)
    }

    @Test func everyAddressIsForWhomTheTableSaysAndForNobodyElse() throws {
        for row in Self.table {
            let route = try Self.route(row.method, row.path)
            #expect(route.isOpen == (row.who == "open"), "\(row.method) \(row.path)")
            for (role, letter) in Self.order {
                #expect(
                    route.roles.contains(role) == (row.who != "open" && row.who.contains(letter)),
                    "\(row.method) \(row.path) for the \(role)"
                )
            }
            #expect(route.changesState == (row.method != "GET"), "\(row.method) \(row.path)")
        }
    }

    /// A new address must say here for whom it is before it can be used.
    @Test func noAddressIsMissingFromTheTable() throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Console/Route.swift")
        let text = try String(contentsOf: source, encoding: .utf8)
        let cases = text.prefix(upTo: try #require(text.range(of: "init(_ method")).lowerBound)
            .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { $0.hasPrefix("case ") }
        let names = Set(
            cases.flatMap { line in
                line.dropFirst(5).replacing(/\([^()]*\)/, with: "").split(separator: ",")
                    .map { $0.trimmingCharacters(in: .whitespaces) }
            }
        )
        let known = Set(
            try Self.table.map { row in
                String("\(try Self.route(row.method, row.path))".prefix { $0 != "(" })
            }
        )
        #expect(names.count > 40 && names.subtracting(known).isEmpty, "\(names.subtracting(known)) stand in no row")
        #expect(known.subtracting(names).isEmpty)
    }

    @Test func whatARoleDoesNotIncludeIsRefusedAndSaidSo() async throws {
        try await withConsole(withTap: true) { page in
            try await StaffShop.open(page, settings: true)
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let ada = try await StaffShop.add(page, "Ada")
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            let cashier = try await StaffShop.signIn(page, as: ada)
            for (browser, letter) in [(manager, "m"), (cashier, "c")] as [(Page, Character)] {
                for row in Self.table where row.who != "open" && !row.who.contains(letter) {
                    let path = row.path.replacing("ID", with: Self.charge)
                    let answer = try await browser.ask(row.method, path)
                    #expect(answer.status == 403 && answer.said["code"] as? String == "not_allowed", "\(row)")
                    #expect(answer.said["action"] as? String == "Ask the owner to do it.")
                }
            }
            let row = try await page.rows().last { $0.what == "request" }
            #expect(row?.detail.hasSuffix(" by staff:Ada") == true || row?.detail.hasSuffix(" by staff:Mia") == true)
            #expect(try await cashier.send("GET", "charges", "") == 200)
            #expect(try await manager.send("GET", "totals?by=day", "") == 200)
            let settings = try await manager.ask("GET", "settings").said
            #expect(settings["gatewayKeySet"] as? Bool == true && settings["gatewayKey"] == nil)
            #expect(settings["changedBy"] as? String == "staff:owner")
            for path in ["taps", "connect", "customers", "receipts"] {
                #expect(try await page.ask("GET", path).said.keys.contains("changedBy"), "\(path)")
            }
        }
    }

    @Test func aTipCountsTowardsARolesLargestCharge() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let ada = try await StaffShop.add(page, "Ada")
            #expect(try await page.send("PUT", "staff", #"{"cashierMaximumMinor":5000}"#) == 200)
            #expect(try await page.send("PUT", "counter", #"{"tipMode":"ask"}"#) == 200)
            let cashier = try await StaffShop.signIn(page, as: ada)
            let answer = try await cashier.ask("POST", "charges", #"{"amountMinor":5001,"tipMinor":500}"#)
            let fields = answer.said["fields"] as? [String: [String: Any]]
            #expect(answer.status == 422 && fields?["amountMinor"]?["code"] as? String == "amount_above_own_limit")
            #expect(try await cashier.send("POST", "charges", #"{"amountMinor":5000,"tipMinor":500}"#) == 201)
        }
    }

    @Test func aRoleHasALargestChargeOfItsOwn() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let mia = try await StaffShop.add(page, "Mia", "manager", pin: "7391")
            let ada = try await StaffShop.add(page, "Ada")
            for wrong in ["0", "-1"] {
                #expect(try await page.send("PUT", "staff", #"{"cashierMaximumMinor":\#(wrong)}"#) == 422)
            }
            #expect(
                try await page.send("PUT", "staff", #"{"cashierMaximumMinor":5000,"managerMaximumMinor":9000}"#) == 200
            )
            let cashier = try await StaffShop.signIn(page, as: ada)
            #expect(try await cashier.ask("GET", "session").said["ownMaximumMinor"] as? Int == 5000)
            let answer = try await cashier.ask("POST", "charges", #"{"amountMinor":5001}"#)
            let fields = answer.said["fields"] as? [String: [String: Any]]
            #expect(answer.status == 422 && fields?["amountMinor"]?["code"] as? String == "amount_above_own_limit")
            #expect((answer.said["message"] as? String)?.contains("50.00") == true)
            let manager = try await StaffShop.signIn(page, as: mia, pin: "7391")
            #expect(try await manager.send("POST", "charges", #"{"amountMinor":9001}"#) == 422)
            #expect(try await cashier.send("POST", "charges", #"{"amountMinor":5000}"#) == 201)
            #expect(try await page.rows().last?.who == .staff(name: "Ada"))
        }
    }
}

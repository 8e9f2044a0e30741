import Foundation
import GRDB
import Journal
import Payments
import Subprocess
import Testing
import TestSupport
import WebServer

@testable import Console

/// The audit log on the page and as a file.
@Suite(.timeLimit(.minutes(10)))
struct AuditLogTests {
    private static let password = "correct horse battery"

    private func withOwner(_ body: (Page) async throws -> Void) async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            for name in ["=1+1", "Plain"] {
                _ = try await page.send("POST", "tokens", #"{"name":"\#(name)","scopes":["metrics"]}"#)
            }
            _ = try await page.send("POST", "login", #"{"password":"wrong horse"}"#)
            try await body(page)
        }
    }

    private func file(_ path: String, of page: Page) async throws -> String {
        guard case .parts(let next) = try await page.ask("GET", path).body else { return "" }
        var bytes: [UInt8] = []
        while let part = try await next() { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func entries(_ query: String, of page: Page) async throws -> [[String: Any]] {
        try Page.said(try await page.ask("GET", "audit\(query)"))["entries"] as? [[String: Any]] ?? []
    }

    @Test func theOwnerFindsWhatHappened() async throws {
        try await withOwner { page in
            let all = try await entries("", of: page)
            #expect(
                all.map { $0["what"] as? String } == ["login", "token.make", "token.make", "claim"],
                "newest first"
            )
            #expect(all.allSatisfy { $0["intact"] as? Bool == true })
            #expect(all.first?["who"] as? String == "stranger" && all.first?["from"] as? String == Page.peer)
            #expect(try await entries("?what=token&result=ok", of: page).count == 2)
            #expect(try await entries("?who=stranger", of: page).count == 1)
            let last = try #require(all[1]["seq"] as? Int)
            let older = try await entries("?before=\(last)&limit=1", of: page)
            #expect(older.map { $0["seq"] as? Int } == [last - 1])
            for wrong in ["limit=0", "before=x", "colour=red", "from=2026-13-01", "from=2026-11-02&to=2026-11-01"] {
                #expect(try await page.send("GET", "audit?\(wrong)", "") == 422, "\(wrong)")
            }
            for (days, count) in [("to=2000-01-01", 0), ("from=2100-01-01", 0), ("from=2000-01-01&to=2100-01-01", 4)] {
                #expect(try await entries("?\(days)&who=stranger", of: page).count == min(count, 1), "\(days)")
                #expect(try await entries("?\(days)&result=ok", of: page).count == max(count - 1, 0), "\(days)")
            }
        }
    }

    @Test func nobodyElseReadsIt() async throws {
        try await withOwner { page in
            for path in ["audit", "audit.csv", "audit.json"] {
                #expect(try await page.another().send("GET", path, "") == 401)
            }
            let refused = try await page.another().send("POST", "audit/verify", "{}")
            #expect(refused == 401)
            for role in Role.allCases where role != .owner {
                #expect(!Route.audit(AuditQuery()).roles.contains(role) && !Route.verifyAudit.roles.contains(role))
            }
        }
    }

    @Test func theCheckSaysHowManyAreRightOrWhereItBreaks() async throws {
        try await withOwner { page in
            let said = try Page.said(try await page.ask("POST", "audit/verify"))
            #expect(said["intact"] as? Bool == true && said["entries"] as? Int == 4)
            #expect((said["head"] as? String)?.count == 64)
            let raw = try DatabaseQueue(path: page.folder + "/journal.sqlite")
            try await raw.write { db in
                try db.execute(sql: "DROP TRIGGER audit_no_update")
                try db.execute(
                    sql: "UPDATE audit SET body = CAST(replace(body, 'metrics', 'matrics') AS BLOB) WHERE seq = 3"
                )
            }
            let broken = try Page.said(try await page.ask("POST", "audit/verify"))
            #expect(broken["intact"] as? Bool == false && broken["brokenAt"] as? Int == 3)
            #expect(broken["fault"] as? String == "changed")
            #expect(broken["entries"] as? Int == 2 && broken["reason"] as? String == "its content was changed")
            let shown = try await entries("", of: page)
            #expect(shown.filter { $0["intact"] as? Bool == false }.count == 1)
            let checks = try await entries("?what=audit.verify", of: page)
            #expect(checks.map { $0["result"] as? String } == ["failed", "ok"])
            #expect(checks.first?["detail"] as? String == "entry 3: its content was changed")
        }
    }

    /// A part holds 500 entries.
    @Test func aLogOfSeveralPartsIsWholeInTheFileAndSaysWhoTookIt() async throws {
        try await withOwner { page in
            for number in 0..<600 {
                await page.console.entrance.audit("test", "ok", "\(number)", by: .staff(name: "owner"), from: Page.peer)
            }
            let json = try JSONSerialization.jsonObject(with: Data(try await file("audit.json", of: page).utf8))
            let entries = try #require((json as? [String: Any])?["entries"] as? [[String: Any]])
            #expect(entries.map { $0["seq"] as? Int } == Array(1...605), "with the entry of this very file")
            let lines = try await file("audit.csv", of: page).split(separator: "\r\n")
            #expect(lines.count == 1 + 606 && lines.filter { $0.contains("seq,at,who") }.count == 1)
            let taken = try await page.rows().filter { $0.what == "audit.export" }
            #expect(taken.map(\.detail) == ["json", "csv"] && taken.allSatisfy { $0.who == .staff(name: "owner") })
        }
    }

    /// By the program that comes with the terminal's documentation, which shares no code with it.
    @Test(arguments: ["csv", "json"]) func anExportIsCheckedWithoutTheTerminal(format: String) async throws {
        try await withOwner { page in
            _ = try await page.send("GET", "settings/=cmd|x", "")
            let text = try await file("audit.\(format)", of: page)
            let folder = try TemporaryFolder()
            let path = folder.path + "/log.\(format)"
            func check(_ text: String, _ more: [String] = []) async throws -> (code: TerminationStatus, text: String) {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                    .appending(path: "../../scripts/verify-audit-export").standardized.path
                let result = try await run(
                    .name("python3"),
                    arguments: Arguments([script, path] + more),
                    output: .string(limit: 10_000),
                    error: .string(limit: 10_000)
                )
                return (result.terminationStatus, result.standardOutput + result.standardError)
            }
            let whole = try await check(text)
            #expect(whole.code == .exited(0) && whole.text.hasPrefix("intact: "), "\(whole)")
            let head = try #require(whole.text.split(separator: " ").last).trimmingCharacters(in: .newlines)
            #expect(try await check(text, ["--head", head]).code == .exited(0))
            #expect(try await check(text, ["--head", String(repeating: "0", count: 63) + "1"]).code == .exited(1))

            // One letter of what was hashed, one of what is read, an entry less, and no log at all.
            let hashed = text.replacing("refused\\\"", with: "ignored\\\"").replacing(
                "refused\"\"",
                with: "ignored\"\""
            )
            #expect(hashed != text)
            #expect(try await check(hashed).text.contains("its content was changed"))
            let readable = text.replacing(
                format == "csv" ? ",token.make," : "\"what\":\"token.make\"",
                with: format == "csv" ? ",token.fake," : "\"what\":\"token.fake\""
            )
            #expect(readable != text)
            #expect(try await check(readable).text.contains("does not say what was hashed"))
            // By bytes: a line break of CSV is one character of two.
            var lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            lines.remove(at: 2)
            #expect(try await check(lines.joined(separator: "\n")).text.contains("an entry is missing"))
            #expect(try await check("nothing\n").code == .exited(2))
        }
    }
}

import Backup
import Foundation
import Journal
import Payments
import Testing
import WebServer

@testable import Console

/// A whole backup by way of the page. What the next start makes of it is tested with the program.
@Suite(.timeLimit(.minutes(2)))
struct RestoreTests {
    private static let password = "correct horse battery"
    private static let passphrase = "four unrelated words: barn"

    private func withOwner(_ body: (Page) async throws -> Void) async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            try await body(page)
        }
    }

    private static let words = #"{"passphrase":"\#(passphrase)","password":"\#(password)"}"#

    private func backup(of page: Page) async throws -> Data {
        let answer = try await page.ask("POST", "backup/everything", Self.words)
        guard answer.status == 200, case .parts(let next) = answer.body else {
            Issue.record("\(answer.status)")
            return Data()
        }
        var bytes = Data()
        while let part = try await next() { bytes.append(contentsOf: part) }
        return bytes
    }

    /// Sends a file as the page does, in pieces of `size`.
    private func send(_ file: Data, to page: Page, pieces size: Int = 50_000) async throws {
        #expect(try await page.send("POST", "restore", #"{"bytes":\#(file.count)}"#) == 200)
        var place = 0
        while place < file.count {
            let piece = file[place..<min(file.count, place + size)]
            let body = #"{"at":\#(place),"piece":"\#(piece.base64EncodedString())"}"#
            #expect(try await page.send("PUT", "restore", body) == 200)
            // Its answer was lost, and the page sends it once more.
            #expect(try await page.send("PUT", "restore", body) == 200)
            place += piece.count
        }
    }

    private func code(_ answer: WebResponse) throws -> String {
        let said = try Page.said(answer)
        let fields = said["fields"] as? [String: [String: Any]] ?? [:]
        return fields.map { "\($0.key) \($0.value["code"] as? String ?? "")" }.first ?? said["code"] as? String ?? ""
    }

    @Test func aBackupArrivesInPiecesIsCheckedWholeAndChangesNothing() async throws {
        try await withOwner { first in
            let file = try await backup(of: first)
            #expect(file.starts(with: Data("age-encryption.org/v1\n".utf8)))
            #expect(try await first.rows().last?.what == "backup.take")
            #expect(!FileManager.default.fileExists(atPath: first.folder + "/backup.copy"))
            try await withOwner { second in
                let before = try await second.rows().count
                try await send(file, to: second)
                let wrong = try await second.ask("POST", "restore/check", #"{"passphrase":"another one"}"#)
                #expect(try code(wrong) == "passphrase backup_passphrase_wrong")
                let right = try await second.ask("POST", "restore/check", #"{"passphrase":"\#(Self.passphrase)"}"#)
                let found = try #require(try Page.said(right)["found"] as? [String: Any])
                #expect(found["openPayments"] as? Int == 0 && found["entries"] as? Int == 0)
                #expect(try await second.send("GET", "sessions", "") == 200, "still the same terminal")
                #expect(try await second.rows().count == before + 1, "the wrong passphrase is on record")
                #expect(try await second.send("DELETE", "restore", "{}") == 200)
                let left = try FileManager.default.contentsOfDirectory(atPath: second.folder)
                #expect(!left.contains("restore") && !left.contains("restore.upload"), "\(left)")
            }
        }
    }

    @Test func piecesThatAreMissingOrOutOfTurnAreNoBackup() async throws {
        try await withOwner { page in
            let file = try await backup(of: page)
            #expect(try code(try await page.ask("PUT", "restore", #"{"at":0,"piece":"AAAA"}"#)) == "restore_not_begun")
            #expect(try await page.send("POST", "restore", #"{"bytes":\#(file.count)}"#) == 200)
            let check = #"{"passphrase":"\#(Self.passphrase)"}"#
            #expect(try code(try await page.ask("POST", "restore/check", check)) == "restore_not_begun")
            let late = #"{"at":100,"piece":"AAAA"}"#
            #expect(try code(try await page.ask("PUT", "restore", late)) == "restore_out_of_place")
            #expect(try code(try await page.ask("PUT", "restore", #"{"at":0,"piece":"%"}"#)) == "piece backup_damaged")
            let long = Data(count: file.count + 1).base64EncodedString()
            let tooMuch = try await page.ask("PUT", "restore", #"{"at":0,"piece":"\#(long)"}"#)
            #expect(try code(tooMuch) == "restore_out_of_place")
            try await send(Data("{}".utf8), to: page)
            #expect(try code(try await page.ask("POST", "restore/check", check)) == "file backup_unknown")
            #expect(try code(try await page.ask("POST", "restore", #"{"bytes":0}"#)) == "file backup_unknown")
            #expect(
                try code(try await page.ask("POST", "restore/apply", #"{"password":"\#(Self.password)"}"#))
                    == "restore_not_checked"
            )
        }
    }

    @Test func neitherAFileNorARestoreWithoutThePassword() async throws {
        try await withOwner { page in
            let without = try await page.ask("POST", "backup/everything", #"{"passphrase":"\#(Self.passphrase)"}"#)
            #expect(try code(without) == "password password_needed")
            let weak = #"{"passphrase":"kiosk","password":"\#(Self.password)"}"#
            #expect(try code(try await page.ask("POST", "backup/everything", weak)) == "passphrase passphrase_weak")
            #expect(try code(try await page.ask("POST", "restore/apply", "{}")) == "password password_needed")
            #expect(try await page.another().send("POST", "restore/check", "{}") == 401)
        }
    }

    @Test func aPaymentWithoutAnEndHereKeepsABackupFromTakingItsPlace() async throws {
        try await withOwner { page in
            try await send(try await backup(of: page), to: page)
            #expect(try await page.send("POST", "restore/check", #"{"passphrase":"\#(Self.passphrase)"}"#) == 200)
            var generator = SystemRandomNumberGenerator()
            let terms = ChargeTerms(
                id: ChargeID(at: page.clock.wallTime, using: &generator),
                code: ChargeCode(using: &generator),
                amount: Money(minorUnits: 100, currency: try #require(Currency(code: "EUR"))),
                reference: nil,
                merchantID: "m",
                merchantName: "M",
                operatorID: "o",
                gatewayURL: "https://gateway.test",
                openedBy: .terminal,
                openedAt: page.clock.wallTime,
                timeLimitSeconds: 300
            )
            try await page.journal.open(terms, under: nil)
            let answer = try await page.ask("POST", "restore/apply", #"{"password":"\#(Self.password)"}"#)
            #expect(answer.status == 409)
            #expect(try code(answer) == "restore_payments_open")
            #expect(!Restore.isWanted(page.folder))
            #expect(try await page.rows().last?.result == "refused")
        }
    }
}

import Foundation
import Journal
import Packing
import Payments
import StrictJSON
import Testing
import WebServer

@testable import Console

// Testing's macros take the module's name for a value.
private typealias Pixels = Packing.Picture

/// Settings that move from one terminal to another.
@Suite(.timeLimit(.minutes(2)))
struct BackupTests {
    private static let password = "correct horse battery"
    private static let passphrase = "four unrelated words: CANARY"
    private static let key = "wcp_CANARY_key"

    private func withOwner(_ body: (Page) async throws -> Void) async throws {
        try await withConsole(withTap: true) { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            try await body(page)
        }
    }

    private static let settings = """
        {"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk “Zoë”","gatewayURL":"https://gateway.test",
         "gatewayKey":"\(key)","currency":"EUR","chargeLimitMinor":5000,"timeZone":"Europe/Berlin",
         "language":"de"}
        """
    private static let receipts = #"{"printer":"192.168.1.50","columns":42,"header":["Street 1"],"cut":true}"#
    private static let taps = #"{"tapThreshold":-50,"tipMode":"ask","tipMaximumPercent":30,"tipPresets":"5, 10"}"#

    private static let counter =
        #"{"tipMode":"allowed","tipMaximumPercent":20,"tipPresets":"5, 15","keypadMode":"off","keypadErase":false,"#
        + #""screenRest":"dim","screenRestFrom":"23:30","screenRestUntil":"05:15","sound":false,"soundLoudness":35}"#

    private static let outbox =
        #"{"enabled":true,"host":"db.test","port":5433,"database":"fleet","user":"till","authorities":[],"#
        + #""outboxPassword":"\#(key)","password":"\#(password)"}"#

    private static func logo() throws -> String {
        let picture = try #require(Pixels(width: 8, height: 8, pixels: Array(repeating: 0xFF12_3456, count: 64)))
        return #"{"image":"data:image/png;base64,\#(Data(PNG.encode(picture)).base64EncodedString())"}"#
    }

    /// The file of a terminal at which something of each kind is set.
    private func file(_ more: String = "", of page: Page) async throws -> String {
        #expect(try await page.send("PUT", "settings", Self.settings) == 200)
        #expect(try await page.send("PUT", "receipts", Self.receipts) == 200)
        #expect(try await page.send("PUT", "taps", Self.taps) == 200)
        #expect(try await page.send("PUT", "counter", Self.counter) == 200)
        #expect(try await page.send("PUT", "logo", try Self.logo()) == 200)
        #expect(try await page.send("PUT", "outbox", Self.outbox) == 200)
        let answer = try await page.ask("POST", "backup/export", "{\(more)}")
        guard answer.status == 200, case .bytes(let bytes) = answer.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let sealed = #""passphrase":"\#(passphrase)","password":"\#(password)""#

    private func codes(_ answer: WebResponse) throws -> [String] {
        let fields = try Page.said(answer)["fields"] as? [String: [String: Any]] ?? [:]
        return fields.map { "\($0.key) \($0.value["code"] as? String ?? "")" }.sorted()
    }

    @Test func everythingMovesToASecondTerminal() async throws {
        try await withOwner { first in
            let file = try await file(Self.sealed, of: first)
            #expect(!file.contains("CANARY"), "keys are sealed")
            try await withOwner { second in
                let body = #"{"file":\#(file),"passphrase":"\#(Self.passphrase)""#
                let preview = try Page.said(try await second.ask("POST", "backup/import", body + "}"))
                let changes = try #require(preview["changes"] as? [[String: Any]])
                #expect((preview["problems"] as? [Any])?.isEmpty == true, "\(preview)")
                #expect(preview["secrets"] as? [String] == ["gatewayKey", "outboxPassword"])
                #expect(
                    changes.contains {
                        $0["field"] as? String == "merchantName" && $0["to"] as? String == "Kiosk “Zoë”"
                    }
                )
                #expect(try await second.send("GET", "settings", "") == 200)
                #expect(try Page.said(try await second.ask("GET", "settings"))["version"] as? Int == 0, "nothing yet")

                let refused = try await second.ask("POST", "backup/import", body + #","apply":true}"#)
                #expect(try codes(refused) == ["password password_needed"])
                let apply = body + #","apply":true,"password":"\#(Self.password)"}"#
                let said = try Page.said(try await second.ask("POST", "backup/import", apply))
                #expect(said["complete"] as? Bool == true, "\(said)")
                #expect(said["stored"] as? [String] == ["settings", "taps", "receipts", "counter", "logo", "outbox"])
                for path in ["settings", "taps", "receipts", "customers", "connect", "counter", "logo", "outbox"] {
                    var (one, other) = (
                        try Page.said(try await first.ask("GET", path)),
                        try Page.said(try await second.ask("GET", path))
                    )
                    for own in [
                        "version", "changedAt", "tagURI", "tagCode", "light", "notices", "ownAddress", "changedBy",
                        "terminal", "waiting", "oldestAt",
                    ] {
                        (one[own], other[own]) = (nil, nil)
                    }
                    #expect(NSDictionary(dictionary: one) == NSDictionary(dictionary: other), "\(path)")
                }
                for name in ["gateway-key", "outbox-password"] {
                    #expect(try await second.journal.secret(name) == Array(Self.key.utf8))
                }
                #expect(try await second.rows().last?.what == "backup.import")
                // Once more it changes nothing.
                let again = try Page.said(try await second.ask("POST", "backup/import", #"{"file":\#(file)}"#))
                #expect((again["changes"] as? [Any])?.isEmpty == true)
            }
        }
    }

    @Test func withoutAPassphraseTheFileHoldsNoKey() async throws {
        try await withOwner { page in
            let file = try await file(of: page)
            #expect(file.contains(#""secrets":null"#) && !file.contains("CANARY") && file.contains("mrch_1"))
            try await withOwner { second in
                let preview = try Page.said(try await second.ask("POST", "backup/import", #"{"file":\#(file)}"#))
                let problems = preview["problems"] as? [[String: Any]] ?? []
                #expect(
                    problems.map { $0["field"] as? String } == ["gatewayKey", "outboxPassword"],
                    "they have to be typed"
                )
                let typed =
                    #"{"file":\#(file),"gatewayKey":"wcp_typed","outboxPassword":"typed","apply":true,"#
                    + #""password":"\#(Self.password)"}"#
                #expect(
                    try Page.said(try await second.ask("POST", "backup/import", typed))["complete"] as? Bool == true
                )
                #expect(try await second.journal.secret("gateway-key") == Array("wcp_typed".utf8))
            }
        }
    }

    @Test func keysLeaveOnlyForThePassword() async throws {
        try await withOwner { page in
            _ = try await file(of: page)
            let without = try await page.ask("POST", "backup/export", #"{"passphrase":"\#(Self.passphrase)"}"#)
            #expect(try codes(without) == ["password password_needed"])
            let weak = try await page.ask(
                "POST",
                "backup/export",
                #"{"passphrase":"kiosk","password":"\#(Self.password)"}"#
            )
            #expect(try codes(weak) == ["passphrase passphrase_weak"])
            #expect(try await page.another().send("POST", "backup/export", "{}") == 401)
            #expect(Route.exportBackup.roles == [.owner] && Route.importBackup.roles == [.owner])
            #expect(try await page.ask("POST", "backup/export", "{\(Self.sealed)}").status == 200)
            let rows = try await page.rows().filter { $0.what == "backup.export" }
            #expect(rows.map(\.detail) == ["without keys", "keys are sealed"])
        }
    }

    @Test func whatCannotBeStoredInTheMiddleIsSaidAndNothingAfterItIsStored() async throws {
        try await withOwner { page in
            let file = try await file(Self.sealed, of: page)
            let box = Box()
            try await withConsole(keepingIn: { box.wrap($0) }, withTap: true) { second in
                let code = try await second.claimCode()
                _ = try await second.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
                try box.storage.fail("receipts")
                let body =
                    #"{"file":\#(file),"passphrase":"\#(Self.passphrase)","apply":true,"password":"\#(Self.password)"}"#
                let said = try Page.said(try await second.ask("POST", "backup/import", body))
                #expect(said["complete"] as? Bool == false && said["stored"] as? [String] == ["settings", "taps"])
                #expect(said["notStored"] as? [String] == ["receipts", "counter", "logo", "outbox"])
                #expect((said["trouble"] as? [String: Any])?["message"] != nil)
                #expect(try Page.said(try await second.ask("GET", "logo"))["image"] is NSNull)
                let row = try await second.rows().last
                #expect(row?.what == "backup.import" && row?.result == "failed")
                #expect(row?.detail == "settings, taps; not receipts")
            }
        }
    }

    @Test func walletsThatCameWithTheTerminalAreNotTakenAlong() async throws {
        try await withOwner { page in
            let text = try await file(of: page)
            let parts = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            let customers = try #require((parts?["parts"] as? [String: Any])?["customers"] as? [String: Any])
            #expect(customers["suppliedWallets"] as? Bool == true && customers["wallets"] == nil)
        }
    }

    /// A file is guessed at the pace of the guesser's machines: what is enough for a password is not for it.
    @Test func aPassphraseThatCanBeGuessedSealsNothing() async throws {
        try await withOwner { page in
            let tries = [("export", "Tr0ub4dor&3"), ("export", "passphrase1"), ("everything", "MyShop2026!")]
            for (way, passphrase) in tries {
                let body = #"{"passphrase":"\#(passphrase)","password":"\#(Self.password)"}"#
                let answer = try await page.ask("POST", "backup/\(way)", body)
                #expect(answer.status == 422)
                #expect(try codes(answer) == ["passphrase passphrase_weak"])
            }
        }
    }

    @Test func aWrongPassphraseIsSaidAndChangesNothing() async throws {
        try await withOwner { page in
            let file = try await file(Self.sealed, of: page)
            try await withOwner { second in
                let wrong = try await second.ask(
                    "POST",
                    "backup/import",
                    #"{"file":\#(file),"passphrase":"four unrelated words","apply":true,"password":"\#(Self.password)"}"#
                )
                #expect(try codes(wrong) == ["passphrase passphrase_wrong"])
                #expect(try Page.said(try await second.ask("GET", "settings"))["version"] as? Int == 0)
            }
        }
    }

    @Test func whatOnePartCannotTakeKeepsAllOfItOut() async throws {
        try await withOwner { page in
            let file = try await file(Self.sealed, of: page)
            let bad = file.replacing(#""columns":42"#, with: #""columns":41"#)
            #expect(bad != file)
            try await withOwner { second in
                let body =
                    #"{"file":\#(bad),"passphrase":"\#(Self.passphrase)","apply":true,"password":"\#(Self.password)"}"#
                let answer = try await second.ask("POST", "backup/import", body)
                #expect(answer.status == 422)
                #expect(try codes(answer).first?.hasPrefix("receipts.columns ") == true)
                #expect(try Page.said(try await second.ask("GET", "settings"))["version"] as? Int == 0)
                #expect(try await second.rows().last?.result == "refused")
            }
        }
    }

    @Test(arguments: [
        #"{}"#, #"{"kind":"till settings"}"#, #"{"kind":"till settings","version":0,"parts":{}}"#, "[]", "12",
        #"{"kind":"till settings","version":1,"parts":{"owner":{}}}"#,
        #"{"kind":"till settings","version":1,"parts":{"settings":{"gatewayKeySet":true}}}"#,
        #"{"kind":"till settings","version":1,"parts":{},"secrets":{"kdf":"scrypt","cipher":"AES-256-GCM","n":1048576,"r":8,"p":1,"salt":"AAAAAAAAAAAAAAAAAAAAAA==","sealed":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}"#,
    ]) func whatIsNoSuchFileIsRefused(file: String) async throws {
        try await withOwner { page in
            let answer = try await page.ask("POST", "backup/import", #"{"file":\#(file),"passphrase":"x"}"#)
            #expect(answer.status == 422)
            #expect(try codes(answer) == ["file backup_invalid"])
        }
    }

    @Test func aFileOfALaterVersionIsSaidToBeOne() async throws {
        try await withOwner { page in
            let answer = try await page.ask(
                "POST",
                "backup/import",
                #"{"file":{"kind":"till settings","version":2,"parts":{}}}"#
            )
            #expect(try codes(answer) == ["file backup_newer"])
        }
    }

    /// As it stands in a file, with some of its fields changed.
    private func read(_ sealed: SealedSecrets, _ changes: [String: JSON] = [:]) throws -> SealedSecrets? {
        guard case .object(let fields) = sealed.json else { return nil }
        let text = JSON.object(fields.merging(changes) { $1 }).text
        return SealedSecrets(try ExactJSON(parsing: Array(text.utf8), limits: .init(bytes: 200_000, depth: 8)))
    }

    @Test func aSealedPartThatWasChangedDoesNotOpen() throws {
        let sealed = try SealedSecrets(["gatewayKey": "x"], passphrase: "Zo\u{EB}", rounds: 1 << 10)
        #expect(try read(sealed) == sealed)
        // However its letters were typed.
        #expect(try sealed.open(passphrase: "Zoe\u{308}") == ["gatewayKey": "x"])
        #expect(throws: (any Error).self) { try sealed.open(passphrase: "zo\u{EB}") }
        guard case .object(let fields) = sealed.json, case .string(let text)? = fields["sealed"],
            let bytes = Data(base64Encoded: text)
        else { throw Problem.notFound }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            let other = try #require(try read(sealed, ["sealed": .string(changed.base64EncodedString())]))
            #expect(throws: (any Error).self, "byte \(index)") { try other.open(passphrase: "Zo\u{EB}") }
        }
        let shorter = try #require(try read(sealed, ["sealed": .string(bytes.dropLast().base64EncodedString())]))
        #expect(throws: (any Error).self) { try shorter.open(passphrase: "Zo\u{EB}") }
        let salted = try #require(
            try read(sealed, ["salt": .string(Data(repeating: 0, count: 16).base64EncodedString())])
        )
        #expect(throws: (any Error).self) { try salted.open(passphrase: "Zo\u{EB}") }
    }

    @Test func aSealedPartThatAsksForTooMuchIsNotTried() throws {
        let sealed = try SealedSecrets(["gatewayKey": "x"], passphrase: "right", rounds: 1 << 10)
        for rounds in [0, -1, 512, 1500, 1 << 18, 1 << 40] {
            #expect(try read(sealed, ["n": .integer(Int64(rounds))]) == nil, "\(rounds)")
        }
        for (field, value) in [("r", 9), ("p", 2)] { #expect(try read(sealed, [field: .integer(Int64(value))]) == nil) }
        for length in [0, 27, 65_537] {
            let text = Data(repeating: 7, count: length).base64EncodedString()
            #expect(try read(sealed, ["sealed": .string(text)]) == nil, "\(length)")
        }
        for (field, value) in [("kdf", "none"), ("cipher", "AES-128-GCM"), ("salt", "AAAA"), ("sealed", "?")] {
            #expect(try read(sealed, [field: .string(value)]) == nil, "\(field)")
        }
    }
}

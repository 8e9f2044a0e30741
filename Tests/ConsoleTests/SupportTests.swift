import Foundation
import Journal
import Logging
import Payments
import Subprocess
import Testing
import TestSupport
import WebServer

@testable import Console

/// The file for somebody who helps.
@Suite(.timeLimit(.minutes(2)))
struct SupportTests {
    private static let password = "correct horse CANARY-battery"
    private static let gatewayKey = "wcp_CANARYkey0123456789"

    /// What the file holds, by name, as the system's own `tar` takes it out.
    private func opened(_ response: WebResponse) async throws -> [String: Data] {
        guard case .bytes(let bytes) = response.body else { return [:] }
        let folder = try TemporaryFolder()
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path + "/bundle.tar"))
        let tar = try await run(
            .name("tar"),
            arguments: ["-xf", folder.path + "/bundle.tar", "-C", folder.path],
            output: .discarded,
            error: .string(limit: 10_000)
        )
        #expect(tar.terminationStatus == .exited(0) && tar.standardError.isEmpty, "\(tar.standardError)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "bundle.tar" }
        #expect(names.count == 1 && names[0].hasPrefix("till-support-20"))
        let inner = folder.path + "/" + (names.first ?? "")
        let sums = try await run(
            .name("sh"),
            arguments: ["-c", "cd \"$1\" && sha256sum -c --strict SHA256SUMS", "sh", inner],
            output: .string(limit: 10_000),
            error: .string(limit: 10_000)
        )
        #expect(sums.terminationStatus == .exited(0), "\(sums.standardOutput) \(sums.standardError)")
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: inner) {
            files[name] = FileManager.default.contents(atPath: inner + "/" + name)
        }
        return files
    }

    @Test func itHoldsWhatHelpsAndNoSecret() async throws {
        try await withConsole { page in
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            let settings = """
                {"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk","gatewayURL":"https://gateway.test",
                 "gatewayKey":"\(Self.gatewayKey)","currency":"EUR"}
                """
            #expect(try await page.send("PUT", "settings", settings) == 200)
            await page.untilReady()
            let sale = #"{"amountMinor":1250,"reference":"Frau CANARY-Meier"}"#
            #expect(try await page.send("POST", "charges", sale) == 201)
            let made = try Page.said(
                try await page.ask("POST", "tokens", #"{"name":"CANARY-Grafana","scopes":["metrics"]}"#)
            )
            let tokenText = try #require(made["token"] as? String)
            page.console.log.add(.error, "password=\(Self.password.split(separator: " ")[2])", at: page.clock.wallTime)
            page.console.log.add(.notice, "the gateway is silent", at: page.clock.wallTime)

            let answer = try await page.ask("GET", "support-bundle", "")
            #expect(answer.headers["Content-Disposition"]?.contains("till-support-") == true)
            let files = try await opened(answer)
            #expect(
                Set(files.keys) == [
                    "README.txt", "SHA256SUMS", "audit.json", "charges.json", "health.json", "journal.json", "log.txt",
                    "settings.json",
                ]
            )
            let all = String(decoding: files.values.reduce(Data(), +), as: UTF8.self)
            let session = try #require(page.token)
            let deviceKey = try Data(contentsOf: URL(fileURLWithPath: page.folder + "/../device.key"))
            let tlsKey = try String(contentsOfFile: page.folder + "/../tls.key", encoding: .utf8)
            for secret in [
                "CANARY", Self.password, Self.gatewayKey, tokenText, session, Sessions.csrfToken(of: session), code,
                code.filter { $0 != "-" }, Array(deviceKey).hexadecimal, deviceKey.base64EncodedString(),
                String(tlsKey.split(separator: "\n")[1]), Page.peer, "staff:",
            ] { #expect(!all.contains(secret), "\(secret)") }
            #expect(files.values.allSatisfy { $0.range(of: deviceKey) == nil })

            #expect(all.contains("mrch_1") && all.contains("the gateway is silent") && all.contains("till-v1") == false)
            let charges = try JSONSerialization.jsonObject(with: files["charges.json"] ?? Data()) as? [[String: Any]]
            #expect(charges?.first?["amountMinor"] as? Int == 1250 && charges?.first?["reference"] == nil)
            let audit = try JSONSerialization.jsonObject(with: files["audit.json"] ?? Data()) as? [[String: Any]]
            #expect(
                audit?.contains { $0["what"] as? String == "token.make" && $0["who"] as? String == "staff" } == true
            )
            #expect(try await page.rows().last?.what == "support.bundle", "it is written down who took it")
        }
    }

    @Test func itNamesNobodyWhoWorksThere() async throws {
        try await withConsole { page in
            try await StaffShop.open(page, settings: true)
            let id = try await StaffShop.add(page, "CANARY-Ada")
            let ada = try await StaffShop.signIn(page, as: id)
            // Each of these is written down with her name in the entry's details.
            #expect(try await ada.send("POST", "shifts", "{}") == 200)
            #expect(try await ada.ask("GET", "audit").status == 403)
            #expect(try await ada.send("POST", "charges", #"{"amountMinor":1250,"reference":"for CANARY-Ada"}"#) == 201)
            #expect(try await StaffShop.pin(StaffShop.counter(page), id, "0000") == 401)
            let written = try await page.rows()
            #expect(written.filter { $0.detail.contains("CANARY") }.count >= 2, "otherwise this proves nothing")

            let files = try await opened(try await page.ask("GET", "support-bundle", ""))
            for (name, content) in files {
                #expect(!String(decoding: content, as: UTF8.self).contains("CANARY"), "\(name)")
            }
            let audit = try JSONSerialization.jsonObject(with: files["audit.json"] ?? Data()) as? [[String: Any]]
            for entry in audit ?? [] where entry["detail"] is String {
                let what = try #require(entry["what"] as? String)
                #expect(SupportBundle.impersonalDetails.contains(what), "\(what)")
            }
        }
    }

    @Test func nobodyButTheOwnerGetsIt() async throws {
        #expect(Route.supportBundle.roles == [.owner])
        try await withConsole { page in
            #expect(try await page.send("GET", "support-bundle", "") == 403)
            let code = try await page.claimCode()
            _ = try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#)
            #expect(try await page.another().send("GET", "support-bundle", "") == 401)
        }
    }

    @Test func aDocumentIsMaskedByTheNamesOfItsValues() {
        let text =
            #"{"acquirerLogin":"me","acquirerPassword":"x","apiKeySet":true,"list":[{"icon":"data:","name":"A"}],"n":12}"#
        #expect(
            MaskedJSON.read(Array(text.utf8)).text
                == #"{"acquirerLogin":"set","acquirerPassword":"set","apiKeySet":true,"list":[{"icon":"set","name":"A"}],"n":12}"#
        )
        #expect(MaskedJSON.read([0xFF]) == .string("not readable"))
    }
}

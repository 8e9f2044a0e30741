import Foundation
import Journal
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// Erasing a terminal, with the real program.
@Suite(.timeLimit(.minutes(3)))
struct WipeTests {
    private struct WipeForm: Encodable {
        var word: String
        var password: String?
        var evenWithOpenPayments: Bool?
    }

    private struct Refusal: Decodable {
        var code: String
        var fields: [String: Field]?
        struct Field: Decodable { var code: String }
    }

    /// What lies in the terminal's folder, with every byte.
    private static func files(_ bed: ProgramTestBed) throws -> [String: Data] {
        let state = "\(bed.folder)/terminal"
        var files: [String: Data] = [:]
        for name in FileManager.default.enumerator(atPath: state)?.compactMap({ $0 as? String }) ?? [] {
            files[name] = FileManager.default.contents(atPath: "\(state)/\(name)")
        }
        return files
    }

    private static func till(_ arguments: String...) async throws -> (status: TerminationStatus, text: String) {
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: Arguments(arguments),
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        return (result.terminationStatus, result.standardOutput + result.standardError)
    }

    @Test func afterErasingNothingOfBeforeIsLeftAndTheClaimCodeIsBack() async throws {
        try await withTestBed { bed in
            var status: TerminationStatus?
            let before = try await bed.withTerminal(ended: { status = $0 }) { terminal -> [String: Data] in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                _ = try await terminal.running.first { $0.event == "idle" }
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                func wipe(_ form: WipeForm) async throws -> (status: Int, code: String) {
                    let answer = try await terminal.send(.POST, "/api/v1/wipe", session, json: form)
                    let refusal = try? answer.json(Refusal.self)
                    return (answer.status, refusal?.fields?.values.first?.code ?? refusal?.code ?? "")
                }
                #expect(try await wipe(WipeForm(word: "Kiosk")) == (422, "password_needed"))
                #expect(try await wipe(WipeForm(word: "Kiosk", password: "wrong")) == (422, "password_wrong"))
                #expect(
                    try await wipe(WipeForm(word: "Kino", password: ProgramTestBed.password)) == (422, "word_wrong")
                )
                _ = try await terminal.reaches("requiresAction", charge.id)
                #expect(
                    try await wipe(WipeForm(word: " kiosk ", password: ProgramTestBed.password)) == (
                        409, "payments_open"
                    )
                )
                #expect(try await terminal.state(of: charge.id, session).state == "requiresAction")
                let files = try Self.files(bed)
                let all = WipeForm(word: "Kiosk", password: ProgramTestBed.password, evenWithOpenPayments: true)
                #expect(try await wipe(all) == (202, ""))
                try await terminal.running.untilOver()
                #expect(try Self.files(bed).isEmpty, "nothing lies there")
                return files
            }
            #expect(status == .exited(75), "whoever watches over it starts it again")
            let key = try #require(before["device.key"])
            #expect(before.keys.contains("journal.sqlite") && before.keys.contains("tls.key"))

            try await bed.withTerminal { terminal in
                let claim = try await terminal.running.first { $0.event == "claim" }
                #expect(claim.code != nil)
                let after = try Self.files(bed)
                for (name, bytes) in after {
                    for canary in ["Kiosk", ProgramTestBed.merchantID, ProgramTestBed.key, "k1"] {
                        #expect(bytes.range(of: Data("\"\(canary)\"".utf8)) == nil, "\(canary) in \(name)")
                        #expect(canary.count < 3 || bytes.range(of: Data(canary.utf8)) == nil, "\(canary) in \(name)")
                    }
                    #expect(bytes.range(of: key) == nil, "the key in \(name)")
                }
                #expect(after["tls.key"] != before["tls.key"] && after["device.key"] != key)
                _ = try await terminal.claim()
            }
        }
    }

    @Test func aPowerCutInTheMiddleDoesNotBringAnythingBack() async throws {
        try await withTestBed { bed in
            let state = "\(bed.folder)/terminal"
            try await bed.withTerminal { terminal in try await terminal.setUp(try await terminal.claim()) }
            try Wipe.begin(state)
            #expect(!FileManager.default.fileExists(atPath: state + "/device.key"), "the key goes first")
            try await bed.withTerminal { terminal in
                let claim = try await terminal.running.first { $0.event == "claim" }
                #expect(claim.code != nil)
                #expect(!Wipe.isBegun(state))
            }
        }
    }

    @Test func theCommandErasesOnlyATerminalThatDoesNotRunAndHasNothingOpen() async throws {
        try await withTestBed { bed in
            let state = "\(bed.folder)/terminal"
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                _ = try await terminal.running.first { $0.event == "idle" }
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                _ = try await terminal.reaches("requiresAction", charge.id)
                #expect(try await Self.till("wipe", "--state", state, "--yes").status == .exited(75))
                #expect(try await terminal.state(of: charge.id, session).state == "requiresAction")
            }
            let before = try Self.files(bed)
            let refused = try await Self.till("wipe", "--state", state, "--yes")
            #expect(refused.status == .exited(74) && refused.text.contains("without a final answer: 1"), "\(refused)")
            #expect(try Self.files(bed)["device.key"] == before["device.key"])
            let elsewhere = try await Self.till(
                "wipe",
                "--state",
                "\(bed.folder)",
                "--yes",
                "--even-with-open-payments"
            )
            #expect(elsewhere.status == .exited(74))
            #expect(try !Self.files(bed).isEmpty)
            let unasked = try await Self.till("wipe", "--state", state, "--even-with-open-payments")
            #expect(unasked.status == .exited(74), "nobody typed the word")
            #expect(try !Self.files(bed).isEmpty)
            let done = try await Self.till("wipe", "--state", state, "--yes", "--even-with-open-payments")
            #expect(done.status == .exited(0), "\(done)")
            #expect(try Self.files(bed).isEmpty)
        }
    }
}

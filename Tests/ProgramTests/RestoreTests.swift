import FoundationEssentials
import Foundation
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// A terminal that takes another one's place, with the real program.
@Suite(.timeLimit(.minutes(4)))
struct RestoreTests {
    private static let passphrase = "four unrelated words: barn"

    private struct Words: Encodable {
        var passphrase: String?
        var password: String?
    }

    private struct Piece: Encodable {
        var at: Int
        var piece: String
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

    /// Another terminal of the same merchant, at the same gateway.
    private static func another(_ bed: ProgramTestBed) throws -> ProgramTestBed {
        let folder = bed.folder.appending("another")
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
        return ProgramTestBed(folder: folder, gateway: bed.gateway, gatewayURL: bed.gatewayURL)
    }

    private static func passphraseFile(_ bed: ProgramTestBed) throws -> String {
        let path = "\(bed.folder)/passphrase"
        try Data((passphrase + "\n").utf8).write(to: URL(filePath: path))
        return path
    }

    @Test func aPaymentThatWasOpenInTheBackupIsFollowedToItsEndByTheTerminalThatTakesOver() async throws {
        try await withTestBed { bed in
            let file = "\(bed.folder)/till.age"
            let (id, link) = try await bed.withTerminal { terminal -> (String, String) in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                _ = try await terminal.running.first { $0.event == "idle" }
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                let offered = try await terminal.reaches("requiresAction", charge.id)
                let answer = try await terminal.send(
                    .POST,
                    "/api/v1/backup/everything",
                    session,
                    json: Words(passphrase: Self.passphrase, password: ProgramTestBed.password)
                )
                #expect(answer.status == 200)
                try Data(answer.body).write(to: URL(filePath: file))
                return (charge.id, try #require(offered.link))
            }
            // The old terminal is gone, and the customer pays.
            #expect(try await bed.pay(link))
            let other = try Self.another(bed)
            let words = try Self.passphraseFile(bed)
            let restored = try await Self.till(
                "restore",
                "--state",
                "\(other.folder)/terminal",
                "--passphrase-file",
                words,
                file
            )
            #expect(restored.status == .exited(0), "\(restored.text)")
            #expect(restored.text.contains("asks about 1 payments"), "\(restored.text)")
            try await other.withTerminal { terminal in
                _ = try await terminal.reaches("succeeded", id)
                let session = try await terminal.signIn()
                #expect(try await terminal.state(of: id, session).state == "succeeded")
            }
            #expect(try await bed.paymentCount() == 1, "no second payment was made")
        }
    }

    @Test func aTerminalRestoredOnItsPageStartsAgainWithTheBackupsOwner() async throws {
        try await withTestBed { bed in
            let file = "\(bed.folder)/till.age"
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
            }
            let words = try Self.passphraseFile(bed)
            let made = try await Self.till(
                "backup",
                "--state",
                "\(bed.folder)/terminal",
                "--passphrase-file",
                words,
                file
            )
            #expect(made.status == .exited(0), "\(made.text)")
            let again = try await Self.till(
                "backup",
                "--state",
                "\(bed.folder)/terminal",
                "--passphrase-file",
                words,
                file
            )
            #expect(again.status == .exited(74), "a file that is there is kept")

            let other = try Self.another(bed)
            var status: TerminationStatus?
            try await other.withTerminal(ended: { status = $0 }) { terminal in
                let session = try await terminal.claim()
                let data = try Data(contentsOf: URL(filePath: file))
                #expect(
                    try await terminal.send(.POST, "/api/v1/restore", session, json: ["bytes": data.count]).status
                        == 200
                )
                var place = 0
                while place < data.count {
                    let piece = data[place..<min(data.count, place + 512 * 1024)]
                    let body = Piece(at: place, piece: piece.base64EncodedString())
                    #expect(try await terminal.send(.PUT, "/api/v1/restore", session, json: body).status == 200)
                    place += piece.count
                }
                let check = Words(passphrase: Self.passphrase)
                #expect(try await terminal.send(.POST, "/api/v1/restore/check", session, json: check).status == 200)
                let running = try await Self.till(
                    "restore",
                    "--state",
                    "\(other.folder)/terminal",
                    "--passphrase-file",
                    words,
                    file
                )
                #expect(running.status == .exited(75), "a terminal that runs is not restored behind its back")
                let apply = Words(password: ProgramTestBed.password)
                #expect(try await terminal.send(.POST, "/api/v1/restore/apply", session, json: apply).status == 202)
                try await terminal.running.untilOver()
            }
            #expect(status == .exited(75), "whoever watches over it starts it again")
            try await other.withTerminal { terminal in
                _ = try await terminal.running.first { $0.event == "idle" }
                let session = try await terminal.signIn()
                let settings = try await terminal.send(.GET, "/api/v1/settings", session)
                #expect(String(decoding: settings.body, as: UTF8.self).contains(ProgramTestBed.merchantID))
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: "\(other.folder)/terminal")
            #expect(!left.contains { $0.hasPrefix("restore") || $0.hasPrefix("backup") }, "\(left)")
        }
    }
}

import Foundation
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// A `till.yaml` that prepares many terminals alike: the shop is set at the first start, and the gateway's key stays nowhere
/// that somebody with the card could read.
@Suite(.timeLimit(.minutes(2)))
struct PreparedShopTests {
    private struct Settings: Decodable {
        var merchantID, merchantName: String?
        var gatewayKeySet: Bool?
        var changedBy: String?
    }

    private static func lines(_ bed: ProgramTestBed, key: String?) -> String {
        """
        shop:
          operatorID: op-1
          merchantID: \(ProgramTestBed.merchantID)  # The same for all.
          merchantName: Café Morgenrot
          gatewayURL: \(bed.gatewayURL)
        \(key.map { "  gatewayKey: \($0)\n" } ?? "")  currency: USD
        """
    }

    private func takeSecrets(_ file: FilePath, _ state: FilePath) async throws -> (TerminationStatus, String) {
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: ["take-secrets", file.string, "--state", state.string],
            output: .string(limit: 4096),
            error: .string(limit: 4096)
        )
        return (result.terminationStatus, result.standardError)
    }

    private func text(_ file: FilePath) throws -> String { try String(contentsOfFile: file.string, encoding: .utf8) }

    @Test func aPreparedTerminalChargesOnceItIsClaimed() async throws {
        try await withTestBed { bed in
            try await bed.withTerminal(Self.lines(bed, key: ProgramTestBed.key)) { terminal in
                let session = try await terminal.claim()
                let settings = try await terminal.send(.GET, "/api/v1/settings", session).json(Settings.self)
                #expect(settings.merchantName == "Café Morgenrot" && settings.gatewayKeySet == true)
                #expect(settings.changedBy == "staff:till.yaml")
                #expect(try await terminal.charge(session, key: "first").status == 201)
                _ = try await terminal.reaches("requiresAction")
            }
        }
    }

    /// The owner's own words count from then on, whatever the file says at later starts.
    @Test func whatTheOwnerChangedIsNotPreparedAgain() async throws {
        try await withTestBed { bed in
            let lines = Self.lines(bed, key: ProgramTestBed.key)
            try await bed.withTerminal(lines) { terminal in
                let answer = try await terminal.send(
                    .PUT,
                    "/api/v1/settings",
                    try await terminal.claim(),
                    json: [
                        "operatorID": "op-1", "merchantID": ProgramTestBed.merchantID, "merchantName": "Kiosk",
                        "gatewayURL": bed.gatewayURL, "currency": "USD", "password": ProgramTestBed.password,
                    ]
                )
                #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            }
            try await bed.withTerminal(lines) { terminal in
                let session = try await terminal.signIn()
                let settings = try await terminal.send(.GET, "/api/v1/settings", session).json(Settings.self)
                #expect(settings.merchantName == "Kiosk")
            }
        }
    }

    @Test func theKeyIsTakenOutOfTheFileInItsPlace() async throws {
        try await withTestBed { bed in
            let (file, state) = (bed.folder.appending("card.yaml"), bed.folder.appending("terminal"))
            let before = "# Ours\r\n" + Self.lines(bed, key: "\"\(ProgramTestBed.key)\"") + "\nlog: { level: info }\n"
            try before.write(toFile: file.string, atomically: false, encoding: .utf8)
            let number = try FileManager.default.attributesOfItem(atPath: file.string)[.systemFileNumber] as? Int

            let (status, said) = try await takeSecrets(file, state)
            #expect(status.isSuccess, "\(said)")
            let after = try text(file)
            #expect(!after.contains(ProgramTestBed.key) && after.utf8.count == before.utf8.count)
            #expect(after.contains("Café Morgenrot") && after.contains("# The same for all."))
            // Written in its place: the bytes are not left behind where the card has room.
            let same = try FileManager.default.attributesOfItem(atPath: file.string)[.systemFileNumber] as? Int
            #expect(same == number)
            let kept = state.appending("gateway.key")
            #expect(try text(kept) == ProgramTestBed.key)
            let mode = try FileManager.default.attributesOfItem(atPath: kept.string)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            // Once more, as at the next start.
            #expect(try await takeSecrets(file, state).0.isSuccess)
            #expect(try text(file) == after)

            // The terminal takes it from there, and leaves no copy.
            try await bed.withTerminal(Self.lines(bed, key: nil)) { terminal in
                let session = try await terminal.claim()
                let settings = try await terminal.send(.GET, "/api/v1/settings", session).json(Settings.self)
                #expect(settings.gatewayKeySet == true)
                #expect(!FileManager.default.fileExists(atPath: kept.string))
            }
        }
    }

    /// Where the file would say something else without the line, nothing of it is touched.
    @Test(arguments: [
        "shop: { merchantID: m, gatewayKey: wcp_k }\n", "shop:\n  gatewayKey: |\n    wcp_k\n  merchantID: m\n",
        "shop:\n  'gatewayKey': wcp_k\n",
    ])
    func aKeyThatCannotBeTakenOutIsSaid(yaml: String) async throws {
        let folder = FilePath(FileManager.default.temporaryDirectory.path()).appending("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder.string) }  // Of a test: a rest does no harm.
        let file = folder.appending("card.yaml")
        try yaml.write(toFile: file.string, atomically: false, encoding: .utf8)
        let (status, said) = try await takeSecrets(file, folder.appending("state"))
        #expect(
            status == .exited(78) && said.contains("shop.gatewayKey") && said.contains("line of its own"),
            "\(said)"
        )
        #expect(!said.contains("wcp_k"))
        #expect(try text(file) == yaml)
        #expect(!FileManager.default.fileExists(atPath: folder.appending("state").string))
    }

    /// Without its key, as after everything was erased: the terminal waits for its owner.
    @Test func aShopWithoutAKeyLeavesTheTerminalNew() async throws {
        try await withTestBed { bed in
            try await bed.withTerminal(Self.lines(bed, key: nil)) { terminal in
                let session = try await terminal.claim()
                #expect(try await terminal.charge(session, key: "first").status == 409)
            }
        }
    }
}

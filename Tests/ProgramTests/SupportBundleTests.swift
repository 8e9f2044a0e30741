import Foundation
import Subprocess
import SystemPackage
import Testing

/// The file for somebody who helps, of a terminal that does not run.
@Suite(.timeLimit(.minutes(2)))
struct SupportBundleTests {
    private static func bundle(_ bed: ProgramTestBed, _ file: String) async throws -> (
        status: TerminationStatus, text: String
    ) {
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: ["support-bundle", "--state", "\(bed.folder)/terminal", file],
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        return (result.terminationStatus, result.standardOutput + result.standardError)
    }

    @Test func aStoppedTerminalGivesTheFileWithoutSecrets() async throws {
        try await withTestBed { bed in
            let file = "\(bed.folder)/support.tar"
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                _ = try await terminal.running.first { $0.event == "idle" }
                _ = try await terminal.charge(session, key: "k1")
                let refused = try await Self.bundle(bed, file)
                #expect(refused.status == .exited(75), "one program at a time has the record open: \(refused)")
            }
            let made = try await Self.bundle(bed, file)
            #expect(made.status == .exited(0), "\(made)")
            let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
            for wanted in [
                "README.txt", "charges.json", ProgramTestBed.merchantID, "\"amountMinor\":1250", "SHA256SUMS",
            ] {
                #expect(text.contains(wanted), "\(wanted)")
            }
            for secret in [ProgramTestBed.password, ProgramTestBed.key, "staff:"] {
                #expect(!text.contains(secret), "\(secret)")
            }
            #expect(try await Self.bundle(bed, file).status == .exited(74), "a file that is there is kept")
        }
    }
}

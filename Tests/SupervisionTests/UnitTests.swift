import Foundation
import Subprocess
import Testing

/// The unit that starts the terminal leaves little open. systemd's own judge says how much, without a running systemd.
struct UnitTests {
    private static let unit = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "config/systemd/till.service").path

    private func judge(_ arguments: String...) async throws -> String {
        let result = try await run(
            .name("systemd-analyze"),
            arguments: Arguments(arguments),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        return result.standardOutput + result.standardError
    }

    @Test func theTerminalIsShutInAsFarAsItsWorkAllows() async throws {
        let words = try await judge("security", "--offline=true", "--no-pager", Self.unit)
        let line = try #require(
            words.split(separator: "\n").first { $0.contains("Overall exposure level") },
            "\(words)"
        )
        print(line)
        let level = try #require(line.split(separator: " ").compactMap { Double($0) }.first)
        #expect(level <= 2.1)
        for hole in [
            "PrivateTmp=", "NoNewPrivileges=", "MemoryDenyWriteExecute=", "User=/DynamicUser=", "ProtectSystem=",
        ] {
            #expect(!words.contains("✗ \(hole)"), "\(hole)")
        }
    }

    @Test func systemdUnderstandsEveryLineOfIt() async throws {
        let words = try await judge("verify", "--man=no", "--recursive-errors=no", Self.unit)
        // On a machine without the terminal its program is missing, and so may the radio's unit be.
        let complaints = words.split(separator: "\n").filter { line in
            line.contains("till.service") && !line.contains("/usr/bin/till is not executable")
        }
        #expect(complaints == [], "\(words)")
    }
}

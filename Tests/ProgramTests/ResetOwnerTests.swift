import Foundation
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// A new owner password at the machine itself, with the real program.
@Suite(.timeLimit(.minutes(3)))
struct ResetOwnerTests {
    private static let new = "staple battery horse"

    private static func till(
        _ input: String,
        _ arguments: String...
    ) async throws -> (status: TerminationStatus, text: String) {
        let result = try await run(
            .path(Programs.directory.appending("till")),
            arguments: Arguments(["reset-owner"] + arguments),
            input: .string(input),
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        return (result.terminationStatus, result.standardOutput + result.standardError)
    }

    @Test func whoeverRunsTheMachineSetsANewPasswordWhileTheTerminalStands() async throws {
        try await withTestBed { bed in
            let state = "\(bed.folder)/terminal"
            let none = try await Self.till(Self.new, "--state", state)
            #expect(none.status == .exited(66) && none.text.contains("Nothing was changed"), "\(none.text)")
            let old = try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                let running = try await Self.till(Self.new, "--state", state)
                #expect(running.status == .exited(75) && running.text.contains("Stop it first"), "\(running.text)")
                return session
            }
            let weak = try await Self.till("password\n", "--state", state)
            #expect(weak.status == .exited(66) && weak.text.contains("Nothing was changed"), "\(weak.text)")
            let empty = try await Self.till("", "--state", state)
            #expect(empty.status == .exited(66), "\(empty.text)")
            let done = try await Self.till("\(Self.new)\n", "--state", state)
            #expect(done.status == .exited(0) && !done.text.contains(Self.new), "\(done.text)")

            try await bed.withTerminal { terminal in
                let left = try await terminal.send(.GET, "/api/v1/settings", old).status
                #expect(left == 401, "everybody is signed out")
                let before = ["password": ProgramTestBed.password]
                #expect(try await terminal.send(.POST, "/api/v1/login", json: before).status == 401)
                #expect(try await terminal.send(.POST, "/api/v1/login", json: ["password": Self.new]).status == 200)
            }
        }
    }
}

import FoundationEssentials
import Subprocess
import SystemPackage
import TestSupport
import WalletConnect

/// `till-sandbox wallet connect` as a process of its own.
enum WalletProgram {
    struct Run: Sendable {
        var lines: [String] = []
        var exitCode: Int32?
        var errors = ""

        func has(_ beginning: String) -> Bool { lines.contains { $0.hasPrefix(beginning) } }
        func count(_ beginning: String) -> Int { lines.count { $0.hasPrefix(beginning) } }
    }

    /// Runs it to its end. The code goes over its standard input, as any secret should.
    static func run(_ relay: String, _ code: String?, _ options: String...) async throws -> Run {
        try await run(relay, code, options)
    }

    static func run(_ relay: String, _ code: String?, _ options: [String]) async throws -> Run {
        let base = ["wallet", "connect"] + (code == nil ? [] : ["-"]) + ["--relay", relay, "--timeout", "60"]
        let result = try await Subprocess.run(
            .path(FilePath(BuildFolder.program("till-sandbox"))),
            arguments: Arguments(base + options),
            input: .string((code ?? "") + "\n"),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 16)
        )
        var run = Run()
        run.lines = result.standardOutput.split(separator: "\n").map(String.init)
        run.errors = result.standardError
        if case .exited(let code) = result.terminationStatus { run.exitCode = code }
        return run
    }
}

import FoundationEssentials
import Subprocess
import SystemPackage
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

    /// Beside the test bundle, which is the first argument of the process that runs it.
    static let directory: FilePath = {
        let arguments = CommandLine.arguments[...]
        if let flag = arguments.firstIndex(of: "--test-bundle-path"), flag + 1 < arguments.endIndex {
            return FilePath(arguments[flag + 1]).removingLastComponent()
        }
        return FilePath(CommandLine.arguments[0]).removingLastComponent()
    }()

    /// Runs it to its end. The code goes over its standard input, as any secret should.
    static func run(_ relay: String, _ code: String?, _ options: String...) async throws -> Run {
        try await run(relay, code, options)
    }

    static func run(_ relay: String, _ code: String?, _ options: [String]) async throws -> Run {
        let base = ["wallet", "connect"] + (code == nil ? [] : ["-"]) + ["--relay", relay, "--timeout", "60"]
        let result = try await Subprocess.run(
            .path(directory.appending("till-sandbox")),
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

/// A folder that goes with the value that names it.
final class Scratch: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "connect-\(UInt64.random(in: 0 ... .max))").path()

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    func file(_ name: String) -> String { path + "/" + name }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

import FoundationEssentials
import Subprocess
import SystemPackage
import WalletConnect

/// pyWalletConnect 1.6.2 as published, as a process of its own: a wallet that shares no code with this project.
enum ForeignWallet {
    struct Step: Decodable, Sendable, Equatable {
        let step: String
        /// Since 1970.
        let ms: Double
        var chains: [String]?
        var account: String?
        var method: String?
        var reason: String?
    }

    private static let python = ProcessInfo.processInfo.environment["TILL_TEST_PYTHON"] ?? "/usr/bin/python3"

    /// Whether the package is installed; `make test` installs it.
    static func isInstalled() async -> Bool {
        let result = try? await run(
            .path(FilePath(python)),
            arguments: ["-c", "import pywalletconnect; print(pywalletconnect.__name__)"],
            output: .string(limit: 1000),
            error: .discarded
        )
        return result?.standardOutput.hasPrefix("pywalletconnect") == true
    }

    /// Runs it to its end.
    /// - Parameters:
    ///   - relay: `wss://HOST:PORT`.
    ///   - mode: approve, reject or decline.
    static func pay(_ code: String, at relay: String, mode: String = "approve") async throws -> [Step] {
        let result = try await run(
            .path(FilePath(python)),
            arguments: [ConnectFixture.path("foreign_wallet.py"), String(relay.dropFirst("wss://".count)), mode],
            environment: .inherit.updating(["SSL_CERT_FILE": DappTestBed.certificate, "PYTHONDONTWRITEBYTECODE": "1"]),
            input: .string(code + "\n"),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 16)
        )
        guard result.terminationStatus.isSuccess, !result.standardOutput.contains("timeout") else {
            throw Failure(text: result.standardOutput + result.standardError)
        }
        return try result.standardOutput.split(separator: "\n").map {
            try JSONDecoder().decode(Step.self, from: Data($0.utf8))
        }
    }

    struct Failure: Error { let text: String }
}

import Foundation
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// pyWalletConnect 1.6.2 as published, a process of its own, pays at the real terminal: through the sandbox's relay over TLS
/// and the sandbox's gateway, each as it was built.
@Suite(
    .enabled("needs pyWalletConnect (TILL_TEST_PYTHON); make test installs it") {
        await Foreign.isInstalled()
    },
    .timeLimit(.minutes(3))
)
struct ForeignWalletTests {
    private static let certificates = Programs.root.appending("Tests/RelayTests/Certificates")

    private struct Step: Decodable { let step: String }

    /// - Returns: What it did, in order.
    private func scan(_ code: String, at relay: String, _ mode: String) async throws -> [String] {
        let result = try await run(
            .path(FilePath(Foreign.python)),
            arguments: [
                Programs.root.appending("Tests/ConnectWalletTests/foreign_wallet.py").string,
                String(relay.dropFirst("wss://".count)), mode,
            ],
            environment: .inherit.updating([
                "SSL_CERT_FILE": Self.certificates.appending("certificate.pem").string, "PYTHONDONTWRITEBYTECODE": "1",
            ]),
            input: .string(code + "\n"),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 16)
        )
        guard result.terminationStatus.isSuccess else { throw Failure(text: result.standardError) }
        return try result.standardOutput.split(separator: "\n").map {
            try JSONDecoder().decode(Step.self, from: Data($0.utf8)).step
        }
    }

    private struct Failure: Error { let text: String }

    private struct Wishes: Encodable {
        var enabled = true
        var relayURL: String
        var projectID = String(repeating: "0", count: 32)
        var chains = "eip155:8453"
        var oneCode = true
    }

    /// Runs a test bed whose terminal serves wallets over a relay of its own.
    private func withTerminal(
        _ body:
            @Sendable @escaping (ProgramTestBed.Terminal, ProgramTestBed.Terminal.Session, _ relay: String) async throws
            -> Void
    ) async throws {
        try await withTestBed(gateway: ["--settle-after", "0.2"]) { bed in
            let certificate = Self.certificates.appending("certificate.pem").string
            try await withProgram(
                "till-sandbox",
                ["relay", "--certificate", certificate, "--key", Self.certificates.appending("key.pem").string],
                log: bed.folder.appending("relay.log")
            ) { running in
                let relay = try #require(try await running.first { $0.ready == true }.url)
                #expect(relay.hasPrefix("wss://"))
                try await bed.withTerminal("relay: { certificates: \"\(certificate)\" }") { terminal in
                    let session = try await terminal.claim()
                    try await terminal.setUp(session)
                    let answer = try await terminal.send(
                        .PUT,
                        "/api/v1/connect",
                        session,
                        json: Wishes(relayURL: relay)
                    )
                    #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
                    try await body(terminal, session, relay)
                }
            }
        }
    }

    @Test func aWalletOfOthersPaysAChargeAtTheRealTerminal() async throws {
        try await withTerminal { terminal, session, relay in
            let opened = try await terminal.charge(session, key: "sale-1").json(ProgramTestBed.Terminal.Charge.self)
            let code = try await terminal.running.first { $0.id == opened.id && $0.link?.hasPrefix("wc:") == true }.link
            let steps = try await scan(try #require(code), at: relay, "approve")
            #expect(steps == ["asked", "settled", "requested", "signed", "over"])
            #expect(try await terminal.reaches("succeeded", opened.id).late == false)
            let charge = try await terminal.state(of: opened.id, session)
            #expect(charge.state == "succeeded" && !charge.unresolved)
            // The key of the pairing is on the screen and in no log.
            let key = try #require(code?.split(separator: "symKey=").last?.prefix(64))
            let log = try String(contentsOfFile: terminal.bed.folder.appending("terminal.log").string, encoding: .utf8)
            #expect(!log.contains(key) && !log.isEmpty)
        }
    }

    @Test func aWalletOfOthersThatDeclinesLeavesTheChargeOpen() async throws {
        try await withTerminal { terminal, session, relay in
            let opened = try await terminal.charge(session, key: "sale-2").json(ProgramTestBed.Terminal.Charge.self)
            let code = try await terminal.running.first { $0.id == opened.id && $0.link?.hasPrefix("wc:") == true }.link
            let steps = try await scan(try #require(code), at: relay, "reject")
            #expect(steps == ["asked", "rejected"])
            // Another code for the next wallet, and nothing was paid.
            let next = try await terminal.running.first { line in
                line.id == opened.id && line.link?.hasPrefix("wc:") == true && line.link != code
            }
            #expect(next.state == "requiresAction")
        }
    }
}

private enum Foreign {
    static let python = ProcessInfo.processInfo.environment["TILL_TEST_PYTHON"] ?? "/usr/bin/python3"

    static func isInstalled() async -> Bool {
        let result = try? await run(
            .path(FilePath(python)),
            arguments: ["-c", "import pywalletconnect; print(pywalletconnect.__name__)"],
            output: .string(limit: 1000),
            error: .discarded
        )
        return result?.standardOutput.hasPrefix("pywalletconnect") == true
    }
}

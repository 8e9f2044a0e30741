import Foundation
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// A certificate of the owner's own, with the real program and a client that verifies it.
@Suite(.timeLimit(.minutes(4)))
struct OwnersCertificateTests {
    private static let name = "till.shop.example"

    private struct Pair: Encodable {
        var chain: String
        var key: String
        var password = ProgramTestBed.password
    }

    private static func tool(_ name: String, _ arguments: [String]) async throws -> String {
        try await run(
            .name(name),
            arguments: Arguments(arguments),
            output: .string(limit: 1 << 16),
            error: .discarded
        ).standardOutput
    }

    /// An authority, and a certificate of it for ``name``.
    private static func make(in folder: String) async throws -> Pair {
        let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        let ca = ["req", "-x509"] + curve + ["-days", "9", "-subj", "/CN=Authority"]
        _ = try await tool("openssl", ca + ["-keyout", folder + "/ca.key", "-out", folder + "/ca.crt"])
        _ = try await tool(
            "openssl",
            ["req", "-new"] + curve + ["-subj", "/CN=x", "-keyout", folder + "/own.key", "-out", folder + "/own.csr"]
        )
        try Data("subjectAltName=DNS:\(name)\n".utf8).write(to: URL(filePath: folder + "/own.ext"))
        let authority = ["-CA", folder + "/ca.crt", "-CAkey", folder + "/ca.key", "-CAcreateserial"]
        _ = try await tool(
            "openssl",
            ["x509", "-req", "-in", folder + "/own.csr", "-days", "9", "-extfile", folder + "/own.ext"] + authority
                + ["-out", folder + "/own.crt"]
        )
        func text(_ name: String) throws -> String { try String(contentsOfFile: folder + name, encoding: .utf8) }
        return Pair(chain: try text("/own.crt") + text("/ca.crt"), key: try text("/own.key"))
    }

    /// What a client says that trusts the authority and nobody else: the head of the answer, or nothing.
    private static func head(_ terminal: ProgramTestBed.Terminal, _ folder: String) async throws -> String {
        let port = try #require(URLComponents(string: terminal.url)?.port)
        return try await tool(
            "curl",
            [
                "--silent", "--max-time", "20", "--output", "/dev/null", "--dump-header", "-", "--cacert",
                folder + "/ca.crt", "--resolve",
                "\(name):\(port):127.0.0.1", "https://\(name):\(port)/",
            ]
        )
    }

    @Test func theNextStartServesItToBrowsersThatTrustItsAuthority() async throws {
        try await withTestBed { bed in
            let folder = bed.folder.string
            let pair = try await Self.make(in: folder)
            try await bed.withTerminal { terminal in
                let session = try await terminal.claim()
                let answer = try await terminal.send(.PUT, "/api/v1/certificate", session, json: pair)
                #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
                #expect(try await Self.head(terminal, folder).isEmpty, "this run still serves the terminal's own")
            }
            try await bed.withTerminal { terminal in
                let head = try await Self.head(terminal, folder).lowercased()
                #expect(head.hasPrefix("http/1.1 200"), "\(head)")
                #expect(head.contains("strict-transport-security: max-age="))
                // Whoever comes by the number goes on as before.
                let session = try await terminal.signIn()
                #expect(try await terminal.send(.GET, "/api/v1/certificate", session).status == 200)
            }
            // A file that was cut off by somebody keeps nobody from the page.
            try Data("-----BEGIN".utf8).write(to: URL(filePath: folder + "/terminal/own.key"))
            try await bed.withTerminal { terminal in
                #expect(try await Self.head(terminal, folder).isEmpty)
                let session = try await terminal.signIn()
                let said = try await terminal.send(.GET, "/api/v1/certificate", session)
                #expect(String(decoding: said.body, as: UTF8.self).contains("certificate_key_unreadable"))
            }
        }
    }
}

import Foundation
import Subprocess
import Testing
import WalletConnectPay

@testable import Net

/// Whom the transport believes: a real TLS server whose certificate is right, or wrong in one way each.
struct TrustTests {
    private static func openssl(_ arguments: [String]) async throws {
        let result = try await run(
            .name("openssl"),
            arguments: Arguments(arguments),
            output: .discarded,
            error: .string(limit: 1 << 16)
        )
        try #require(result.terminationStatus.isSuccess, "\(result.standardError)")
    }

    /// A certificate and its key in `folder`, signed by itself, good for long or ended long ago.
    private static func makeCertificate(in folder: String, name: String, hasEnded: Bool) async throws {
        let settings = """
            [ca]
            default_ca = own
            [own]
            database = \(folder)/index
            new_certs_dir = \(folder)
            default_md = sha256
            policy = any
            rand_serial = yes
            x509_extensions = names
            [any]
            commonName = supplied
            [names]
            subjectAltName = \(name)
            """
        try settings.write(toFile: "\(folder)/ca.conf", atomically: true, encoding: .utf8)
        try "".write(toFile: "\(folder)/index", atomically: true, encoding: .utf8)
        try await openssl([
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=gateway",
            "-keyout", "\(folder)/key.pem", "-out", "\(folder)/request.pem",
        ])
        try await openssl([
            "ca", "-batch", "-notext", "-selfsign", "-config", "\(folder)/ca.conf",
            "-keyfile", "\(folder)/key.pem", "-in", "\(folder)/request.pem", "-out", "\(folder)/certificate.pem",
            "-startdate", "19990101000000Z", "-enddate", hasEnded ? "19991231235959Z" : "20991231235959Z",
        ])
    }

    private func ask(
        name: String = "IP:127.0.0.1",
        hasEnded: Bool = false,
        isTrusted: Bool = true,
        server options: [String] = []
    ) async throws -> Result<Int, TransportError> {
        let folder = NSTemporaryDirectory() + "/till-trust-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await Self.makeCertificate(in: folder, name: name, hasEnded: hasEnded)
        let authority = try String(contentsOfFile: "\(folder)/certificate.pem", encoding: .utf8)
        let arguments = ["s_server", "-accept", "127.0.0.1:0", "-www", "-naccept", "1"]
        let files = ["-cert", "\(folder)/certificate.pem", "-key", "\(folder)/key.pem"]
        return try await run(
            .name("openssl"),
            arguments: Arguments(arguments + files + options),
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution -> Result<Int, TransportError> in
            var port: Substring?
            for try await line in execution.standardOutput.strings() {
                guard let match = line.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)/) else { continue }
                port = match.1
                break
            }
            let transport = try HTTPClientTransport(hosts: .anyOverTLS(), authorities: isTrusted ? authority : "")
            let url = "https://127.0.0.1:\(try #require(port))/"
            let result: Result<Int, TransportError>
            do throws(TransportError) {
                result = .success(try await transport.send(HTTPRequest(method: .get, url: url)).status)
            } catch { result = .failure(error) }
            try await transport.shutdown()
            try? execution.send(signal: .kill)  // It may have ended with its one connection.
            return result
        }.closureResult
    }

    private func expectNotSent(_ result: Result<Int, TransportError>) {
        guard case .failure(.notSent) = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func aTrustedCertificateForTheHostIsBelieved() async throws {
        #expect(try await ask() == .success(200))
    }

    @Test func aCertificateThatNobodyVouchesForIsRefused() async throws {
        expectNotSent(try await ask(isTrusted: false))
    }

    @Test func aCertificateForAnotherHostIsRefused() async throws {
        expectNotSent(try await ask(name: "DNS:gateway.test"))
    }

    @Test func aCertificateThatHasEndedIsRefused() async throws {
        // By a wrong clock every certificate has: whoever asks tells it apart from a gateway that is not there.
        #expect(try await ask(hasEnded: true) == .failure(.untrustedCertificate))
    }

    /// Whoever hears of a certificate looks at the clock. Neither is at fault where the other side speaks no TLS of ours.
    @Test func anOldVersionOfTLSIsRefusedAndIsNotTheCertificatesFault() async throws {
        let result = try await ask(server: ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"])
        expectNotSent(result)
        #expect(result != .failure(.untrustedCertificate))
    }

    @Test func plainHTTPBehindAnHTTPSAddressIsSaidAsSuch() async throws {
        let server = try ScriptedServer(
            .answerToHello(Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8))
        )
        defer { server.stop() }
        let transport = try HTTPClientTransport(hosts: .anyOverTLS())
        await #expect(throws: TransportError.notSent(reason: "no TLS is spoken there")) {
            try await transport.send(HTTPRequest(method: .get, url: "https://127.0.0.1:\(server.port)/"))
        }
        try await transport.shutdown()
    }
}

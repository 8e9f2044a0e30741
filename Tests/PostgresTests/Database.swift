import Foundation
import Glibc
import Subprocess
import Testing

/// A real PostgreSQL of the test's own, in a folder that is gone afterwards.
struct Database {
    let folder: String
    let port: UInt16
    /// Vouches for the server, whose certificate is for `localhost`.
    let authority: String

    private static let programs = "/usr/lib/postgresql"

    /// It does not run as root: there the packaged user stands in.
    private static func run(
        _ program: String,
        _ arguments: [String]
    ) async throws -> String {
        let (name, all) = unprivileged(program, arguments)
        let result = try await Subprocess.run(
            .name(name),
            arguments: Arguments(all),
            output: .string(limit: 100_000),
            error: .string(limit: 100_000)
        )
        try #require(result.terminationStatus.isSuccess, "\(program): \(result.standardError)")
        return result.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func unprivileged(_ program: String, _ arguments: [String]) -> (String, [String]) {
        getuid() == 0
            ? ("setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", program] + arguments)
            : (program, arguments)
    }

    private static func program(_ name: String) throws -> String {
        let versions = try FileManager.default.contentsOfDirectory(atPath: programs).sorted()
        return "\(programs)/\(try #require(versions.last))/bin/\(name)"
    }

    static func make(_ body: (Database) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "/till-pg-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if getuid() == 0 {
            // The package postgresql makes this user.
            _ = try await Subprocess.run(
                .name("chown"),
                arguments: ["postgres:postgres", folder],
                output: .discarded,
                error: .discarded
            )
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
        _ = try await run(
            try program("initdb"),
            ["-D", "\(folder)/data", "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]
        )
        for name in ["server", "stranger"] {
            _ = try await run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem", "-subj", "/CN=\(name)",
                    "-addext", "subjectAltName=DNS:localhost",
                ]
            )
        }
        let database = Database(folder: folder, port: try freePort(), authority: try text("\(folder)/server.pem"))
        try Data("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n".utf8)
            .write(to: URL(fileURLWithPath: "\(folder)/hba"))
        try await body(database)
    }

    /// Of nobody that the server's certificate is from.
    var stranger: String { get throws { try Self.text("\(folder)/stranger.pem") } }

    private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static func freePort() throws -> UInt16 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                unsafe bind(socket, name, size) == 0 && getsockname(socket, name, &size) == 0
            }
        }
        try #require(status)
        return UInt16(bigEndian: address.sin_port)
    }

    /// Runs the server for as long as `body`, which may end it before.
    func run(tls: Bool = true, _ body: (_ kill: () throws -> Void) async throws -> Void) async throws {
        let (name, arguments) = Self.unprivileged(
            try Self.program("postgres"),
            [
                "-D", "\(folder)/data", "-p", "\(port)", "-c", "listen_addresses=127.0.0.1", "-c",
                "unix_socket_directories=\(folder)", "-c", "hba_file=\(folder)/hba", "-c", "ssl=\(tls ? "on" : "off")",
                "-c", "ssl_cert_file=\(folder)/server.pem", "-c", "ssl_key_file=\(folder)/server.key", "-c",
                "fsync=off",
                "-c", "shared_buffers=16MB",
            ]
        )
        _ = try await Subprocess.run(
            .name(name),
            arguments: Arguments(arguments),
            input: .none,
            output: .discarded,
            error: .sequence
        ) { server in
            var said = ""
            for try await line in server.standardError.strings() {
                said += line
                if line.contains("ready to accept connections") { break }
            }
            try #require(said.contains("ready to accept connections"), "the server has ended: \(said)")
            let result = await Result { try await body { try server.send(signal: .quit) } }
            await server.teardown(using: [.send(signal: .quit, allowedDurationToNextStep: .seconds(20))])
            try result.get()
        }
    }

    /// What the server says, asked past everything that is tested.
    @discardableResult
    func ask(_ sql: String) async throws -> String {
        try await Self.run(
            try Self.program("psql"),
            ["-h", folder, "-p", "\(port)", "-U", "postgres", "-X", "-v", "ON_ERROR_STOP=1", "-Atc", sql, "postgres"]
        )
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}

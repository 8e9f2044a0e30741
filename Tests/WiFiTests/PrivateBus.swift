import DBus
import Subprocess
import Testing

/// Runs `body` against a real bus of its own, so a test meets the daemon's behaviour and never the machine's.
///
/// A function and not an object: the daemon has ended when it returns, whatever `body` did. `body` may end it before.
func withPrivateBus(
    _ body: (_ address: String, _ daemon: PrivateBus) async throws -> Void
) async throws {
    // Without a file, which a daemon that is killed would leave behind.
    let socket = "till-test-\(UInt64.random(in: 0 ... .max))"
    _ = try await run(
        .name("dbus-daemon"),
        arguments: ["--session", "--nofork", "--print-address", "--address=unix:abstract=\(socket)"],
        input: .none,
        output: .sequence,
        error: .discarded
    ) { daemon in
        var lines = daemon.standardOutput.strings().makeAsyncIterator()
        let address = try #require(await lines.next()).filter { !$0.isWhitespace }
        try await body(address, PrivateBus { try daemon.send(signal: .kill) })
        await daemon.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))])
    }
}

struct PrivateBus {
    /// Ends the daemon as a crash does.
    let kill: () throws -> Void
}

import Subprocess

/// Runs `body` against a real bus of its own, so that a test meets the daemon's behaviour and never the machine's.
///
/// A function and not an object: the daemon has ended when it returns, whatever `body` did. `body` may end it before.
/// - Parameter rules: The daemon's option for the bus' settings; a session's unless a test has its own.
public func withPrivateBus(
    rules: String = "--session",
    _ body: (_ address: String, _ daemon: PrivateBus) async throws -> Void
) async throws {
    // Without a file, which a daemon that is killed would leave behind.
    let socket = "till-test-\(UInt64.random(in: 0 ... .max))"
    _ = try await run(
        .name("dbus-daemon"),
        arguments: [rules, "--nofork", "--print-address", "--address=unix:abstract=\(socket)"],
        input: .none,
        output: .sequence,
        error: .discarded
    ) { daemon in
        var lines = daemon.standardOutput.strings().makeAsyncIterator()
        guard let line = try await lines.next() else { throw PrivateBus.NotStarted() }
        try await body(line.filter { !$0.isWhitespace }, PrivateBus { try daemon.send(signal: .kill) })
        await daemon.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))])
    }
}

/// The daemon of a private bus.
public struct PrivateBus {
    /// Ends the daemon as a crash does.
    public let kill: () throws -> Void

    /// The daemon ended before it said where it listens.
    struct NotStarted: Error {}
}

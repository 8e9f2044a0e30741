import Ethereum
import Glibc
import WalletConnect
import WebSocket

// A wallet for sessions, as small as it gets: scans a code, agrees, and signs typed data with a fresh key until the dapp ends the
// session. For a dapp of one's own, such as a terminal at a sandbox: it signs whatever it is asked.
//   till-example-connect <relay> [<project ID>]
// The code is read from standard input: whoever has it reads the session.

/// A line, out at once.
@Sendable func say(_ line: String) {
    print(line)
    _ = fflush(nil)
}

/// Returns when the session is over.
func serve(_ code: String, _ relay: String, _ project: String?) async throws {
    // Storage in memory: the session ends with the program. A wallet that lasts gives `storage:` and `memory:` of its own.
    let online = try await OnlineClient(
        metadata: AppMetadata(name: "Example wallet", description: "", url: "https://wallet.example", icons: []),
        projectID: project,
        relayURL: relay
    )
    let flow = SessionFlow(client: online.client, key: PrivateKey(), say: say)
    // The client works while its `run()` runs, which is here as long as the session lasts.
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await online.run() }
        group.addTask { try await flow.serve(code) }
        defer { group.cancelAll() }
        _ = try await group.next()
    }
}

let arguments = CommandLine.arguments.dropFirst()
guard let relay = arguments.first, arguments.count <= 2, let code = readLine() else {
    say("usage: till-example-connect <relay> [<project ID>], with the code in standard input")
    exit(64)  // EX_USAGE. Source: sysexits.h.
}
do { try await serve(code, relay, arguments.dropFirst().first) } catch {
    say("Stopped: \(error)")
    exit(1)
}

import FoundationEssentials
import Subprocess
import SystemPackage
import Testing
import TestSupport
import WebSocket

@testable import WalletConnect

@Suite("A relay that remembers", .timeLimit(.minutes(2)))
struct RestartTests {
    private struct Ready: Decodable { let url: String }
    private let topic = Topic.numbered(9)

    /// Runs the program until `body` ends, then kills it as a power cut would: no handler runs.
    private func killed<Value: Sendable>(
        after body: @Sendable @escaping (String) async throws -> Value,
        state: FilePath
    ) async throws -> Value {
        let result = try await run(
            .path(FilePath(BuildFolder.program("till-sandbox"))),
            arguments: ["relay", "--state", state.string],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            var lines = execution.standardOutput.strings().makeAsyncIterator()
            guard let line = try await lines.next() else { throw CancellationError() }
            let ready = try JSONDecoder().decode(Ready.self, from: Data(line.utf8))
            do {
                let value = try await body(ready.url)
                try execution.send(signal: .kill)
                return value
            } catch {
                try? execution.send(signal: .kill)
                throw error
            }
        }
        return result.closureResult
    }

    private func publication(_ message: String) -> RelayPublication {
        RelayPublication(topic: topic, message: message, tag: 1108, ttlSeconds: 300, prompt: true)
    }

    @Test func `What it confirmed is there after a kill, and what was taken does not come again`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "relay-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let state = FilePath(folder.path()).appending("relay.state")
        let (sender, receiver) = (RelayIdentity(), RelayIdentity())

        try await killed(
            after: { url in
                let dapp = try LiveClient(url, identity: sender) { $0.deadline = .seconds(5) }
                let wallet = try LiveClient(url, identity: receiver) { $0.deadline = .seconds(5) }
                try? await wallet.client.subscribe(topic: topic)
                try await dapp.running {
                    try await wallet.running {
                        try await wallet.connected()
                        try await dapp.client.publishUntilConfirmed(publication("taken"))
                        #expect(await wallet.take(1) == ["taken"])
                        // Its acknowledgement went over the same connection before this.
                        try await wallet.client.unsubscribe(topic: Topic.numbered(10))
                        try await wallet.client.subscribe(topic: Topic.numbered(11))
                    }
                    for number in 0..<20 { try await dapp.client.publish(publication("\(number)")) }
                }
            },
            state: state
        )
        try await killed(
            after: { url in
                let wallet = try LiveClient(url, identity: receiver) { $0.deadline = .seconds(5) }
                try? await wallet.client.subscribe(topic: topic)
                try await wallet.running {
                    // A fresh memory: it is the relay that must know what was taken.
                    #expect(Set(await wallet.take(20)) == Set((0..<20).map { "\($0)" }))
                    try? await wallet.client.subscribe(topic: topic)
                    #expect(await wallet.client.status.counts.received == 20)
                }
            },
            state: state
        )
        // The last line may be half written: it was confirmed to nobody.
        let file = try FileDescriptor.open(state, .writeOnly, options: .append)
        try file.closeAfter { _ = try file.writeAll(Array("half a li".utf8)) }
        try await killed(
            after: { url in
                let late = try LiveClient(url) { $0.deadline = .seconds(5) }
                try? await late.client.subscribe(topic: topic)
                try await late.running { #expect(await late.take(21).count == 21) }
            },
            state: state
        )
    }
}

import Testing

@testable import WalletConnect

/// A client that stops lets everybody go who waits for it.
struct StoppingTests {
    @Test(.timeLimit(.minutes(1))) func whoeverWaitsForTheStorageIsLetGoWhenTheClientStops() async throws {
        let store = HeldStore()
        let client = try await SignClient(
            metadata: .terminal,
            relay: RelayHub().port(1),
            storage: store,
            clock: TestClock(),
            random: TestRandom(seed: 1)
        )
        let running = Task { try await client.run() }
        let wish = try Example.wish()
        let callers = (0..<4).map { _ in Task { try await client.connect(namespaces: wish) } }
        // One is in the storage, and the others wait for it.
        while await client.queue.count < 3 { await Task.yield() }
        running.cancel()
        try? await running.value
        await store.release()
        for caller in callers { await #expect(throws: SignError.stopped) { try await caller.value } }
    }
}

/// Storage that writes nothing before it is told to.
private actor HeldStore: KeyValueStore {
    private var isHeld = true
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func release() {
        isHeld = false
        for writer in waiting { writer.resume() }
        waiting = []
    }

    func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue] {
        await Task.yield()
        return [:]
    }

    func apply(_ changes: [StorageChange]) async throws(StorageFailure) {
        if isHeld { await withCheckedContinuation { waiting.append($0) } }
    }
}

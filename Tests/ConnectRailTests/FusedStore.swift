import Payments
import TerminalTestSupport
import WalletConnect

/// The wallets' store, which loses its power with the journal.
struct FusedStore: KeyValueStore {
    let store: MemoryStore
    let fuse: Fuse

    func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue] {
        await Task.yield()
        return try await store.values(prefix: prefix)
    }

    func apply(_ changes: [StorageChange]) async throws(StorageFailure) {
        await Task.yield()
        do throws(JournalError) { try fuse.pass() } catch { throw StorageFailure(reason: "the power is out") }
        try await store.apply(changes)
        fuse.burn()
    }
}

import Foundation
import GRDB
import Journal
import Locks
import Payments
import Terminal
import Testing
import TestSupport
import WalletConnect

/// The WalletConnect client's memory on a real file.
struct ConnectArchiveTests {
    let folder: Folder
    let clock = SetClock()

    init() throws { folder = try Folder() }

    @Test func aClientsMemoryOutlivesTheProgram() async throws {
        let store = ConnectStore(journal: try folder.open(), clock: clock)
        try await store.apply([
            .set(name: "wc2/pairing/a", value: StoredValue([1])), .set(name: "wc2/pairing/b", value: StoredValue([2])),
            .remove(name: "wc2/pairing/none"),
        ])
        try await store.apply([.remove(name: "wc2/pairing/a"), .set(name: "wc2/x", value: StoredValue([3]))])
        try await store.apply([])
        try folder.close()
        let again = ConnectStore(journal: try folder.open(), clock: clock)
        #expect(
            try await again.values(prefix: "wc2/") == ["wc2/pairing/b": StoredValue([2]), "wc2/x": StoredValue([3])]
        )
        #expect(try await again.values(prefix: "wc2/pairing/") == ["wc2/pairing/b": StoredValue([2])])
    }

    @Test func aDamagedRowIsSaidInASentenceAndCanBeForgotten() async throws {
        let store = ConnectStore(journal: try folder.open(), clock: clock)
        try await store.apply([
            .set(name: "wc2/a", value: StoredValue([1])), .set(name: "wc2/b", value: StoredValue([2])),
        ])
        try folder.close()
        let file = try DatabaseQueue(path: folder.path + "/journal.sqlite")
        try await file.write { db in
            try db.execute(sql: "UPDATE connect SET sealed = CAST(sealed || x'00' AS BLOB) WHERE name = 'wc2/b'")
        }
        try file.close()
        let again = ConnectStore(journal: try folder.open(), clock: clock)
        await expectFailure("wc2/b", "restore a backup") { _ = try await again.values(prefix: "wc2/") }
        try await again.forgetEverything()
        #expect(try await again.values(prefix: "").isEmpty)
        try await again.apply([.set(name: "wc2/a", value: StoredValue([5]))])
        #expect(try await again.values(prefix: "wc2/") == ["wc2/a": StoredValue([5])])
    }

    @Test func anotherDevicesKeyOpensNothing() async throws {
        let store = ConnectStore(journal: try folder.open(), clock: clock)
        try await store.apply([.set(name: "wc2/a", value: StoredValue([1]))])
        try folder.close()
        let other = ConnectStore(journal: try folder.open(key: "other.key"), clock: clock)
        await expectFailure("wc2/a", "another device's key") { _ = try await other.values(prefix: "wc2/") }
    }

    @Test func aJournalThatIsClosedIsAFailureAndNotAnEmptyMemory() async throws {
        let store = ConnectStore(journal: try folder.open(), clock: clock)
        let memory = ConnectRelayMemory(journal: try #require(folder.journal), clock: clock)
        try folder.close()
        await expectFailure("closed") { _ = try await store.values(prefix: "") }
        await expectFailure("closed") { try await store.apply([.remove(name: "a")]) }
        await expectFailure("closed") { _ = try await memory.knows(RelayMark(topic: "t", message: "m")) }
        await expectFailure("closed") { try await memory.remember(RelayMark(topic: "t", message: "m"), until: 1) }
    }

    @Test func namesThatTheStoreDoesNotPromiseAreRefusedWithTheirWholeBatch() async throws {
        let store = ConnectStore(journal: try folder.open(), clock: clock)
        for name in ["", "a b", "ä", "a\u{0}", String(repeating: "a", count: 201)] {
            await expectFailure("name") {
                try await store.apply([.set(name: "good", value: StoredValue([1])), .remove(name: name)])
            }
        }
        #expect(try await store.values(prefix: "").isEmpty)
        try await store.apply([.set(name: String(repeating: "a", count: 200), value: StoredValue([1]))])
    }

    @Test func aMessageIsKnownAfterARestartAndForgottenWhenNoCopyCanCome() async throws {
        let mark = RelayMark(topic: "t", message: "envelope")
        let memory = ConnectRelayMemory(journal: try folder.open(), clock: clock)
        #expect(try await !memory.knows(mark))
        try await memory.remember(mark, until: clock.seconds + 60)
        try folder.close()
        let again = ConnectRelayMemory(journal: try folder.open(), clock: clock)
        #expect(try await again.knows(mark))
        #expect(try await !again.knows(RelayMark(topic: "t", message: "another")))
        clock.advance(seconds: 61)
        #expect(try await !again.knows(mark))
    }

    @Test func noMoreMessagesAreRememberedThanTheLimit() async throws {
        let memory = ConnectRelayMemory(journal: try folder.open(), clock: clock, limit: 3)
        let marks = (0..<5).map { RelayMark(topic: "t", message: "\($0)") }
        for mark in marks { try await memory.remember(mark, until: clock.seconds + 60) }
        var known: [Bool] = []
        for mark in marks { known.append(try await memory.knows(mark)) }
        #expect(known == [false, false, true, true, true])
    }

    private func expectFailure(
        _ words: String...,
        by body: () async throws -> Void,
        at location: SourceLocation = #_sourceLocation
    ) async {
        do {
            try await body()
            Issue.record("no failure", sourceLocation: location)
        } catch let failure as StorageFailure {
            for word in words { #expect(failure.reason.contains(word), sourceLocation: location) }
        } catch {
            Issue.record("\(error)", sourceLocation: location)
        }
    }
}

extension ConnectArchiveTests {
    /// A journal's folder that goes with the value that names it.
    final class Folder {
        let path = NSTemporaryDirectory() + "till-connect-\(UUID().uuidString)"
        private(set) var journal: Journal?

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        func open(key: String = "device.key") throws -> Journal {
            let opened = try Journal.open(
                directory: path,
                deviceKey: DeviceKey.loadOrCreate(at: "\(path)/\(key)")
            )
            journal = opened
            return opened
        }

        func close() throws {
            try journal?.close()
            journal = nil
        }

        deinit {
            try? journal?.close()
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// A clock that a test sets.
    final class SetClock: WallClock {
        private let milliseconds = Mutex<Int64>(1_790_000_000_000)
        var nowMilliseconds: Int64 { milliseconds.withLock { $0 } }
        var seconds: Int64 { nowMilliseconds / 1000 }
        func advance(seconds: Int64) { milliseconds.withLock { $0 += seconds * 1000 } }
        func sleep(for duration: Duration) async throws {}
    }
}

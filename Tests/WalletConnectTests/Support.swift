import Foundation
import Locks
import StrictJSON
import Testing
import TestSupport

@testable import WalletConnect

/// Reads the data files beside these tests.
enum Vectors {
    static func load(_ name: String) throws -> ExactJSON {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")
        let bytes = try Data(contentsOf: folder.appending(path: "\(name).json"))
        return try ExactJSON(parsing: Array(bytes), limits: .init(bytes: 1_000_000, depth: 64))
    }
}

extension ExactJSON {
    struct Missing: Error { let name: String }

    func at(_ path: String...) throws -> ExactJSON {
        try path.reduce(self) { json, name in
            guard let value = json.value(named: name) else { throw Missing(name: name) }
            return value
        }
    }

    func text(_ name: String) throws -> String {
        guard let text = value(named: name)?.string else { throw Missing(name: name) }
        return text
    }

    func list(_ name: String) throws -> [ExactJSON] {
        guard let list = value(named: name)?.elements else { throw Missing(name: name) }
        return list
    }

    /// The same with every object's members in order, to compare values regardless of it.
    var sorted: ExactJSON {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(members.map { .init($0.name, $0.value.sorted) }.sorted { $0.name < $1.name })
        default: self
        }
    }
}

/// Bytes by a seed, or by a list that runs first.
final class TestRandom: RandomSource {
    private let state: Mutex<(script: [[UInt8]], generator: SeededGenerator)>

    init(seed: UInt64, script: [[UInt8]] = []) { state = Mutex((script, SeededGenerator(seed: seed))) }

    func append(_ bytes: [UInt8]) { state.withLock { $0.script.append(bytes) } }

    func bytes(_ count: Int) -> [UInt8] {
        state.withLock { state in
            if let first = state.script.first {
                state.script.removeFirst()
                precondition(first.count == count, "the script has \(first.count) bytes where \(count) are asked for")
                return first
            }
            return (0..<count).map { _ in UInt8.random(in: 0...255, using: &state.generator) }
        }
    }
}

/// Time that passes when the test says so.
final class TestClock: WallClock {
    private struct State {
        var now: Int64
        var sleepers: [UInt64: (until: Int64, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var next: UInt64 = 0
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    init(_ nowMilliseconds: Int64 = 1_800_000_000_000) { state = Mutex(State(now: nowMilliseconds)) }

    var nowMilliseconds: Int64 { state.withLock(\.now) }

    func sleep(for duration: Duration) async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    guard !Task.isCancelled else {
                        continuation.resume(throwing: CancellationError())
                        return []
                    }
                    state.sleepers[number] = (state.now + duration.components.seconds * 1000, continuation)
                    let ready = state.watchers.filter { $0.count <= state.sleepers.count }
                    state.watchers.removeAll { $0.count <= state.sleepers.count }
                    return ready.map(\.continuation)
                }
                for watcher in ready { watcher.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Lets time pass once `clients` clients wait for it, so that each of them sees it.
    func advance(seconds: Int64, clients: Int) async {
        await asleep(clients)
        let woken = state.withLock { state in
            state.now += seconds * 1000
            let woken = state.sleepers.filter { $0.value.until <= state.now }
            for number in woken.keys { state.sleepers[number] = nil }
            return woken.values.map(\.continuation)
        }
        for sleeper in woken { sleeper.resume() }
        await asleep(clients)
    }

    private func asleep(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// Storage that can be told to fail.
actor TestStore: KeyValueStore {
    private let memory = MemoryStore()
    private(set) var isBroken = false
    private(set) var batches: [[StorageChange]] = []

    func breakDown(_ isBroken: Bool) { self.isBroken = isBroken }

    func values(prefix: String) async throws(StorageFailure) -> [String: StoredValue] {
        await Task.yield()
        return try await memory.values(prefix: prefix)
    }

    func apply(_ changes: [StorageChange]) async throws(StorageFailure) {
        await Task.yield()
        guard !isBroken else { throw StorageFailure(reason: "disk full") }
        batches.append(changes)
        try await memory.apply(changes)
    }
}

extension AppMetadata {
    static let terminal = AppMetadata(name: "Terminal", description: "", url: "https://shop.example", icons: [])
    static let wallet = AppMetadata(name: "Wallet", description: "", url: "https://wallet.example", icons: [])
}

extension Blockchain {
    static func example(_ text: String) throws -> Blockchain { try #require(Blockchain(text)) }
}

enum Example {
    static let address = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"

    static func wish(
        _ chains: [String] = ["eip155:1"],
        methods: [String] = ["eth_sendTransaction", "personal_sign"]
    ) throws -> [String: ProposalNamespace] {
        [
            "eip155": ProposalNamespace(
                chains: try chains.map(Blockchain.example),
                methods: methods,
                events: ["chainChanged"]
            )
        ]
    }

    static func grant(
        _ chains: [String] = ["eip155:1"],
        methods: [String] = ["eth_sendTransaction", "personal_sign"]
    ) throws -> [String: SessionNamespace] {
        [
            "eip155": SessionNamespace(
                chains: try chains.map(Blockchain.example),
                accounts: try chains.map { try #require(Account("\($0):\(address)")) },
                methods: methods,
                events: ["chainChanged"]
            )
        ]
    }
}

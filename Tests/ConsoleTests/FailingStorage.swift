import Journal
import Locks
import Payments

@testable import Console

/// The journal, but for documents that a test says cannot be written.
final class FailingStorage: Keeping {
    private let journal: Journal
    private let failing = Mutex<Set<String>>([])
    private let held = Mutex<Held?>(nil)

    private struct Held {
        var arrived: AsyncStream<Never>.Continuation
        var release: AsyncStream<Never>
    }

    init(_ journal: Journal) { self.journal = journal }

    /// From now on only these cannot be written.
    func fail(_ names: String...) { failing.withLock { $0 = Set(names) } }

    /// Holds the next write of a document back.
    /// - Returns: A stream that ends when the write is there, and what lets it through.
    func holdNextWrite() -> (arrived: AsyncStream<Never>, release: AsyncStream<Never>.Continuation) {
        let arrived = AsyncStream.makeStream(of: Never.self)
        let release = AsyncStream.makeStream(of: Never.self)
        held.withLock { $0 = Held(arrived: arrived.continuation, release: release.stream) }
        return (arrived.stream, release.continuation)
    }

    func document(_ name: String) async throws(JournalError) -> StoredDocument? { try await journal.document(name) }

    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        await Task.yield()
        guard !failing.withLock({ $0.contains(name) }) else { throw .unavailable(detail: "the storage is full") }
        let held = held.withLock { held in
            defer { held = nil }
            return held
        }
        if let held {
            held.arrived.finish()
            for await _ in held.release {}
        }
        return try await journal.setDocument(name, bytes, expecting: expectation, by: actor, at: time)
    }

    func secret(_ name: String) async throws(JournalError) -> [UInt8]? { try await journal.secret(name) }

    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange?,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        await Task.yield()
        guard !failing.withLock({ $0.contains(name) }) else { throw .unavailable(detail: "the storage is full") }
        return try await journal.setDocument(name, bytes, expecting: expectation, with: secret, by: actor, at: time)
    }

    func audit(_ entry: AuditEntry) async throws(JournalError) { try await journal.audit(entry) }
}

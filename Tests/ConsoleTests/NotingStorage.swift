import Journal
import Payments
import Testing
import TestSupport

@testable import Console

/// The journal, which says of each document and audit row that it is kept now.
final class NotingStorage: Keeping {
    private let journal: Journal
    private let noted = AsyncStream.makeStream(of: String.self)

    init(_ journal: Journal) { self.journal = journal }

    /// Waits until something of that name was kept.
    func until(_ name: String) async { for await kept in noted.stream where kept == name { return } }

    func document(_ name: String) async throws(JournalError) -> StoredDocument? { try await journal.document(name) }

    func secret(_ name: String) async throws(JournalError) -> [UInt8]? { try await journal.secret(name) }

    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange?,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        defer { noted.continuation.yield(name) }
        return try await journal.setDocument(name, bytes, expecting: expectation, with: secret, by: actor, at: time)
    }

    func audit(_ entry: AuditEntry) async throws(JournalError) {
        defer { noted.continuation.yield(entry.what) }
        try await journal.audit(entry)
    }
}

/// A terminal whose storage says what it has kept.
func withNotingConsole(
    webhooks: (any WebhookCarrier)? = nil,
    events: (any EventSink)? = nil,
    in folder: TemporaryFolder? = nil,
    _ body: (Page, NotingStorage) async throws -> Void
) async throws {
    var made: NotingStorage?
    let keep = { (journal: Journal) -> any Keeping in
        let storage = NotingStorage(journal)
        made = storage
        return storage
    }
    try await withConsole(keepingIn: keep, webhooks: webhooks, events: events, in: folder) { page in
        try await body(page, try #require(made))
    }
}

import Journal
import Payments

/// What the console keeps: its small documents and the audit log. The journal does it; in tests, a storage that fails too.
protocol Keeping: Sendable {
    func document(_ name: String) async throws(JournalError) -> StoredDocument?

    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange

    func secret(_ name: String) async throws(JournalError) -> [UInt8]?

    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange?,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange

    func audit(_ entry: AuditEntry) async throws(JournalError)
}

extension Journal: Keeping {}

extension Keeping {
    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        try await setDocument(name, bytes, expecting: expectation, with: nil, by: actor, at: time)
    }
}

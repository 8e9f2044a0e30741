import Journal
import Locks
import Payments
import Terminal
import TerminalTestSupport

struct FusedTapJournal: TapJournal {
    let journal: Journal
    let fuse: Fuse

    func append(_ entries: [TapEntry], vouchers: [TapVoucher]) async throws(JournalError) {
        try fuse.pass()
        await Task.yield()
        try fuse.allows(entries)
        try await journal.append(entries, vouchers: vouchers)
        fuse.burn()
    }
    func tapEntries(of charge: ChargeID, attempt: Attempt.ID) async throws(JournalError) -> [TapEntry] {
        try await journal.tapEntries(of: charge, attempt: attempt)
    }
    func tapEntries(ofPayment payment: String) async throws(JournalError) -> [TapEntry] {
        if fuse.unreadable.withLock({ $0.contains(payment) }) { throw .corrupt(detail: "changed by somebody") }
        return try await journal.tapEntries(ofPayment: payment)
    }
    func tapPayments(with kind: String, without other: String) async throws(JournalError) -> [String] {
        try await journal.tapPayments(with: kind, without: other)
    }
    func tapVouchers() async throws(JournalError) -> [TapVoucher] { try await journal.tapVouchers() }
    func forget(vouchers passes: [String]) async throws(JournalError) { try await journal.forget(vouchers: passes) }
    func document(_ name: String) async throws(JournalError) -> StoredDocument? { try await journal.document(name) }
    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange?,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        try fuse.pass()
        return try await journal.setDocument(name, bytes, expecting: expectation, with: secret, by: actor, at: time)
    }
}

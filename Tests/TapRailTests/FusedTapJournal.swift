import Journal
import Locks
import Payments
import Terminal
import TerminalTestSupport
import TestSupport

struct FusedTapJournal: TapJournal {
    let journal: Journal
    let fuse: Fuse
    let executor: SimulationExecutor

    private func work<Value>(
        _ work: (Journal) async throws(JournalError) -> Value
    ) async throws(JournalError) -> Value {
        try await executor.elsewhere { () async throws(JournalError) in try await work(journal) }
    }

    func append(_ entries: [TapEntry], vouchers: [TapVoucher]) async throws(JournalError) {
        try fuse.pass()
        await Task.yield()
        try fuse.allows(entries)
        try await work { journal async throws(JournalError) in try await journal.append(entries, vouchers: vouchers) }
        fuse.burn()
    }
    func tapEntries(of charge: ChargeID, attempt: Attempt.ID) async throws(JournalError) -> [TapEntry] {
        try await work { journal async throws(JournalError) in
            try await journal.tapEntries(of: charge, attempt: attempt)
        }
    }
    func tapEntries(ofPayment payment: String) async throws(JournalError) -> [TapEntry] {
        if fuse.unreadable.withLock({ $0.contains(payment) }) { throw .corrupt(detail: "changed by somebody") }
        return try await work { journal async throws(JournalError) in try await journal.tapEntries(ofPayment: payment) }
    }
    func tapPayments(with kind: String, without other: String) async throws(JournalError) -> [String] {
        try await work { journal async throws(JournalError) in try await journal.tapPayments(with: kind, without: other)
        }
    }
    func tapVouchers() async throws(JournalError) -> [TapVoucher] {
        try await work { journal async throws(JournalError) in try await journal.tapVouchers() }
    }
    func forget(vouchers passes: [String]) async throws(JournalError) {
        try await work { journal async throws(JournalError) in try await journal.forget(vouchers: passes) }
    }
    func document(_ name: String) async throws(JournalError) -> StoredDocument? {
        try await work { journal async throws(JournalError) in try await journal.document(name) }
    }
    func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange?,
        by actor: Payments.Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        try fuse.pass()
        return try await work { journal async throws(JournalError) in
            try await journal.setDocument(name, bytes, expecting: expectation, with: secret, by: actor, at: time)
        }
    }
}

public import Payments

/// A journal that can also be looked through. The desk writes to it and answers from it.
public protocol ChargeArchive: ChargeJournal {
    /// A charge and when it last changed; nil when there is none of that name.
    func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)?

    /// Newest first. `before` continues after the last one of an earlier page.
    func records(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)]
}

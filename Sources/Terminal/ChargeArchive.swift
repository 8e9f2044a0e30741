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

    /// Charges with news that nobody has said they have seen, newest first; only those that changed since `time`.
    func unseen(since time: WallTime, limit: Int) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)]

    /// Charges with a refund that the gateway has not confirmed.
    func withAskedRefunds(limit: Int) async throws(JournalError) -> [Charge]

    /// Charges that ended unpaid and last changed since `time`, oldest first.
    func unpaid(since time: WallTime) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)]

    /// Charges by the time they were opened, oldest first. `after` continues after the last one of an earlier page.
    func charges(
        from: WallTime,
        until: WallTime,
        after: ChargeID?,
        limit: Int
    ) async throws(JournalError) -> [Charge]
}

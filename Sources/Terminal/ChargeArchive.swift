public import Journal
public import Payments

/// A journal that can also be looked through. The desk writes to it and answers from it.
public protocol ChargeArchive: ChargeJournal {
    /// Appends what happened to a charge, in this order, with what was noted of its payment over BLE: all of it or nothing.
    /// Returns once it survives a power cut; act on it only then.
    /// - Parameter charge: The charge after all of it.
    func append(
        _ events: [Charge.Event],
        to charge: Charge,
        at time: WallTime,
        with notes: TapNotes
    ) async throws(JournalError)

    /// Why nothing can be recorded now; nil where it can. Writes something after a write that failed.
    func writeFault() async -> JournalError?

    /// A charge and when it last changed; nil when there is none of that name.
    func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)?

    /// Charges that a payment of this name was made or paid for, oldest first.
    func charges(ofPayment name: String) async throws(JournalError) -> [Charge]

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

extension ChargeArchive {
    public func append(_ event: Charge.Event, to charge: Charge, at time: WallTime) async throws(JournalError) {
        try await append([event], to: charge, at: time, with: TapNotes())
    }
}

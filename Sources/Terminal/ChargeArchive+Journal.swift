public import Journal
public import Payments

extension Journal: ChargeArchive {
    public func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)? {
        try await charge(id).map { ($0.charge, $0.updatedAt) }
    }

    public func charges(ofPayment name: String) async throws(JournalError) -> [Charge] {
        try await records(ofPayment: name).map(\.charge)
    }

    public func records(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await charges(before: before, limit: limit, state: state).map { ($0.charge, $0.updatedAt) }
    }

    public func unseen(
        since time: WallTime,
        limit: Int
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await unseenCharges(since: time, limit: limit).map { ($0.charge, $0.updatedAt) }
    }

    public func withAskedRefunds(limit: Int) async throws(JournalError) -> [Charge] {
        try await chargesWithAskedRefunds(limit: limit)
    }

    public func unpaid(since time: WallTime) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await endedUnpaid(since: time).map { ($0.charge, $0.updatedAt) }
    }

    public func charges(
        from: WallTime,
        until: WallTime,
        after: ChargeID?,
        limit: Int
    ) async throws(JournalError) -> [Charge] {
        try await charges(openedFrom: from, until: until, after: after, limit: limit).map(\.charge)
    }
}

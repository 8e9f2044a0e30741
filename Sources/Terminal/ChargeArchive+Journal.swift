public import Journal
public import Payments

extension Journal: ChargeArchive {
    public func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)? {
        try await charge(id).map { ($0.charge, $0.updatedAt) }
    }

    public func records(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await charges(before: before, limit: limit, state: state).map { ($0.charge, $0.updatedAt) }
    }
}

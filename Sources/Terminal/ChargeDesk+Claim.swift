import Journal
import Payments

/// What a rail keeps of a claim in the same step in which the charge grants it.
struct ClaimRecords: Sendable {
    let notes: TapNotes
    /// What the claim means for the charge.
    let following: Charge.Event
    /// Ends when the customer has been told. Until then the desk tells nobody and records nothing.
    let isTold: AsyncStream<Never>
}

/// Two ways to pay one charge: whoever agrees first holds the other back, with its authority's word, before money moves.
extension ChargeDesk {
    func claim(_ id: Attempt.ID, of charge: ChargeID, tipMinorUnits tip: Int64) async -> ClaimAnswer {
        if let (answer, _) = await claimNow(id, of: charge, tipMinorUnits: tip, keeping: nil) { return answer }
        // Each snapshot may be the one after which nothing else can be paid.
        for await _ in snapshots() {
            if let answer = await settle(id, of: charge, by: .claimed(attempt: id)) { return answer }
        }
        return .refused(.unrecorded)
    }

    /// The answer that there is without waiting for another attempt to be taken back; nil where there is none, and the wish
    /// is recorded then.
    /// - Parameter records: What the rail keeps in the same step, where the claim is granted in it.
    func claimNow(
        _ id: Attempt.ID,
        of key: ChargeID,
        tipMinorUnits tip: Int64,
        keeping records: ClaimRecords?
    ) async -> (answer: ClaimAnswer, isKept: Bool)? {
        do throws(JournalError) {
            let events: [Charge.Event] = [.claimWanted(attempt: id, tipMinorUnits: tip), .claimed(attempt: id)]
            let recorded = try await record(events, of: key) { before, after in
                after.attempt(id)?.isClaimed == true && before.attempt(id)?.isClaimed == false ? records : nil
            }
            guard let recorded else { return (.refused(.over), false) }
            return answer(id, recorded.charge).map { ($0, recorded.isKept) }
        } catch { return (.refused(.unrecorded), false) }
    }

    /// The answer after an event, or nil while another attempt can still be paid.
    private func settle(_ id: Attempt.ID, of key: ChargeID, by event: Charge.Event) async -> ClaimAnswer? {
        do throws(JournalError) {
            guard let charge = try await record(event, of: key) else { return .refused(.over) }
            return answer(id, charge)
        } catch { return .refused(.unrecorded) }
    }

    private func answer(_ id: Attempt.ID, _ charge: Charge) -> ClaimAnswer? {
        guard let attempt = charge.attempt(id), attempt.isOpen else { return .refused(.over) }
        switch attempt.claim {
        case .made: return .granted
        case .wanted: return nil
        case nil:
            // A journal that failed for the wish leaves it unheard; everything else that takes it away is the charge's.
            return .refused(charge.isBeaten(id) ? .beaten : .over)
        }
    }
}

extension Attempt {
    fileprivate var isClaimed: Bool { if case .made? = claim { true } else { false } }
}

extension Charge {
    /// Whether another attempt of this charge moves money or has moved it.
    fileprivate func isBeaten(_ id: Attempt.ID) -> Bool {
        attempts.contains { other in
            guard other.id != id else { return false }
            if case .offered(_, let progress) = other.phase { return progress.isProcessing }
            if case .ended(.succeeded, _) = other.phase { return true }
            return false
        }
    }
}

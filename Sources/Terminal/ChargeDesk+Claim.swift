import Payments

/// Two ways to pay one charge: whoever agrees first holds the other back, with its authority's word, before money moves.
extension ChargeDesk {
    func claim(_ id: Attempt.ID, of charge: ChargeID, tipMinorUnits tip: Int64) async -> ClaimAnswer {
        if let answer = await settle(id, of: charge, by: .claimWanted(attempt: id, tipMinorUnits: tip)) {
            return answer
        }
        // Each snapshot may be the one after which nothing else can be paid.
        for await _ in snapshots() {
            if let answer = await settle(id, of: charge, by: .claimed(attempt: id)) { return answer }
        }
        return .refused(.unrecorded)
    }

    /// The answer after an event, or nil while another attempt can still be paid.
    private func settle(_ id: Attempt.ID, of key: ChargeID, by event: Charge.Event) async -> ClaimAnswer? {
        let charge: Charge?
        do throws(JournalError) { charge = try await record(event, of: key) } catch { return .refused(.unrecorded) }
        guard let charge, let attempt = charge.attempt(id), attempt.isOpen else { return .refused(.over) }
        switch attempt.claim {
        case .made: return .granted
        case .wanted: return nil
        case nil:
            // A journal that failed for the wish leaves it unheard; everything else that takes it away is the charge's.
            return .refused(charge.isBeaten(id) ? .beaten : .over)
        }
    }
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

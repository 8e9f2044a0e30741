import Payments

extension ChargeDesk {
    /// The way to an attempt for a rail that has news of it by itself: of what was taken offline, or given back.
    /// - Returns: Nil where the journal has no such attempt, or cannot say so.
    func link(to charge: ChargeID, attempt id: Attempt.ID) async -> AttemptLink? {
        guard let found = try? await current(charge), found.attempt(id) != nil else { return nil }
        return AttemptLink(
            terms: found.terms,
            id: id,
            read: { (try? await self.current(charge))?.attempt(id) },
            write: { event in await self.note(event, of: charge)?.attempt(id) },
            charge: { try? await self.current(charge) },
            claim: { tip in await self.claim(id, of: charge, tipMinorUnits: tip) },
            claimNow: { tip, records in
                await self.claimNow(id, of: charge, tipMinorUnits: tip, keeping: records)
            },
            light: { await self.setGateway($0) }
        )
    }

    /// Takes what the station says of itself.
    func setTap(_ status: TapStatus) {
        guard tap != status else { return }
        tap = status
        publish()
    }

    /// Records news; what could not be recorded is said again by the rail.
    private func note(_ event: Charge.Event, of id: ChargeID) async -> Charge? {
        if let charge = try? await record(event, of: id) { return charge }
        return try? await current(id)
    }
}

extension Charge {
    /// The tag of an open payment over BLE, where phones have to read one first.
    var tagLink: String? { attempts.first { $0.isOpen && $0.rail == .tap && $0.claim == nil }?.offer?.link }
}

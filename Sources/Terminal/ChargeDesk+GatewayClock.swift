import Payments

/// The gateway's clock, as far as its answers tell it.
enum GatewayClock {
    /// The correction that a charge is opened with, in whole seconds; negative where the gateway's clock is behind. 0 where
    /// the clocks agree as far as an answer's date can tell, or nothing is known.
    ///
    /// Dates have whole seconds, and an answer takes up to two: see `DatedTransport`.
    static func correction(_ ahead: Duration?) -> Int64 {
        guard let seconds = believable(ahead)?.components.seconds, seconds.magnitude >= 5 else { return 0 }
        return seconds
    }

    /// The offset, or nil where no clock can be off by so much. A clock may be back in 1970; a larger offset was no date.
    static func believable(_ ahead: Duration?) -> Duration? {
        ahead.flatMap { $0.components.seconds.magnitude <= 3_000_000_000 ? $0 : nil }
    }
}

/// A customer's time is never longer than the gateway's.
extension ChargeDesk {
    /// Takes the end that the gateway has set for a payment. It makes the customer's time shorter, never longer.
    func shorten(_ id: ChargeID, by offer: Offer) {
        // The watch that began with the charge looks at a time that is too late then.
        if shortenQuietly(id, by: [offer]) { jobs.continuation.yield(.watchDeadline(id)) }
    }

    /// The same before anybody watches the time. True where it is shorter now.
    @discardableResult
    func shortenQuietly(_ id: ChargeID, by offers: [Offer]) -> Bool {
        guard let known = deadlines[id], let left = offers.compactMap(left).min() else { return false }
        let end = clock.elapsed() + left
        guard end < known else { return false }
        deadlines[id] = end
        return true
    }

    /// How long the gateway still lets an offer be paid, by its own clock; nil where it did not say so, or where its clock is
    /// not known and its end would be over already.
    func left(of offer: Offer) -> Duration? {
        guard let expiresAt = offer.expiresAt else { return nil }
        let ahead = GatewayClock.believable(gatewayAhead())
        let left = clock.wallTime().advanced(by: ahead ?? .zero).duration(to: expiresAt)
        return ahead == nil && left <= .zero ? nil : max(.zero, left)
    }
}

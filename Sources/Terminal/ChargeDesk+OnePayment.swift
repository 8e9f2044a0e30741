import Payments

/// One payment is for one attempt of one charge. An answer that names another's is a contradiction and not a second sale.
extension ChargeDesk {
    /// The events with every answer that names another attempt's payment turned into the contradiction it is.
    /// - Throws: ``JournalError``: the journal cannot say whose the payment is, so nothing is recorded.
    func held(_ events: [Charge.Event], against charge: Charge) async throws(JournalError) -> [Charge.Event] {
        var held: [Charge.Event] = []
        for event in events {
            guard let (attempt, payment) = event.namedPayment(new: charge),
                let owner = try await owner(of: payment, besides: attempt, of: charge)
            else {
                held.append(event)
                continue
            }
            held.append(.reported(attempt: attempt, report: .contradictory(what: "it names the payment of \(owner)")))
        }
        return held
    }

    /// Whose payment it is, in words for a log line; nil where it is this attempt's alone.
    private func owner(
        of payment: String,
        besides id: Attempt.ID,
        of charge: Charge
    ) async throws(JournalError) -> String? {
        if charge.attempts.contains(where: { $0.id != id && $0.names(payment: payment) }) {
            return "another way to pay this charge"
        }
        let other = try await archive.charges(ofPayment: payment).first { $0.id != charge.id }
        return other.map { "charge \($0.terms.code.rawValue)" }
    }
}

extension Charge.Event {
    /// The payment that this event would bring to an attempt for the first time; nil where it brings none.
    fileprivate func namedPayment(new charge: Charge) -> (attempt: Attempt.ID, payment: String)? {
        switch self {
        case .offered(let id, let offer):
            guard charge.attempt(id)?.offer == nil else { return nil }
            return (id, offer.paymentID)
        case .reported(let id, .succeeded(let evidence)):
            guard let attempt = charge.attempt(id), attempt.ending?.evidence == nil else { return nil }
            return (id, evidence.paymentID)
        default: return nil
        }
    }
}

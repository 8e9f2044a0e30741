import Payments

/// How things stand after a play, or in the middle of it.
struct Ending: Sendable {
    let scenario: ChargeScenario
    /// The charge as the journal has it.
    var charge: Charge?
    /// What the gateway has under the charge's reference.
    var payments: [Truth.Payment]
    /// Every word that the terminal said of the charge, in order and without repetition.
    var words: [Charge.State]
    /// Wrong words of others.
    var objections: [String]
    /// Whether the office knows that the payment is marked as given back.
    var isKnownAsRefunded: Bool
    /// Where each run of the program came by.
    var runs: [[Point]]
    /// How many of them there were while the faults lasted.
    var runsWithFaults: Int
    /// Where a run died.
    var deaths: [Point]
}

extension Ending {
    /// What is said of the payment although the gateway does not say it, at any time.
    /// - Parameter keepsKeys: Whether the gateway makes one payment of an order that is sent twice under one key.
    func wrongWord(keepsKeys: Bool) -> String? {
        if let objection = objections.first { return objection }
        guard let charge else { return nil }
        let truth = Set(payments.map(\.status))
        switch charge.state {
        case .succeeded: return truth.contains("succeeded") ? nil : "called paid, which it is not"
        case .failed, .expired, .cancelled:
            if truth.contains("succeeded") || truth.contains("processing") { return "called unpaid, which it is not" }
            return keepsKeys && truth.contains("requires_action") ? "called over, which it is not" : nil
        case .created, .requiresAction, .processing, .unknown: return nil
        }
    }

    /// What is wrong after half an hour of faults: neither agreement nor a terminal that says that it does not know.
    var falseCertainty: String? {
        guard let charge, !charge.state.isFinal, !charge.isUnresolved, charge.state != .unknown else { return nil }
        let word: String? =
            switch charge.state {
            case .requiresAction: "requires_action"
            case .processing: "processing"
            default: nil
            }
        let agrees = word.map { word in payments.contains { $0.status == word } } ?? payments.isEmpty
        return agrees ? nil : "says \(charge.state.rawValue) and not that it does not know"
    }

    /// What they differ in when all is over and the gateway speaks.
    func disagreement(keepsKeys: Bool) -> String? {
        guard let charge else {
            return payments.isEmpty ? nil : "the gateway has a payment and the journal no charge"
        }
        if keepsKeys, payments.count > 1 { return "made two payments of one charge" }
        let isOver = payments.allSatisfy { ["succeeded", "failed", "expired", "cancelled"].contains($0.status) }
        guard charge.state.isFinal || !isOver else {
            return "still \(charge.state.rawValue) though the gateway answers"
        }
        if charge.state.isFinal, payments.count == 1, payments[0].status != charge.state.rawValue {
            return "called \(charge.state.rawValue), and it is \(payments[0].status)"
        }
        if Set(words.filter(\.isFinal)).count > 1 { return "said one thing and then another" }
        let shouldBeRefunded = scenario == .refunded && charge.state == .succeeded
        if isKnownAsRefunded != shouldBeRefunded { return "the office does not know whether it is given back" }
        if payments.contains(where: \.refunded) != shouldBeRefunded { return "marked as given back, or not, unasked" }
        return nil
    }
}

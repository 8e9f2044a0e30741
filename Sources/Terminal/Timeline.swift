import Journal
public import Payments

/// One thing that happened to a charge, in words for staff.
public struct TimelineEntry: Sendable, Equatable {
    public let at: WallTime
    /// The event's name, for programs: `reported`.
    public let kind: String
    /// Who did or said it: `staff:Ada`, `gateway`, `acquirer`, `customer`, `terminal`.
    public let who: String
    public let rail: Rail?
    public let text: String
    /// What stands in the text and is no word, by name, for those who say it in another language. `case` tells apart what
    /// is said under one kind.
    public let values: [String: String]

    public init(at: WallTime, kind: String, who: String, rail: Rail?, text: String, values: [String: String]) {
        (self.at, self.kind, self.who, self.rail, self.text, self.values) = (at, kind, who, rail, text, values)
    }
}

extension HistoryDesk {
    /// So many entries are told; a charge has far fewer.
    private static let mostTold = 500

    /// Everything that happened to a charge, in its order. Empty where there is none of this name.
    /// - Throws: ``JournalError``.
    public func timeline(of id: ChargeID) async throws(JournalError) -> [TimelineEntry] {
        guard let charge = try await journal.charge(id)?.charge else { return [] }
        let format = await settings.current?.settings.format ?? .english
        return try await journal.events(of: id).prefix(Self.mostTold).map { stored in
            guard let event = stored.event else {
                return TimelineEntry(
                    at: stored.time,
                    kind: "opened",
                    who: charge.terms.openedBy.name,
                    rail: nil,
                    text: "The charge was opened for \(format.text(charge.terms.amount)).",
                    values: ["amount": format.text(charge.terms.amount)]
                )
            }
            return TimelineTeller(charge: charge, format: format).entry(event, at: stored.time)
        }
    }
}

/// Says what an event means to staff.
private struct TimelineTeller {
    let charge: Charge
    let format: AmountFormat

    func entry(_ event: Charge.Event, at time: WallTime) -> TimelineEntry {
        let (attempt, kind, who, text) = words(event)
        var values = values(of: event)
        let rail = attempt.flatMap { charge.attempt($0)?.rail }
        let authority = rail?.authority ?? .gateway
        if text.namesAuthority { values["case"] = (values["case"].map { "\($0)_" } ?? "") + authority.rawValue }
        return TimelineEntry(
            at: time,
            kind: kind,
            who: who ?? authority.rawValue,
            rail: rail,
            text: text.replacingAuthority(with: authority),
            values: values
        )
    }

    /// - Returns: `who` is nil for the authority, whose name stands for `@` in the text.
    private func words(_ event: Charge.Event) -> (attempt: Attempt.ID?, kind: String, who: String?, text: String) {
        switch event {
        case .attemptStarted(let id, let rail):
            (id, "attemptStarted", "terminal", "The terminal began to offer payment by \(Self.name(rail)).")
        case .sending(let id): (id, "sending", "terminal", "The terminal asked the @ for the payment.")
        case .notSent(let id, let reason):
            (id, "notSent", "terminal", "The request did not leave the terminal: \(Reason.clean(reason)).")
        case .silent(let id, let reason):
            (id, "silent", "terminal", "The @ did not answer: \(Reason.clean(reason)).")
        case .overdue(let id):
            (id, "overdue", "terminal", "Nobody said in time how the payment ended. It is not known yet.")
        case .offered(let id, _): (id, "offered", nil, "The @ made the payment. It can be paid.")
        case .refused(let id, let refusal):
            (id, "refused", nil, "The @ refused to make the payment: \(Reason.clean(refusal.code)).")
        case .notFound(let id): (id, "notFound", nil, "The @ knows no such payment.")
        case .reported(let id, let report): (id, "reported", nil, Self.text(report))
        case .claimWanted(let id, let tip):
            (id, "claimWanted", "customer", "The customer agreed to pay\(withTip(tip)).")
        case .claimed(let id):
            (id, "claimed", "terminal", "Every other way to pay is closed: this one may be executed.")
        case .claimDropped(let id): (id, "claimDropped", "terminal", "The agreement was let go. No money moved by it.")
        case .promised(let id):
            (id, "promised", "customer", "The customer’s promise was taken offline. It is booked later.")
        case .givenBack(let id): (id, "givenBack", nil, "The @ confirmed that the money went back to the customer.")
        case .refundAsked(let id, let refund):
            (
                id, "refundAsked", refund.by.name,
                "Staff wrote down a refund of \(money(refund.minorUnits)): \(Reason.clean(refund.reason))"
            )
        case .refunded(let id, .marked): (id, "refunded", nil, "The @ marked the payment as refunded.")
        case .refunded(let id, .markedBefore):
            (id, "refunded", nil, "The @ says: the payment was marked as refunded already.")
        case .refunded(let id, .keptHere):
            (
                id, "refunded", "terminal",
                "The refund of a part is written down here; the gateway knows whole ones only."
            )
        case .refundDenied(let id, let code):
            (
                id, "refundDenied", nil,
                "The @ does not mark the payment as refunded: \(Reason.clean(code)). It is not booked."
            )
        case .cancelRequested(let actor): (nil, "cancelRequested", actor.name, "Staff asked to cancel the charge.")
        case .deadlineReached: (nil, "deadlineReached", "terminal", "The customer’s time was over.")
        case .released(let actor): (nil, "released", actor.name, "Staff went on without an answer.")
        case .resumed:
            (nil, "resumed", "terminal", "The terminal started again and found this charge without an outcome.")
        case .seen(let actor): (nil, "seen", actor.name, "Staff have seen what came of it.")
        }
    }

    /// What ``words(_:)`` says beside words.
    private func values(of event: Charge.Event) -> [String: String] {
        switch event {
        case .attemptStarted(_, let rail): ["case": rail.rawValue]
        case .notSent(_, let reason), .silent(_, let reason): ["detail": Reason.clean(reason)]
        case .refused(_, let refusal): ["detail": Reason.clean(refusal.code)]
        case .reported(_, let report): Self.values(of: report)
        case .claimWanted(_, let tip): tip > 0 ? ["case": "tip", "tip": money(tip)] : ["case": "plain"]
        case .refundAsked(_, let refund):
            ["amount": money(refund.minorUnits), "reason": Reason.clean(refund.reason)]
        case .refunded(_, .marked): ["case": "marked"]
        case .refunded(_, .markedBefore): ["case": "before"]
        case .refunded(_, .keptHere): ["case": "kept"]
        case .refundDenied(_, let code): ["detail": Reason.clean(code)]
        default: [:]
        }
    }

    private static func values(of report: Report) -> [String: String] {
        switch report {
        case .requiresAction: ["case": "waiting"]
        case .processing: ["case": "processing"]
        case .succeeded: ["case": "paid"]
        case .failed(let code):
            code.map { ["case": "declined_code", "detail": Reason.clean($0)] } ?? ["case": "declined"]
        case .expired: ["case": "expired"]
        case .cancelled: ["case": "cancelled"]
        case .unrecognised(let word): ["case": "unrecognised", "detail": Reason.clean(word)]
        case .contradictory(let what): ["case": "contradictory", "detail": Reason.clean(what)]
        }
    }

    private func withTip(_ minorUnits: Int64) -> String {
        guard minorUnits > 0 else { return "" }
        return ", with a tip of \(money(minorUnits))"
    }

    private func money(_ minorUnits: Int64) -> String {
        format.text(Money(minorUnits: minorUnits, currency: charge.terms.amount.currency))
    }

    private static func name(_ rail: Rail) -> String {
        switch rail {
        case .scan: "scanning the code"
        case .tap: "holding a phone near"
        case .connect: "a connected wallet"
        }
    }

    private static func text(_ report: Report) -> String {
        switch report {
        case .requiresAction: "The @ says: waiting for the customer."
        case .processing: "The @ says: the payment is under way."
        case .succeeded: "The @ says: paid."
        case .failed(let code): "The @ says: declined\(code.map { " (\(Reason.clean($0)))" } ?? ""). No money moved."
        case .expired: "The @ says: the time to pay ran out. No money moved."
        case .cancelled: "The @ says: cancelled. No money moved."
        case .unrecognised(let word): "The @ answered with a word not known here: “\(Reason.clean(word))”."
        case .contradictory(let what):
            "The @’s answer does not fit this charge: \(Reason.clean(what)). It is not booked."
        }
    }
}

extension String {
    fileprivate var namesAuthority: Bool { hasPrefix("The @") || hasPrefix("The terminal asked the @") }

    /// The first `@` stands for the authority; nothing from outside comes before it.
    fileprivate func replacingAuthority(with authority: Authority) -> String {
        guard namesAuthority, let place = firstIndex(of: "@") else {
            return self
        }
        return self[..<place] + authority.rawValue + self[index(after: place)...]
    }
}

/// Why something is as it is, in words for a cashier: what happened, what it means for the money, what to do next.
public struct Reason: Sendable, Hashable, Codable {
    /// Stable, for programs: lower case with underscores.
    public let code: String
    /// What happened and what it means for the money.
    public let message: String
    /// What to do next.
    public let action: String
    /// What stands in the sentences and is no word, by name, for those who say it in another language. `case` tells apart
    /// sentences that share a code.
    public let values: [String: String]

    public init(code: String, message: String, action: String, values: [String: String] = [:]) {
        (self.code, self.message, self.action, self.values) = (code, message, action, values)
    }

    private enum CodingKeys: String, CodingKey { case code, message, action, values }

    /// Reads what earlier versions wrote, which had no values.
    public init(from decoder: any Decoder) throws {
        let parts = try decoder.container(keyedBy: CodingKeys.self)
        code = try parts.decode(String.self, forKey: .code)
        message = try parts.decode(String.self, forKey: .message)
        action = try parts.decode(String.self, forKey: .action)
        values = try parts.decodeIfPresent([String: String].self, forKey: .values) ?? [:]
    }
}

extension Reason {
    /// Words from outside, safe to put into a sentence: printable, one line, 120 characters at most.
    public static func clean(_ text: String) -> String {
        let printable = text.unicodeScalars.prefix(400).map { scalar -> Character in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: " "
            default: Character(scalar)
            }
        }
        let words = String(printable).split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        return String(words.prefix(120))
    }
}

extension Charge {
    /// Words for the state, where there is something to explain; nil while all goes its way.
    public var reason: Reason? { reason(format: .english) }

    /// The same with amounts written in the shop's way.
    public func reason(format: AmountFormat) -> Reason? {
        if isPromised, state == .processing { return Self.promise }
        return switch state {
        case .created, .requiresAction, .processing: isUnresolved ? silence : nil
        case .unknown: unknownReason
        case .succeeded: successReason
        case .failed: failureReason(format)
        case .expired:
            Reason(
                code: "expired",
                message: "The time to pay ran out. No money moved.",
                action: "Charge again if the customer still wants to pay."
            )
        case .cancelled:
            Reason(
                code: "cancelled",
                message: "The charge was cancelled. No money moved.",
                action: "Charge again if the customer still wants to pay."
            )
        }
    }

    private static let promise = Reason(
        code: "accepted_offline",
        message:
            "Taken offline: the customer’s phone has promised the money. It is booked when the terminal is online again.",
        action: "The customer may go. Keep the terminal switched on and connect it to the internet."
    )

    private static func contradictory(_ what: String) -> Reason {
        Reason(
            code: "contradictory_answer",
            message: "The gateway’s answer does not fit this charge: \(Reason.clean(what)). It is not booked.",
            action: "Do not charge again. Check the payment at the gateway."
        )
    }

    private var silence: Reason {
        if let what = attempts.lazy.filter(\.isOpen).compactMap(\.contradiction).first {
            return Self.contradictory(what)
        }
        let who = silentAuthority ?? .gateway
        return switch state {
        case .processing:
            Reason(
                code: "\(who.rawValue)_silent",
                message: "The payment is under way, but the \(who.rawValue) does not answer right now.",
                action: "Wait. Do not charge again before the terminal says how it ended.",
                values: ["case": "processing"]
            )
        // Never beside something that the customer may have paid: nobody is told to take the money another way.
        case _ where mayHaveBeenPaid:
            Reason(
                code: "\(who.rawValue)_silent",
                message: "The \(who.rawValue) does not answer: whether the customer has paid is not known. "
                    + "The terminal keeps asking.",
                action: "Wait. Do not charge again before the terminal says how it ended.",
                values: ["case": "made"]
            )
        default:
            Reason(
                code: "\(who.rawValue)_silent",
                message: "The \(who.rawValue) does not answer. The terminal keeps asking.",
                action: "Wait, or cancel and take the payment another way."
            )
        }
    }

    private var unknownReason: Reason {
        for attempt in attempts {
            if attempt.isOpen, let what = attempt.contradiction { return Self.contradictory(what) }
            guard case .offered(_, let progress) = attempt.phase else { continue }
            if let word = progress.unrecognisedWord {
                return Reason(
                    code: "unrecognised_status",
                    message: "The gateway answered with a word this terminal does not know: “\(Reason.clean(word))”.",
                    action: "Do not charge again. Check the payment at the gateway; update the terminal.",
                    values: ["word": Reason.clean(word)]
                )
            }
            if let what = progress.contradiction { return Self.contradictory(what) }
        }
        if let payment = attempts.first(where: { $0.isOpen && $0.rail == .tap && $0.claim?.isMade == true })?.offer?
            .paymentID
        {
            return Reason(
                code: "not_known_yet",
                message: "The acquirer has not said yet whether the phone’s payment was made. Money may have moved.",
                action:
                    "Do not charge again. Have the acquirer look up payment \(Reason.clean(payment)), and go by its "
                    + "word. The terminal keeps asking; if the acquirer or its login in the settings was changed, set the "
                    + "earlier one again.",
                values: ["case": "phone", "payment": Reason.clean(payment)]
            )
        }
        return Reason(
            code: "not_known_yet",
            message: "Nobody could say yet whether this was paid. Money may have moved.",
            action: "Do not charge again. The terminal keeps asking; look here or at the "
                + "\((silentAuthority ?? .gateway).rawValue) before you decide.",
            values: ["case": (silentAuthority ?? .gateway).rawValue]
        )
    }

    private var successReason: Reason? {
        if !surplusAttempts.isEmpty {
            return Reason(
                code: "paid_twice",
                message: "The customer paid more than once for this charge.",
                action: "Give back the second payment."
            )
        }
        if hasAskedRefund {
            return Reason(
                code: "refund_unconfirmed",
                message:
                    "The customer paid. A refund is written down here, and the gateway has not confirmed its mark yet.",
                action: "Do not give the money back a second time. The terminal keeps asking."
            )
        }
        if isGivenBack { return givenBackReason }
        guard isLate else { return nil }
        return Reason(
            code: "paid_late",
            message: "The payment arrived after the charge had been given up.",
            action: "It is booked as paid. If the customer paid another way too, give one payment back."
        )
    }

    private var givenBackReason: Reason {
        Reason(
            code: "given_back",
            message: isRefundedByHand
                ? "The customer paid, and staff marked the payment as refunded. The mark itself moves no money."
                : "The customer paid, and the money went back to the customer.",
            action: "Charge again if the customer still wants to pay.",
            values: ["case": isRefundedByHand ? "marked" : "returned"]
        )
    }

    private func failureReason(_ format: AmountFormat) -> Reason {
        for ending in attempts.compactMap(\.ending) {
            if case .failed(let code) = ending { return Self.failure(code) }
        }
        for ending in attempts.compactMap(\.ending) {
            if case .refused(let refusal) = ending { return refusal.reason(for: terms.amount, format: format) }
        }
        return Reason(
            code: "gateway_unreachable",
            message: "The gateway could not be reached. No payment was made.",
            action: "Check the network, then charge again."
        )
    }

    private static func failure(_ code: String?) -> Reason {
        // Source: WalletConnect Pay API 2026-02-19.preview, `failureCode`: `declined_user` is a compliance refusal, which
        // must read like any other decline.
        Reason(
            code: code.map { "failed_" + Reason.clean($0) } ?? "failed",
            message: "The payment was declined. No money moved.",
            action: "Ask the customer to pay another way."
        )
    }
}

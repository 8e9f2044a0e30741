extension Refusal {
    /// What a refusal is about, as far as its code and words tell.
    public enum Cause: Sendable, Hashable {
        /// The key, or what it may do.
        case credentials
        /// The gateway knows no merchant of this ID.
        case merchant
        case currency
        /// The amount is too small; the smallest one in minor units, where the gateway names it.
        case belowMinimum(minorUnits: Int64?)
        /// The amount is too large; the largest one in minor units, where the gateway names it.
        case aboveMaximum(minorUnits: Int64?)
        case reference
        /// The terminal and the gateway speak different versions of the API.
        case version
        /// Something is known under this charge's key already.
        case conflict
        /// The end of the customer's time lies in the past, or too far ahead, by the gateway's clock.
        case clock
        /// Some other value in the order.
        case order
        case other
    }

    /// Source: WalletConnect Pay API 2026-02-19.preview, `ErrorCode` and `MerchantApiErrorCode`; the texts of HTTP 400
    /// from its validation of a payment that is made. A text that is not known is shown as it is.
    public var cause: Cause {
        switch code {
        case "invalid_api_key", "missing_api_key", "unauthorized", "forbidden", "missing_merchant_id",
            "missing_merchant_api_key", "not_sandbox_api_key":
            .credentials
        case "merchant_not_found": .merchant
        case "invalid_api_version", "unknown_api_version", "api_version_downgrade": .version
        case "idempotency_conflict": .conflict
        case "params_validation", "invalid_params": orderCause
        default: .other
        }
    }

    private var orderCause: Cause {
        let text = message.prefix(2000).lowercased()
        // The terminal sets the end by what it takes for the gateway's clock: whoever typed the amount has no part in it.
        if text.contains("expir") { return .clock }
        if text.contains("currency"), text.contains("support") { return .currency }
        if text.contains("reference") { return .reference }
        // Its length is no matter of money, and our own check does not let it come to that.
        guard text.contains("amount"), !text.contains("length"), !text.contains("characters") else { return .order }
        if let bound = Self.number(in: text, after: ["at least", "minimum of", "minimum is", "below the minimum"]) {
            return .belowMinimum(minorUnits: bound.value)
        }
        if let bound = Self.number(
            in: text,
            after: ["at most", "maximum of", "maximum is", "exceeds the maximum", "exceeds maximum", "no more than"]
        ) {
            return .aboveMaximum(minorUnits: bound.value)
        }
        return .order
    }

    private struct Bound { let value: Int64? }

    /// The whole number that follows the first of `phrases`; its value is nil where none follows, or a fraction does.
    private static func number(in text: String, after phrases: [String]) -> Bound? {
        for phrase in phrases {
            guard let found = text.firstRange(of: phrase) else { continue }
            let rest = text[found.upperBound...].drop { $0 == " " || $0 == ":" || $0 == "(" }
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            let tail = rest.dropFirst(digits.count)
            // "1.50" or "1,500": not minor units as the gateway writes them, so no amount is better than a wrong one.
            let isFraction = (tail.first == "." || tail.first == ",") && tail.dropFirst().first?.isNumber == true
            return Bound(value: isFraction ? nil : Int64(digits))
        }
        return nil
    }

    /// What a cashier reads: what happened, that no money moved, and what to do.
    func reason(for amount: Money, format: AmountFormat) -> Reason {
        let code = "gateway_" + Reason.clean(code)
        let words = Reason.clean(message)
        func reason(_ message: String, _ action: String) -> Reason {
            Reason(code: code, message: "\(message) No payment was made, no money moved.", action: action)
        }
        func text(_ minorUnits: Int64) -> String {
            format.text(Money(minorUnits: minorUnits, currency: amount.currency))
        }
        switch cause {
        case .credentials:
            return reason(
                "The gateway does not accept this terminal's key or merchant ID.",
                "Ask the owner to check both in the settings and to press “Test connection”."
            )
        case .merchant:
            return reason(
                "The gateway knows no merchant of this terminal's merchant ID.",
                "Ask the owner to check the merchant ID in the settings and to press “Test connection”."
            )
        case .currency:
            return reason(
                "The gateway does not take payments in \(amount.currency.code).",
                "Ask the owner to choose another currency in the settings, such as EUR or USD, or take the payment another way."
            )
        case .belowMinimum(let minimum?) where minimum > amount.minorUnits:
            return reason(
                "\(format.text(amount)) is too little: the gateway takes payments from \(text(minimum)) on.",
                "Charge at least \(text(minimum)), or take the payment another way."
            )
        case .belowMinimum:
            return reason(
                "\(format.text(amount)) is too little for the gateway: \(words).",
                "Charge more, or take the payment another way."
            )
        case .aboveMaximum(let maximum?) where maximum < amount.minorUnits && maximum > 0:
            return reason(
                "\(format.text(amount)) is too much: the gateway takes payments up to \(text(maximum)).",
                "Charge \(text(maximum)) at most, in several charges if need be, or take the payment another way."
            )
        case .aboveMaximum:
            return reason(
                "\(format.text(amount)) is too much for the gateway: \(words).",
                "Charge less, or take the payment another way."
            )
        case .reference:
            return reason(
                "The gateway does not take the reference of this charge: \(words).",
                "Charge again; if it happens again, call for help."
            )
        case .version:
            return reason(
                "The gateway does not speak this terminal's version of its interface.",
                "Ask the owner to update the terminal. Until then take the payment another way."
            )
        case .conflict:
            return Reason(
                code: code,
                message: "The gateway knows this charge with another content. No payment was made by this one.",
                action: "Charge again; if it happens again, call for help."
            )
        case .clock:
            return Reason(
                code: "gateway_clock_differs",
                message: "The terminal’s clock and the gateway’s differ too much, so the gateway refused the charge. "
                    + "No payment was made, no money moved.",
                action:
                    "Charge again: the terminal goes by the gateway’s clock now. If it happens again, set the terminal’s clock."
            )
        case .order:
            return reason("The gateway refuses this charge: \(words).", "Check the amount, then charge again.")
        case .other:
            return reason(
                words.isEmpty ? "The gateway refused the charge." : "The gateway refused the charge: \(words).",
                "Try again, or take the payment another way."
            )
        }
    }
}

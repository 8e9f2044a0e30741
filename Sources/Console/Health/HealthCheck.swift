import Payments

/// How one part of the terminal stands, with a sentence for staff and what to do where something should be done.
struct HealthCheck: Sendable, Equatable {
    enum Weight: String, Sendable, Comparable {
        /// Switched off, or the machine does not say.
        case off
        case good
        /// Payments go on; somebody should look at it.
        case note
        /// Payments do not go on, or are about to stop.
        case bad

        private var rank: Int { [.off: 0, .good: 1, .note: 2, .bad: 3][self] ?? 0 }

        static func < (one: Weight, other: Weight) -> Bool { one.rank < other.rank }
    }

    /// Stable, such as `storage`.
    let part: String
    let weight: Weight
    /// Whether charges are refused for it, or fail: what is wrong elsewhere is no reason to say that payments do not go on.
    var stopsCharges: Bool { weight == .bad && Self.partsOfACharge.contains(part) }

    /// Without these there is no charge; every other part serves one way to pay of several, or none.
    private static let partsOfACharge: Set<String> = ["gateway", "journal", "storage", "clock"]
    /// What is so and what to do, under a stable code and with its values, for those who say it in another language.
    let reason: Reason

    var message: String { reason.message }
    var action: String { reason.action }

    init(
        _ part: String,
        _ weight: Weight,
        _ code: String,
        _ message: String,
        _ action: String = "",
        _ values: [String: String] = [:]
    ) {
        self.init(part, weight, Reason(code: code, message: message, action: action, values: values))
    }

    init(_ part: String, _ weight: Weight, _ reason: Reason) {
        (self.part, self.weight, self.reason) = (part, weight, reason)
    }

    var json: JSON {
        var parts = JSON.parts(of: reason)
        parts["part"] = .string(part)
        parts["weight"] = .string(weight.rawValue)
        return .object(parts)
    }
}

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
    let message: String
    let action: String

    init(_ part: String, _ weight: Weight, _ message: String, _ action: String = "") {
        (self.part, self.weight, self.message, self.action) = (part, weight, message, action)
    }

    init(_ part: String, _ weight: Weight, _ reason: Reason) { self.init(part, weight, reason.message, reason.action) }

    var json: JSON {
        .object([
            "part": .string(part), "weight": .string(weight.rawValue), "message": .string(message),
            "action": .string(action),
        ])
    }
}

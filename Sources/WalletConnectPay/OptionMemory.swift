import Locks

/// What the options of the last payments need, so that an option's name is enough to ask for it. Bounded.
///
/// Source: yttrium: the official SDK keeps the actions of the options that it handed out.
final class OptionMemory: Sendable {
    private static let limit = 16
    /// Oldest first.
    private let known = Mutex<[(id: PaymentID, options: [PaymentOption])]>([])

    /// In place of what was kept for the payment: its older options are no longer good.
    func keep(_ options: [PaymentOption], of id: PaymentID) {
        known.withLock { known in
            known.removeAll { $0.id == id }
            known.append((id, options))
            if known.count > Self.limit { known.removeFirst() }
        }
    }

    /// Empty where nothing is known: the gateway has to be asked for all of it.
    func steps(of option: String, _ id: PaymentID) -> [PaymentStep] {
        known.withLock { known in
            known.first { $0.id == id }?.options.first { $0.id == option }?.steps ?? []
        }
    }
}

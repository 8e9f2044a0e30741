public import Payments

/// How wallets over the relay stand: for the screen's light, the page and metrics.
public struct ConnectStatus: Sendable, Equatable {
    public enum Light: Sendable, Equatable {
        /// Switched off.
        case off
        case connecting
        case ready
        /// What hinders it, for staff and customers.
        case hindered(Payments.Reason)
    }

    /// What went over the relay since the start.
    public struct Counts: Sendable, Equatable {
        public var connections = 0
        public var failedConnections = 0
        public var published = 0
        public var received = 0
        public var pairings = 0
        public var sessions = 0
        public var refusals = 0
        public var signatures = 0
        public var lateAnswers = 0

        public init() {}
    }

    public var light = Light.off
    public var counts = Counts()
    /// What each charge shows of its wallet.
    public var charges: [ChargeID: ConnectView] = [:]
    /// Whether one code serves both kinds of wallets.
    public var usesOneCode = true

    public init() {}
}

/// What a charge shows of the wallet that pays or shall pay it. Its pairing is a key: for the screen, and printed nowhere.
public struct ConnectView: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    public enum Step: String, Sendable, Equatable {
        /// No wallet yet.
        case invited
        /// A wallet has approved; the gateway is asked what it can pay with.
        case choosing
        /// The customer has a form to fill in first.
        case form
        /// The wallet shows what it shall sign.
        case asked
        /// Signed, and on its way to the gateway.
        case paying
    }

    public var step = Step.invited
    /// What the code says while a wallet is invited: `wc:…`. Nil before its proposal lies in the relay's mailbox, and once a
    /// wallet has taken it.
    public var pairing: String?
    /// The wallet's own name, cleaned.
    public var wallet: String?
    /// The form's address, to be shown as a code.
    public var formURL: String?
    /// Why the last wallet could not pay or did not want to, or why there is no code.
    public var trouble: Payments.Reason?

    public init() {}

    public var description: String { "\(step.rawValue), \(wallet ?? "no wallet"), pairing redacted" }
    public var customMirror: Mirror { Mirror(self, children: ["step": step.rawValue]) }
}

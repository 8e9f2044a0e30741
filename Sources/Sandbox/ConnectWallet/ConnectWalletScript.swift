public import WalletConnect

/// What the person with a WalletConnect wallet does, and what happens to their phone, said beforehand.
public struct ConnectWalletScript: Sendable, Equatable {
    public enum Answer: Sendable, Equatable {
        case yes
        case no
        /// Looks at the screen and does nothing.
        case never
    }

    /// A moment in a payment, in its order.
    public enum Step: String, Sendable, CaseIterable {
        /// The code was scanned and the relay delivers what waits there.
        case paired
        /// The proposal is on the screen; nothing of the answer has left.
        case asked
        /// The relay has the approval, or it waits for the network.
        case approved
        /// The terminal has confirmed the session.
        case settled
        /// A request is on the screen; nothing of the answer has left.
        case requested
        /// The relay has the answer, or it waits for the network.
        case answered
    }

    /// A phone without a network from one step on.
    public struct Outage: Sendable, Equatable {
        public let step: Step
        public let duration: Duration

        public init(at step: Step, for duration: Duration) { (self.step, self.duration) = (step, duration) }
    }

    public var proposal = Answer.yes
    public var request = Answer.yes
    /// How long they look at a proposal before they answer.
    public var proposalDelay = Duration.zero
    /// How long they look at a request.
    public var requestDelay = Duration.zero
    /// Approve these chains, whatever was proposed; empty: all of the proposal's that the wallet knows.
    public var chains: [Blockchain] = []
    /// Each happens once.
    public var outages: [Outage] = []
    /// The phone loses its power when this step is reached.
    public var diesAt: Step?

    public init() {}
}

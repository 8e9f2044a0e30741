extension Scene {
    /// A phone that connects the terminal to a Wi-Fi network.
    public struct Onboarding: Sendable, Equatable {
        /// What stands there.
        public enum Kind: Sendable, Equatable, CaseIterable {
            /// A phone is there: whoever stands at the terminal is asked.
            case asking
            /// The phone may name a network.
            case allowed
            /// That network is being joined.
            case joining
            /// It could not be joined; the phone may try again.
            case notJoined
            /// The terminal is in it.
            case joined
        }

        public var kind: Kind
        /// The network's name, ready to read, of `joining` and `joined`.
        public var network: String?
        /// Whether keys of a keypad answer.
        public var hasKeys: Bool

        public init(_ kind: Kind, network: String? = nil, hasKeys: Bool = true) {
            (self.kind, self.network, self.hasKeys) = (kind, network, hasKeys)
        }
    }
}

/// Why a scan did not become a pairing. For people there are three classes: see `userClass`.
public enum PairingError: Error, Sendable, Equatable {
    /// The text is no invitation. Scan again.
    case malformedURI(reason: String)
    /// WalletConnect version 1 or another one that is not spoken here.
    case unsupportedVersion(String)
    /// The code is older than its 300 s. Show a new one and scan again.
    case expired
    /// This code was used and approved before. Show a new one and scan again.
    case alreadyPaired(Topic)
    /// No connection to the relay. The pairing is kept; scan again when there is one.
    case notConnected
    /// The relay did not answer within 10 s. The pairing is kept; scan again.
    case timedOut
    /// The relay will not have this client: a log says why, staff must act.
    case refused(reason: String)
    /// The pairing could not be stored, so it does not exist.
    case storage(reason: String)
    /// `run()` has ended.
    case stopped

    /// The three things a wallet tells its user, and one for staff.
    public enum UserClass: Sendable, Equatable {
        /// "No internet connection, or no answer. Connect and pair again."
        case noConnection
        /// "This code is expired. Refresh it and scan again."
        case pairingExpired
        /// "This code is already paired. Refresh it and scan again."
        case pairingExists
        /// "This is no WalletConnect code", or a fault of this machine.
        case other
    }

    public var userClass: UserClass {
        switch self {
        case .notConnected, .timedOut: .noConnection
        case .expired: .pairingExpired
        case .alreadyPaired: .pairingExists
        case .malformedURI, .unsupportedVersion, .refused, .storage, .stopped: .other
        }
    }

    init(_ failure: WalletConnectURI.Failure) {
        switch failure {
        case .unsupportedVersion(let version): self = .unsupportedVersion(version)
        case .malformed(let reason): self = .malformedURI(reason: reason)
        case .invalidTopic: self = .malformedURI(reason: "the topic is not 64 hexadecimal digits")
        case .missingSymKey: self = .malformedURI(reason: "symKey is missing")
        case .invalidSymKey: self = .malformedURI(reason: "symKey is not 64 hexadecimal digits")
        case .missingRelayProtocol: self = .malformedURI(reason: "relay-protocol is missing")
        case .unsupportedRelayProtocol: self = .malformedURI(reason: "relay-protocol is not irn")
        case .invalidExpiry: self = .malformedURI(reason: "expiryTimestamp is not a time")
        }
    }
}

extension PairingError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformedURI(let reason): "This is no usable WalletConnect code: \(reason). Scan again."
        case .unsupportedVersion(let version): "WalletConnect version \(version) is not supported. Use a newer app."
        case .expired: "This WalletConnect code has expired. Refresh it and scan again."
        case .alreadyPaired: "This WalletConnect code is already paired. Refresh it and scan again."
        case .notConnected: "There is no connection to the relay. Connect to the internet and pair again."
        case .timedOut: "The relay did not answer within 10 s. Pair again."
        case .refused(let reason): "The relay refuses this client: \(reason)."
        case .storage(let reason): "The pairing could not be stored: \(reason)."
        case .stopped: "The WalletConnect client has stopped."
        }
    }
}

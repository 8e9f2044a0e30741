public import StrictJSON

/// A meeting place between a dapp and a wallet, good for proposals only.
public struct Pairing: Sendable, Equatable {
    public let topic: Topic
    /// True from the first approval on, or the first answer for the dapp's side.
    public let active: Bool
    /// Seconds since 1970. 300 s after it was made; 30 days after it became active.
    public let expiry: Int64
    public let state: PairingState
    /// The other side's words, once it sent any.
    public let peer: AppMetadata?
    /// How it was scanned or opened. `scan` for pairings made here.
    public let transport: Transport
}

/// What one pairing waits for.
public enum PairingState: String, Sendable, Codable {
    /// Made or scanned; no proposal or answer yet.
    case awaitingProposal
    /// A proposal is with the user, or was sent by us.
    case proposed
    /// Approved at least once.
    case approved
}

/// A conversation a wallet has agreed to: who, on which chains, with which methods, until when.
public struct Session: Sendable, Equatable {
    public let topic: Topic
    public let pairingTopic: Topic
    public let peer: AppMetadata
    public let namespaces: [String: SessionNamespace]
    public let requiredNamespaces: [String: ProposalNamespace]
    /// Seconds since 1970.
    public let expiry: Int64
    /// True for the wallet's side.
    public let isController: Bool
    /// For the wallet: whether the dapp has confirmed it. Always true for the dapp.
    public let acknowledged: Bool
    public let sessionProperties: [String: String]?
    /// What the wallet allows, in the order of its keys.
    public var accounts: [Account] { NamespaceRules.accounts(in: namespaces) }

    /// Whether this session can do what a checkout needs.
    /// - Throws: 5100 for a chain without an account, 5101 for a method it does not allow there. End the session with the
    ///   error's `reason` and tell the customer.
    public func check(chain: Blockchain, method: String) throws(NamespaceError) {
        guard NamespaceRules.allows(chain, in: namespaces) else {
            throw NamespaceError(5100, "The wallet gave no account on the chain", chain.absoluteString)
        }
        guard NamespaceRules.allows(method: method, on: chain, in: namespaces) else {
            throw NamespaceError(5101, "The wallet does not allow the method", "\(method) on \(chain)")
        }
    }

    /// Whether it gives all of `namespaces`. Nothing asked for is nothing given.
    public func satisfies(_ namespaces: [String: ProposalNamespace]) -> Bool {
        guard !namespaces.isEmpty else { return false }
        do throws(NamespaceError) {
            try NamespaceRules.check(self.namespaces, gives: namespaces)
            return true
        } catch { return false }
    }

    /// A dapp's wish for a session, to be shown to the user.
    public struct Proposal: Sendable, Equatable {
        /// The proposer's public key, 64 digits.
        public let id: String
        public let pairingTopic: Topic
        public let proposer: AppMetadata
        public let requiredNamespaces: [String: ProposalNamespace]
        public let optionalNamespaces: [String: ProposalNamespace]
        public let sessionProperties: [String: String]?
        /// As the dapp wrote it.
        public let scopedProperties: AnyCodable?
        /// Seconds since 1970. Approving from then on is refused.
        public let expiry: Int64
        /// The origin's token, unchecked: never required, offline nobody can get one.
        public let context: VerifyContext
        /// Whether to return to the dapp after the answer.
        public let transport: Transport
    }

    /// A name and data the wallet announces.
    public struct Event: Sendable, Equatable {
        public let name: String
        public let data: AnyCodable

        public init(name: String, data: AnyCodable) { (self.name, self.data) = (name, data) }
    }
}

/// What is known about where a message came from.
public struct VerifyContext: Sendable, Equatable {
    /// What the sender calls itself.
    public let claimedURL: String
    /// The origin within the attestation. Its signature is not checked here: show it as a claim.
    public let attestedOrigin: String?
}

/// What a dapp asks of the wallet.
public struct Request: Sendable, Equatable {
    public let id: RPCID
    public let topic: Topic
    public let method: String
    public let params: AnyCodable
    public let chainId: Blockchain
    /// Seconds since 1970; nil where the dapp set none.
    public let expiryTimestamp: Int64?

    /// A request to send. `ttlSeconds` 300 to 604800 is the time the user has.
    ///
    /// Amounts in `params` must be texts: some wallets read large numbers wrongly.
    public init(
        id: RPCID? = nil,
        topic: Topic,
        method: String,
        params: AnyCodable,
        chainId: Blockchain,
        ttlSeconds: Int64 = 300
    ) {
        (self.id, self.topic, self.method) = (id ?? RPCID(0), topic, method)
        (self.params, self.chainId, self.ttlSeconds, expiryTimestamp) = (params, chainId, ttlSeconds, nil)
    }

    init(id: RPCID, topic: Topic, method: String, params: AnyCodable, chainId: Blockchain, expiryTimestamp: Int64?) {
        (self.id, self.topic, self.method) = (id, topic, method)
        (self.params, self.chainId, self.expiryTimestamp) = (params, chainId, expiryTimestamp)
        ttlSeconds = 0
    }

    /// For requests to send.
    let ttlSeconds: Int64
}

/// What a wallet answered.
public struct SessionResponse: Sendable, Equatable {
    public let id: RPCID
    public let topic: Topic
    public let method: String
    public let chainId: Blockchain
    public let result: RPCResult
    public let timing: Timing

    /// When the answer came. A late transaction hash is money received, never an error.
    public enum Timing: String, Sendable, Codable {
        case inTime
        /// Before the request's end, after `stopWaiting(for:)`.
        case afterGivingUp
        /// After the request's end.
        case afterExpiry
    }
}

/// Why a session is over.
public struct SessionEnd: Sendable, Equatable {
    public let topic: Topic
    public let cause: Cause

    public enum Cause: Sendable, Equatable {
        case peer(Reason)
        case expired
        /// The dapp would not have what the wallet settled.
        case settlementRefused(Reason)
    }
}

/// How a proposal of ours ended without a session.
public struct ProposalFailure: Error, Sendable, Equatable {
    public let pairingTopic: Topic
    public let cause: Cause

    public enum Cause: Sendable, Equatable {
        /// The wallet said no. `isDecline` tells a customer's no from an inability.
        case rejected(JSONRPCError)
        /// Nobody answered within 300 s.
        case expired
        /// The wallet answered with something that breaks the protocol, or not enough.
        case unusable(reason: String)
        /// `cancel(pairing:)` was called.
        case withdrawn
    }
}

/// Why a call did not do what it was asked. Cases differ by what to do next.
public enum SignError: Error, Sendable, Equatable {
    /// There is no such proposal, session, pairing or request (any more).
    case unknown(what: String)
    /// The proposal's 300 s are over. Ask for a new code.
    case proposalExpired
    /// The request's time is over: sign nothing.
    case requestExpired
    /// The session is over. Pair again.
    case sessionExpired
    /// The namespaces break a rule.
    case namespaces(NamespaceError)
    /// The session does not allow this chain, method or event, or this side may not do it.
    case notAllowed(reason: String)
    /// An argument out of its range.
    case invalid(reason: String)
    /// There is no connection. The message is kept and sent as soon as there is one, while it is valid.
    case notConnected
    /// The relay did not confirm within 10 s. The message is kept and sent again: do not repeat the call.
    case timedOut
    /// The relay will not take it.
    case refused(code: Int, reason: String)
    /// It could not be stored, so it was not sent.
    case storage(reason: String)
    /// The wallet's proof of the account is not valid.
    case authentication(reason: String)
    /// The peer did not answer in time.
    case noAnswer
    /// `run()` has ended, or was called twice; or the app was never set up with `WalletKit.configure`.
    case stopped

    /// Whether what was asked will still be tried, so that repeating the call would do it twice.
    public var isStillBeingSent: Bool { self == .notConnected || self == .timedOut }

    init(_ failure: RelayFailure) {
        switch failure {
        case .notConnected: self = .notConnected
        case .timedOut: self = .timedOut
        case .refused(let code, let reason): self = .refused(code: code, reason: reason)
        }
    }
}

extension SignError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknown(let what): "There is no such \(what)."
        case .proposalExpired: "The proposal has expired. Nothing was approved; scan a new code."
        case .requestExpired: "The request has expired. Nothing was signed."
        case .sessionExpired: "The session is over. Pair again."
        case .namespaces(let error): "The namespaces are not valid: \(error)."
        case .notAllowed(let reason): "Not allowed: \(reason)."
        case .invalid(let reason): "Not possible: \(reason)."
        case .notConnected: "There is no connection. It is sent as soon as there is one."
        case .timedOut: "The relay did not confirm within 10 s. It is sent again until it does."
        case .refused(let code, let reason): "The relay refuses it: \(reason) (\(code))."
        case .storage(let reason): "It could not be stored, so it was not sent: \(reason)."
        case .authentication(let reason): "The account's proof is not valid: \(reason)."
        case .noAnswer: "The other side did not answer."
        case .stopped: "The WalletConnect client is not running."
        }
    }
}

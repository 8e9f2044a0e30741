/// One rail's try at a charge: at most one payment at one authority.
public struct Attempt: Sendable, Hashable, Identifiable {
    /// Unique within its charge: the first attempt is 1. With the charge's ID it makes the idempotency key.
    public typealias ID = Int

    /// How far the attempt has come. What it may mean for the money stands beside each.
    public enum Phase: Sendable, Hashable {
        /// Nothing has left the terminal. No payment exists. → `sending`, `ended`
        case idle
        /// A request that may create the payment is on its way. `afterSilence`: an earlier one got no answer.
        /// → `idle`, `unanswered`, `offered`, `ended`
        case sending(afterSilence: Bool)
        /// A request left and nothing usable came back: a payment may exist whose name we do not know.
        /// → `sending`, `offered`, `ended`
        case unanswered
        /// The payment exists and is not final at the authority. → `ended`
        case offered(Offer, Progress)
        /// The authority gave its last word, or nothing ever left. → `ended(.succeeded)` only, on its word
        case ended(Ending, Offer?)
    }

    /// What the authority last said of a payment that is not final.
    public struct Progress: Sendable, Hashable {
        /// True from the authority's first "processing" on, or from a claim: money may be moving. Goes back only where the
        /// authority refused the claim's own try.
        public internal(set) var isProcessing = false
        /// A status word that no document of ours knows, until a known one follows.
        public internal(set) var unrecognisedWord: String?
        /// What an answer says of the payment that cannot be about this charge, until an answer fits.
        public internal(set) var contradiction: String?
    }

    public let id: ID
    public let rail: Rail
    public internal(set) var phase = Phase.idle
    /// True while the last question to the authority has no usable answer.
    public internal(set) var isSilent = false
    /// What an answer named that cannot be this attempt's, before any answer named a payment that can.
    public internal(set) var contradiction: String?
    /// Money may be moving, and the time is over in which somebody should have said how it ended: nobody knows. Until the
    /// authority's next word.
    public internal(set) var isOverdue = false
    /// The customer's agreement, on rails where the terminal itself carries it to the authority.
    public internal(set) var claim: Claim?
    /// The customer's promise was taken without the authority, which hears of it later. The customer has gone.
    public internal(set) var isPromised = false
    /// The authority confirmed that the money of this attempt went back to the customer.
    public internal(set) var isGivenBack = false
    /// What staff gave back of this attempt's payment, in its order. Together never more than was paid.
    public internal(set) var refunds: [BookedRefund] = []
    /// What staff want booked as given back, and nobody has confirmed yet.
    public internal(set) var askedRefund: Refund?

    /// How far a customer's agreement has come. At most one attempt of a charge has one.
    public enum Claim: Sendable, Hashable {
        /// The other attempts are being taken back; nothing may be executed. → `made`, none
        case wanted(tipMinorUnits: Int64)
        /// Money may move on this attempt alone. → none, where the authority refused that try
        case made(tipMinorUnits: Int64)

        /// What the customer added, in minor units of the charge's currency.
        public var tipMinorUnits: Int64 {
            switch self {
            case .wanted(let tip), .made(let tip): tip
            }
        }

        var isMade: Bool { if case .made = self { true } else { false } }
    }

    public var isOpen: Bool { if case .ended = phase { false } else { true } }

    /// True while a payment that we know or cannot rule out is not final at the authority.
    public var mayHoldMoney: Bool {
        switch phase {
        case .idle: false
        case .sending, .unanswered, .offered: true
        case .ended(let ending, _): ending.evidence != nil
        }
    }

    public var offer: Offer? {
        switch phase {
        case .offered(let offer, _): offer
        case .ended(_, let offer): offer
        case .idle, .sending, .unanswered: nil
        }
    }

    /// Whether the authority's payment of this name was made or paid for this attempt.
    public func names(payment name: String) -> Bool { offer?.paymentID == name || ending?.evidence?.paymentID == name }

    public var ending: Ending? { if case .ended(let ending, _) = phase { ending } else { nil } }
}

/// A payment that the authority made for an attempt, ready for a customer.
public struct Offer: Sendable, Hashable, Codable {
    /// The authority's name for the payment.
    public let paymentID: String
    /// What the QR carries, verbatim. Nil on rails without a link.
    public let link: String?
    /// When the authority will end the payment by itself, by its own clock.
    public let expiresAt: WallTime?

    public init(paymentID: String, link: String?, expiresAt: WallTime?) {
        (self.paymentID, self.link, self.expiresAt) = (paymentID, link, expiresAt)
    }
}

/// How an attempt ended. All but `neverSent` are the authority's word.
public enum Ending: Sendable, Hashable, Codable {
    case succeeded(Evidence)
    /// `code` is the authority's word for the cause, where it gave one.
    case failed(code: String?)
    case expired
    case cancelled
    /// The authority refused to make the payment: none exists.
    case refused(Refusal)
    /// The authority knows no such payment.
    case notFound
    /// No byte of it ever left the terminal, by the terminal's own journal: no payment exists.
    case neverSent

    /// What proves that it was paid; nil where it was not.
    public var evidence: Evidence? { if case .succeeded(let evidence) = self { evidence } else { nil } }
}

/// What the authority gave as proof that a payment succeeded.
public struct Evidence: Sendable, Hashable, Codable {
    public let paymentID: String
    /// For example a transaction hash. Nil where the authority named none.
    public let transactionID: String?
    /// What the customer paid with, where the authority said so.
    public let paid: TokenAmount?

    public init(paymentID: String, transactionID: String?, paid: TokenAmount?) {
        (self.paymentID, self.transactionID, self.paid) = (paymentID, transactionID, paid)
    }
}

/// The authority's "no" to making a payment.
public struct Refusal: Sendable, Hashable, Codable {
    /// The authority's own code, for example `params_validation`.
    public let code: String
    /// The authority's own words. From outside: shorten and clean before it is shown.
    public let message: String

    public init(code: String, message: String) { (self.code, self.message) = (code, message) }
}

/// One answer of the authority about one payment.
public enum Report: Sendable, Hashable, Codable {
    case requiresAction
    case processing
    case succeeded(Evidence)
    case failed(code: String?)
    case expired
    case cancelled
    /// A status word that our documents do not know. Held as unknown, never guessed.
    case unrecognised(word: String)
    /// An answer about another payment, amount, currency or merchant than was asked about. No word in it counts.
    case contradictory(what: String)

    /// The last word in it, where it is one.
    var ending: Ending? {
        switch self {
        case .requiresAction, .processing, .unrecognised, .contradictory: nil
        case .succeeded(let evidence): .succeeded(evidence)
        case .failed(let code): .failed(code: code)
        case .expired: .expired
        case .cancelled: .cancelled
        }
    }
}

/// What happened, for the streams and for whoever waits.
enum SignEvent: Sendable, Equatable {
    case pairingExpired(Pairing)
    case pairingDeleted(Topic, Reason)
    case proposalReceived(Session.Proposal)
    case proposalExpired(Session.Proposal)
    case authenticationRequested(AuthenticationRequest)
    case authenticationResponded(AuthenticationResponse)
    case sessionSettled(Session)
    case settlementAcknowledged(Topic)
    case proposalFailed(ProposalFailure)
    /// A wallet approved a proposal of this pairing that was over, or that another one has taken.
    case approvedTooLate(Topic)
    case sessionUpdated(Topic, [String: SessionNamespace])
    case sessionExtended(Topic, expiry: Int64)
    case sessionEvent(Topic, Session.Event, Blockchain)
    case sessionEnded(SessionEnd)
    case requestReceived(Request, VerifyContext)
    case requestExpired(RPCID, Topic)
    case responded(SessionResponse)
    /// A request of ours is over without an answer. One may still come.
    case unanswered(RPCID, Topic)
    case pong(RPCID, Topic)
    /// The peer refused an update, an extension or an event of ours.
    case callRefused(RPCID, Topic, JSONRPCError)
    case log(String)
}

/// One thing to do with the relay, in order within its job.
enum RelayOperation: Sendable, Equatable {
    case subscribe(Topic)
    /// By its number in the outbox.
    case publish(UInt64)
    case unsubscribe(Topic)
    /// Opens a link with an app of the same phone; where none takes it, `instead` in the outbox goes to the relay.
    case open(String, instead: UInt64?)

    var isLink: Bool { if case .open = self { true } else { false } }
}

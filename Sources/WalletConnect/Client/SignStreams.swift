/// Everything a client tells. Each property gives a new stream; streams of states begin with the present one.
public struct SignStreams: Sendable {
    let pairingState = Multicast<Bool>(initial: false)
    let pairingExpiration = Multicast<Pairing>()
    let pairingDelete = Multicast<(topic: Topic, reason: Reason)>()
    let proposal = Multicast<(proposal: Session.Proposal, context: VerifyContext)>()
    let proposalExpiration = Multicast<Session.Proposal>()
    let proposals = Multicast<[Session.Proposal]>(initial: [])
    let request = Multicast<(request: Request, context: VerifyContext)>()
    let requestExpiration = Multicast<RPCID>()
    let connection = Multicast<SocketConnectionStatus>(initial: .disconnected)
    let sessionList = Multicast<[Session]>(initial: [])
    let settle = Multicast<Session>()
    let delete = Multicast<SessionEnd>()
    let update = Multicast<(topic: Topic, namespaces: [String: SessionNamespace])>()
    let extend = Multicast<(topic: Topic, expiry: Int64)>()
    let event = Multicast<(event: Session.Event, topic: Topic, chainId: Blockchain)>()
    let response = Multicast<SessionResponse>()
    let rejection = Multicast<ProposalFailure>()
    let lateApproval = Multicast<Topic>()
    let pong = Multicast<Topic>()
    let authRequest = Multicast<AuthenticationRequest>()
    let authResponse = Multicast<AuthenticationResponse>()
    let log = Multicast<String>()

    /// True from a scan until its proposal arrives: show that one is awaited. Begins with the present state.
    public var pairingStates: AsyncStream<Bool> { pairingState.stream }
    /// Pairings whose time is over. Tell the user of those that are not active.
    public var pairingExpirations: AsyncStream<Pairing> { pairingExpiration.stream }
    /// Pairings the other side ended.
    public var pairingDeletes: AsyncStream<(topic: Topic, reason: Reason)> { pairingDelete.stream }
    /// Proposals to show, as they arrive and when their code is scanned again.
    public var sessionProposals: AsyncStream<(proposal: Session.Proposal, context: VerifyContext)> { proposal.stream }
    /// Proposals to take off the screen: 300 s are over.
    public var sessionProposalExpirations: AsyncStream<Session.Proposal> { proposalExpiration.stream }
    /// All open proposals. Begins with the present ones.
    public var pendingProposals: AsyncStream<[Session.Proposal]> { proposals.stream }
    /// Requests to show.
    public var sessionRequests: AsyncStream<(request: Request, context: VerifyContext)> { request.stream }
    /// Requests to take off the screen, for the wallet; requests of ours without an answer in time, for the dapp.
    public var requestExpirations: AsyncStream<RPCID> { requestExpiration.stream }
    /// Whether messages can travel. Begins with the present state.
    public var socketConnectionStatuses: AsyncStream<SocketConnectionStatus> { connection.stream }
    /// All sessions. Begins with the present ones.
    public var sessions: AsyncStream<[Session]> { sessionList.stream }
    /// Sessions that came to be; for the wallet, once the dapp confirmed.
    public var sessionSettles: AsyncStream<Session> { settle.stream }
    /// Sessions that ended without a call here.
    public var sessionDeletes: AsyncStream<SessionEnd> { delete.stream }
    /// What the wallet changed.
    public var sessionUpdates: AsyncStream<(topic: Topic, namespaces: [String: SessionNamespace])> { update.stream }
    /// How long a session now lives, in seconds since 1970.
    public var sessionExtends: AsyncStream<(topic: Topic, expiry: Int64)> { extend.stream }
    /// What a wallet announced.
    public var sessionEvents: AsyncStream<(event: Session.Event, topic: Topic, chainId: Blockchain)> { event.stream }
    /// Answers to requests of ours, late ones too: see their `timing`.
    public var sessionResponses: AsyncStream<SessionResponse> { response.stream }
    /// Proposals of ours that came to nothing.
    public var sessionRejections: AsyncStream<ProposalFailure> { rejection.stream }
    /// Pairings of ours that a wallet approved too late: the proposal was over, or another wallet had taken it. The wallet
    /// was told so; tell its customer.
    public var lateApprovals: AsyncStream<Topic> { lateApproval.stream }
    /// Sessions and pairings whose peer answered a ping.
    public var pingResponses: AsyncStream<Topic> { pong.stream }
    /// One-click authentications to show.
    public var authRequests: AsyncStream<AuthenticationRequest> { authRequest.stream }
    /// What became of authentications of ours.
    public var authResponses: AsyncStream<AuthenticationResponse> { authResponse.stream }
    /// Lines for a log: topics by their beginning, and no secret.
    public var logs: AsyncStream<String> { log.stream }

    func finish() {
        pairingState.finish(); pairingExpiration.finish(); pairingDelete.finish(); proposal.finish()
        proposalExpiration.finish(); proposals.finish(); request.finish(); requestExpiration.finish()
        connection.finish(); sessionList.finish(); settle.finish(); delete.finish(); update.finish(); extend.finish()
        event.finish(); response.finish(); rejection.finish(); lateApproval.finish(); pong.finish();
        authRequest.finish()
        authResponse.finish(); log.finish()
    }
}

/// Whether there is a connection to the relay.
public enum SocketConnectionStatus: Sendable, Equatable { case connected, disconnected }

internal import StrictJSON

/// The wallet's side.
extension SignClient {
    /// Takes a scanned or opened URI, and returns when the relay will deliver its proposal.
    public func pair(uri: WalletConnectURI, transport: Transport = .scan) async throws(PairingError) {
        let job: UInt64
        do throws(Refusal<PairingError>) {
            job = try await transact { engine throws(PairingError) in try engine.pair(uri, by: transport) }.job
        } catch {
            switch error {
            case .rule(let error): throw error
            case .storage(let reason): throw .storage(reason: reason)
            case .stopped: throw .stopped
            }
        }
        guard let outcome = await jobOutcomes.value(for: job) else { throw phase == .stopped ? .stopped : .timedOut }
        switch outcome {
        case nil: return
        case .notConnected?: throw .notConnected
        case .timedOut?: throw .timedOut
        case .refused(_, let reason)?: throw .refused(reason: reason)
        }
    }

    /// Reads a scanned text and pairs.
    public func pair(scanned text: String) async throws(PairingError) {
        let uri: WalletConnectURI
        do throws(WalletConnectURI.Failure) { uri = try WalletConnectURI(parsing: text) } catch {
            throw PairingError(error)
        }
        try await pair(uri: uri)
    }

    /// Takes the link that opened the wallet, pairs when it is an invitation, and says what it was.
    public func open(link: String) async throws(PairingError) -> WalletLink {
        let link = WalletLink(link)
        switch link {
        case .pair(let uri): try await pair(uri: uri, transport: .link)
        case .linkMode(let envelope): try await receive(envelope)
        case .unusable(let failure): throw PairingError(failure)
        default: break
        }
        return link
    }

    /// Takes an envelope that came within a link, for either side. What does not belong here changes nothing.
    func receive(_ envelope: LinkEnvelope) async throws(PairingError) {
        do throws(Refusal<Never>) { _ = try await transact { $0.receive(envelope) } } catch {
            switch error {
            case .storage(let reason): throw .storage(reason: reason)
            case .stopped: throw .stopped
            }
        }
    }

    /// The official SDK's spelling of `open(link:)` for links that carry an envelope.
    public func dispatchEnvelope(_ link: String) async throws(PairingError) {
        guard let envelope = LinkEnvelope(link: link) else { throw .malformedURI(reason: "no envelope in it") }
        try await receive(envelope)
    }

    /// Agrees to a proposal. Returns when the relay has the agreement; the dapp's confirmation comes by
    /// `streams.sessionSettles`.
    @discardableResult
    public func approve(
        proposalId: String,
        namespaces: [String: SessionNamespace],
        sessionProperties: [String: String]? = nil
    ) async throws(SignError) -> Session {
        try await sending { engine throws(SignError) in
            try engine.approve(proposalId, namespaces, sessionProperties: sessionProperties)
        }
    }

    /// Turns a proposal down. Returns when the relay has the refusal.
    public func rejectSession(proposalId: String, reason: RejectionReason) async throws(SignError) {
        try await sending { engine throws(SignError) in try engine.reject(proposalId, reason) }
    }

    /// The older spelling of `rejectSession`.
    public func reject(proposalId: String, reason: RejectionReason) async throws(SignError) {
        try await rejectSession(proposalId: proposalId, reason: reason)
    }

    /// Answers a request. Returns when the relay has the answer.
    /// - Throws: `requestExpired` when its time is over; the dapp is told so, and the answer is not sent.
    public func respond(topic: Topic, requestId: RPCID, response: RPCResult) async throws(SignError) {
        let result = try await sending { engine throws(SignError) in
            try engine.respond(topic, requestId, response)
        }
        if result == .expired { throw .requestExpired }
    }

    /// Answers a request with a signature of `account`, which must be on the request's chain.
    /// - Throws: `requestExpired` when its time is over; the dapp is told so, and the signature is not sent. `invalid` for an
    ///   account on another chain, and where several sessions have an open request of this ID: name the session then, with
    ///   `respond(topic:requestId:response:)`. After both the request is still open.
    public func respond(requestId: RPCID, signature: String, from account: Account) async throws(SignError) {
        let result = try await sending { engine throws(SignError) in
            try engine.respond(to: requestId, .response(.string(signature)), from: account)
        }
        if result == .expired { throw .requestExpired }
    }

    /// Changes what a session allows.
    public func update(topic: Topic, namespaces: [String: SessionNamespace]) async throws(SignError) {
        _ = try await sending { engine throws(SignError) in try engine.update(topic, namespaces) }
    }

    /// Lets a session live for 7 days from now.
    public func extend(topic: Topic) async throws(SignError) {
        _ = try await sending { engine throws(SignError) in try engine.extend(topic) }
    }

    /// Requests that wait for the user, oldest first; of one session, or of all.
    public func getPendingRequests(topic: Topic? = nil) -> [Request] {
        engine.book.received.values.filter { $0.answer == nil && !$0.isOver && (topic ?? $0.topic) == $0.topic }
            .sorted { ($0.at, $0.id.text) < ($1.at, $1.id.text) }.map(\.value)
    }

    /// Proposals that wait for the user, oldest first; of one pairing, or of all.
    public func getPendingProposals(topic: Topic? = nil) -> [Session.Proposal] {
        engine.book.proposals.values.filter { (topic ?? $0.pairingTopic) == $0.pairingTopic }
            .sorted { ($0.expiry, $0.name) < ($1.expiry, $1.name) }.map(\.value)
    }

    /// One-click authentications that wait for the user.
    public func getPendingAuthRequests() -> [AuthenticationRequest] {
        engine.book.authRequests.values.map(\.value).sorted { $0.expiryTimestamp < $1.expiryTimestamp }
    }

    /// Answers a one-click authentication with the accounts' proofs. Returns the session, where one comes with it.
    @discardableResult
    public func approveSessionAuthenticate(requestId: RPCID, auths: [Cacao]) async throws(SignError) -> Session? {
        try await sending { engine throws(SignError) in try engine.approveAuthentication(requestId, auths) }
    }

    /// Turns a one-click authentication down.
    public func rejectSession(
        requestId: RPCID,
        reason: RejectionReason = .authUserRejectedRequest
    ) async throws(SignError) {
        try await sending { engine throws(SignError) in try engine.rejectAuthentication(requestId, reason) }
    }
}

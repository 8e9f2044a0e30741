/// The dapp's side.
extension SignClient {
    /// Makes a pairing with a proposal in it, and returns when the relay has both: only then show the URI.
    ///
    /// Ask for everything as optional and look at the session with `Session.check`: wallets differ in what they can, and an
    /// unmet required namespace ends in an error nobody understands.
    /// - Throws: What stopped it. Nothing is left of it then; call again.
    public func connect(
        namespaces: [String: ProposalNamespace],
        requiredNamespaces: [String: ProposalNamespace] = [:],
        sessionProperties: [String: String]? = nil,
        scopedProperties: AnyCodable? = nil,
        authentication: AuthRequestParams? = nil
    ) async throws(SignError) -> WalletConnectURI {
        let payload = authentication?.payload(iat: RFC3339.text(clock.nowSeconds))
        if let payload, !payload.hasOneLineEach { throw .invalid(reason: "a line break in the authentication") }
        let (uri, job) = try await signed { engine throws(SignError) in
            try engine.connect(
                required: requiredNamespaces,
                optional: namespaces,
                sessionProperties: sessionProperties,
                scopedProperties: scopedProperties,
                authentication: payload
            )
        }
        do throws(SignError) { try await confirmed(job) } catch {
            _ = try await signed { engine throws(SignError) in engine.abandon(uri.topic) }
            throw error
        }
        return uri
    }

    /// Asks the wallet at `walletUniversalLink` on the same phone to sign in, within a link and without a relay.
    ///
    /// Needs an `opener`, and `redirect` with `universal` and `linkMode` in this client's own metadata. Call it from the
    /// user's tap, with nothing awaited before. The answer comes by `streams.authResponses`.
    /// - Returns: nil where the wallet was opened; else a pairing URI with the same question, for a code or a deep link.
    public func authenticate(
        _ params: AuthRequestParams,
        walletUniversalLink: String? = nil
    ) async throws(SignError) -> WalletConnectURI? {
        let payload = params.payload(iat: RFC3339.text(clock.nowSeconds))
        guard payload.hasOneLineEach else { throw .invalid(reason: "a line break in the authentication") }
        if let wallet = walletUniversalLink, engine.takesLinks {
            let (topic, job) = try await signed { engine throws(SignError) in
                try engine.authenticate(payload, wallet: wallet)
            }
            do throws(SignError) {
                try await confirmed(job)
                return nil
            } catch { _ = try await signed { engine throws(SignError) in engine.abandon(topic) } }
        }
        let wish = Dictionary(grouping: params.chains, by: \.namespace).mapValues {
            ProposalNamespace(chains: $0, methods: params.methods, events: ["chainChanged", "accountsChanged"])
        }
        return try await connect(namespaces: wish, authentication: params)
    }

    /// The session that comes of `connect`, however long ago it was called.
    /// - Throws: Why there is none. A cancelled task gets `withdrawn` and the proposal stays: see `cancel(pairing:)`.
    public func session(pairing: Topic) async throws(ProposalFailure) -> Session {
        guard let outcome = await proposalOutcomes.value(for: pairing) else {
            throw ProposalFailure(pairingTopic: pairing, cause: .withdrawn)
        }
        return try outcome.get()
    }

    /// Takes a proposal back. A wallet that approves it all the same is told that its session is over.
    public func cancel(pairing: Topic) async throws(SignError) { try await disconnect(topic: pairing) }

    /// Sends a request, and returns its ID when the relay has it. The answer comes by `response(to:topic:)` and
    /// `streams.sessionResponses`.
    /// - Throws: With `isStillBeingSent` it may have arrived and is sent again: do not repeat it, look at
    ///   `openRequests(topic:)`.
    @discardableResult
    public func request(_ request: Request) async throws(SignError) -> RPCID {
        try await sending { engine throws(SignError) in try engine.request(request) }
    }

    /// The same, under the official SDK's label.
    @discardableResult
    public func request(params: Request) async throws(SignError) -> RPCID { try await request(params) }

    /// Sends a request and returns once it is stored, whatever the network does: for money, where "not sent yet" must not
    /// look like a failure.
    public func begin(_ request: Request) async throws(SignError) -> RPCID {
        try await signed { engine throws(SignError) in try engine.request(request) }.0
    }

    /// The answer to a request of ours.
    /// - Throws: `noAnswer` at the request's end, or when the task is cancelled; a later answer comes by
    ///   `streams.sessionResponses`, marked as late.
    public func response(to id: RPCID, topic: Topic) async throws(SignError) -> SessionResponse {
        guard let answer = await answers.value(for: CallKey(topic: topic, id: id)), let response = answer else {
            throw phase == .stopped ? .stopped : .noAnswer
        }
        return response
    }

    /// The answer to a request of ours where it has come since the start; nil where it has not. Does not wait.
    public func answer(to id: RPCID, topic: Topic) -> SessionResponse? {
        answers.known(CallKey(topic: topic, id: id)) ?? nil
    }

    /// The answers within a session that have come since the start, oldest first. Of all sessions together the newest 64
    /// are kept.
    public func answers(topic: Topic) -> [SessionResponse] {
        answers.known().filter { $0.key.topic == topic }.compactMap(\.value)
    }

    /// From now on an answer to this request is a late one.
    public func stopWaiting(for id: RPCID, topic: Topic) async throws(SignError) {
        _ = try await signed { engine throws(SignError) in engine.stopWaiting(id, on: topic) }
    }

    /// Requests of ours whose answer may still come, with the second since 1970 of their end.
    public func openRequests(topic: Topic) -> [(id: RPCID, method: String, expiry: Int64)] {
        engine.book.sent.values.filter { $0.topic == topic && $0.method == .sessionRequest }
            .map { ($0.id, $0.call ?? "", $0.expiry) }.sorted { $0.expiry < $1.expiry }
    }
}

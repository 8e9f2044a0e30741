internal import StrictJSON

/// `wc_sessionAuthenticate`: a proof of the account and a session in one step.
extension SignEngine {
    // MARK: Dapp

    mutating func authenticate(_ payload: AuthPayload, _ pairing: PairingRecord, _ offer: inout OfferRecord) {
        // The answer has an hour, and comes to a topic of its own. The proposal beside it is for wallets without the method.
        let expiry = now + Lifetime.authentication
        act(.subscribe(offer.key.publicKey.answerTopic))
        offer.authenticateID = send(
            .sessionAuthenticate,
            .of([
                "authPayload": payload.json, "requester": participant(offer.key.publicKey),
                "expiryTimestamp": .number(expiry),
            ]),
            on: pairing.topic,
            key: pairing.key
        )
        offer.authenticate = AuthRequestRecord(payload: payload, expiry: expiry)
    }

    mutating func emitRefusedAuthentication(_ offer: OfferRecord, _ error: JSONRPCError) {
        guard let id = offer.authenticateID else { return }
        emit(
            .authenticationResponded(
                AuthenticationResponse(
                    id: id,
                    pairingTopic: offer.pairingTopic,
                    accounts: [],
                    session: nil,
                    error: error
                )
            )
        )
    }

    mutating func receiveAuthentication(_ response: RPCResponse, _ offer: OfferRecord) {
        guard offer.phase == .open, response.id == offer.authenticateID, let asked = offer.authenticate else { return }
        if var pairing = book.pairings[offer.pairingTopic], !pairing.active, !pairing.isOver {
            (pairing.active, pairing.state, pairing.expiry) = (true, .approved, now + Lifetime.activePairing)
            book.put(pairing)
        }
        do throws(JSONRPCError) {
            guard case .response(let result) = response.result else {
                if case .error(let error) = response.result { throw error }
                return
            }
            let (accounts, session) = try authenticated(result, offer, asked)
            if let session {
                book.put(session)
                act(.subscribe(session.topic))
                emit(.sessionSettled(session.value))
            }
            emit(
                .authenticationResponded(
                    AuthenticationResponse(
                        id: response.id,
                        pairingTopic: offer.pairingTopic,
                        accounts: accounts,
                        session: session?.value,
                        error: nil
                    )
                )
            )
        } catch {
            emitRefusedAuthentication(offer, error)
            emit(.proposalFailed(ProposalFailure(pairingTopic: offer.pairingTopic, cause: .rejected(error))))
        }
        remove(offer)
    }

    /// Every proof must hold, or there is nothing: no account and no session.
    private func authenticated(
        _ result: ExactJSON,
        _ offer: OfferRecord,
        _ asked: AuthRequestRecord
    ) throws(JSONRPCError) -> ([Account], SessionRecord?) {
        guard now < asked.expiry else { throw .requestExpired }
        // The specification's text shows a bare list, software in use sends an object.
        guard let list = result.value(named: "cacaos")?.elements ?? result.elements, (1...16).contains(list.count)
        else {
            throw .malformedResponseParams
        }
        let cacaos = list.compactMap(Cacao.init(json:))
        guard cacaos.count == list.count else { throw .malformedResponseParams }
        var accounts: [Account] = []
        var methods: [String] = []
        for cacao in cacaos {
            do throws(SignError) { try cacao.verify(for: asked.payload, nowSeconds: now) } catch {
                throw .signatureVerificationFailed.saying(error.description)
            }
            guard let account = cacao.account else { throw .missingIssuer }
            accounts.append(account)
            if let recap = Recap(resources: cacao.payload.resources) {
                methods += recap.methods
                for chain in recap.chains where asked.payload.chains.contains(chain) {
                    if let chain = Blockchain(chain), let more = Account(blockchain: chain, address: account.address) {
                        accounts.append(more)
                    }
                }
            }
        }
        accounts = accounts.uniqued()
        guard !methods.isEmpty, let responder = result.value(named: "responder"),
            let peerKey = responder.value(named: "publicKey")?.string.flatMap(PublicKey.init),
            let key = offer.key.sharedSecret(with: peerKey)
        else { return (accounts, nil) }
        let session = authenticatedSession(
            key: key,
            keys: (offer.key.publicKey, peerKey),
            peer: AppMetadata(json: responder.value(named: "metadata"))
                ?? AppMetadata(name: "", description: "", url: "", icons: []),
            pairing: offer.pairingTopic,
            namespaces: Self.namespaces(accounts: accounts, methods: methods.uniqued()),
            isController: false,
            isByLink: offer.isByLink == true
        )
        return (accounts, session)
    }

    private static func namespaces(accounts: [Account], methods: [String]) -> [String: SessionNamespace] {
        [
            "eip155": SessionNamespace(
                chains: accounts.map(\.blockchain).uniqued(),
                accounts: accounts,
                methods: methods,
                events: ["chainChanged", "accountsChanged"]
            )
        ]
    }

    private func authenticatedSession(
        key: SymmetricSecret,
        keys: (own: PublicKey, peer: PublicKey),
        peer: AppMetadata,
        pairing: Topic,
        namespaces: [String: SessionNamespace],
        isController: Bool,
        isByLink: Bool
    ) -> SessionRecord {
        var session = SessionRecord(
            topic: key.topic,
            key: StoredSecret(key),
            pairingTopic: pairing,
            selfKey: keys.own,
            peerKey: keys.peer,
            peer: peer,
            isController: isController,
            acknowledged: true,
            namespaces: namespaces,
            required: [:],
            sessionProperties: nil,
            expiry: now + Lifetime.session,
            settleID: RPCID(0)
        )
        if isByLink { session.peerLink = link(to: peer) }
        return session
    }

    // MARK: Wallet

    /// A request to authenticate as a stranger sent it; nil where it is malformed, too late or known.
    func authentication(
        in request: RPCRequest,
        on topic: Topic,
        by transport: Transport,
        attestation: String?
    ) -> AuthProposalRecord? {
        let params = request.params
        let expiry = params.present("expiryTimestamp")?.integer ?? now + Lifetime.authentication
        guard expiry > now,
            let requester = params.value(named: "requester"),
            let key = requester.value(named: "publicKey")?.string.flatMap(PublicKey.init),
            let peer = AppMetadata(json: requester.value(named: "metadata")),
            let payload = params.value(named: "authPayload").flatMap(AuthPayload.init(json:)),
            book.authRequests.count < Self.openLimit, book.authRequests[key.text] == nil
        else { return nil }
        return AuthProposalRecord(
            id: request.id,
            publicKey: key,
            pairingTopic: topic,
            requester: peer,
            payload: payload,
            expiry: min(expiry, now + Lifetime.longestRequest),
            attestation: attestation,
            transport: transport
        )
    }

    mutating func receiveAuthenticationRequest(_ request: RPCRequest, _ pairing: PairingRecord, attestation: String?) {
        let transport = pairing.transport
        guard !pairing.isProposer, !pairing.isOver,
            let record = authentication(in: request, on: pairing.topic, by: transport, attestation: attestation)
        else { return log("\(pairing.topic): dropped an authentication request that is malformed, too late or known") }
        book.put(record)
        var pairing = pairing
        if pairing.state == .awaitingProposal { pairing.state = .proposed }
        pairing.peer = record.requester
        book.put(pairing)
        emit(.authenticationRequested(record.value))
    }

    private func openAuthentication(_ id: RPCID) throws(SignError) -> AuthProposalRecord {
        guard let record = book.authRequests.values.first(where: { $0.id == id }) else {
            throw .unknown(what: "authentication request")
        }
        guard record.expiry > now else { throw .requestExpired }
        return record
    }

    /// The user signed in. Returns the session where the dapp asked for methods.
    mutating func approveAuthentication(_ id: RPCID, _ cacaos: [Cacao]) throws(SignError) -> Session? {
        let record = try openAuthentication(id)
        guard !cacaos.isEmpty else { throw .invalid(reason: "no signature") }
        for cacao in cacaos { try cacao.verify(for: record.payload, nowSeconds: now) }
        let key = AgreementKey(using: random)
        guard let symKey = key.sharedSecret(with: record.publicKey) else {
            throw .invalid(reason: "the requester's key is unusable")
        }
        let recaps = cacaos.compactMap { Recap(resources: $0.payload.resources) }
        let methods = recaps.flatMap(\.methods).uniqued()
        var session: SessionRecord?
        if !methods.isEmpty {
            var accounts = cacaos.compactMap(\.account)
            for (cacao, recap) in zip(cacaos, recaps) {
                accounts += recap.chains.compactMap(Blockchain.init).compactMap { chain in
                    cacao.account.flatMap { Account(blockchain: chain, address: $0.address) }
                }
            }
            let made = authenticatedSession(
                key: symKey,
                keys: (key.publicKey, record.publicKey),
                peer: record.requester,
                pairing: record.pairingTopic,
                namespaces: Self.namespaces(accounts: accounts.uniqued(), methods: methods),
                isController: true,
                isByLink: record.isByLink == true
            )
            book.put(made)
            act(.subscribe(made.topic))
            session = made
        }
        answerAuthentication(
            record,
            .response(.of(["cacaos": .array(cacaos.map(\.json)), "responder": participant(key.publicKey)])),
            from: key.publicKey,
            with: symKey,
            as: .success
        )
        if let pairing = book.pairings[record.pairingTopic] { activate(pairing) }
        return session?.value
    }

    mutating func rejectAuthentication(_ id: RPCID, _ reason: RejectionReason) throws(SignError) {
        let record = try openAuthentication(id)
        let key = AgreementKey(using: random)
        guard let symKey = key.sharedSecret(with: record.publicKey) else {
            throw .invalid(reason: "the requester's key is unusable")
        }
        answerAuthentication(record, .error(reason), from: key.publicKey, with: symKey, as: .rejection)
    }

    private mutating func answerAuthentication(
        _ record: AuthProposalRecord,
        _ result: RPCResult,
        from sender: PublicKey,
        with key: SymmetricSecret,
        as answer: Method.Answer
    ) {
        let text = RPCMessage.response(RPCResponse(id: record.id, result: result)).text
        let envelope = Envelope.seal(text, from: sender, with: key, nonce: random.bytes(12))
        let number = keep(
            envelope.text(for: .relay),
            on: record.publicKey.answerTopic,
            tag: Method.sessionAuthenticate.responseTag(answer),
            ttl: Method.sessionAuthenticate.responseTTL(answer),
            prompt: false
        )
        let carrier = LinkEnvelope(topic: record.publicKey.answerTopic, envelope: envelope)
        let universal = record.isByLink == true ? link(to: record.requester) : nil
        if let link = universal.flatMap(carrier.link) {
            act(.open(link, instead: number))
        } else {
            act(.publish(number))
        }
        book.removeAuthRequest(record.name)
        book.removeProposal(record.name)  // The same dapp's fallback.
    }
}

internal import StrictJSON

/// The wallet's side: proposals, approvals, and what a controller may do.
extension SignEngine {
    mutating func receiveProposal(_ request: RPCRequest, _ pairing: PairingRecord, attestation: String?) {
        do throws(JSONRPCError) {
            guard let record = try proposal(in: request, pairing, attestation: attestation) else { return }
            book.put(record)
            var pairing = pairing
            if pairing.state == .awaitingProposal { pairing.state = .proposed }
            pairing.peer = record.proposer
            book.put(pairing)
            emit(.proposalReceived(record.value))
        } catch {
            answer(
                request.id,
                .error(error),
                to: .sessionPropose,
                on: pairing.topic,
                key: pairing.key,
                as: .automaticRejection
            )
        }
    }

    /// nil for a copy of one that is known, and for one whose time is over.
    private mutating func proposal(
        in request: RPCRequest,
        _ pairing: PairingRecord,
        attestation: String?
    ) throws(JSONRPCError) -> ProposalRecord? {
        guard !pairing.isProposer, !pairing.isOver else { throw .unauthorizedMethod }
        let params = request.params
        guard let proposer = params.value(named: "proposer"),
            let publicKey = proposer.value(named: "publicKey")?.string.flatMap(PublicKey.init),
            let peer = AppMetadata(json: proposer.value(named: "metadata"))
        else { throw JSONRPCError(code: -32602, message: "The proposal names no proposer.") }
        guard let relays = params.value(named: "relays")?.elements,
            relays.contains(where: { $0.value(named: "protocol")?.string == "irn" })
        else { throw JSONRPCError(code: -32602, message: "The proposal names no relay protocol that is spoken here.") }
        let open = book.proposals.values.filter { $0.pairingTopic == pairing.topic }
        if let known = book.proposals[publicKey.text] {
            guard known.requestID != request.id || known.pairingTopic != pairing.topic else { return nil }
            throw JSONRPCError(code: -32602, message: "The proposer's key is in use.")
        }
        guard open.count < Self.openLimit else { throw .userRejected.saying("Too many open proposals.") }
        let expiry = params.present("expiryTimestamp")?.integer ?? now + Lifetime.proposal
        guard expiry > now else {
            log("\(pairing.topic): dropped a proposal whose time is over")
            return nil
        }
        let required: [String: ProposalNamespace]
        let optional: [String: ProposalNamespace]
        do throws(NamespaceError) {
            required = try ProposalNamespace.read(params.value(named: "requiredNamespaces"))
            optional = try ProposalNamespace.read(params.value(named: "optionalNamespaces"))
        } catch { throw error.reason }
        return ProposalRecord(
            requestID: request.id,
            publicKey: publicKey,
            pairingTopic: pairing.topic,
            proposer: peer,
            required: required,
            optional: optional,
            sessionProperties: Self.properties(params.present("sessionProperties")),
            scopedProperties: params.present("scopedProperties").map(StoredJSON.init),
            expiry: min(expiry, now + Lifetime.proposal),
            attestation: attestation,
            transport: pairing.transport
        )
    }

    private func openProposal(_ id: String) throws(SignError) -> (ProposalRecord, PairingRecord) {
        guard let proposal = book.proposals[id] else {
            throw expiredProposals.contains(id) ? .proposalExpired : .unknown(what: "proposal")
        }
        guard proposal.expiry > now else { throw .proposalExpired }
        guard let pairing = book.pairings[proposal.pairingTopic] else { throw .unknown(what: "pairing") }
        return (proposal, pairing)
    }

    /// The user said yes. The session is usable once the dapp has confirmed it.
    mutating func approve(
        _ id: String,
        _ namespaces: [String: SessionNamespace],
        sessionProperties: [String: String]?
    ) throws(SignError) -> Session {
        let (proposal, pairing) = try openProposal(id)
        do throws(NamespaceError) {
            _ = try SessionNamespace.read(Self.json(namespaces))
            try NamespaceRules.check(namespaces, gives: proposal.required)
        } catch { throw .namespaces(error) }
        let key = AgreementKey(using: random)
        guard let symKey = key.sharedSecret(with: proposal.publicKey) else {
            throw .invalid(reason: "the proposer's key is unusable")
        }
        let settleID = nextID()
        let session = SessionRecord(
            topic: symKey.topic,
            key: StoredSecret(symKey),
            pairingTopic: pairing.topic,
            selfKey: key.publicKey,
            peerKey: proposal.publicKey,
            peer: proposal.proposer,
            isController: true,
            acknowledged: false,
            namespaces: namespaces,
            required: proposal.required,
            sessionProperties: sessionProperties,
            expiry: now + Lifetime.session,
            settleID: settleID
        )
        // Before the first message, so that the answer to it finds us.
        act(.subscribe(session.topic))
        settle(session)
        answer(
            proposal.requestID,
            .response(
                .of(["relay": .of(["protocol": .string("irn")]), "responderPublicKey": .string(key.publicKey.text)])
            ),
            to: .sessionPropose,
            on: pairing.topic,
            key: pairing.key
        )
        activate(pairing)
        book.removeProposal(id)
        book.removeAuthRequest(id)
        return session.value
    }

    mutating func activate(_ pairing: PairingRecord) {
        var pairing = pairing
        (pairing.active, pairing.state, pairing.expiry) = (true, .approved, now + Lifetime.activePairing)
        book.put(pairing)
    }

    private mutating func settle(_ session: SessionRecord) {
        book.put(session)
        _ = send(
            .sessionSettle,
            .of([
                "relay": .of(["protocol": .string("irn")]), "namespaces": Self.json(session.namespaces),
                "controller": participant(session.selfKey), "expiry": .number(session.expiry),
                "sessionProperties": session.sessionProperties.flatMap { $0.isEmpty ? nil : .map($0) { .string($0) } },
            ]),
            on: session.topic,
            key: session.key,
            id: session.settleID
        )
        book.put(
            SentRecord(id: session.settleID, topic: session.topic, method: .sessionSettle, expiry: session.expiry)
        )
    }

    /// The user said no.
    mutating func reject(_ id: String, _ reason: RejectionReason) throws(SignError) {
        let (proposal, pairing) = try openProposal(id)
        answer(
            proposal.requestID,
            .error(reason),
            to: .sessionPropose,
            on: pairing.topic,
            key: pairing.key,
            as: .rejection
        )
        book.removeProposal(id)
        book.removeAuthRequest(id)
    }

    private func controlled(_ topic: Topic) throws(SignError) -> SessionRecord {
        let session = try liveSession(topic)
        guard session.isController else { throw .notAllowed(reason: "only the wallet changes a session") }
        return session
    }

    func liveSession(_ topic: Topic) throws(SignError) -> SessionRecord {
        guard let session = book.sessions[topic], !session.isOver else { throw .unknown(what: "session") }
        guard session.expiry > now else { throw .sessionExpired }
        return session
    }

    mutating func update(_ topic: Topic, _ namespaces: [String: SessionNamespace]) throws(SignError) -> RPCID {
        var session = try controlled(topic)
        do throws(NamespaceError) {
            _ = try SessionNamespace.read(Self.json(namespaces))
            try NamespaceRules.check(namespaces, gives: session.required)
        } catch { throw .namespaces(error) }
        session.namespaces = namespaces
        book.put(session)
        let id = send(.sessionUpdate, .of(["namespaces": Self.json(namespaces)]), on: topic, key: session.key)
        book.put(SentRecord(id: id, topic: topic, method: .sessionUpdate, expiry: now + 86400))
        return id
    }

    mutating func extend(_ topic: Topic) throws(SignError) -> RPCID {
        var session = try controlled(topic)
        session.expiry = max(session.expiry, now + Lifetime.session)
        book.put(session)
        let id = send(.sessionExtend, .of(["expiry": .number(session.expiry)]), on: topic, key: session.key)
        book.put(SentRecord(id: id, topic: topic, method: .sessionExtend, expiry: now + 86400))
        return id
    }

    mutating func emit(_ topic: Topic, _ event: Session.Event, _ chain: Blockchain) throws(SignError) -> RPCID {
        let session = try liveSession(topic)
        guard NamespaceRules.allows(event: event.name, on: chain, in: session.namespaces) else {
            throw .notAllowed(reason: "the session has no event \(event.name) on \(chain)")
        }
        let params = ExactJSON.of([
            "event": .of(["name": .string(event.name), "data": event.data]), "chainId": .string(chain.absoluteString),
        ])
        let id = send(.sessionEvent, params, on: topic, key: session.key)
        book.put(SentRecord(id: id, topic: topic, method: .sessionEvent, expiry: now + 300))
        return id
    }
}

internal import StrictJSON

/// The dapp's side: proposing, and what comes of it.
extension SignEngine {
    /// Makes a pairing and puts a proposal into its mailbox, to be there before anybody scans.
    mutating func connect(
        required: [String: ProposalNamespace],
        optional: [String: ProposalNamespace],
        sessionProperties: [String: String]?,
        scopedProperties: AnyCodable?,
        authentication: AuthPayload?
    ) throws(SignError) -> WalletConnectURI {
        try Self.check(required)
        try Self.check(optional)
        guard let symKey = SymmetricSecret(bytes: random.bytes(32)) else { throw .invalid(reason: "no random bytes") }
        let key = AgreementKey(using: random)
        let topic = symKey.topic
        let pairing = PairingRecord(
            topic: topic,
            key: StoredSecret(symKey),
            isProposer: true,
            expiry: now + Lifetime.inactivePairing,
            state: .proposed
        )
        book.put(pairing)
        act(.subscribe(topic))
        var record = OfferRecord(
            requestID: nextID(),
            pairingTopic: topic,
            key: key,
            required: required,
            optional: optional,
            sessionProperties: sessionProperties,
            expiry: now + Lifetime.proposal
        )
        if let authentication { authenticate(authentication, pairing, &record) }
        book.put(record)
        _ = send(
            .sessionPropose,
            .of([
                "requiredNamespaces": Self.json(required), "optionalNamespaces": Self.json(optional),
                "relays": .array([.of(["protocol": .string("irn")])]), "proposer": participant(key.publicKey),
                "sessionProperties": sessionProperties.flatMap { $0.isEmpty ? nil : .map($0) { .string($0) } },
                "scopedProperties": scopedProperties, "expiryTimestamp": .number(record.expiry),
            ]),
            on: topic,
            key: pairing.key,
            id: record.requestID
        )
        return WalletConnectURI(
            symKey: symKey,
            expiryTimestamp: pairing.expiry,
            methods: authentication == nil ? [] : ["wc_sessionAuthenticate"]
        )
    }

    private static func check(_ namespaces: [String: ProposalNamespace]) throws(SignError) {
        do throws(NamespaceError) { _ = try ProposalNamespace.read(json(namespaces)) } catch {
            throw .namespaces(error)
        }
    }

    static func json(_ namespaces: [String: ProposalNamespace]) -> ExactJSON {
        .object(namespaces.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json(key: $0.key)) })
    }

    static func json(_ namespaces: [String: SessionNamespace]) -> ExactJSON {
        .object(namespaces.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json(key: $0.key)) })
    }

    func participant(_ key: PublicKey) -> ExactJSON {
        .of(["publicKey": .string(key.text), "metadata": metadata.json])
    }

    /// Takes an offer back that nobody has seen, because its proposal could not be sent.
    mutating func abandon(_ pairing: Topic) {
        for offer in book.offers.values where offer.pairingTopic == pairing {
            act(.unsubscribe(offer.key.publicKey.answerTopic))
            book.removeOffer(offer.name)
        }
        for record in book.outbox.values where record.topic == pairing { book.removeOutbox(record.number) }
        if book.pairings[pairing] != nil {
            book.removePairing(pairing)
            act(.unsubscribe(pairing))
        }
    }

    /// Marks an offer as over. Its key stays for a while: a wallet that approves now must be told to forget it.
    mutating func end(_ offer: OfferRecord, _ cause: ProposalFailure.Cause) {
        guard var offer = book.offers[offer.name], offer.phase != .over else { return }
        if offer.phase == .settling, let topic = offer.sessionTopic, let key = offer.sessionKey {
            deleteGhost(topic, key)
            act(.unsubscribe(topic))
            offer.sessionTopic = nil
        }
        offer.phase = .over
        book.put(offer)
        emit(.proposalFailed(ProposalFailure(pairingTopic: offer.pairingTopic, cause: cause)))
    }

    private mutating func deleteGhost(_ topic: Topic, _ key: StoredSecret) {
        let reason = Reason.userDisconnected
        _ = send(
            .sessionDelete,
            .of(["code": .number(reason.code), "message": .string(reason.message)]),
            on: topic,
            key: key
        )
    }

    /// The wallet's answer to `wc_sessionPropose`, or its refusal of `wc_sessionAuthenticate`.
    mutating func receiveProposalAnswer(_ response: RPCResponse, _ offer: OfferRecord, _ pairing: PairingRecord) {
        var pairing = pairing
        if !pairing.isOver, !pairing.active {
            (pairing.active, pairing.state, pairing.expiry) = (true, .approved, now + Lifetime.activePairing)
            book.put(pairing)
        }
        switch response.result {
        case .error(let error):
            guard offer.phase == .open else { return }
            if offer.authenticateID == response.id { emitRefusedAuthentication(offer, error) }
            emit(.proposalFailed(ProposalFailure(pairingTopic: offer.pairingTopic, cause: .rejected(error))))
            remove(offer)
        case .response(let result):
            guard offer.requestID == response.id else { return }
            guard let responder = result.value(named: "responderPublicKey")?.string.flatMap(PublicKey.init),
                let key = offer.key.sharedSecret(with: responder)
            else {
                guard offer.phase == .open else { return }
                emit(
                    .proposalFailed(
                        ProposalFailure(
                            pairingTopic: offer.pairingTopic,
                            cause: .unusable(reason: "no usable public key")
                        )
                    )
                )
                return remove(offer)
            }
            guard offer.phase == .open else { return receiveLateApproval(offer, responder, key) }
            var settling = offer
            (settling.phase, settling.responder) = (.settling, responder)
            settling.settleBy = now + Lifetime.settlement
            (settling.sessionTopic, settling.sessionKey) = (key.topic, StoredSecret(key))
            book.put(settling)
            act(.subscribe(key.topic))
            receiveEarly(on: key.topic)
        }
    }

    /// A wallet approves what is over, or what another one has taken: it is told that there is no session.
    private mutating func receiveLateApproval(_ offer: OfferRecord, _ responder: PublicKey, _ key: SymmetricSecret) {
        // The one that has taken it says so again.
        guard offer.responder != responder, book.outbox.count < Self.outboxLimit else { return }
        log("\(offer.pairingTopic): a wallet approved too late")
        deleteGhost(key.topic, StoredSecret(key))
        emit(.approvedTooLate(offer.pairingTopic))
        // Of what was taken the key stays: further wallets may come by the same code.
        if offer.responder == nil { remove(offer) }
    }

    /// Marks an offer as taken. Its key stays for a while: another wallet that approves it must be told to forget it.
    private mutating func close(_ offer: OfferRecord) {
        if offer.authenticate != nil { act(.unsubscribe(offer.key.publicKey.answerTopic)) }
        var offer = offer
        offer.phase = .over
        (offer.authenticate, offer.sessionTopic, offer.sessionKey) = (nil, nil, nil)
        book.put(offer)
    }

    mutating func remove(_ offer: OfferRecord) {
        if offer.authenticate != nil { act(.unsubscribe(offer.key.publicKey.answerTopic)) }
        book.removeOffer(offer.name)
        guard let pairing = book.pairings[offer.pairingTopic], pairing.isOver,
            !book.offers.values.contains(where: { $0.pairingTopic == pairing.topic })
        else { return }
        book.removePairing(pairing.topic)
        act(.unsubscribe(pairing.topic))
    }

    /// `wc_sessionSettle`: what the wallet allows. The session exists from here on, or not at all.
    mutating func receiveSettlement(_ request: RPCRequest, _ offer: OfferRecord) {
        guard offer.phase == .settling, let topic = offer.sessionTopic, let key = offer.sessionKey,
            let responder = offer.responder
        else { return }
        guard request.method == Method.sessionSettle.rawValue else {
            log("\(topic): dropped \(request.method.cut(toBytes: 40)) before the settlement")
            return
        }
        do throws(JSONRPCError) {
            let session = try settled(request, offer, topic: topic, key: key, responder: responder)
            answer(request.id, .response(.bool(true)), to: .sessionSettle, on: topic, key: key)
            book.put(session)
            close(offer)
            emit(.sessionSettled(session.value))
        } catch {
            answer(request.id, .error(error), to: .sessionSettle, on: topic, key: key)
            act(.unsubscribe(topic))
            emit(
                .proposalFailed(
                    ProposalFailure(pairingTopic: offer.pairingTopic, cause: .unusable(reason: error.message))
                )
            )
            remove(offer)
        }
    }

    private func settled(
        _ request: RPCRequest,
        _ offer: OfferRecord,
        topic: Topic,
        key: StoredSecret,
        responder: PublicKey
    ) throws(JSONRPCError) -> SessionRecord {
        let params = request.params
        guard let controller = params.value(named: "controller"),
            let controllerKey = controller.value(named: "publicKey")?.string.flatMap(PublicKey.init)
        else { throw .invalidSessionSettleRequest.saying("The settlement names no controller.") }
        guard controllerKey == responder else {
            throw .invalidSessionSettleRequest.saying("The settlement is not from the wallet that answered.")
        }
        guard let expiry = params.value(named: "expiry")?.integer, expiry > now else {
            throw .invalidSessionSettleRequest.saying("The session would be over already.")
        }
        let namespaces: [String: SessionNamespace]
        do throws(NamespaceError) {
            namespaces = try SessionNamespace.read(params.value(named: "namespaces"))
            try NamespaceRules.check(namespaces, gives: offer.required)
        } catch { throw error.reason }
        return SessionRecord(
            topic: topic,
            key: key,
            pairingTopic: offer.pairingTopic,
            selfKey: offer.key.publicKey,
            peerKey: responder,
            peer: AppMetadata(json: controller.value(named: "metadata"))
                ?? AppMetadata(name: "", description: "", url: "", icons: []),
            isController: false,
            acknowledged: true,
            namespaces: namespaces,
            required: offer.required,
            sessionProperties: Self.properties(params.present("sessionProperties")),
            expiry: min(expiry, now + Lifetime.activePairing),
            settleID: request.id
        )
    }

    /// Texts by name; others are passed over.
    static func properties(_ json: ExactJSON?) -> [String: String]? {
        guard let members = json?.members, members.count <= NamespaceLimits.keys else { return nil }
        var properties: [String: String] = [:]
        for member in members { properties[member.name] = member.value.string?.cut(toBytes: 4096) }
        return properties.isEmpty ? nil : properties
    }
}

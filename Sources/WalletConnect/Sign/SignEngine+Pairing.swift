internal import StrictJSON

extension SignEngine {
    // MARK: Wallet

    /// What a scan leads to.
    enum ScanResult: Sendable, Equatable { case new(Topic), again(Topic) }

    /// Takes a scanned or opened URI. Scanning an unapproved one again is allowed and shows its proposal again.
    mutating func pair(_ uri: WalletConnectURI, by transport: Transport) throws(PairingError) -> ScanResult {
        guard !uri.isExpired(atSeconds: now) else { throw .expired }
        if let known = book.pairings[uri.topic] {
            guard !known.active, !known.isProposer, !known.isOver else { throw .alreadyPaired(uri.topic) }
            act(.subscribe(uri.topic))
            for proposal in book.proposals.values where proposal.pairingTopic == uri.topic {
                emit(.proposalReceived(proposal.value))
            }
            return .again(uri.topic)
        }
        book.put(
            PairingRecord(
                topic: uri.topic,
                key: StoredSecret(uri.symKey),
                isProposer: false,
                expiry: min(uri.expiryTimestamp ?? .max, now + Lifetime.inactivePairing),
                transport: transport
            )
        )
        act(.subscribe(uri.topic))
        return .new(uri.topic)
    }

    // MARK: Both sides

    mutating func receivePairingRequest(_ request: RPCRequest, _ pairing: PairingRecord, attestation: String?) {
        func answer(_ result: RPCResult, _ method: Method?, _ kind: Method.Answer = .success) {
            self.answer(request.id, result, to: method, on: pairing.topic, key: pairing.key, as: kind)
        }
        guard let method = Method(rawValue: request.method) else {
            return answer(.error(.methodUnsupported.saying("Unsupported wc_ method.")), nil)
        }
        switch method {
        case .sessionPropose: receiveProposal(request, pairing, attestation: attestation)
        case .sessionAuthenticate: receiveAuthenticationRequest(request, pairing, attestation: attestation)
        case .pairingPing: answer(.response(.bool(true)), method)
        case .pairingExtend:
            if var pairing = book.pairings[pairing.topic], pairing.active,
                let wish = request.params.value(named: "expiry")?.integer, wish > pairing.expiry
            {
                pairing.expiry = min(wish, now + Lifetime.activePairing)
                book.put(pairing)
            }
            answer(.response(.bool(true)), method)
        case .pairingDelete:
            answer(.response(.bool(true)), method)
            endPairing(pairing.topic)
            emit(.pairingDeleted(pairing.topic, Self.reason(in: request.params)))
        default: answer(.error(.noSessionForTopic), method)
        }
    }

    mutating func receivePairingResponse(_ response: RPCResponse, _ pairing: PairingRecord) {
        if let offer = book.offers.values.first(where: {
            $0.pairingTopic == pairing.topic && ($0.requestID == response.id || $0.authenticateID == response.id)
        }) {
            return receiveProposalAnswer(response, offer, pairing)
        }
        receiveAnswer(response, on: pairing.topic)
    }

    /// A reason as the peer gave it, or a plain one.
    static func reason(in params: ExactJSON) -> Reason {
        let code = params.value(named: "code")?.integer.flatMap { Int(exactly: $0) }
        let message = params.value(named: "message")?.string
        return Reason(
            code: code ?? Reason.userDisconnected.code,
            message: (message ?? Reason.userDisconnected.message).cut(toBytes: 1024)
        )
    }

    /// Drops a pairing here. Its key stays while a wallet may still answer an offer on it.
    mutating func endPairing(_ topic: Topic) {
        guard var pairing = book.pairings[topic] else { return }
        for offer in book.offers.values where offer.pairingTopic == topic && offer.phase == .open {
            end(offer, .withdrawn)
        }
        if book.offers.values.contains(where: { $0.pairingTopic == topic }) {
            pairing.isOver = true
            book.put(pairing)
        } else {
            book.removePairing(topic)
            act(.unsubscribe(topic))
        }
    }

    /// Ends a pairing and tells the peer.
    mutating func disconnectPairing(_ topic: Topic, _ reason: Reason) throws(SignError) {
        guard let pairing = book.pairings[topic], !pairing.isOver else { throw .unknown(what: "pairing") }
        _ = send(
            .pairingDelete,
            .of(["code": .number(reason.code), "message": .string(reason.message)]),
            on: topic,
            key: pairing.key
        )
        endPairing(topic)
    }

    mutating func ping(_ topic: Topic) throws(SignError) -> RPCID {
        if let session = book.sessions[topic], !session.isOver {
            let id = send(.sessionPing, .object([]), on: topic, key: session.key)
            book.put(SentRecord(id: id, topic: topic, method: .sessionPing, expiry: now + Lifetime.ping))
            return id
        }
        guard let pairing = book.pairings[topic], !pairing.isOver else { throw .unknown(what: "session or pairing") }
        let id = send(.pairingPing, .object([]), on: topic, key: pairing.key)
        book.put(SentRecord(id: id, topic: topic, method: .pairingPing, expiry: now + Lifetime.ping))
        return id
    }

    /// True while a scanned pairing waits for its proposal.
    var isPairing: Bool {
        book.pairings.values.contains { !$0.isProposer && !$0.isOver && $0.state == .awaitingProposal }
    }
}

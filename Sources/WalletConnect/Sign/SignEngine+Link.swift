internal import StrictJSON

/// Link mode: between two apps on one phone, a sign-in, requests and their answers travel within links.
///
/// Only where both sides have announced it with a universal link. Everything else of such a session goes by the relay, and so
/// does what no app took from a link. Source: WalletConnect specifications and SDKs, link mode.
extension SignEngine {
    /// Where envelopes for this peer can be sent; nil unless both sides take them.
    func link(to peer: AppMetadata?) -> String? {
        guard takesLinks, let redirect = peer?.redirect, redirect.linkMode else { return nil }
        return redirect.universal.flatMap { LinkEnvelope.isUniversal($0) ? $0 : nil }
    }

    /// Whether this side has announced that it takes envelopes within links.
    var takesLinks: Bool {
        guard let redirect = metadata.redirect, redirect.linkMode, let universal = redirect.universal else {
            return false
        }
        return LinkEnvelope.isUniversal(universal)
    }

    /// Sends a message of a session: within a link where the session has one, else by the relay.
    mutating func deliver(_ message: String, on topic: Topic, tag: Int, ttl: Int, prompt: Bool, method: Method?) {
        guard method == .sessionRequest, let universal = book.sessions[topic]?.peerLink,
            let envelope = try? Envelope(text: message, from: .relay),
            let link = LinkEnvelope(topic: topic, envelope: envelope).link(universal: universal)
        else { return publish(message, on: topic, tag: tag, ttl: ttl, prompt: prompt) }
        act(.open(link, instead: keep(message, on: topic, tag: tag, ttl: ttl, prompt: prompt)))
    }

    // MARK: Dapp

    /// The first message: anybody could have written it, so it carries nothing secret. Returns the topic it is known by.
    mutating func authenticate(_ payload: AuthPayload, wallet universal: String) throws(SignError) -> Topic {
        guard takesLinks else { throw .notAllowed(reason: "link mode is not announced in this app's own metadata") }
        guard LinkEnvelope.isUniversal(universal) else { throw .invalid(reason: "no universal link") }
        guard let name = SymmetricSecret(bytes: random.bytes(32)) else { throw .invalid(reason: "no random bytes") }
        let expiry = now + Lifetime.authentication
        var offer = OfferRecord(
            requestID: nextID(),
            pairingTopic: name.topic,
            key: AgreementKey(using: random),
            required: [:],
            optional: [:],
            sessionProperties: nil,
            expiry: expiry
        )
        let id = nextID()
        offer.authenticateID = id
        offer.authenticate = AuthRequestRecord(payload: payload, expiry: expiry)
        offer.isByLink = true
        let request = RPCRequest(
            id: id,
            method: Method.sessionAuthenticate.rawValue,
            params: .of([
                "authPayload": payload.json, "requester": participant(offer.key.publicKey),
                "expiryTimestamp": .number(expiry),
            ])
        )
        let envelope = LinkEnvelope(plainText: RPCMessage.request(request).text, topic: name.topic)
        guard let link = envelope.link(universal: universal) else { throw .invalid(reason: "no universal link") }
        book.put(offer)
        // The answer comes by the relay where no link brings it.
        act(.open(link, instead: nil))
        act(.subscribe(offer.key.publicKey.answerTopic))
        return name.topic
    }

    // MARK: Receiving

    /// Takes an envelope from a link that opened this app. What does not belong here is dropped without a word.
    mutating func receive(_ link: LinkEnvelope) {
        guard takesLinks else {
            return log("\(link.topic): dropped an envelope from a link: link mode is not announced")
        }
        let hash = sha256Hexadecimal(link.envelope.text(for: .relay))
        if book.hasSeen(hash, on: link.topic) { return }
        do throws(MessageFault) {
            switch link.envelope {
            case .plain(let bytes): try receiveFirst(RPCMessage(parsing: bytes), on: link.topic)
            case .sealedFrom(let sender, let sealed):
                guard
                    let offer = book.offers.values.first(where: {
                        $0.isByLink == true && $0.key.publicKey.answerTopic == link.topic
                    }), let key = offer.key.sharedSecret(with: sender),
                    case .response(let response) = try RPCMessage(parsing: sealed.open(with: key))
                else { throw .envelope("not of the type that belongs here") }
                receiveAuthentication(response, offer)
            case .sealed(let sealed):
                guard let session = book.sessions[link.topic], session.peerLink != nil else {
                    throw .envelope("not of the type that belongs here")
                }
                let message = try RPCMessage(parsing: sealed.open(with: session.key.secret))
                book.see(hash, on: link.topic, at: now)
                switch message {
                case .request(let request): receiveSessionRequest(request, session, attestation: nil)
                case .response(let response): receiveSessionResponse(response, session)
                }
            }
        } catch { log("\(link.topic): dropped an envelope from a link: \(error)") }
    }

    /// The only message that may come in plain text.
    private mutating func receiveFirst(_ message: RPCMessage, on topic: Topic) throws(MessageFault) {
        guard case .request(let request) = message, request.method == Method.sessionAuthenticate.rawValue,
            book.sessions[topic] == nil, book.pairings[topic] == nil
        else { throw .plainText }
        guard let record = authentication(in: request, on: topic, by: .link, attestation: nil),
            link(to: record.requester) != nil
        else { return log("\(topic): dropped an authentication request that cannot be answered by a link") }
        var linked = record
        linked.isByLink = true
        book.put(linked)
        emit(.authenticationRequested(linked.value))
    }
}

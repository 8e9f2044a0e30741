internal import StrictJSON

/// Decides what every message, call and passing second means for pairings and sessions. It sends nothing: it says what to
/// store, what to send and what to tell.
///
/// Source: WalletConnect specifications, clients/sign and clients/core.
struct SignEngine: Sendable {
    let metadata: AppMetadata
    let random: any RandomSource
    var book: Book
    /// Milliseconds since 1970, as of the call under way.
    private(set) var nowMilliseconds: Int64 = 0
    private(set) var operations: [RelayOperation] = []
    private(set) var events: [SignEvent] = []
    /// Messages on topics that may become known with the next answer: a settlement can overtake it. Not acknowledged.
    var early: [RelayMessage] = []
    /// Proposals that ended for lack of time, so that a late approval is told why. The newest 64.
    var expiredProposals: [String] = []
    private var lastID: Int64 = 0
    private var lastOutbox: UInt64

    static let earlyLimit = 16
    static let earlyBytes = 65_536
    /// Open proposals of one pairing, and open requests of one session.
    static let openLimit = 64
    /// Unsent messages. Beyond it requests wait in their mailbox until the relay takes some: each makes an answer.
    static let outboxLimit = 1024

    init(metadata: AppMetadata, random: any RandomSource, book: Book) {
        (self.metadata, self.random, self.book) = (metadata, random, book)
        lastOutbox = book.outbox.keys.max() ?? 0
    }

    /// Seconds since 1970.
    var now: Int64 { nowMilliseconds / 1000 }

    mutating func begin(_ nowMilliseconds: Int64) { self.nowMilliseconds = nowMilliseconds }

    /// What the call came to: changes to store first, then what to send, then what to tell.
    mutating func takeOutput() -> (changes: [StorageChange], operations: [RelayOperation], events: [SignEvent]) {
        defer { (operations, events) = ([], []) }
        return (book.takeChanges(), operations, events)
    }

    mutating func emit(_ event: SignEvent) { events.append(event) }
    mutating func log(_ text: String) { events.append(.log(text)) }
    mutating func act(_ operation: RelayOperation) { operations.append(operation) }

    /// Every topic with something to hear, for the start after a restart.
    var topics: [Topic] {
        let settling = book.offers.values.compactMap(\.sessionTopic)
        let answers = book.offers.values.filter { $0.authenticate != nil }.map(\.key.publicKey.answerTopic)
        return (Array(book.pairings.keys) + Array(book.sessions.keys) + settling + answers).uniqued()
    }

    // MARK: Sending

    /// Time and chance in 16 digits, rising: JavaScript peers cannot hold more.
    mutating func nextID() -> RPCID {
        let chance = random.bytes(2).reduce(Int64(0)) { $0 << 8 | Int64($1) } % 1000
        lastID = max(nowMilliseconds * 1000 + chance, lastID + 1)
        return RPCID(lastID)
    }

    func seal(_ text: String, with key: StoredSecret) -> String {
        Envelope.seal(text, with: key.secret, nonce: random.bytes(12)).text(for: .relay)
    }

    /// Puts a message into the outbox, where it stays until the relay has it or it is too old.
    mutating func publish(_ message: String, on topic: Topic, tag: Int, ttl: Int, prompt: Bool) {
        act(.publish(keep(message, on: topic, tag: tag, ttl: ttl, prompt: prompt)))
    }

    /// Puts a message into the outbox and returns its number there.
    mutating func keep(_ message: String, on topic: Topic, tag: Int, ttl: Int, prompt: Bool) -> UInt64 {
        lastOutbox += 1
        book.put(
            OutboxRecord(
                number: lastOutbox,
                topic: topic,
                message: message,
                tag: tag,
                ttl: ttl,
                prompt: prompt,
                expiry: now + Int64(ttl)
            )
        )
        // Relays may send us our own. What was seen is kept with what the topic belongs to.
        if place(of: topic) != nil { book.see(sha256Hexadecimal(message), on: topic, at: now) }
        return lastOutbox
    }

    mutating func send(
        _ method: Method,
        _ params: ExactJSON,
        on topic: Topic,
        key: StoredSecret,
        id: RPCID? = nil,
        ttl: Int? = nil
    ) -> RPCID {
        let id = id ?? nextID()
        let text = RPCMessage.request(RPCRequest(id: id, method: method.rawValue, params: params)).text
        deliver(
            seal(text, with: key),
            on: topic,
            tag: method.requestTag,
            ttl: ttl ?? method.requestTTL,
            prompt: method.prompts,
            method: method
        )
        return id
    }

    /// Answers, and returns the answer as sent.
    @discardableResult
    mutating func answer(
        _ id: RPCID,
        _ result: RPCResult,
        to method: Method?,
        on topic: Topic,
        key: StoredSecret,
        as answer: Method.Answer = .success
    ) -> String {
        let message = seal(RPCMessage.response(RPCResponse(id: id, result: result)).text, with: key)
        deliver(
            message,
            on: topic,
            tag: method?.responseTag(answer) ?? Method.unknownTag,
            ttl: method?.responseTTL(answer) ?? Method.unknownTTL,
            prompt: false,
            method: method
        )
        return message
    }

    // MARK: Receiving

    /// Where a message came in.
    private enum Place {
        case pairing(PairingRecord), session(SessionRecord), settling(OfferRecord), authentication(OfferRecord)
    }

    private func place(of topic: Topic) -> Place? {
        if let session = book.sessions[topic] { return .session(session) }
        if let pairing = book.pairings[topic] { return .pairing(pairing) }
        for offer in book.offers.values {
            if offer.sessionTopic == topic { return .settling(offer) }
            if offer.authenticate != nil, offer.key.publicKey.answerTopic == topic { return .authentication(offer) }
        }
        return nil
    }

    /// Takes one message from the relay. False: do not acknowledge it, it may be understood later.
    mutating func receive(_ message: RelayMessage) -> Bool {
        guard message.message.utf8.count <= RPCMessage.limitBytes else {
            log("\(message.topic): dropped a message of more than 1 MiB")
            return true
        }
        guard let place = place(of: message.topic) else { return receiveUnknown(message) }
        let hash = sha256Hexadecimal(message.message)
        guard !book.hasSeen(hash, on: message.topic) else { return true }
        do throws(MessageFault) {
            let content = try open(message, in: place)
            if case .request = content, book.outbox.count >= Self.outboxLimit { return false }
            book.see(hash, on: message.topic, at: now)
            dispatch(content, in: place, attestation: message.attestation)
        } catch {
            // No answer and no consequence: whoever cannot seal must not be able to end a session.
            log("\(message.topic): dropped a message: \(error)")
        }
        return true
    }

    private mutating func receiveUnknown(_ message: RelayMessage) -> Bool {
        let mayBecomeKnown = book.offers.values.contains { $0.phase == .open }
        guard mayBecomeKnown, message.message.utf8.count <= Self.earlyBytes, early.count < Self.earlyLimit else {
            log("\(message.topic): dropped a message on an unknown topic")
            return true
        }
        if !early.contains(where: { $0.topic == message.topic && $0.message == message.message }) {
            early.append(message)
        }
        return false
    }

    /// Takes what came before its key was known.
    mutating func receiveEarly(on topic: Topic) {
        let ready = early.filter { $0.topic == topic }
        early.removeAll { $0.topic == topic }
        for message in ready { _ = receive(message) }
        if !book.offers.values.contains(where: { $0.phase == .open }) { early = [] }
    }

    private func open(_ message: RelayMessage, in place: Place) throws(MessageFault) -> RPCMessage {
        let envelope = try Envelope(text: message.message, from: .relay)
        switch (place, envelope) {
        case (.pairing(let pairing), .sealed(let sealed)):
            return try RPCMessage(parsing: sealed.open(with: pairing.key.secret))
        case (.session(let session), .sealed(let sealed)):
            return try RPCMessage(parsing: sealed.open(with: session.key.secret))
        case (.settling(let offer), .sealed(let sealed)):
            guard let key = offer.sessionKey else { throw .notAuthentic }
            return try RPCMessage(parsing: sealed.open(with: key.secret))
        case (.authentication(let offer), .sealedFrom(let sender, let sealed)):
            guard let key = offer.key.sharedSecret(with: sender) else { throw .notAuthentic }
            return try RPCMessage(parsing: sealed.open(with: key))
        default: throw .envelope("not of the type that belongs here")
        }
    }

    private mutating func dispatch(_ message: RPCMessage, in place: Place, attestation: String?) {
        switch (place, message) {
        case (.pairing(let pairing), .request(let request)):
            receivePairingRequest(request, pairing, attestation: attestation)
        case (.pairing(let pairing), .response(let response)): receivePairingResponse(response, pairing)
        case (.session(let session), .request(let request)):
            receiveSessionRequest(request, session, attestation: attestation)
        case (.session(let session), .response(let response)): receiveSessionResponse(response, session)
        case (.settling(let offer), .request(let request)): receiveSettlement(request, offer)
        case (.authentication(let offer), .response(let response)): receiveAuthentication(response, offer)
        case (.settling, .response), (.authentication, .request): log("dropped a message of the wrong kind")
        }
    }
}

internal import StrictJSON

/// What one side asks of the other. Topics are as the sender wrote them: the relay checks them.
public enum RelayCall: Sendable, Equatable {
    case subscribe(topic: String)
    /// `partial`: each topic is answered by itself (the `Blocking` form).
    case batchSubscribe(topics: [String], partial: Bool)
    case unsubscribe(RelaySubscription)
    case batchUnsubscribe([RelaySubscription])
    case publish(RelayPost)
    case batchPublish([RelayPost])
    case fetch(topic: String)
    case batchFetch(topics: [String])
    case receive([RelaySubscription])
    case createTopic(String)
    /// Subscribe to the pairing and publish the proposal, in one.
    case proposeSession(RelayPost)
    /// Subscribe to the session, publish the answer and the settlement, in one.
    case approveSession(response: RelayPost, settlement: RelayPost)
    /// From the relay: a message of a subscribed topic. The client answers `true` when it has stored it.
    case delivery(subscription: String, RelayParcel)
    /// A method that is not for this side, by its name.
    case unknown(String)
}

/// A topic, and where it is known the subscription's or the message's own name.
public struct RelaySubscription: Sendable, Hashable {
    public let topic: String
    public let id: String?

    public init(topic: String, id: String? = nil) { (self.topic, self.id) = (topic, id) }
}

/// A message on its way to a relay.
public struct RelayPost: Sendable, Equatable {
    public let topic: String
    public let message: String
    /// Nil where the client leaves it to the relay.
    public let ttlSeconds: Int64?
    public let tag: Int64
    public let prompt: Bool
    public let attestation: String?

    public init(
        topic: String,
        message: String,
        ttlSeconds: Int64?,
        tag: Int64,
        prompt: Bool = false,
        attestation: String? = nil
    ) {
        (self.topic, self.message, self.ttlSeconds, self.tag) = (topic, message, ttlSeconds, tag)
        (self.prompt, self.attestation) = (prompt, attestation)
    }
}

/// A message on its way from a relay.
public struct RelayParcel: Sendable, Equatable {
    public let topic: String
    public let message: String
    /// Milliseconds since 1970, by the relay's clock.
    public let publishedAt: Int64?
    public let tag: Int64
    public let attestation: String?

    public init(topic: String, message: String, publishedAt: Int64?, tag: Int64, attestation: String? = nil) {
        (self.topic, self.message, self.publishedAt) = (topic, message, publishedAt)
        (self.tag, self.attestation) = (tag, attestation)
    }

    init?(_ json: ExactJSON) {
        guard let topic = json.string("topic"), let message = json.string("message") else { return nil }
        self.init(
            topic: topic,
            message: message,
            publishedAt: json.integer("publishedAt"),
            tag: json.integer("tag") ?? 0,
            attestation: json.string("attestation")
        )
    }

    /// As both deliveries and fetched mailboxes carry it.
    var json: ExactJSON {
        var members: [ExactJSON.Member] = [.init("topic", .string(topic)), .init("message", .string(message))]
        if let attestation { members.append(.init("attestation", .string(attestation))) }
        if let publishedAt { members.append(.init("publishedAt", .number(String(publishedAt)))) }
        members.append(.init("tag", .number(String(tag))))
        return .object(members)
    }
}

extension RelayCall {
    /// The most topics, messages or receipts that one call may name.
    public static let batchLimit = 500

    init(method: String, params: ExactJSON) throws(RelayAnswerError) {
        let name = method.hasPrefix("iridium_") ? "irn_" + method.dropFirst(8) : method
        switch name {
        case "irn_subscribe", "irn_subscribeBlocking": self = .subscribe(topic: try params.required("topic"))
        case "irn_batchSubscribe": self = .batchSubscribe(topics: try params.texts("topics"), partial: false)
        case "irn_batchSubscribeBlocking": self = .batchSubscribe(topics: try params.texts("topics"), partial: true)
        case "irn_unsubscribe":
            self = .unsubscribe(RelaySubscription(topic: try params.required("topic"), id: params.string("id")))
        case "irn_batchUnsubscribe": self = .batchUnsubscribe(try params.subscriptions("subscriptions"))
        case "irn_publish": self = .publish(try params.post())
        case "irn_batchPublish":
            self = .batchPublish(try params.batch("messages") { json throws(RelayAnswerError) in try json.post() })
        case "irn_fetchMessages": self = .fetch(topic: try params.required("topic"))
        case "irn_batchFetchMessages": self = .batchFetch(topics: try params.texts("topics"))
        case "irn_batchReceive": self = .receive(try params.subscriptions("receipts"))
        case "wc_createTopic": self = .createTopic(try params.required("topic"))
        case "wc_proposeSession", "wc_approveSession": self = try Self.session(name, params)
        case "irn_subscription":
            guard let data = params.value(named: "data"), let parcel = RelayParcel(data) else {
                throw .payload("InvalidParams", "no message")
            }
            self = .delivery(subscription: params.string("id") ?? "", parcel)
        default: self = .unknown(String(method.prefix(64)))
        }
    }

    /// Tags and times: WalletConnect specifications, "Sign: RPC methods".
    private static func session(_ name: String, _ params: ExactJSON) throws(RelayAnswerError) -> RelayCall {
        let pairing = try params.required("pairingTopic")
        if name == "wc_proposeSession" {
            return .proposeSession(
                RelayPost(
                    topic: pairing,
                    message: try params.required("sessionProposal"),
                    ttlSeconds: 300,
                    tag: 1100,
                    prompt: true,
                    attestation: params.string("attestation")
                )
            )
        }
        let (response, settlement) = (
            try params.required("sessionProposalResponse"), try params.required("sessionSettlementRequest")
        )
        return .approveSession(
            response: RelayPost(topic: pairing, message: response, ttlSeconds: 300, tag: 1101),
            settlement: RelayPost(
                topic: try params.required("sessionTopic"),
                message: settlement,
                ttlSeconds: 300,
                tag: 1102
            )
        )
    }

    var method: String {
        switch self {
        case .subscribe: "irn_subscribe"
        case .batchSubscribe(_, let partial): partial ? "irn_batchSubscribeBlocking" : "irn_batchSubscribe"
        case .unsubscribe: "irn_unsubscribe"
        case .batchUnsubscribe: "irn_batchUnsubscribe"
        case .publish: "irn_publish"
        case .batchPublish: "irn_batchPublish"
        case .fetch: "irn_fetchMessages"
        case .batchFetch: "irn_batchFetchMessages"
        case .receive: "irn_batchReceive"
        case .createTopic: "wc_createTopic"
        case .proposeSession: "wc_proposeSession"
        case .approveSession: "wc_approveSession"
        case .delivery: "irn_subscription"
        case .unknown(let name): name
        }
    }

    var params: ExactJSON {
        switch self {
        case .subscribe(let topic), .fetch(let topic), .createTopic(let topic):
            .object([.init("topic", .string(topic))])
        case .batchSubscribe(let topics, _), .batchFetch(let topics):
            .object([.init("topics", .array(topics.map { .string($0) }))])
        case .unsubscribe(let subscription): subscription.json
        case .batchUnsubscribe(let list): .object([.init("subscriptions", .array(list.map(\.json)))])
        case .receive(let list): .object([.init("receipts", .array(list.map(\.json)))])
        case .publish(let post): post.json
        case .batchPublish(let posts): .object([.init("messages", .array(posts.map(\.json)))])
        case .proposeSession(let post):
            .object([.init("pairingTopic", .string(post.topic)), .init("sessionProposal", .string(post.message))])
        case .approveSession(let response, let settlement):
            .object([
                .init("pairingTopic", .string(response.topic)), .init("sessionTopic", .string(settlement.topic)),
                .init("sessionProposalResponse", .string(response.message)),
                .init("sessionSettlementRequest", .string(settlement.message)),
            ])
        case .delivery(let id, let parcel): .object([.init("id", .string(id)), .init("data", parcel.json)])
        case .unknown: .object([])
        }
    }
}

extension RelaySubscription {
    fileprivate var json: ExactJSON {
        .object([.init("topic", .string(topic))] + (id.map { [.init("id", .string($0))] } ?? []))
    }
}

extension RelayPost {
    fileprivate var json: ExactJSON {
        var members: [ExactJSON.Member] = [.init("topic", .string(topic)), .init("message", .string(message))]
        if let attestation { members.append(.init("attestation", .string(attestation))) }
        if let ttlSeconds { members.append(.init("ttl", .number(String(ttlSeconds)))) }
        members += [.init("prompt", .bool(prompt)), .init("tag", .number(String(tag)))]
        return .object(members)
    }
}

extension ExactJSON {
    fileprivate func required(_ name: String) throws(RelayAnswerError) -> String {
        guard let text = string(name) else { throw .payload("InvalidParams", "\(name) is missing") }
        return text
    }

    fileprivate func batch<Element>(
        _ name: String,
        _ read: (ExactJSON) throws(RelayAnswerError) -> Element
    ) throws(RelayAnswerError) -> [Element] {
        guard case .array(let values) = value(named: name) else {
            throw .payload("InvalidParams", "\(name) is no list")
        }
        guard !values.isEmpty else { throw .payload("BatchEmpty", "the batch is empty") }
        guard values.count <= RelayCall.batchLimit else {
            throw .payload("BatchLimitExceeded", "The batch contains too many items")
        }
        var elements: [Element] = []
        for value in values { elements.append(try read(value)) }
        return elements
    }

    fileprivate func texts(_ name: String) throws(RelayAnswerError) -> [String] {
        try batch(name) { json throws(RelayAnswerError) in
            guard case .string(let text) = json else { throw .payload("InvalidParams", "\(name) are texts") }
            return text
        }
    }

    fileprivate func subscriptions(_ name: String) throws(RelayAnswerError) -> [RelaySubscription] {
        try batch(name) { json throws(RelayAnswerError) in
            RelaySubscription(topic: try json.required("topic"), id: json.string("id"))
        }
    }

    fileprivate func post() throws(RelayAnswerError) -> RelayPost {
        let ttl = integer("ttl")
        guard ttl != nil || value(named: "ttl") == nil else { throw .payload("InvalidParams", "ttl is no number") }
        return RelayPost(
            topic: try required("topic"),
            message: try required("message"),
            ttlSeconds: ttl,
            tag: integer("tag") ?? 0,
            prompt: value(named: "prompt") == .bool(true),
            attestation: string("attestation")
        )
    }
}

/// What carries envelopes from one side to the other: a client of a relay, or a stand-in within one process.
///
/// It reads no envelope. It owns its connection and nothing else: what must survive a restart (unsent messages, what was
/// seen before) is kept by whoever uses it.
///
/// What a conforming type promises:
/// - Each call is one attempt with its own deadline (10 s). It never repeats a publication by itself: the caller does, with
///   the same text, so that the relay and the peer take the copies for one message.
/// - Subscriptions are remembered and made again after every connection, what waited in the mailbox first.
/// - A message that was not acknowledged comes again. Copies and any order are allowed; the caller tells them apart.
public protocol RelayPort: Sendable {
    /// Starts to receive what is sent on `topic`, what already waits for it included. Repeating it changes nothing.
    ///
    /// When it throws, the topic is remembered all the same and subscribed with the next connection.
    func subscribe(topic: Topic) async throws(RelayFailure)

    /// Ends what `subscribe` began. A topic that is not subscribed is no error.
    func unsubscribe(topic: Topic) async throws(RelayFailure)

    /// Hands one message to the relay and returns when the relay has confirmed it.
    func publish(_ publication: RelayPublication) async throws(RelayFailure)

    /// Everything received, for one consumer. Nothing is dropped: what is not taken is not acknowledged and comes again.
    var messages: AsyncStream<RelayMessage> { get }

    /// Tells the relay not to send this copy again. Called once the message's effects are stored.
    func acknowledge(_ message: RelayMessage) async

    /// Whether there is a connection, beginning with the present state, and then every change; for one consumer.
    var connectionStates: AsyncStream<RelayConnectionState> { get }
}

extension RelayPort {
    /// `publish(_:)` with its parts named.
    public func publish(
        topic: Topic,
        message: String,
        tag: Int,
        ttlSeconds: Int,
        prompt: Bool
    ) async throws(RelayFailure) {
        try await publish(
            RelayPublication(topic: topic, message: message, tag: tag, ttlSeconds: ttlSeconds, prompt: prompt)
        )
    }
}

/// One message on its way to the relay.
public struct RelayPublication: Sendable, Hashable {
    public let topic: Topic
    /// An envelope as text: base64 with padding. At most 1 MiB.
    public let message: String
    /// What kind of message it is, for the relay only: 0 to 9999. Peers must not trust it.
    public let tag: Int
    /// How long the relay keeps it for whoever is away, in seconds. 1 to 30 days.
    public let ttlSeconds: Int
    /// Whether the relay may wake the receiver's phone.
    public let prompt: Bool

    public init(topic: Topic, message: String, tag: Int, ttlSeconds: Int, prompt: Bool) {
        (self.topic, self.message, self.tag) = (topic, message, tag)
        (self.ttlSeconds, self.prompt) = (ttlSeconds, prompt)
    }
}

/// One message received from the relay.
public struct RelayMessage: Sendable, Hashable {
    public let topic: Topic
    /// An envelope as text, as the sender wrote it. Not checked.
    public let message: String
    /// What the sender said it is. A hint at most.
    public let tag: Int
    /// When the relay took it, in milliseconds since 1970; nil where the relay does not say.
    public let publishedAtMilliseconds: Int64?
    /// What origin a verifying service vouches for, as a signed token. Not checked.
    public let attestation: String?
    /// What `acknowledge` tells the relay by: the port's own, different for each copy.
    public let receipt: UInt64

    public init(
        topic: Topic,
        message: String,
        tag: Int,
        publishedAtMilliseconds: Int64? = nil,
        attestation: String? = nil,
        receipt: UInt64 = 0
    ) {
        (self.topic, self.message, self.tag) = (topic, message, tag)
        (self.publishedAtMilliseconds, self.attestation) = (publishedAtMilliseconds, attestation)
        self.receipt = receipt
    }
}

/// Why the relay did not do what it was asked. Cases differ by what to do next.
public enum RelayFailure: Error, Sendable, Equatable {
    /// There is no connection. Nothing was sent; try again when there is one.
    case notConnected
    /// Sent, then silence for 10 s. The relay may have it: try again with the same text.
    case timedOut
    /// The relay answered with an error. The same request will not do better. `code` as in its answer, 3000 for a refused
    /// identity or project.
    case refused(code: Int, reason: String)

    /// Whether the same call may succeed later.
    public var isWorthRepeating: Bool {
        switch self {
        case .notConnected, .timedOut: true
        case .refused: false
        }
    }
}

/// Whether messages can travel.
public enum RelayConnectionState: Sendable, Equatable {
    case connected
    /// `reason` is for a log and for staff: "no answer for 30 s", "refused: unknown project".
    case disconnected(reason: String)
}

/// Carries nothing.
struct NoRelay: RelayPort {
    func subscribe(topic: Topic) async throws(RelayFailure) { throw .notConnected }
    func unsubscribe(topic: Topic) async throws(RelayFailure) { throw .notConnected }
    func publish(_ publication: RelayPublication) async throws(RelayFailure) { throw .notConnected }
    func acknowledge(_ message: RelayMessage) async {}
    var messages: AsyncStream<RelayMessage> { AsyncStream { nil } }
    var connectionStates: AsyncStream<RelayConnectionState> { AsyncStream { nil } }
}

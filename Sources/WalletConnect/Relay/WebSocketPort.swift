/// What opens WebSockets: the adapter over a network, or a script in a test.
public protocol WebSocketPort: Sendable {
    /// Opens one connection, with the handshake behind it when this returns.
    func connect(_ request: WebSocketRequest) async throws(WebSocketFailure) -> any WebSocketLine
}

/// Where to connect, and what to say.
public struct WebSocketRequest: Sendable, Equatable {
    /// `ws://` or `wss://`, with port and query. Secret where the query is.
    public var url: String
    public var headers: [Header]
    /// Name, connection, TLS and handshake together.
    public var deadline: Duration
    /// A longer message ends the connection.
    public var messageLimitBytes: Int

    /// One field of the handshake.
    public struct Header: Sendable, Equatable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public init(url: String, headers: [Header] = [], deadline: Duration = .seconds(10), messageLimitBytes: Int) {
        (self.url, self.headers) = (url, headers)
        (self.deadline, self.messageLimitBytes) = (deadline, messageLimitBytes)
    }
}

/// One open WebSocket. It is closed when nobody holds it any more, but say so with ``close(code:)``.
public protocol WebSocketLine: Sendable {
    /// Hands one text message to the network; returns when it was written there, which proves no arrival.
    func send(_ text: String) async throws(WebSocketFailure)

    /// The next thing that came in. One caller at a time. What is not taken holds the sender back.
    /// - Throws: ``WebSocketFailure/closed(code:reason:)`` at the end, and ``WebSocketFailure/cancelled``.
    func receive() async throws(WebSocketFailure) -> WebSocketEvent

    /// Asks whether the other side is there; its answer comes as ``WebSocketEvent/pong``.
    func ping() async throws(WebSocketFailure)

    /// Ends the connection, at once for the caller. Repeating it changes nothing.
    /// - Parameter code: 1000 when done. Source: RFC 6455, section 7.4.
    func close(code: UInt16) async
}

/// What comes in over a WebSocket.
public enum WebSocketEvent: Sendable, Equatable {
    /// A text or a binary message: one wallet sends its acknowledgements as binary.
    case message([UInt8])
    /// Answered already. A sign of life.
    case ping
    case pong
}

/// Why there is no connection, or no longer one. Cases differ by what staff can do.
public enum WebSocketFailure: Error, Sendable, Equatable {
    /// The name has no address, or no way leads there.
    case noNetwork(reason: String)
    /// The machine answers, and says that nobody listens.
    case refused(reason: String)
    /// Somebody answers who is not who was asked for: a portal's page, a certificate nobody can trust.
    case blocked(reason: String)
    /// The server answered the handshake with this HTTP status.
    case rejected(status: Int)
    /// Silence past the deadline.
    case timedOut
    /// It was open and is not any more. `code` is 1005 where the other side gave none and 1006 where the connection broke.
    case closed(code: UInt16, reason: String)
    /// A message beyond the limit, or one that is no UTF-8. The connection is closed.
    case unacceptable(reason: String)
    /// No WebSocket address.
    case address(reason: String)
    case cancelled
}

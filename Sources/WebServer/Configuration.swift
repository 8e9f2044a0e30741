extension WebServer {
    /// Everything a server needs to know before it listens.
    public struct Configuration: Sendable {
        /// An IP address in numbers. `0.0.0.0`: every IPv4 interface; `::`: IPv6 and IPv4; `127.0.0.1`: this machine.
        public var address: String
        /// 0 lets the system choose; `WebServer.port` tells its choice.
        public var port: UInt16
        /// With it the server speaks TLS 1.3 and 1.2 and nothing else. Plain HTTP beside it is a second server.
        public var tls: TLSIdentity?
        public var limits: Limits
        /// On every answer of this server, the refusals it makes itself included, and those of libmicrohttpd.
        public var defaultHeaders: WebHeaders
        /// Gets the request's `Host` without port, in lower case and without brackets. False answers 421: the page of
        /// another name must not talk to the terminal (DNS rebinding).
        public var hostIsAllowed: @Sendable (String) -> Bool
        /// How much of a request's address the server reads by itself.
        public var addresses = AddressReading.strict
        /// Judges each request by its head: who sends it, and how long a body is kept. Called on the server's thread, so it must
        /// not wait. The request it gets has no body. Nil: everybody is known, and the limits alone hold.
        public var admission: (@Sendable (WebRequest, AnnouncedBody) -> Admission)?
        /// Answers plain HTTP on a TLS server: gets the request, of whose head the host alone is there, and the port where it came.
        /// Nil: such a request is refused in the server's own words.
        public var plainHTTP: (@Sendable (WebRequest, UInt16) -> WebResponse)?
        /// Puts the refusals that the server makes itself into the words of the interface that it stands for.
        public var refusal: @Sendable (WebResponse) -> WebResponse = { $0 }
        /// What libmicrohttpd has to say, TLS handshakes that failed among it. Called on the server's thread.
        public var log: (@Sendable (String) -> Void)?

        public init(
            address: String = "127.0.0.1",
            port: UInt16,
            tls: TLSIdentity? = nil,
            limits: Limits = Limits(),
            defaultHeaders: WebHeaders = [:],
            hostIsAllowed: @escaping @Sendable (String) -> Bool = { _ in true },
            log: (@Sendable (String) -> Void)? = nil
        ) {
            (self.address, self.port, self.tls, self.limits) = (address, port, tls, limits)
            (self.defaultHeaders, self.hostIsAllowed, self.log) = (defaultHeaders, hostIsAllowed, log)
        }
    }

    /// Who decides what a request's address means.
    public enum AddressReading: Sendable {
        /// The server: what two readers could take for two things is answered 400, names that repeat among it.
        case strict
        /// The handler, from `WebRequest.rawTarget`. Only what no URL may hold is answered 400; `path` is as it was
        /// sent and `query` is empty. For servers that stand in for others, whose addresses they have not made.
        case asWritten
    }

    /// What a stranger on the network may use up. The defaults suit one terminal on one shop's network.
    public struct Limits: Sendable, Equatable {
        /// A longer body is answered 413, unread when its length was announced.
        public var bodyBytes = 64 * 1024
        /// The same for single paths that need more, by the path without its query.
        public var bodyBytesByPath: [String: Int] = [:]
        /// The bodies of all requests that are in memory together. Past it a request with a body is answered 503, by its head.
        public var bodiesBytes = 8 * 1024 * 1024
        /// Those of unknown senders among them.
        public var unknownBodiesBytes = 2 * 1024 * 1024
        /// Those longer than `bodyBytes` among them.
        public var longBodiesBytes = 4 * 1024 * 1024
        /// A refused body that is no longer is read and dropped, so that the connection can go on.
        public var droppedBytes = 4 * 1024
        /// Request line and header fields together. More is answered 431.
        public var headerBytes = 8 * 1024
        /// Open connections. One more is let in, and one of somebody unknown is closed for it: see ``Crowd``.
        public var connections = 128
        /// Open connections of unknown senders from one IPv4 address or one IPv6 network of 64 bits. One more closes one of them.
        public var connectionsPerAddress = 32
        /// Open connections that have not sent the head of a request yet, TLS handshakes among them. One more closes one of them.
        public var connectionsBeforeRequest = 96
        /// How many connections an address, or an IPv6 network of 64 bits, may open in a second, eight times as many at once;
        /// `Int.max`: any. More are closed before their handshake. An address where somebody is known is not counted.
        public var newConnectionsPerSecond = Int.max
        /// Open event streams. Further ones are answered 503; unknown senders may take three quarters of them.
        public var eventStreams = 16
        /// Bytes a slow reader of events may lie behind before its stream is cut.
        public var eventBacklogBytes = 64 * 1024
        /// A connection on which nothing moves is closed. Whole seconds, at least 1.
        public var idle: Duration = .seconds(20)
        /// From the connection to its first request line, TLS handshake included. Then the connection is cut.
        public var opening: Duration = .seconds(10)
        /// From a request's first line to its last byte, however steadily the bytes drip. Then the connection is cut.
        public var receiving: Duration = .seconds(15)
        /// What a `later` handler may take. Then its task is cancelled and the client is answered 503.
        public var answering: Duration = .seconds(90)
        /// What the client may take to read an answer that is no event stream. Then the connection is cut.
        public var sending: Duration = .seconds(60)
        /// What `stop()` gives running handlers before their clients are answered 503.
        public var stopping: Duration = .seconds(5)

        public init() {}
    }

    /// Why a server could not start.
    public enum StartError: Error, Sendable, Equatable {
        /// Not an IP address in numbers.
        case invalidAddress(String)
        /// No interface of this machine has the address: wait for the network, or bind another.
        case addressNotAvailable(String)
        /// Another program listens there. Stop it, or choose another port.
        case portInUse(UInt16)
        /// Ports below 1024 need `CAP_NET_BIND_SERVICE`.
        case notPermitted(port: UInt16)
        /// Certificate or key are not PEM, or do not belong together.
        case tlsIdentityRefused(detail: String)
        /// Out of memory, descriptors or threads.
        case system(detail: String)
    }
}

/// A certificate chain and its private key. Prints as "redacted".
public struct TLSIdentity: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let certificatePEM: String
    let privateKeyPEM: String

    /// - Parameters:
    ///   - certificatePEM: The server's certificate first, then its issuers.
    ///   - privateKeyPEM: Not encrypted.
    public init(certificatePEM: String, privateKeyPEM: String) {
        (self.certificatePEM, self.privateKeyPEM) = (certificatePEM, privateKeyPEM)
    }

    public var description: String { "TLSIdentity(redacted)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// PFS key exchanges and AEAD ciphers only. The group that browsers send a key for comes first: another first choice
    /// costs every new connection a round trip more. Source: GnuTLS 3.7 manual, 7.9 Priority strings; OWASP ASVS 12.1.1.
    static let priorities =
        "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:-AES-128-CCM:-AES-256-CCM"
        + ":-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%SERVER_PRECEDENCE"
}

/// One HTTP request, as the core asks for it. An adapter carries it out.
public struct HTTPRequest: Sendable, Equatable {
    public enum Method: String, Sendable {
        case get = "GET", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE"
    }

    public var method: Method
    /// Absolute.
    public var url: String
    public var headers: [Header]
    public var body: [UInt8]?
    /// For the whole exchange, from the first byte out to the last byte in.
    public var timeout: Duration
    public var responseLimitBytes: Int

    /// A field whose value may be secret: it prints as its name only.
    public struct Header: Sendable, Equatable, CustomStringConvertible {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

        public var description: String { "\(name): …" }
    }

    public init(
        method: Method,
        url: String,
        headers: [Header] = [],
        body: [UInt8]? = nil,
        timeout: Duration = .seconds(15),
        responseLimitBytes: Int = 1 << 20
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.responseLimitBytes = responseLimitBytes
    }
}

/// The answer to an ``HTTPRequest``, whatever its status.
public struct HTTPResponse: Sendable, Equatable {
    public var status: Int
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// The first value of a field, by its name in any case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.status == rhs.status && lhs.body == rhs.body
            && lhs.headers.elementsEqual(rhs.headers) { $0.name == $1.name && $0.value == $1.value }
    }
}

/// Why an exchange gave no answer. The cases differ by what the caller may conclude about the other side.
public enum TransportError: Error, Sendable, Equatable {
    /// No byte of the request left: refused, no such host, no trust, or a host that is not allowed. Safe to send again.
    case notSent(reason: String)
    /// It may have left; silence, or a connection lost on the way. The other side may have acted.
    case noAnswer(after: Duration)
    /// The answer was cut off at the limit. The other side has acted.
    case answerTooLarge(limitBytes: Int)
    /// The caller's task was cancelled. The other side may have acted.
    case cancelled
}

extension TransportError {
    /// The other side's certificate was not believed: no byte of the request left.
    public static let untrustedCertificate = TransportError.notSent(reason: "its certificate cannot be trusted")
}

/// Carries requests out. `Net` does so over sockets; tests do so from a script.
public protocol HTTPTransport: Sendable {
    /// One exchange: no retry, no redirect followed.
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse
}

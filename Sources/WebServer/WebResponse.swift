/// What goes back to the client.
public struct WebResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        /// Server-sent events until the stream ends or the client leaves; the latter ends the stream's consumer. The
        /// caller's stream carries the heartbeat: `ServerSentEvent.comment` every 15 seconds or so.
        case events(AsyncStream<ServerSentEvent>)
        /// What a hub tells all its listeners, until `isWelcome` says no, the client leaves or falls behind.
        case hub(EventHub, isWelcome: @Sendable () -> Bool)
        /// Parts of a long answer, each asked for when the one before it has gone to the network; nil ends it. Where one
        /// cannot be made the connection is cut, so that nobody takes what has arrived for the whole.
        case parts(@Sendable () async throws -> [UInt8]?)
    }

    /// 200 to 599.
    public var status: Int { didSet { prepared = nil } }
    /// Sent beside the server's `defaultHeaders`, of which it replaces those with the same name. `Content-Length`,
    /// `Date`, `Connection` and `Transfer-Encoding` belong to the server.
    public var headers: WebHeaders { didSet { prepared = nil } }
    public var body: Body { didSet { prepared = nil } }
    /// Set for what is sent over and over (static files): libmicrohttpd then keeps the finished answer.
    var prepared: PreparedResponse?

    public init(status: Int = 200, headers: WebHeaders = [:], body: Body = .bytes([])) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// - Parameter json: A JSON text, already encoded as UTF-8.
    public static func json(_ json: [UInt8], status: Int = 200, headers: WebHeaders = [:]) -> WebResponse {
        file(json, contentType: "application/json", status: status, headers: headers)
    }

    /// - Parameter json: A JSON text, already encoded.
    public static func json(_ json: String, status: Int = 200, headers: WebHeaders = [:]) -> WebResponse {
        .json(Array(json.utf8), status: status, headers: headers)
    }

    public static func text(_ text: String, status: Int = 200, headers: WebHeaders = [:]) -> WebResponse {
        file(Array(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    public static func file(
        _ bytes: [UInt8],
        contentType: String,
        status: Int = 200,
        headers: WebHeaders = [:]
    ) -> WebResponse {
        var headers = headers
        if headers["Content-Type"] == nil { headers.add("Content-Type", contentType) }
        return WebResponse(status: status, headers: headers, body: .bytes(bytes))
    }

    /// A live stream of events; never stored by caches or proxies on the way.
    public static func events(_ events: AsyncStream<ServerSentEvent>, headers: WebHeaders = [:]) -> WebResponse {
        stream(.events(events), headers)
    }

    /// A listener's place at a hub; never stored either.
    public static func events(of hub: EventHub, while isWelcome: @escaping @Sendable () -> Bool) -> WebResponse {
        stream(.hub(hub, isWelcome: isWelcome), [:])
    }

    private static func stream(_ body: Body, _ headers: WebHeaders) -> WebResponse {
        var headers = headers
        headers["Content-Type"] = "text/event-stream"
        headers["Cache-Control"] = "no-store"
        return WebResponse(status: 200, headers: headers, body: body)
    }

    /// The error shape of Till's own API: a stable code, what happened, what to do next.
    public static func refusal(
        _ status: Int,
        code: String,
        message: String,
        action: String,
        headers: WebHeaders = [:]
    ) -> WebResponse {
        let fields = [("code", code), ("message", message), ("action", action)]
        let json = fields.map { "\"\($0.0)\":\(jsonString($0.1))" }.joined(separator: ",")
        var headers = headers
        headers["Cache-Control"] = "no-store"
        return .json("{\(json)}", status: status, headers: headers)
    }
}

/// How a handler answers.
public enum WebAnswer: Sendable {
    /// Known at once. The handler ran on the server's own thread, so it must not wait for anything.
    case now(WebResponse)
    /// Known after waiting. The work runs on the server's own thread between its suspensions, which saves two thread
    /// switches per request: actors it calls run there too, unless they have an executor of their own. It must not
    /// block and must not compute for long; `WebAnswer.elsewhere` is for that.
    ///
    /// The task is the server's: cancelled when the client's answer is overdue or the server stops, and awaited by
    /// `WebServer.stop()`.
    case later(@Sendable () async -> WebResponse)

    /// Like `later`, but the work runs on the cooperative pool: for answers that compute for more than a millisecond.
    public static func elsewhere(_ work: @escaping @Sendable () async -> WebResponse) -> WebAnswer {
        .later { await withTaskExecutorPreference(globalConcurrentExecutor) { await work() } }
    }
}

/// Called for every request that passed the server's checks, on the server's thread.
public typealias WebHandler = @Sendable (WebRequest) -> WebAnswer

/// `text` as a JSON string literal. Source: RFC 8259, section 7.
func jsonString(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\u{0}"..<"\u{20}", "\u{2028}", "\u{2029}":
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

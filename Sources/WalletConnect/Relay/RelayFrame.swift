public import StrictJSON

/// One JSON-RPC message between a client and a relay, in either direction.
/// Source: WalletConnect specifications, "Relay RPC"; `iridium_` is an older spelling of `irn_`.
public enum RelayFrame: Sendable, Equatable {
    case call(RelayID, RelayCall)
    case result(RelayID, ExactJSON)
    case failure(RelayID, RelayAnswerError)
}

/// A request's number. It is sent back as it came: some clients send digits, some send text.
public struct RelayID: Sendable, Hashable {
    /// Up to 64 digits, without the `n` that one implementation appends to its acknowledgements.
    public let digits: String
    /// Whether it stands between quotation marks.
    public let isText: Bool

    public init(_ number: UInt64, isText: Bool = false) { (digits, self.isText) = (String(number), isText) }

    init?(_ value: ExactJSON?) {
        switch value {
        case .number(let text) where Self.isDigits(text): (digits, isText) = (text, false)
        case .string(let text):
            let bare = text.hasSuffix("n") ? String(text.dropLast()) : text
            guard Self.isDigits(bare) else { return nil }
            (digits, isText) = (bare, true)
        default: return nil
        }
    }

    /// Nil where it does not fit.
    public var number: UInt64? { UInt64(digits) }

    var json: ExactJSON { isText ? .string(digits) : .number(digits) }

    private static func isDigits(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

/// An answer that says no. Source: reown-rust, relay_rpc, `rpc/error.rs`.
public struct RelayAnswerError: Error, Sendable, Equatable {
    public let code: Int
    public let message: String
    /// The precise reason as one word, such as `InvalidJwt`.
    public let tag: String?

    public init(code: Int, message: String, tag: String? = nil) {
        (self.code, self.message, self.tag) = (code, message, tag)
    }

    /// The request is not acceptable as it is.
    public static func payload(_ tag: String, _ message: String) -> RelayAnswerError {
        RelayAnswerError(code: -32600, message: "Invalid payload: \(message)", tag: tag)
    }

    /// The relay will not do it: a time or a limit.
    public static func handler(_ tag: String, _ message: String) -> RelayAnswerError {
        RelayAnswerError(code: -32000, message: message, tag: tag)
    }

    public static let tooManyRequests = RelayAnswerError(
        code: 3001,
        message: "Too many requests",
        tag: "TooManyRequests"
    )

    /// Whether the same request may succeed later: too many at once, a full mailbox, or trouble within the relay.
    public var isPassing: Bool { code == 3001 || code == -32603 || tag == "MailboxLimitExceeded" }
}

extension RelayFrame {
    /// Why bytes are no frame, with the answer to give.
    public struct Refusal: Error, Sendable, Equatable {
        /// 0 where not even the request's number could be read.
        public let id: RelayID
        public let error: RelayAnswerError
    }

    /// Reads one frame.
    /// - Parameter limitBytes: A longer one is refused unread.
    public init(parsing bytes: [UInt8], limitBytes: Int) throws(Refusal) {
        let json: ExactJSON
        do throws(ExactJSON.Failure) {
            json = try ExactJSON(parsing: bytes, limits: .init(bytes: limitBytes, depth: 16))
        } catch {
            throw Refusal(id: RelayID(0), error: Self.objection(error))
        }
        guard let id = RelayID(json.value(named: "id")) else {
            throw Refusal(id: RelayID(0), error: .payload("InvalidRequestId", "no request id"))
        }
        guard json.string("jsonrpc") == "2.0" else {
            throw Refusal(id: id, error: .payload("InvalidJsonRpcVersion", "not JSON-RPC 2.0"))
        }
        if let method = json.string("method") {
            do throws(RelayAnswerError) {
                self = .call(id, try RelayCall(method: method, params: json.value(named: "params") ?? .null))
            } catch {
                throw Refusal(id: id, error: error)
            }
        } else if let result = json.value(named: "result") {
            self = .result(id, result)
        } else if let error = json.value(named: "error"), let code = error.integer("code") {
            self = .failure(
                id,
                RelayAnswerError(code: Int(code), message: error.string("message") ?? "", tag: error.string("data"))
            )
        } else {
            throw Refusal(id: id, error: .payload("Serialization", "neither a request nor an answer"))
        }
    }

    /// The answer to a question about a mailbox.
    /// - Parameter hasMore: Whether asking again brings further messages.
    public static func mailbox(_ id: RelayID, _ parcels: [RelayParcel], hasMore: Bool) -> RelayFrame {
        .result(
            id,
            .object([.init("messages", .array(parcels.map(\.json))), .init("hasMore", .bool(hasMore))])
        )
    }

    /// Compact JSON, `{"` first: one wallet recognises nothing else.
    public var text: String {
        switch self {
        case .call(let id, let call):
            Self.object(id, [.init("method", .string(call.method)), .init("params", call.params)])
        case .result(let id, let value): Self.object(id, [.init("result", value)])
        case .failure(let id, let error):
            Self.object(
                id,
                [
                    .init(
                        "error",
                        .object(
                            [.init("code", .number(String(error.code))), .init("message", .string(error.message))]
                                + (error.tag.map { [.init("data", .string($0))] } ?? [])
                        )
                    )
                ]
            )
        }
    }

    private static func object(_ id: RelayID, _ members: [ExactJSON.Member]) -> String {
        ExactJSON.object([.init("id", id.json), .init("jsonrpc", .string("2.0"))] + members).text
    }

    private static func objection(_ failure: ExactJSON.Failure) -> RelayAnswerError {
        if case .tooLarge(let limit) = failure {
            return .payload("PayloadSizeExceeded", "more than \(limit) bytes")
        }
        return .payload("Serialization", "no JSON")
    }
}

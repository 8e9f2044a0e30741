import CMicrohttpd

/// What the head of a request says about the message itself, checked before a byte of the body is read.
///
/// libmicrohttpd lets pass what two programs may read differently (request smuggling): both kinds of body length, a
/// length twice, a host twice. Seen with 0.9.75 even in its strict mode.
///
/// Source: RFC 9112, 3.2 (Host), 6.1 and 6.3 (message body length); RFC 9110, 9.1 (methods), 5.5 (field values).
struct RequestHead {
    enum BodyLength: Equatable { case known(Int), chunked }

    /// As for `WebRequest.method`.
    let method: String
    let isHEAD: Bool
    let bodyLength: BodyLength
    /// The client waits for `100 Continue` before it sends the body.
    let expectsContinue: Bool
    let fields: HeaderBlock

    /// What follows it.
    var body: WebServer.AnnouncedBody {
        switch bodyLength {
        case .known(0): .none
        case .known(let count): .bytes(count)
        case .chunked: .chunked
        }
    }

    /// What the fields say, gathered in one pass.
    struct Findings {
        var fields = HeaderBlock()
        /// Where the last `Host` begins in `fields`.
        var host = 0
        var hosts = 0
        var lengths: [[UInt8]] = []
        var encodings: [[UInt8]] = []
        var expectations: [[UInt8]] = []
        var hasBadField = false
        /// What libmicrohttpd holds beside the head itself: a record for each field and each cookie, and the cookies once
        /// more. Its memory for a connection has ``bytesBeside`` for that. A head that needs more would leave no room for
        /// the answer, and the connection would be cut after the handler has acted. Seen with 0.9.75.
        var keptBytes = 0
        var layout: HeadLayout

        static let bytesBeside = 6 * 1024
        /// For the head of an answer, and a part of a body.
        static let bytesForAnswer = 2 * 1024
        private static let recordBytes = 64

        init(layout: HeadLayout) { self.layout = layout }

        mutating func note(name: some Collection<UInt8>, value: some Collection<UInt8>) {
            if !name.allSatisfy(isTokenByte) || value.contains(where: { isControl($0) && $0 != 0x09 }) {
                hasBadField = true
            }
            keptBytes += Self.recordBytes
            switch name.count {
            case 6 where spells(name, "cookie"):
                let cookies = 1 + value.count { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }
                keptBytes += value.count + 1 + cookies * Self.recordBytes
            case 6 where spells(name, "expect"): expectations.append(Array(value))
            case 4 where spells(name, "host"):
                hosts += 1
                host = fields.end
            case 14 where spells(name, "content-length"): lengths.append(Array(value))
            case 17 where spells(name, "transfer-encoding"): encodings.append(Array(value))
            default: break
            }
            fields.append(name: name, value: value)
        }
    }

    init(
        method: String,
        version: String,
        headBytes: Int,
        findings: Findings,
        limits: WebServer.Limits,
        bodyLimit: Int,
        hostIsAllowed: (String) -> Bool
    ) throws(Refusal) {
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else { throw .version }
        guard headBytes <= limits.headerBytes,
            headBytes + findings.keptBytes <= limits.headerBytes + Findings.bytesBeside
        else { throw .headTooLarge }
        switch method {
        case "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS": (self.method, isHEAD) = (method, false)
        case "HEAD": (self.method, isHEAD) = ("GET", true)
        case "TRACE", "CONNECT": throw .methodForbidden
        default: throw .methodUnknown
        }
        guard !findings.hasBadField, findings.layout.isComplete else { throw .badField }
        guard findings.hosts == 1, let host = Self.hostName(findings.fields.value(at: findings.host)) else {
            throw .badHost
        }
        bodyLength = try Self.bodyLength(findings, version: version)
        if case .known(let length) = bodyLength, length > bodyLimit { throw .bodyTooLarge }
        guard hostIsAllowed(host) else { throw .hostNotAllowed }
        // A client of HTTP/1.0 cannot mean it. Source: RFC 9110, 10.1.1.
        let expectations = version == "HTTP/1.1" ? findings.expectations : []
        guard expectations.allSatisfy({ spells($0, "100-continue") }) else { throw .expectationUnknown }
        expectsContinue = !expectations.isEmpty
        fields = findings.fields
    }

    private static func bodyLength(_ findings: Findings, version: String) throws(Refusal) -> BodyLength {
        if let encoding = findings.encodings.first {
            guard findings.encodings.count == 1, findings.lengths.isEmpty, version == "HTTP/1.1" else {
                throw .ambiguousLength
            }
            guard spells(encoding, "chunked") else { throw .encodingUnknown }
            return .chunked
        }
        guard let digits = findings.lengths.first else { return .known(0) }
        // More than 18 digits could overflow, and nobody sends an exabyte.
        guard findings.lengths.count == 1, (1...18).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { throw .ambiguousLength }
        return .known(digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
    }

    /// The host without port, lower case, without brackets and without the root's dot; nil when it is none.
    static func hostName(_ value: some BidirectionalCollection<UInt8>) -> String? {
        var name = value[...]
        if name.first == UInt8(ascii: "[") {
            guard let close = name.firstIndex(of: UInt8(ascii: "]")), isPort(name[close...].dropFirst()) else {
                return nil
            }
            name = name[..<close].dropFirst()
            let isAddress = name.allSatisfy { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") || isHexDigit($0) }
            guard isAddress else { return nil }
        } else {
            if let colon = name.firstIndex(of: UInt8(ascii: ":")) {
                guard isPort(name[colon...]) else { return nil }
                name = name[..<colon]
            }
            if name.last == UInt8(ascii: ".") { name.removeLast() }
            guard name.allSatisfy(isHostByte) else { return nil }
        }
        guard !name.isEmpty else { return nil }
        let isLower = name.allSatisfy { asciiLowercased($0) == $0 }
        return isLower
            ? String(decoding: name, as: UTF8.self) : String(decoding: name.map(asciiLowercased), as: UTF8.self)
    }

    /// Nothing, or a colon and up to five digits.
    private static func isPort(_ text: some Collection<UInt8>) -> Bool {
        text.isEmpty
            || text.first == UInt8(ascii: ":") && text.count <= 6
                && text.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

/// Whether the parts libmicrohttpd hands out cover the whole head, byte by byte.
///
/// Its strings end at the first NUL, so of `GET /secret\0/public` it shows `/secret`; it also takes a bare line feed for a
/// line end. Both leave a gap in memory between one part and the next that is not exactly the separator. Folded
/// lines and repeated blanks leave gaps, too, and are refused with them (RFC 9112, 2.2, 3 and 5.2 allow that).
///
/// Holds for the 0.9 versions, which hand out pointers into the buffer that was received.
struct HeadLayout: Equatable {
    /// Where the next part must begin.
    private var next: UInt
    private let end: UInt
    private var isGapless = true

    /// - Parameters:
    ///   - start: Address of the method, the head's first byte.
    ///   - version: Address of the protocol version, eight bytes long.
    ///   - targetBytes: Length of the target as libmicrohttpd shows it.
    init(start: UInt, methodBytes: Int, targetBytes: Int, version: UInt, headBytes: Int) {
        end = start + UInt(headBytes)
        isGapless = version == start + UInt(methodBytes) + 1 + UInt(targetBytes) + 1
        next = version + 8 + 2
    }

    mutating func note(name: UInt, value: UInt, valueBytes: Int) {
        isGapless = isGapless && name == next
        next = value + UInt(valueBytes) + 2
    }

    /// Only the empty line is left.
    var isComplete: Bool { isGapless && next + 2 == end }
}

/// Source: RFC 9110, 5.6.2 `tchar`.
private func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E: true
    default: false
    }
}

private func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

private func isHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(asciiLowercased(byte))
}

private func isHostByte(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(asciiLowercased(byte)) || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
}

/// `word` is in lower case.
private func spells(_ bytes: some Collection<UInt8>, _ word: StaticString) -> Bool {
    guard bytes.count == word.utf8CodeUnitCount else { return false }
    return word.withUTF8Buffer { letters in unsafe zip(bytes, letters).allSatisfy { asciiLowercased($0) == $1 } }
}

/// Why the server answers without asking the handler.
enum Refusal: Error, Equatable {
    case target(RequestTarget.Refusal)
    case version, methodForbidden, methodUnknown
    case headTooLarge, badField, badHost, hostNotAllowed
    case ambiguousLength, encodingUnknown, bodyTooLarge, expectationUnknown
    /// No room for another body.
    case busy
    /// libmicrohttpd could not parse it.
    case unreadable

    /// What libmicrohttpd says by a status of its own.
    init(librarys status: Int) {
        switch status {
        case 413: self = .bodyTooLarge
        case 414, 431: self = .headTooLarge
        case 505: self = .version
        default: self = .unreadable
        }
    }

    var response: WebResponse {
        switch self {
        case .target: Self.bad("bad_address", "This address is not written in a way the terminal accepts.")
        case .badField: Self.bad("bad_request", "The request holds characters that no request may hold.")
        case .badHost: Self.bad("bad_host", "The request does not say, or not clearly, which host it means.")
        case .ambiguousLength: Self.bad("ambiguous_length", "The request does not say clearly where it ends.")
        case .encodingUnknown:
            .refusal(501, code: "encoding_unknown", message: "This transfer encoding is unknown.", action: Self.usual)
        case .version: .refusal(505, code: "http_version", message: "Only HTTP/1.1 is spoken here.", action: Self.usual)
        case .methodForbidden:
            .refusal(
                405,
                code: "method_not_allowed",
                message: "This method is not allowed here.",
                action: Self.usual,
                headers: ["Allow": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"]
            )
        case .methodUnknown:
            .refusal(501, code: "method_unknown", message: "This method is unknown.", action: Self.usual)
        case .headTooLarge:
            .refusal(
                431,
                code: "headers_too_large",
                message: "The request's head is too large.",
                action: "Clear this site's cookies in the browser and try again."
            )
        case .bodyTooLarge:
            .refusal(
                413,
                code: "body_too_large",
                message: "The request is larger than the terminal accepts. Nothing was changed.",
                action: "Send less data."
            )
        case .expectationUnknown:
            .refusal(
                417,
                code: "expectation_unknown",
                message: "The request expects something that the terminal does not know. Nothing was done.",
                action: "Send it without the header Expect, or with 100-continue."
            )
        case .busy: .busy
        case .unreadable: Self.bad("bad_request", "The request cannot be read. Nothing was done.")
        case .hostNotAllowed:
            .refusal(
                421,
                code: "unknown_host",
                message: "The terminal does not answer under this name.",
                action: "Open the address shown on the terminal's screen."
            )
        }
    }

    private static let usual = "Use the terminal's own page or its documented interface."

    private static func bad(_ code: String, _ message: String) -> WebResponse {
        .refusal(400, code: code, message: message, action: usual)
    }
}

extension WebResponse {
    /// To clients whose request cannot be finished because the server stops.
    static let stopping = refusal(
        503,
        code: "stopping",
        message: "The terminal is shutting down or restarting.",
        action: "Wait a moment and look at the charge again before you repeat it.",
        headers: ["Connection": "close", "Retry-After": "5"]
    )

    /// The handler took longer than `Limits.answering`; what it did meanwhile may have taken effect.
    static let overdue = refusal(
        503,
        code: "overdue",
        message: "The terminal took too long to answer. What was asked may still take effect.",
        action: "Look at the charge's state before you repeat anything.",
        headers: ["Retry-After": "5"]
    )

    /// All the memory for bodies is taken.
    static let busy = refusal(
        503,
        code: "terminal_busy",
        message: "The terminal has too many requests at once. Nothing was done by this one.",
        action: "Try again in a few seconds.",
        headers: ["Retry-After": "2"]
    )

    static let tooManyStreams = refusal(
        503,
        code: "too_many_streams",
        message: "Too many pages follow this terminal at once.",
        action: "Close a page that is not needed and try again.",
        headers: ["Retry-After": "15"]
    )

    /// The handler asked for a status or a header field that HTTP does not allow.
    static let faulty = refusal(
        500,
        code: "internal_error",
        message: "The terminal could not write its answer. What was asked may have taken effect.",
        action: "Look at the charge's state, and report this."
    )
}

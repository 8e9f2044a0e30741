import Glibc

/// Answers a client that speaks plain HTTP where TLS is spoken: `http://terminal:8443` typed into a browser.
///
/// GnuTLS would close the connection without a byte, which a browser shows as an empty answer. Nothing is done for such a request:
/// the answer says where to go. The server's thread writes it to the socket itself, as libmicrohttpd has no HTTP there.
struct PlainGreeting: Sendable {
    private let context: ServerContext
    /// What is looked at of a head. More is not needed to find the host.
    private static let mostBytes = 4 * 1024

    init(_ context: ServerContext) { self.context = context }

    /// True for a letter: a method begins so, and no record of TLS. Source: RFC 9110, 9.1; RFC 8446, 5.1.
    static func begins(with byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & ~0x20) }

    /// Reads what is there, answers, and ends the connection. Does not wait.
    func answer(on socket: Int32) {
        var head = [UInt8](repeating: 0, count: Self.mostBytes)
        let count = unsafe head.withUnsafeMutableBytes {
            unsafe recv(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
        }
        let response = response(to: head.prefix(max(0, count)), port: Self.localPort(of: socket))
        let bytes = Self.written(response, defaults: context.configuration.defaultHeaders)
        // The answer fits into the socket's buffer, which is empty; where it does not, the client sees no answer, as before.
        _ = unsafe bytes.withUnsafeBytes {
            unsafe send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        _ = shutdown(socket, Int32(SHUT_RDWR))
    }

    /// What such a head is answered.
    func response(to head: some BidirectionalCollection<UInt8>, port: UInt16) -> WebResponse {
        let configuration = context.configuration
        guard let request = Self.request(head) else { return configuration.refusal(Self.httpsNeeded) }
        let host = request.header("Host").flatMap { RequestHead.hostName(Array($0.utf8)) }
        guard let host, configuration.hostIsAllowed(host) else {
            return configuration.refusal(Refusal.hostNotAllowed.response)
        }
        return configuration.plainHTTP?(request, port) ?? configuration.refusal(Self.httpsNeeded)
    }

    private static let httpsNeeded = WebResponse.refusal(
        400,
        code: "https_needed",
        message: "This address speaks HTTPS only. Nothing was done.",
        action: "Write https:// in front of it."
    )

    /// Method, target and host; nil where they are not all there.
    private static func request(_ head: some BidirectionalCollection<UInt8>) -> WebRequest? {
        let lines = head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // What stands behind the last line end may be half a line.
        let whole = lines.dropLast().map { line in line.last == UInt8(ascii: "\r") ? line.dropLast() : line }
        let words = whole.first?.split(separator: UInt8(ascii: " ")) ?? []
        guard words.count == 3, words[2].starts(with: Array("HTTP/1.".utf8)), let target = try? RequestTarget(words[1])
        else { return nil }
        let start = Array("host:".utf8)
        let hosts = whole.dropFirst().filter { line in line.prefix(start.count).map(asciiLowercased) == start }
        guard hosts.count == 1, let value = hosts.first?.dropFirst(start.count) else { return nil }
        var fields = HeaderBlock()
        fields.append(name: Array("Host".utf8), value: value.filter { $0 != UInt8(ascii: " ") })
        return WebRequest(
            method: String(decoding: words[0], as: UTF8.self),
            target: target,
            head: fields,
            body: [],
            peerAddress: "",
            isSecure: false
        )
    }

    /// An answer as it goes over the wire, after which the connection ends. Source: RFC 9112, 4 and 9.6.
    static func written(_ response: WebResponse, defaults: WebHeaders) -> [UInt8] {
        var body: [UInt8] = []
        if case .bytes(let bytes) = response.body { body = bytes }
        var lines = ["HTTP/1.1 \(response.status) \(phrase(response.status))"]
        let missing = defaults.filter { response.headers[$0.name] == nil }
        for field in Array(response.headers) + missing
        where !field.value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            lines.append("\(field.name): \(field.value)")
        }
        lines += ["Content-Length: \(body.count)", "Connection: close"]
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 421: "Misdirected Request"
        case 431: "Request Header Fields Too Large"
        default: "Refused"
        }
    }

    /// The port that the client has connected to; 0 where the system does not say.
    private static func localPort(of socket: Int32) -> UInt16 { ListeningSocket.port(of: socket) ?? 0 }
}

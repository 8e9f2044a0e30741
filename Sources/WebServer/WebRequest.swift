/// A complete HTTP request: its head was checked and its body is in memory.
///
/// Everything in it comes from outside. The server has bounded the sizes and refused what is ambiguous
/// (see `RequestTarget` and `RequestHead`); what the values mean is for the handler to judge.
public struct WebRequest: Sendable {
    /// `GET`, `POST`, `PUT`, `PATCH`, `DELETE` or `OPTIONS`. A `HEAD` request arrives as `GET`; the body is left out
    /// on the way back.
    public let method: String
    /// Percent-decoded once. Begins with `/`; no empty segment but the last, no `.`, `..`, control character, encoded
    /// slash or backslash.
    public let path: String
    /// The request target as the client wrote it: path and query, still encoded.
    public let rawTarget: String
    /// Decoded names and values of the query. A name that appears twice is refused with 400 before any handler.
    public let query: [String: String]
    /// The whole body. Empty when there is none.
    public let body: [UInt8]
    /// The client's IP address in numbers, without port. IPv4 clients of an IPv6 socket appear as IPv4.
    public let peerAddress: String
    /// True when the connection is TLS.
    public let isSecure: Bool
    let head: HeaderBlock

    /// Fails when `target` is not one the server would have accepted. For tests of handlers, which need no socket.
    public init?(
        method: String = "GET",
        target: String,
        headers: WebHeaders = [:],
        body: [UInt8] = [],
        peerAddress: String = "127.0.0.1",
        isSecure: Bool = true
    ) {
        guard let parsed = try? RequestTarget(Array(target.utf8)) else { return nil }
        var head = HeaderBlock()
        for field in headers { head.append(name: Array(field.name.utf8), value: Array(field.value.utf8)) }
        self.init(
            method: method,
            target: parsed,
            head: head,
            body: body,
            peerAddress: peerAddress,
            isSecure: isSecure
        )
    }

    init(
        method: String,
        target: RequestTarget,
        head: HeaderBlock,
        body: [UInt8],
        peerAddress: String,
        isSecure: Bool
    ) {
        self.method = method
        (path, rawTarget, query) = (target.path, target.raw, target.query)
        (self.head, self.body, self.peerAddress, self.isSecure) = (head, body, peerAddress, isSecure)
    }

    /// The first value of a header field; `name` carries no case. Bytes that are not UTF-8 become U+FFFD.
    public func header(_ name: String) -> String? { head.first(name) }

    /// All values of a header field in the order they came.
    public func headers(_ name: String) -> [String] { head.all(name) }

    /// The cookies of the request by name; the first of two with one name counts. Source: RFC 6265, 5.4.
    public var cookies: [String: String] {
        var cookies: [String: String] = [:]
        for line in head.all("Cookie") {
            for pair in line.split(separator: ";") {
                let pair = pair.drop { $0 == " " || $0 == "\t" }
                guard let equals = pair.firstIndex(of: "=") else { continue }
                let name = String(pair[..<equals])
                guard !name.isEmpty, cookies[name] == nil else { continue }
                cookies[name] = pair[pair.index(after: equals)...].unquotedCookieValue
            }
        }
        return cookies
    }
}

extension Substring {
    fileprivate var unquotedCookieValue: String {
        var value = self
        while value.last == " " || value.last == "\t" { value.removeLast() }
        if value.count >= 2, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
        return String(value)
    }
}

/// Header fields as they came, in one buffer: the lengths of name and value, then both.
///
/// A request has some ten fields and a handler asks for two or three, so strings are made on demand.
struct HeaderBlock: Sendable {
    private var bytes: [UInt8] = []

    /// Bytes of one length.
    private static let lengthBytes = 4

    /// Where the next field will begin; see ``value(at:)``.
    var end: Int { bytes.count }

    /// - Parameters:
    ///   - name: At most 4 GB, as for `value`; the server's limits are far below.
    mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
        if bytes.isEmpty { bytes.reserveCapacity(512) }
        append(length: name.count)
        append(length: value.count)
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
    }

    /// The value of the field that begins at `place`.
    func value(at place: Int) -> ArraySlice<UInt8> { bytes[field(at: place).value] }

    func first(_ name: String) -> String? {
        var place = 0
        while place < bytes.count {
            let field = field(at: place)
            if matches(field.name, name) { return String(decoding: bytes[field.value], as: UTF8.self) }
            place = field.value.upperBound
        }
        return nil
    }

    func all(_ name: String) -> [String] {
        var (place, values) = (0, [String]())
        while place < bytes.count {
            let field = field(at: place)
            if matches(field.name, name) { values.append(String(decoding: bytes[field.value], as: UTF8.self)) }
            place = field.value.upperBound
        }
        return values
    }

    private mutating func append(length: Int) {
        for shift in stride(from: 0, to: 8 * Self.lengthBytes, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: length >> shift))
        }
    }

    private func field(at place: Int) -> (name: Range<Int>, value: Range<Int>) {
        let name = place + 2 * Self.lengthBytes
        let value = name + length(at: place)
        return (name..<value, value..<value + length(at: place + Self.lengthBytes))
    }

    private func length(at place: Int) -> Int {
        Int(bytes[place]) | Int(bytes[place + 1]) << 8 | Int(bytes[place + 2]) << 16 | Int(bytes[place + 3]) << 24
    }

    private func matches(_ place: Range<Int>, _ name: String) -> Bool {
        name.utf8.count == place.count
            && zip(bytes[place], name.utf8).allSatisfy { asciiLowercased($0) == asciiLowercased($1) }
    }
}

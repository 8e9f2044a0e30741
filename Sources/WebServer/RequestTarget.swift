/// The target of a request, decoded once and strictly: what the router compares is what the client meant.
///
/// libmicrohttpd decodes `%00` and hands on a string that ends there, so `/status%00x` would reach `/status`. This type
/// therefore reads the undecoded target.
///
/// Source: RFC 9112, 3.2.1 (origin-form); RFC 3986, 2.1 and 3.3.
struct RequestTarget: Sendable, Equatable {
    enum Refusal: Error, Equatable {
        /// Not `/path` or `/path?query`: another form, a fragment, or bytes no URL may hold.
        case malformed
        /// `%` without two hexadecimal digits.
        case badEscape
        /// A NUL or another control character, plain or escaped.
        case controlCharacter
        /// What the escapes spell is not UTF-8.
        case notUTF8
        /// `/` or `\` behind an escape, or a plain backslash: servers disagree on what it means.
        case hiddenSlash
        /// A segment `.` or `..`, plain or escaped, or an empty segment before the last.
        case dotSegment
        /// The same query name twice, or more than `maximumQueryItems`.
        case ambiguousQuery
    }

    static let maximumQueryItems = 64

    let raw: String
    let path: String
    let query: [String: String]

    init(
        _ bytes: some Collection<UInt8>,
        reading: WebServer.AddressReading = .strict
    ) throws(Refusal) {
        guard bytes.first == UInt8(ascii: "/") else { throw .malformed }
        var isPlain = true
        var queryStart: Int?
        var position = 0
        for byte in bytes {
            switch byte {
            case 0..<0x20, 0x7F: throw .controlCharacter
            case UInt8(ascii: " "), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"),
                0x80...:
                throw .malformed
            case UInt8(ascii: "\\") where queryStart == nil && reading == .strict: throw .hiddenSlash
            case UInt8(ascii: "%") where queryStart == nil: isPlain = false
            case UInt8(ascii: "?") where queryStart == nil: queryStart = position
            default: break
            }
            position += 1
        }
        raw = String(decoding: bytes, as: UTF8.self)
        let pathBytes = bytes.prefix(queryStart ?? position)
        if reading == .asWritten {
            (path, query) = (String(decoding: pathBytes, as: UTF8.self), [:])
            return
        }
        if isPlain {
            try Self.checkSegments(pathBytes)
            path = queryStart == nil ? raw : String(decoding: pathBytes, as: UTF8.self)
        } else {
            path = try Self.decodedPath(pathBytes)
        }
        query = try queryStart.map { (start) throws(Refusal) in try Self.query(bytes.dropFirst(start + 1)) } ?? [:]
    }

    private static func decodedPath(_ bytes: some Collection<UInt8>) throws(Refusal) -> String {
        let decoded = try unescaped(bytes, plusIsSpace: false) { byte throws(Refusal) in
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") { throw .hiddenSlash }
            if byte < 0x20 || byte == 0x7F { throw .controlCharacter }
        }
        try checkSegments(decoded)
        guard let path = String(validating: decoded, as: UTF8.self) else { throw .notUTF8 }
        return path
    }

    /// One pass over `/a/b/c`: no segment may be `.` or `..`, only the last may be empty.
    private static func checkSegments(_ path: some Collection<UInt8>) throws(Refusal) {
        var length = 0
        var onlyDots = true
        var isFirst = true
        for byte in path {
            if byte == UInt8(ascii: "/") {
                if !isFirst, length == 0 { throw .dotSegment }
                if onlyDots, (1...2).contains(length) { throw .dotSegment }
                (length, onlyDots, isFirst) = (0, true, false)
            } else {
                length += 1
                onlyDots = onlyDots && byte == UInt8(ascii: ".")
            }
        }
        if onlyDots, (1...2).contains(length) { throw .dotSegment }
    }

    private static func query(_ bytes: some Collection<UInt8>) throws(Refusal) -> [String: String] {
        var query: [String: String] = [:]
        for item in bytes.split(separator: UInt8(ascii: "&")) {
            guard query.count < maximumQueryItems else { throw .ambiguousQuery }
            let equals = item.firstIndex(of: UInt8(ascii: "="))
            let name = try text(item[..<(equals ?? item.endIndex)])
            let value = try equals.map { (at) throws(Refusal) in try text(item[item.index(after: at)...]) } ?? ""
            guard query.updateValue(value, forKey: name) == nil else { throw .ambiguousQuery }
        }
        return query
    }

    private static func text(_ bytes: some Collection<UInt8>) throws(Refusal) -> String {
        let decoded = try unescaped(bytes, plusIsSpace: true) { byte throws(Refusal) in
            if byte == 0 { throw .controlCharacter }
        }
        guard let text = String(validating: decoded, as: UTF8.self) else { throw .notUTF8 }
        return text
    }

    private static func unescaped(
        _ bytes: some Collection<UInt8>,
        plusIsSpace: Bool,
        checking check: (UInt8) throws(Refusal) -> Void
    ) throws(Refusal) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var rest = bytes.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(hexValue), let low = rest.next().flatMap(hexValue) else {
                    throw .badEscape
                }
                try check(high << 4 | low)
                result.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: result.append(UInt8(ascii: " "))
            default: result.append(byte)
            }
        }
        return result
    }
}

private func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// One message of a `text/event-stream`. Source: HTML Living Standard, 9.2 Server-sent events.
///
/// Its bytes are made once, whoever it is sent to.
public struct ServerSentEvent: Sendable, Equatable {
    /// The event's type; nil is `message`. Line ends in it are dropped.
    public let event: String?
    /// Any text. Each line travels in a `data:` field of its own; the client joins them with a line feed.
    public let data: String?
    /// What the browser sends back as `Last-Event-ID`. Line ends and NUL in it are dropped.
    public let id: String?
    /// As it goes over the wire, with the blank line that ends it.
    let bytes: [UInt8]

    /// - Parameter retry: How long the browser waits before it connects again.
    public init(event: String? = nil, data: String, id: String? = nil, retry: Duration? = nil) {
        (self.event, self.data, self.id) = (event, data, id)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.utf8.count + 64)
        if let event { bytes.append(field: "event: ", singleLine(event)) }
        if let id { bytes.append(field: "id: ", singleLine(id)) }
        if let retry { bytes.append(field: "retry: ", String(retry.components.seconds * 1000)) }
        bytes.append(lines: data)
        self.bytes = bytes + [lineFeed]
    }

    private init(comment: String) {
        (event, data, id) = (nil, nil, nil)
        bytes = Array(":\(singleLine(comment))\n\n".utf8)
    }

    /// A line the client never sees. It keeps the connection alive and finds out that the client has left.
    public static func comment(_ text: String) -> ServerSentEvent { ServerSentEvent(comment: text) }
}

private let lineFeed = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")

/// A line end inside a one-line field would let its text become fields of its own.
private func singleLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\n" && $0 != "\r" && $0 != "\0" }))
}

extension [UInt8] {
    fileprivate mutating func append(field name: String, _ value: String) {
        append(contentsOf: name.utf8)
        append(contentsOf: value.utf8)
        append(lineFeed)
    }

    /// CR, LF and CRLF each end a line for the client.
    fileprivate mutating func append(lines text: String) {
        append(contentsOf: "data: ".utf8)
        var previous: UInt8 = 0
        for byte in text.utf8 {
            defer { previous = byte }
            if byte == lineFeed, previous == carriageReturn { continue }
            guard byte == lineFeed || byte == carriageReturn else {
                append(byte)
                continue
            }
            append(contentsOf: "\ndata: ".utf8)
        }
        append(lineFeed)
    }
}

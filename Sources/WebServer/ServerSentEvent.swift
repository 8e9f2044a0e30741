/// One message of a `text/event-stream`. Source: HTML Living Standard, 9.2 Server-sent events.
public struct ServerSentEvent: Sendable, Equatable {
    /// The event's type; nil is `message`. Line ends in it are dropped.
    public var event: String?
    /// Any text. Each line travels in a `data:` field of its own; the client joins them with a line feed.
    public var data: String?
    /// What the browser sends back as `Last-Event-ID`. Line ends and NUL in it are dropped.
    public var id: String?
    /// How long the browser waits before it connects again.
    public var retry: Duration?
    /// A line the client ignores. It keeps the connection alive and finds out that the client has left.
    public var comment: String?

    public init(event: String? = nil, data: String, id: String? = nil, retry: Duration? = nil) {
        (self.event, self.data, self.id, self.retry) = (event, data, id, retry)
    }

    private init(comment: String) { self.comment = comment }

    /// A line the client never sees: the heartbeat.
    public static func comment(_ text: String) -> ServerSentEvent { ServerSentEvent(comment: text) }

    /// As it goes over the wire, with the blank line that ends it.
    var bytes: [UInt8] {
        var text = ""
        if let comment { text += ":\(singleLine(comment))\n" }
        if let event { text += "event: \(singleLine(event))\n" }
        if let id { text += "id: \(singleLine(id))\n" }
        if let retry { text += "retry: \(retry.components.seconds * 1000)\n" }
        if let data {
            for line in lines(of: data) { text += "data: \(line)\n" }
        }
        return Array((text + "\n").utf8)
    }
}

/// A line end inside a one-line field would let its text become fields of its own.
private func singleLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\n" && $0 != "\r" && $0 != "\0" }))
}

/// CR, LF and CRLF each end a line for the client.
private func lines(of text: String) -> [String] {
    var lines: [String] = []
    var line = String.UnicodeScalarView()
    var previous: Unicode.Scalar?
    for scalar in text.unicodeScalars {
        defer { previous = scalar }
        if scalar == "\n", previous == "\r" { continue }
        if scalar == "\n" || scalar == "\r" {
            lines.append(String(line))
            line = String.UnicodeScalarView()
        } else {
            line.append(scalar)
        }
    }
    return lines + [String(line)]
}

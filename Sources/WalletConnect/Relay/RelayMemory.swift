internal import Crypto

/// What a relay client must still know after a restart: which messages were taken already. Relays deliver at least once,
/// and a copy that is taken for a new message is a second payment request.
public protocol RelayMemory: Sendable {
    /// Whether this message was remembered and is not past its time.
    func knows(_ mark: RelayMark) async throws -> Bool

    /// Remembers it, on the disk when this returns.
    /// - Parameter until: Seconds since 1970. Later no copy can come: it may be forgotten.
    /// - Throws: The relay is then not told that it arrived, so that it comes again.
    func remember(_ mark: RelayMark, until: Int64) async throws
}

/// One message, by what every copy of it has in common.
public struct RelayMark: Sendable, Hashable {
    public let topic: String
    /// SHA-256 of the envelope's text, as hexadecimal digits.
    public let hash: String

    public init(topic: String, message: String) {
        self.topic = topic
        hash = Hex.text(SHA256.hash(data: Array(message.utf8)))
    }
}

/// Remembers until the process ends, and no more than a number of messages: the oldest go first.
public actor ShortRelayMemory: RelayMemory {
    private let limit: Int
    private var until: [RelayMark: Int64] = [:]
    private var order: [RelayMark] = []

    /// - Parameter limit: How many messages; each takes some 300 bytes.
    public init(limit: Int = 10_000) { self.limit = max(1, limit) }

    public func knows(_ mark: RelayMark) -> Bool { until[mark] != nil }

    public func remember(_ mark: RelayMark, until: Int64) {
        if self.until.updateValue(until, forKey: mark) == nil { order.append(mark) }
        guard order.count > limit + limit / 2 else { return }
        let old = order.prefix(order.count - limit)
        for mark in old { self.until[mark] = nil }
        order.removeFirst(old.count)
    }
}

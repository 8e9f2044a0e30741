import Payments

/// What waits for whom. It decides and keeps; it knows no connection and no file.
struct RelayMailboxes: Sendable {
    /// One message that waits.
    struct Letter: Sendable {
        let topic: String
        /// SHA-256 of the message.
        let hash: String
        let message: String
        let tag: Int64
        let attestation: String?
        /// Who sent it: they do not get it back.
        let sender: String
        let publishedAt: WallTime
        let expiresAt: WallTime
        /// Who has acknowledged it.
        var takers: Set<String> = []

        var bytes: Int { message.utf8.count + (attestation?.utf8.count ?? 0) }
        var name: Name { Name(topic: topic, hash: hash) }
    }

    struct Name: Sendable, Hashable {
        let topic: String
        let hash: String
    }

    struct Mailbox: Sendable {
        var letters: [String: Letter] = [:]
        /// Hashes, oldest first. Those of letters that are gone are skipped.
        var order: [String] = []
        var bytes = 0
        var subscribers: Set<String> = []
    }

    enum Outcome: Sendable, Equatable {
        case kept
        /// The same message waits already.
        case known
        case full
    }

    private(set) var topics: [String: Mailbox] = [:]
    private(set) var clients: [String: Set<String>] = [:]
    private(set) var letterCount = 0
    private(set) var byteCount = 0
    private var expiries = Agenda<Name>()

    func letter(_ name: Name) -> Letter? { topics[name.topic]?.letters[name.hash] }

    func subscribers(of topic: String) -> Set<String> { topics[topic]?.subscribers ?? [] }

    func topics(of client: String) -> Set<String> { clients[client] ?? [] }

    /// What this client has not taken of one topic, oldest first.
    func waiting(_ topic: String, for client: String) -> [Letter] {
        guard let mailbox = topics[topic] else { return [] }
        return mailbox.order.compactMap { mailbox.letters[$0] }
            .filter { $0.sender != client && !$0.takers.contains(client) }
    }

    /// - Returns: Whether that is new.
    mutating func subscribe(_ client: String, to topic: String) -> Bool {
        topics[topic, default: Mailbox()].subscribers.insert(client)
        return clients[client, default: []].insert(topic).inserted
    }

    /// - Returns: Whether there was a subscription.
    mutating func unsubscribe(_ client: String, from topic: String) -> Bool {
        guard clients[client]?.remove(topic) != nil else { return false }
        if clients[client]?.isEmpty == true { clients[client] = nil }
        topics[topic]?.subscribers.remove(client)
        drop(ifEmpty: topic)
        return true
    }

    /// - Parameters:
    ///   - limit: Letters and bytes in one mailbox. Letters that somebody has taken make room first, oldest first.
    ///   - totalBytes: Of all mailboxes together.
    mutating func keep(_ letter: Letter, limit: (letters: Int, bytes: Int), totalBytes: Int) -> Outcome {
        var mailbox = topics[letter.topic] ?? Mailbox()
        guard mailbox.letters[letter.hash] == nil else { return .known }
        var count = mailbox.letters.count
        var bytes = mailbox.bytes
        var leaving: [String] = []
        for hash in mailbox.order where count >= limit.letters || bytes + letter.bytes > limit.bytes {
            guard let old = mailbox.letters[hash], !old.takers.isEmpty else { continue }
            leaving.append(hash)
            count -= 1
            bytes -= old.bytes
        }
        guard count < limit.letters, bytes + letter.bytes <= limit.bytes, byteCount + letter.bytes <= totalBytes else {
            return .full
        }
        for hash in leaving { remove(Name(topic: letter.topic, hash: hash)) }
        mailbox = topics[letter.topic] ?? Mailbox()
        mailbox.letters[letter.hash] = letter
        mailbox.order.append(letter.hash)
        mailbox.bytes += letter.bytes
        topics[letter.topic] = mailbox
        letterCount += 1
        byteCount += letter.bytes
        expiries.add(letter.name, at: letter.expiresAt)
        return .kept
    }

    /// - Returns: Whether that is news.
    mutating func take(_ name: Name, by client: String) -> Bool {
        topics[name.topic]?.letters[name.hash]?.takers.insert(client).inserted ?? false
    }

    /// - Returns: How many went.
    mutating func expire(at now: WallTime) -> Int {
        var count = 0
        while let (_, name) = expiries.takeDue(at: now) {
            // It may have left before, and one of the same hash may have come after it.
            guard let letter = letter(name), letter.expiresAt <= now else { continue }
            remove(name)
            drop(ifEmpty: name.topic)
            count += 1
        }
        return count
    }

    private mutating func remove(_ name: Name) {
        guard let letter = topics[name.topic]?.letters.removeValue(forKey: name.hash) else { return }
        topics[name.topic]?.bytes -= letter.bytes
        topics[name.topic]?.order.removeAll { $0 == name.hash }
        letterCount -= 1
        byteCount -= letter.bytes
    }

    private mutating func drop(ifEmpty topic: String) {
        guard let mailbox = topics[topic], mailbox.letters.isEmpty, mailbox.subscribers.isEmpty else { return }
        topics[topic] = nil
    }
}

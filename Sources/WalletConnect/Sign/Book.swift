internal import FoundationEssentials
internal import StrictJSON

/// Everything a client remembers, with the changes that storage has not seen yet.
struct Book: Sendable {
    private(set) var pairings: [Topic: PairingRecord] = [:]
    /// By the proposer's public key.
    private(set) var proposals: [String: ProposalRecord] = [:]
    private(set) var authRequests: [String: AuthProposalRecord] = [:]
    private(set) var offers: [String: OfferRecord] = [:]
    private(set) var sessions: [Topic: SessionRecord] = [:]
    private(set) var sent: [String: SentRecord] = [:]
    private(set) var received: [String: ReceivedRecord] = [:]
    private(set) var outbox: [UInt64: OutboxRecord] = [:]
    private(set) var seen: [Topic: [String: Int64]] = [:]
    private var dirty: [String: StoredValue?] = [:]

    /// How much of one topic's past is remembered. Beyond it the oldest is forgotten.
    static let seenLimit = 8192

    init() {}

    /// - Throws: A sentence for staff when a record cannot be read: storage that forgets keys must not be written over.
    init(stored: [String: StoredValue]) throws(StorageFailure) {
        for (name, value) in stored {
            let parts = name.split(separator: "/")
            guard parts.count >= 3, parts[0] == "wc2" else { continue }
            do { try read(folder: String(parts[1]), Data(value.bytes)) } catch {
                throw StorageFailure(reason: "a record in \(parts[1]) cannot be read")
            }
        }
    }

    private mutating func read(folder: String, _ data: Data) throws {
        func record<Record: StoredRecord>(_: Record.Type) throws -> Record {
            try JSONDecoder().decode(Record.self, from: data)
        }
        switch folder {
        case PairingRecord.folder: let value = try record(PairingRecord.self); pairings[value.topic] = value
        case ProposalRecord.folder: let value = try record(ProposalRecord.self); proposals[value.name] = value
        case AuthProposalRecord.folder:
            let value = try record(AuthProposalRecord.self); authRequests[value.name] = value
        case OfferRecord.folder: let value = try record(OfferRecord.self); offers[value.name] = value
        case SessionRecord.folder: let value = try record(SessionRecord.self); sessions[value.topic] = value
        case SentRecord.folder: let value = try record(SentRecord.self); sent[value.name] = value
        case ReceivedRecord.folder: let value = try record(ReceivedRecord.self); received[value.name] = value
        case OutboxRecord.folder: let value = try record(OutboxRecord.self); outbox[value.number] = value
        case SeenRecord.folder:
            let value = try record(SeenRecord.self); seen[value.topic, default: [:]][value.hash] = value.at
        default: break  // Written by a newer version. It stays.
        }
    }

    /// What changed since the last call, for one batch.
    mutating func takeChanges() -> [StorageChange] {
        defer { dirty = [:] }
        return dirty.sorted { $0.key < $1.key }.map { name, value in
            value.map { .set(name: name, value: $0) } ?? .remove(name: name)
        }
    }

    private mutating func mark(_ record: some StoredRecord) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Records hold texts, numbers and lists of them, which all can be written.
        guard let data = try? encoder.encode(record) else { preconditionFailure("a record cannot be written") }
        dirty[record.storageName] = .some(StoredValue(Array(data)))
    }

    private mutating func unmark<Record: StoredRecord>(_: Record.Type, _ name: String) {
        dirty.updateValue(nil, forKey: Record.storageName(name))
    }

    mutating func put(_ record: PairingRecord) { pairings[record.topic] = record; mark(record) }
    mutating func put(_ record: ProposalRecord) { proposals[record.name] = record; mark(record) }
    mutating func put(_ record: AuthProposalRecord) { authRequests[record.name] = record; mark(record) }
    mutating func put(_ record: OfferRecord) { offers[record.name] = record; mark(record) }
    mutating func put(_ record: SessionRecord) { sessions[record.topic] = record; mark(record) }
    mutating func put(_ record: SentRecord) { sent[record.name] = record; mark(record) }
    mutating func put(_ record: ReceivedRecord) { received[record.name] = record; mark(record) }
    mutating func put(_ record: OutboxRecord) { outbox[record.number] = record; mark(record) }

    mutating func removeProposal(_ name: String) {
        if proposals.removeValue(forKey: name) != nil { unmark(ProposalRecord.self, name) }
    }

    mutating func removeAuthRequest(_ name: String) {
        if authRequests.removeValue(forKey: name) != nil { unmark(AuthProposalRecord.self, name) }
    }

    mutating func removeOffer(_ name: String) {
        if let offer = offers.removeValue(forKey: name) {
            unmark(OfferRecord.self, name)
            forget(offer.key.publicKey.answerTopic)
            if let topic = offer.sessionTopic, sessions[topic] == nil { forget(topic) }
        }
    }

    mutating func removeSent(_ record: SentRecord) {
        if sent.removeValue(forKey: record.name) != nil { unmark(SentRecord.self, record.name) }
    }

    mutating func removeReceived(_ record: ReceivedRecord) {
        if received.removeValue(forKey: record.name) != nil { unmark(ReceivedRecord.self, record.name) }
    }

    mutating func removeOutbox(_ number: UInt64) {
        if let record = outbox.removeValue(forKey: number) { unmark(OutboxRecord.self, record.name) }
    }

    /// With what was seen on it and proposed over it.
    mutating func removePairing(_ topic: Topic) {
        guard pairings.removeValue(forKey: topic) != nil else { return }
        unmark(PairingRecord.self, topic.text)
        for proposal in proposals.values where proposal.pairingTopic == topic { removeProposal(proposal.name) }
        for request in authRequests.values where request.pairingTopic == topic { removeAuthRequest(request.name) }
        forget(topic)
    }

    /// With its open requests, except for answers that may still bring money.
    mutating func removeSession(_ topic: Topic) {
        guard sessions.removeValue(forKey: topic) != nil else { return }
        unmark(SessionRecord.self, topic.text)
        for record in sent.values where record.topic == topic { removeSent(record) }
        for record in received.values where record.topic == topic { removeReceived(record) }
        forget(topic)
    }

    private mutating func forget(_ topic: Topic) {
        for hash in (seen.removeValue(forKey: topic) ?? [:]).keys { unmark(SeenRecord.self, "\(topic.text)/\(hash)") }
    }

    func hasSeen(_ hash: String, on topic: Topic) -> Bool { seen[topic]?[hash] != nil }

    mutating func see(_ hash: String, on topic: Topic, at now: Int64) {
        let record = SeenRecord(topic: topic, hash: hash, at: now)
        seen[topic, default: [:]][hash] = now
        mark(record)
        // A quarter at a time, so that a flood does not sort the list with each message.
        guard let all = seen[topic], all.count > Self.seenLimit else { return }
        for (old, _) in all.sorted(by: { $0.value < $1.value }).prefix(Self.seenLimit / 4) where old != hash {
            seen[topic]?[old] = nil
            unmark(SeenRecord.self, "\(topic.text)/\(old)")
        }
    }
}

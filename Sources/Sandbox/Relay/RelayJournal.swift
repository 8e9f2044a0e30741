import Crypto
import Glibc
import Payments
import StrictJSON

/// What a relay that remembers writes down, line by line.
enum RelayRecord: Sendable, Equatable {
    case kept(
        RelayMailboxes.Name,
        message: String,
        tag: Int64,
        attestation: String?,
        sender: String,
        from: Int64,
        until: Int64
    )
    case taken(RelayMailboxes.Name, by: String)
    case subscribed(String, topic: String)
    case unsubscribed(String, topic: String)

    /// Without the line feed: a checksum of the rest, a blank, one JSON array.
    var line: String {
        let fields: [ExactJSON] =
            switch self {
            case .kept(let name, let message, let tag, let attestation, let sender, let from, let until):
                [
                    .string("kept"), .string(name.topic), .string(message), .integer(tag), .text(attestation),
                    .string(sender), .integer(from), .integer(until),
                ]
            case .taken(let name, let client):
                [.string("taken"), .string(name.topic), .string(name.hash), .string(client)]
            case .subscribed(let client, let topic): [.string("subscribed"), .string(client), .string(topic)]
            case .unsubscribed(let client, let topic): [.string("unsubscribed"), .string(client), .string(topic)]
            }
        let text = ExactJSON.array(fields).text
        return Self.checksum(text) + " " + text
    }

    /// Nil for a line that is not what was written.
    init?(line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, Self.checksum(String(parts[1])) == parts[0],
            let json = try? ExactJSON(parsing: Array(parts[1].utf8), limits: .init(bytes: 1 << 22, depth: 4)),
            let fields = json.arrayValue
        else { return nil }
        let texts = fields.map(\.stringValue)
        switch (texts.first ?? nil, fields.count) {
        case ("kept", 8):
            guard let topic = texts[1], let message = texts[2], let tag = fields[3].integerValue, let sender = texts[5],
                let from = fields[6].integerValue, let until = fields[7].integerValue
            else { return nil }
            let name = RelayMailboxes.Name(topic: topic, hash: Self.hash(message))
            self = .kept(
                name,
                message: message,
                tag: tag,
                attestation: texts[4],
                sender: sender,
                from: from,
                until: until
            )
        case ("taken", 4):
            guard let topic = texts[1], let hash = texts[2], let client = texts[3] else { return nil }
            self = .taken(.init(topic: topic, hash: hash), by: client)
        case ("subscribed", 3), ("unsubscribed", 3):
            guard let client = texts[1], let topic = texts[2] else { return nil }
            self = texts[0] == "subscribed" ? .subscribed(client, topic: topic) : .unsubscribed(client, topic: topic)
        default: return nil
        }
    }

    static func hash(_ text: String) -> String { hexadecimal(SHA256.hash(data: Array(text.utf8))) }

    /// 64 bits: there is no enemy here, only worn disks and editors.
    private static func checksum(_ text: String) -> String {
        hexadecimal(SHA256.hash(data: Array(text.utf8)).prefix(8))
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension RelayMailboxes {
    /// Plays one record again.
    mutating func replay(_ record: RelayRecord) {
        switch record {
        case .kept(let name, let message, let tag, let attestation, let sender, let from, let until):
            let letter = Letter(
                topic: name.topic,
                hash: name.hash,
                message: message,
                tag: tag,
                attestation: attestation,
                sender: sender,
                publishedAt: WallTime(millisecondsSince1970: from),
                expiresAt: WallTime(millisecondsSince1970: until)
            )
            // An earlier one of the same text may have ended before. It was within the limits of its time.
            _ = expire(at: letter.publishedAt)
            _ = keep(letter, limit: (.max, .max), totalBytes: .max)
        case .taken(let name, let client): _ = take(name, by: client)
        case .subscribed(let client, let topic): _ = subscribe(client, to: topic)
        case .unsubscribed(let client, let topic): _ = unsubscribe(client, from: topic)
        }
    }

    /// Everything that still matters, as records.
    var records: [RelayRecord] {
        var records: [RelayRecord] = []
        for (topic, mailbox) in topics {
            records += mailbox.subscribers.map { .subscribed($0, topic: topic) }
            for letter in mailbox.order.compactMap({ mailbox.letters[$0] }) {
                records.append(letter.record)
                records += letter.takers.map { .taken(letter.name, by: $0) }
            }
        }
        return records
    }
}

/// The file of a relay that remembers. When it holds mostly what is over, it is written anew beside the old one.
struct RelayJournal: Sendable {
    private let path: String
    private var file: StateFile
    /// Held open, and so locked, until the end: no other relay may take the file that this one has replaced.
    private var replaced: StateFile?
    private(set) var lineCount: Int

    /// What was found.
    struct Content: Sendable {
        var mailboxes: RelayMailboxes
        /// Bytes of a last line that was never finished: nobody was answered for them.
        var tornBytes: Int
    }

    /// Opens the file, or makes it, and reads it. Blocks: call before serving.
    /// - Parameter now: What is over by then is not read.
    static func open(_ path: String, at now: WallTime) async throws(StateFileError) -> (RelayJournal, Content) {
        let (file, found) = try StateFile.open(path)
        var mailboxes = RelayMailboxes()
        for (index, line) in found.lines.enumerated() {
            guard let record = RelayRecord(line: line) else {
                throw StateFileError(description: "\(path): line \(index + 1) is damaged, or no relay's")
            }
            mailboxes.replay(record)
        }
        _ = mailboxes.expire(at: now)
        var journal = RelayJournal(path: path, file: file, lineCount: found.lines.count)
        try await journal.renew(mailboxes)
        return (journal, Content(mailboxes: mailboxes, tornBytes: found.tornBytes))
    }

    private init(path: String, file: StateFile, lineCount: Int) {
        (self.path, self.file, self.lineCount) = (path, file, lineCount)
    }

    /// Returns when the disk has them.
    mutating func append(_ records: [RelayRecord]) async throws(StateFileError) {
        guard !records.isEmpty else { return }
        lineCount += records.count
        try await file.append(records.map(\.line))
    }

    /// Whether most of the file is over, by how much still matters.
    func isWorthRenewing(_ mailboxes: RelayMailboxes) -> Bool {
        let useful = mailboxes.letterCount + mailboxes.clients.values.reduce(0) { $0 + $1.count }
        return lineCount > 10_000 && lineCount > 4 * useful
    }

    mutating func renew(_ mailboxes: RelayMailboxes) async throws(StateFileError) {
        guard isWorthRenewing(mailboxes) else { return }
        let new = path + ".new"
        // A leftover of a renewal that was interrupted.
        _ = unsafe unlink(new)
        let (fresh, _) = try StateFile.open(new)
        let records = mailboxes.records
        if !records.isEmpty { try await fresh.append(records.map(\.line)) }
        guard unsafe rename(new, path) == 0 else {
            throw StateFileError(description: "\(path) cannot be replaced: \(unsafe String(cString: strerror(errno)))")
        }
        try StateFile.syncFolder(of: path)
        (replaced, file, lineCount) = (file, fresh, records.count)
    }
}

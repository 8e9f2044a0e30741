import Foundation
import GRDB
import Payments

/// One row of the table `event`: something that happened to a charge, chained to the entry before it.
struct Entry {
    /// How `body` is written. A later version that writes more into it counts this up, so that this one does not drop it.
    static let format: Int64 = 1
    /// The kind of a charge's first entry. All others are named like the cases of `Charge.Event`.
    static let opened = "opened"
    /// What the first entry of all follows from.
    static let start = Data(repeating: 0, count: 32)
    static let columns =
        "seq, charge, attempt, rail, kind, format, body, wall_ms, monotonic_ns, boot, previous, hash"

    var sequence: Int64
    var charge: String
    /// Nil where the event is about the whole charge.
    var attempt: Int64?
    var rail: String?
    var kind: String
    var format = Entry.format
    /// JSON with sorted keys.
    var body: Data
    var wallMilliseconds: Int64
    /// Time since the kernel's start; comparable among entries of one `boot`.
    var monotonicNanoseconds: Int64
    var boot: String
    var previous: Data

    var hash: Data {
        var digest = RowDigest("till event 1")
        digest.add(sequence)
        digest.add(charge)
        digest.add(attempt)
        digest.add(rail)
        digest.add(kind)
        digest.add(format)
        digest.add(body)
        digest.add(wallMilliseconds)
        digest.add(monotonicNanoseconds)
        digest.add(boot)
        digest.add(previous)
        return digest.value
    }

    /// - Returns: The hash.
    func insert(_ db: Database) throws -> Data {
        let hash = self.hash
        try db.cachedStatement(
            sql: "INSERT INTO event (\(Entry.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            sequence, charge, attempt, rail, kind, format, body, wallMilliseconds, monotonicNanoseconds, boot, previous,
            hash,
        ])
        return hash
    }
}

// MARK: - Reading

extension Entry {
    /// Reads a row of `columns`, with the hash that stands in it.
    static func read(_ row: Row) throws -> (entry: Entry, hash: Data) {
        let entry = Entry(
            sequence: try row.decode(atIndex: 0),
            charge: try row.decode(atIndex: 1),
            attempt: try row.decode(atIndex: 2),
            rail: try row.decode(atIndex: 3),
            kind: try row.decode(atIndex: 4),
            format: try row.decode(atIndex: 5),
            body: try row.decode(atIndex: 6),
            wallMilliseconds: try row.decode(atIndex: 7),
            monotonicNanoseconds: try row.decode(atIndex: 8),
            boot: try row.decode(atIndex: 9),
            previous: try row.decode(atIndex: 10)
        )
        return (entry, try row.decode(atIndex: 11))
    }

    /// Reads a row and makes sure that it is as it was written.
    init(checked row: Row) throws {
        let (entry, hash) = try Entry.read(row)
        guard entry.hash == hash else {
            throw JournalError.corrupt(detail: "entry \(entry.sequence): its content was changed")
        }
        self = entry
    }

    var time: WallTime { WallTime(millisecondsSince1970: wallMilliseconds) }

    /// What a charge was opened with. Only for entries of the kind `opened`.
    func opening() throws -> Opening { try decode() }

    /// What happened. For every other entry.
    func event() throws -> Charge.Event {
        let event: Charge.Event = try decode()
        guard event.kind == kind else {
            throw JournalError.corrupt(detail: "entry \(sequence): its kind is not that of its content")
        }
        return event
    }

    /// The entry's hash has proved that it is as it was written, so whatever cannot be read comes from a newer version.
    private func decode<Value: Decodable>() throws -> Value {
        let unknown = JournalError.fromNewerVersion(
            detail: "entry \(sequence) is of a kind that this version does not know: “\(kind)”, format \(format)"
        )
        guard format == Entry.format else { throw unknown }
        do { return try StoredJSON.decode(body) } catch { throw unknown }
    }
}

/// The first entry of a charge: what was asked for, and under which key.
struct Opening: Codable, Equatable {
    var terms: ChargeTerms
    var idempotencyKey: String?
    var requestDigest: Data?
    /// The opener's shift; nil before there were shifts.
    var shift: Int64?
}

/// How values are written into the journal: keys sorted, so that the same value is always the same bytes.
enum StoredJSON {
    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
    private static let decoder = JSONDecoder()

    static func encode(_ value: some Encodable) throws(JournalError) -> Data {
        do { return try encoder.encode(value) } catch {
            throw .unavailable(detail: "this cannot be written as JSON: \(error)")
        }
    }

    static func decode<Value: Decodable>(_ data: Data) throws -> Value { try decoder.decode(Value.self, from: data) }
}

extension Charge.Event {
    /// The event's name in the table. Part of the file's format: never rename.
    var kind: String {
        switch self {
        case .attemptStarted: "attemptStarted"
        case .sending: "sending"
        case .notSent: "notSent"
        case .silent: "silent"
        case .overdue: "overdue"
        case .offered: "offered"
        case .refused: "refused"
        case .notFound: "notFound"
        case .reported: "reported"
        case .claimWanted: "claimWanted"
        case .claimed: "claimed"
        case .claimDropped: "claimDropped"
        case .promised: "promised"
        case .givenBack: "givenBack"
        case .refundAsked: "refundAsked"
        case .refunded: "refunded"
        case .refundDenied: "refundDenied"
        case .cancelRequested: "cancelRequested"
        case .deadlineReached: "deadlineReached"
        case .released: "released"
        case .resumed: "resumed"
        case .seen: "seen"
        }
    }

    var attempt: Attempt.ID? {
        switch self {
        case .attemptStarted(let id, _), .sending(let id), .notSent(let id, _), .silent(let id, _),
            .overdue(let id), .offered(let id, _), .refused(let id, _), .notFound(let id), .reported(let id, _),
            .claimWanted(let id, _), .claimed(let id), .claimDropped(let id), .promised(let id), .givenBack(let id),
            .refundAsked(let id, _), .refunded(let id, _), .refundDenied(let id, _):
            id
        case .cancelRequested, .deadlineReached, .released, .resumed, .seen: nil
        }
    }
}

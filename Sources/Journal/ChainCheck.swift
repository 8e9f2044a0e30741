import Foundation
import GRDB

/// Whether each entry follows from the one before it.
public enum ChainCheck: Sendable, Equatable, CustomStringConvertible {
    /// `head` is the last entry's hash: written down elsewhere, it proves later that nothing before it was changed.
    case intact(count: Int, head: [UInt8])
    case broken(atSequence: Int64, what: String)

    /// Entries that were written are missing, or are others now.
    static let lost = "entries that were written are missing or were written anew"
    /// The last entry is not the one that was sealed.
    static let unsealed = "the log's seal does not fit its last entry"

    public var description: String {
        switch self {
        case .intact(let count, let head):
            "intact: \(count) entries, head "
                + head.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .broken(let sequence, let what): "broken at entry \(sequence): \(what)"
        }
    }
}

/// A table whose rows are chained: each holds the hash of the one before it.
struct Chain: Sendable {
    /// One row, as far as the chain is concerned.
    struct Link {
        var sequence: Int64
        var previous: Data
        /// The hash that stands in the row.
        var hash: Data
        /// The hash that its content has.
        var contentHash: Data
    }

    let table: String
    let columns: String
    let link: @Sendable (Row) throws -> Link

    static let events = Chain(table: "event", columns: Entry.columns) { row in
        let (entry, hash) = try Entry.read(row)
        return Link(sequence: entry.sequence, previous: entry.previous, hash: hash, contentHash: entry.hash)
    }

    static let audit = Chain(table: "audit", columns: AuditRow.columns) { row in
        let (entry, hash) = try AuditRow.read(row)
        return Link(sequence: entry.sequence, previous: entry.previous, hash: hash, contentHash: entry.hash)
    }

    /// Where the next row goes, and what it follows from.
    func tail(_ db: Database) throws -> (sequence: Int64, hash: Data) {
        let row = try Row.fetchOne(db, sql: "SELECT seq, hash FROM \(table) ORDER BY seq DESC LIMIT 1")
        guard let row else { return (0, Entry.start) }
        return (try row.decode(atIndex: 0), try row.decode(atIndex: 1))
    }

    /// The hash that stands in a row; nil where there is none of this number.
    func hash(_ db: Database, _ sequence: Int64) throws -> [UInt8]? {
        try Data.fetchOne(db, sql: "SELECT hash FROM \(table) WHERE seq = ?", arguments: [sequence]).map { Array($0) }
    }

    /// Walks the chain from row `first` on.
    func check(_ db: Database, from first: Int64 = 1) throws -> ChainCheck {
        var previous = Entry.start
        if first > 1 {
            guard
                let before = try Data.fetchOne(
                    db,
                    sql: "SELECT hash FROM \(table) WHERE seq = ?",
                    arguments: [first - 1]
                )
            else { return .broken(atSequence: first - 1, what: "an entry is missing") }
            previous = before
        }
        var expected = first
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT \(columns) FROM \(table) WHERE seq >= ? ORDER BY seq",
            arguments: [first > 1 ? first : .min]
        )
        while let row = try rows.next() {
            let link: Link
            do { link = try self.link(row) } catch is RowDecodingError {
                return .broken(atSequence: expected, what: "a field of it holds what no entry holds")
            }
            if link.sequence > expected { return .broken(atSequence: expected, what: "an entry is missing") }
            if link.sequence < expected { return .broken(atSequence: link.sequence, what: "an entry too many") }
            if link.hash != link.contentHash {
                return .broken(atSequence: link.sequence, what: "its content was changed")
            }
            if link.previous != previous {
                return .broken(atSequence: link.sequence, what: "it does not follow from the entry before it")
            }
            previous = link.hash
            expected += 1
        }
        return .intact(count: Int(expected - 1), head: Array(previous))
    }
}

import Crypto
import Foundation
import GRDB

/// Whether each entry of the journal follows from the one before it.
public enum ChainCheck: Sendable, Equatable, CustomStringConvertible {
    /// `head` is the last entry's hash: written down elsewhere, it proves later that nothing before it was changed.
    case intact(count: Int, head: [UInt8])
    case broken(atSequence: Int64, what: String)

    public var description: String {
        switch self {
        case .intact(let count, let head):
            "intact: \(count) entries, head \(head.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined())"
        case .broken(let sequence, let what): "broken at entry \(sequence): \(what)"
        }
    }
}

/// One row of the chain, as it is hashed: every field with its length before it, so that no two rows hash alike.
struct ChainLink {
    static let start = [UInt8](repeating: 0, count: 32)

    var sequence: Int64
    var charge: String
    var kind: String
    var body: [UInt8]
    var wallMilliseconds: Int64
    var monotonicNanoseconds: Int64
    var boot: String
    var previous: [UInt8]

    var hash: [UInt8] {
        var hash = SHA256()
        func add(_ bytes: some Sequence<UInt8>) {
            let bytes = Array(bytes)
            unsafe withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { unsafe hash.update(bufferPointer: $0) }
            hash.update(data: bytes)
        }
        func add(_ number: Int64) { unsafe add(withUnsafeBytes(of: number.bigEndian) { unsafe Array($0) }) }
        add("till journal 1".utf8)
        add(sequence)
        add(charge.utf8)
        add(kind.utf8)
        add(body)
        add(wallMilliseconds)
        add(monotonicNanoseconds)
        add(boot.utf8)
        add(previous)
        return Array(hash.finalize())
    }

    init(
        sequence: Int64,
        charge: String,
        kind: String,
        body: [UInt8],
        wallMilliseconds: Int64,
        monotonicNanoseconds: Int64,
        boot: String,
        previous: [UInt8]
    ) {
        self.sequence = sequence
        self.charge = charge
        self.kind = kind
        self.body = body
        self.wallMilliseconds = wallMilliseconds
        self.monotonicNanoseconds = monotonicNanoseconds
        self.boot = boot
        self.previous = previous
    }

    init(_ row: Row) {
        sequence = row["seq"]
        charge = row["charge"]
        kind = row["kind"]
        body = Array(row["body"] as Data)
        wallMilliseconds = row["wall_ms"]
        monotonicNanoseconds = row["monotonic_ns"]
        boot = row["boot"]
        previous = Array(row["previous"] as Data)
    }

    /// Walks the chain from entry `first` on.
    static func check(_ db: Database, from first: Int64 = 1) throws -> ChainCheck {
        var previous =
            try Data.fetchOne(db, sql: "SELECT hash FROM event WHERE seq = ?", arguments: [first - 1]).map { Array($0) }
            ?? start
        var expected = first
        let rows = try Row.fetchCursor(db, sql: "SELECT * FROM event WHERE seq >= ? ORDER BY seq", arguments: [first])
        while let row = try rows.next() {
            let link = ChainLink(row)
            if link.sequence != expected { return .broken(atSequence: expected, what: "an entry is missing") }
            if link.previous != previous {
                return .broken(atSequence: link.sequence, what: "it does not follow from the entry before it")
            }
            guard link.hash == Array(row["hash"] as Data) else {
                return .broken(atSequence: link.sequence, what: "its content was changed")
            }
            previous = link.hash
            expected += 1
        }
        return .intact(count: Int(expected - 1), head: previous)
    }
}

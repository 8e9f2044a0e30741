import Foundation
import GRDB
import Payments

/// One row of the table `audit`, chained like the entries of charges.
struct AuditRow {
    static let format: Int64 = 1
    static let columns = "seq, format, body, previous, hash"

    var sequence: Int64
    var format = AuditRow.format
    /// An ``AuditEntry`` as JSON with sorted keys.
    var body: Data
    var previous: Data

    var hash: Data {
        var digest = RowDigest("till audit 1")
        digest.add(sequence)
        digest.add(format)
        digest.add(body)
        digest.add(previous)
        return digest.value
    }

    func insert(_ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO audit (\(AuditRow.columns)) VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [sequence, format, body, previous, hash])
    }

    static func read(_ row: Row) throws -> (entry: AuditRow, hash: Data) {
        let entry = AuditRow(
            sequence: try row.decode(atIndex: 0),
            format: try row.decode(atIndex: 1),
            body: try row.decode(atIndex: 2),
            previous: try row.decode(atIndex: 3)
        )
        return (entry, try row.decode(atIndex: 4))
    }

    /// Reads a row and makes sure that it is as it was written.
    init(checked row: Row) throws {
        let (entry, hash) = try AuditRow.read(row)
        guard entry.hash == hash else {
            throw JournalError.corrupt(detail: "audit entry \(entry.sequence): its content was changed")
        }
        self = entry
    }

    private init(sequence: Int64, format: Int64, body: Data, previous: Data) {
        (self.sequence, self.format, self.body, self.previous) = (sequence, format, body, previous)
    }

    init(sequence: Int64, body: Data, previous: Data) {
        (self.sequence, self.body, self.previous) = (sequence, body, previous)
    }

    func stored() throws -> StoredAuditEntry {
        let unknown = JournalError.fromNewerVersion(
            detail: "audit entry \(sequence) has a format that this version does not know: \(format)"
        )
        guard format == AuditRow.format else { throw unknown }
        do { return StoredAuditEntry(sequence: sequence, entry: try StoredJSON.decode(body)) } catch { throw unknown }
    }
}

import Crypto
import Foundation
import GRDB
public import Payments

extension Journal {
    // MARK: - Documents

    public func document(_ name: String) async throws(JournalError) -> StoredDocument? {
        try await reading { db in try Self.document(db, name) }
    }

    /// Stores a document where it has the version that the change builds on; nil: where it does not exist yet.
    public func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting version: Int?,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        try await setDocument(name, bytes, expecting: .version(version), by: actor, at: time)
    }

    public func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        try await writing { db in
            let current = try Self.document(db, name)
            if case .version(let version) = expectation, version != current?.version {
                return .conflict(current: current)
            }
            let next = (current?.version ?? 0) + 1
            try db.execute(
                sql: """
                    INSERT INTO document (name, body, version, changed_ms, changed_by) VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT (name) DO UPDATE SET body = excluded.body, version = excluded.version,
                        changed_ms = excluded.changed_ms, changed_by = excluded.changed_by
                    """,
                arguments: [name, Data(bytes), next, time.millisecondsSince1970, Data(try Self.encode(actor))]
            )
            return .stored(version: next)
        }
    }

    private static func document(_ db: Database, _ name: String) throws -> StoredDocument? {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM document WHERE name = ?", arguments: [name]) else {
            return nil
        }
        return StoredDocument(
            bytes: Array(row["body"] as Data),
            version: row["version"],
            changedAt: WallTime(millisecondsSince1970: row["changed_ms"]),
            changedBy: try decode(row["changed_by"] as Data)
        )
    }

    // MARK: - Secrets

    /// A secret, opened with the device key; nil where none is kept under this name.
    public func secret(_ name: String) async throws(JournalError) -> [UInt8]? {
        let sealed = try await reading { db in
            try Data.fetchOne(db, sql: "SELECT sealed FROM secret WHERE name = ?", arguments: [name])
        }
        return try sealed.map { (sealed) throws(JournalError) in try unseal(sealed, name: name) }
    }

    /// Keeps a secret, sealed; nil forgets it.
    public func setSecret(
        _ name: String,
        _ bytes: [UInt8]?,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) {
        try await writing { [self] db in
            guard let bytes else {
                try db.execute(sql: "DELETE FROM secret WHERE name = ?", arguments: [name])
                return
            }
            try db.execute(
                sql: """
                    INSERT INTO secret (name, sealed, changed_ms, changed_by) VALUES (?, ?, ?, ?)
                    ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, changed_ms = excluded.changed_ms,
                        changed_by = excluded.changed_by
                    """,
                arguments: [
                    name, try seal(bytes, name: name), time.millisecondsSince1970, Data(try Self.encode(actor)),
                ]
            )
        }
    }

    // MARK: - Audit log

    public func audit(_ entry: AuditEntry) async throws(JournalError) {
        try await writing { db in
            let last = try Row.fetchOne(db, sql: "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
            let sequence: Int64 = (last?["seq"] ?? 0) + 1
            let previous = last.map { Array($0["hash"] as Data) } ?? ChainLink.start
            let body = try Self.encode(entry)
            try db.execute(
                sql: "INSERT INTO audit (seq, body, previous, hash) VALUES (?, ?, ?, ?)",
                arguments: [
                    sequence, Data(body), Data(previous), Data(Self.auditHash(sequence, body, previous)),
                ]
            )
        }
    }

    /// Newest first. `before` continues after the last one of an earlier page.
    public func auditEntries(before: Int64?, limit: Int) async throws(JournalError) -> [StoredAuditEntry] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: "SELECT seq, body FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?",
                arguments: [before ?? .max, limit]
            ).map { StoredAuditEntry(sequence: $0["seq"], entry: try Self.decode($0["body"] as Data)) }
        }
    }

    /// Checks the whole chain of audit entries.
    public func verifyAudit() async throws(JournalError) -> ChainCheck {
        try await reading { db in
            var previous = ChainLink.start
            var expected: Int64 = 1
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM audit ORDER BY seq")
            while let row = try rows.next() {
                let sequence: Int64 = row["seq"]
                if sequence != expected { return .broken(atSequence: expected, what: "an entry is missing") }
                let hash = Self.auditHash(sequence, Array(row["body"] as Data), previous)
                guard hash == Array(row["hash"] as Data), previous == Array(row["previous"] as Data) else {
                    return .broken(atSequence: sequence, what: "its content was changed")
                }
                previous = hash
                expected += 1
            }
            return .intact(count: Int(expected - 1), head: previous)
        }
    }

    private static func auditHash(_ sequence: Int64, _ body: [UInt8], _ previous: [UInt8]) -> [UInt8] {
        ChainLink(
            sequence: sequence,
            charge: "",
            kind: "audit",
            body: body,
            wallMilliseconds: 0,
            monotonicNanoseconds: 0,
            boot: "",
            previous: previous
        ).hash
    }
}

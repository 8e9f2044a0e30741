import Foundation
import GRDB
public import Payments

// MARK: - Documents

extension Journal {
    /// A small named value; nil where none was ever stored under this name.
    public func document(_ name: String) async throws(JournalError) -> StoredDocument? {
        try await reading { db in try DocumentRow.fetch(db, name)?.stored }
    }

    /// Stores a document where it has the version that the change builds on; nil: where it does not exist yet.
    public func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting version: Int?,
        with secret: SecretChange? = nil,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        try await setDocument(name, bytes, expecting: .version(version), with: secret, by: actor, at: time)
    }

    /// Stores a document where its version is the expected one.
    /// - Parameter secret: What changes together with it: both are stored, or neither.
    /// - Returns: The new version, or what stands there instead. Of several changes that expect the same version, one wins.
    public func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange? = nil,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        try await setDocument(name, bytes, expecting: expectation, with: secret, and: nil, by: actor, at: time)
    }

    /// Stores a document where its version is the expected one, and what changes together with it: all of it or nothing.
    /// - Parameter other: Another document, whatever stands there.
    /// - Returns: The new version, or what stands there instead. Of several changes that expect the same version, one wins.
    public func setDocument(
        _ name: String,
        _ bytes: [UInt8],
        expecting expectation: DocumentExpectation,
        with secret: SecretChange? = nil,
        and other: (name: String, bytes: [UInt8])?,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) -> DocumentChange {
        let secret = try secret.map { change throws(JournalError) in try SecretRow(change, key, by: actor, at: time) }
        return try await writing { db in
            let current = try DocumentRow.fetch(db, name)?.stored
            if case .version(let version) = expectation, version != current?.version {
                return .conflict(current: current)
            }
            func store(_ name: String, _ bytes: [UInt8], over current: StoredDocument?) throws -> Int {
                let version = (current?.version ?? 0) + 1
                let stored = StoredDocument(bytes: bytes, version: version, changedAt: time, changedBy: actor)
                try DocumentRow(name: name, stored: stored).store(db)
                return version
            }
            let version = try store(name, bytes, over: current)
            if let other { _ = try store(other.name, other.bytes, over: DocumentRow.fetch(db, other.name)?.stored) }
            try secret?.store(db)
            return .stored(version: version)
        }
    }
}

/// One row of the table `document`.
struct DocumentRow {
    static let columns = "name, body, version, changed_ms, changed_by, digest"

    var name: String
    var stored: StoredDocument

    init(name: String, stored: StoredDocument) { (self.name, self.stored) = (name, stored) }

    static func fetch(_ db: Database, _ name: String) throws -> DocumentRow? {
        try Row.fetchOne(db, sql: "SELECT \(columns) FROM document WHERE name = ?", arguments: [name])
            .map(DocumentRow.init(checked:))
    }

    /// Reads a row and makes sure that it is as it was written.
    init(checked row: Row) throws {
        name = try row.decode(atIndex: 0)
        let changedBy = try row.decode(Data.self, atIndex: 4)
        let body = try row.decode(Data.self, atIndex: 1)
        let version = try row.decode(Int.self, atIndex: 2)
        let changed = try row.decode(Int64.self, atIndex: 3)
        let digest = Self.digest(name, body, version, changed, changedBy)
        guard digest == (try row.decode(Data.self, atIndex: 5)) else {
            throw JournalError.corrupt(detail: "the document “\(name)” was changed outside the terminal")
        }
        let actor: Actor
        do { actor = try StoredJSON.decode(changedBy) } catch {
            throw JournalError.fromNewerVersion(detail: "the document “\(name)” was changed by somebody of a new kind")
        }
        stored = StoredDocument(
            bytes: Array(body),
            version: version,
            changedAt: WallTime(millisecondsSince1970: changed),
            changedBy: actor
        )
    }

    func store(_ db: Database) throws {
        let changedBy = try StoredJSON.encode(stored.changedBy)
        let body = Data(stored.bytes)
        let changed = stored.changedAt.millisecondsSince1970
        try db.execute(
            sql: """
                INSERT INTO document (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET body = excluded.body, version = excluded.version,
                    changed_ms = excluded.changed_ms, changed_by = excluded.changed_by, digest = excluded.digest
                """,
            arguments: [
                name, body, stored.version, changed, changedBy,
                Self.digest(name, body, stored.version, changed, changedBy),
            ]
        )
    }

    private static func digest(_ name: String, _ body: Data, _ version: Int, _ changed: Int64, _ by: Data) -> Data {
        var digest = RowDigest("till document 1")
        digest.add(name)
        digest.add(body)
        digest.add(Int64(version))
        digest.add(changed)
        digest.add(by)
        return digest.value
    }
}

// MARK: - Secrets

extension Journal {
    /// A secret, opened with the device key; nil where none is kept under this name.
    /// - Throws: `corrupt` where it was changed, moved from another name, or sealed by another device.
    public func secret(_ name: String) async throws(JournalError) -> [UInt8]? {
        let sealed = try await reading { db in
            try Data.fetchOne(db, sql: "SELECT sealed FROM secret WHERE name = ?", arguments: [name])
        }
        guard let sealed else { return nil }
        return try key.open(sealed, name: name)
    }

    /// Keeps a secret, sealed with AES-GCM; nil forgets it.
    public func setSecret(
        _ name: String,
        _ bytes: [UInt8]?,
        by actor: Actor,
        at time: WallTime
    ) async throws(JournalError) {
        let row = try SecretRow(SecretChange(name: name, bytes: bytes), key, by: actor, at: time)
        try await writing(row.store)
    }
}

/// One row of the table `secret`, or that there shall be none.
private struct SecretRow: Sendable {
    let name: String
    let sealed: Data?
    let changedMilliseconds: Int64
    let changedBy: Data

    init(_ change: SecretChange, _ key: DeviceKey, by actor: Actor, at time: WallTime) throws(JournalError) {
        name = change.name
        sealed = try change.bytes.map { bytes throws(JournalError) in try key.seal(bytes, name: change.name) }
        changedMilliseconds = time.millisecondsSince1970
        changedBy = try StoredJSON.encode(actor)
    }

    func store(_ db: Database) throws {
        guard let sealed else {
            try db.execute(sql: "DELETE FROM secret WHERE name = ?", arguments: [name])
            return
        }
        try db.execute(
            sql: """
                INSERT INTO secret (name, sealed, changed_ms, changed_by) VALUES (?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, changed_ms = excluded.changed_ms,
                    changed_by = excluded.changed_by
                """,
            arguments: [name, sealed, changedMilliseconds, changedBy]
        )
    }
}

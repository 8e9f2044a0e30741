import Foundation
import GRDB
import Payments

/// A code over the audit log's last entry, made with the device's key and written in the same transaction.
///
/// The chain's hashes can be computed by anybody: whoever edits a backup chains it anew. The last hash stands for all entries
/// before it, so one code for the last one is a code for all. An export is still checked without any key.
struct AuditSeal: Sendable, Equatable {
    /// The last entry, and its hash.
    let sequence: Int64
    let hash: [UInt8]
    /// So many entries at the beginning were taken over without a code of this device: from before there were any, or from another
    /// terminal's backup. 0: none.
    let takenOver: Int64
    /// Tells devices apart; no secret.
    let device: String
    let code: String

    private static let name = "audit_seal"

    /// How a log stands to its seal.
    enum Standing: Sendable, Equatable {
        case none
        case good(takenOver: Int64)
        /// Made with another device's key.
        case foreign
        /// Made with this device's key, and it does not fit the log.
        case broken
    }

    init(_ sequence: Int64, _ hash: Data, takenOver: Int64, key: DeviceKey) {
        (self.sequence, self.hash, self.takenOver) = (sequence, Array(hash), takenOver)
        device = Self.device(key)
        code = EndMarkFile.hexadecimal(key.code(over: Self.said(sequence, Array(hash), takenOver)))
    }

    private static func device(_ key: DeviceKey) -> String {
        EndMarkFile.hexadecimal(Array(key.identity(for: "audit seal").prefix(8)))
    }

    private static func said(_ sequence: Int64, _ hash: [UInt8], _ takenOver: Int64) -> String {
        "till audit seal 1 \(sequence) \(EndMarkFile.hexadecimal(hash)) \(takenOver)"
    }

    /// Seals the log as it ends now. In a transaction only.
    static func put(_ db: Database, key: DeviceKey, takenOver: Int64) throws {
        let tail = try Chain.audit.tail(db)
        try AuditSeal(tail.sequence, tail.hash, takenOver: takenOver, key: key).store(db)
    }

    func store(_ db: Database) throws {
        let value = "\(sequence) \(EndMarkFile.hexadecimal(hash)) \(takenOver) \(device) \(code)"
        try db.cachedStatement(
            sql: "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        ).execute(arguments: [Self.name, value])
    }

    static func standing(_ db: Database, key: DeviceKey) throws -> Standing {
        let stored = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name])
        guard let stored else { return .none }
        let words = stored.split(separator: " ").map(String.init)
        guard words.count == 5, let sequence = Int64(words[0]), let takenOver = Int64(words[2]) else { return .broken }
        guard words[3] == device(key) else { return .foreign }
        let tail = try Chain.audit.tail(db)
        let own = AuditSeal(tail.sequence, tail.hash, takenOver: takenOver, key: key)
        return sequence == tail.sequence && words[1] == EndMarkFile.hexadecimal(Array(tail.hash))
            && words[4] == own.code
            ? .good(takenOver: takenOver) : .broken
    }

    /// Makes a copy's log this device's, before the copy is opened as a journal. In a transaction only.
    /// - Throws: `corrupt` where this device sealed it and it was changed since.
    static func adopt(_ db: Database, key: DeviceKey) throws {
        switch try standing(db, key: key) {
        case .good: break
        case .none, .foreign: try put(db, key: key, takenOver: Chain.audit.tail(db).sequence)
        case .broken:
            throw JournalError.corrupt(detail: "the audit log in the copy was changed after this terminal wrote it")
        }
    }
}

import Foundation
import GRDB
public import Payments

/// One change of what is kept for WalletConnect. Prints as "redacted".
public struct ConnectChange: Sendable, CustomStringConvertible, CustomReflectable {
    /// At most 200 characters. Not sealed: it must tell nothing secret.
    public let name: String
    /// Nil forgets it.
    public let bytes: [UInt8]?

    public init(name: String, bytes: [UInt8]?) { (self.name, self.bytes) = (name, bytes) }

    public var description: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Journal {
    /// Everything kept for WalletConnect whose name begins with `prefix`, opened with the device key.
    /// - Throws: `corrupt` where one was changed, moved from another name, or sealed by another device. None is given then:
    ///   whoever goes on with some of them forgets the others.
    public func connectValues(prefix: String) async throws(JournalError) -> [String: [UInt8]] {
        let rows = try await reading { db in
            try Row.fetchAll(
                db,
                sql: "SELECT name, sealed FROM connect WHERE substr(name, 1, length(?1)) = ?1",
                arguments: [prefix]
            ).map { (name: try $0.decode(String.self, atIndex: 0), sealed: try $0.decode(Data.self, atIndex: 1)) }
        }
        var values: [String: [UInt8]] = [:]
        for row in rows { values[row.name] = try key.open(row.sealed, connect: row.name) }
        return values
    }

    /// Changes what is kept for WalletConnect, all of it or nothing; a later change to the same name wins. Returns once it
    /// survives a power cut.
    /// - Throws: ``JournalError``. It counts as not recorded: do not act on it.
    public func change(connect changes: [ConnectChange], at time: WallTime) async throws(JournalError) {
        var sealed: [(name: String, bytes: Data?)] = []
        for change in changes {
            let bytes = try change.bytes.map { bytes throws(JournalError) in
                try key.seal(bytes, name: DeviceKey.connectName(change.name))
            }
            sealed.append((change.name, bytes))
        }
        try await writing { [sealed] db in
            let set = try db.cachedStatement(
                sql: """
                    INSERT INTO connect (name, sealed, changed_ms) VALUES (?, ?, ?)
                    ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, changed_ms = excluded.changed_ms
                    """
            )
            let remove = try db.cachedStatement(sql: "DELETE FROM connect WHERE name = ?")
            for (name, bytes) in sealed {
                if let bytes {
                    try set.execute(arguments: [name, bytes, time.millisecondsSince1970])
                } else {
                    try remove.execute(arguments: [name])
                }
            }
        }
    }

    /// Forgets everything kept for WalletConnect, also what cannot be opened any more. Which of a relay's messages were taken
    /// stays known.
    public func forgetConnect() async throws(JournalError) {
        try await writing { db in try db.execute(sql: "DELETE FROM connect") }
    }

    /// Whether a message of a relay was remembered and is not past its time.
    public func knowsRelayMessage(topic: String, hash: String, at time: WallTime) async throws(JournalError) -> Bool {
        try await reading { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT 1 FROM relay_message WHERE topic = ? AND hash = ? AND until_s >= ?",
                arguments: [topic, hash, time.millisecondsSince1970 / 1000]
            ) ?? false
        }
    }

    /// Remembers a message of a relay until a time. What is past its time then, and the oldest beyond `limit`, is forgotten
    /// with it. Returns once it survives a power cut.
    /// - Parameters:
    ///   - until: Seconds since 1970.
    ///   - limit: How many are remembered, at least 1.
    public func rememberRelayMessage(
        topic: String,
        hash: String,
        until: Int64,
        limit: Int,
        at time: WallTime
    ) async throws(JournalError) {
        try await writing { db in
            try db.cachedStatement(
                sql: """
                    INSERT INTO relay_message (topic, hash, until_s) VALUES (?, ?, ?)
                    ON CONFLICT (topic, hash) DO UPDATE SET until_s = max(until_s, excluded.until_s)
                    """
            ).execute(arguments: [topic, hash, until])
            try db.cachedStatement(
                sql: """
                    DELETE FROM relay_message
                    WHERE until_s < ? OR seq <= (SELECT max(seq) FROM relay_message) - ?
                    """
            ).execute(arguments: [time.millisecondsSince1970 / 1000, max(limit, 1)])
        }
    }
}

extension DeviceKey {
    /// Keeps these apart from secrets of the same name: neither opens in the other's place.
    fileprivate static func connectName(_ name: String) -> String { "connect/" + name }

    fileprivate func open(_ sealed: Data, connect name: String) throws(JournalError) -> [UInt8] {
        do throws(JournalError) { return try open(sealed, name: Self.connectName(name)) } catch {
            throw .corrupt(
                detail: "what is kept for WalletConnect under “\(name)” was changed, or sealed by another device's key"
            )
        }
    }
}

import Foundation
import GRDB
public import Payments

/// What somebody looks for in the audit log. Everything that is set must hold.
public struct AuditFilter: Sendable, Hashable {
    /// Who did it: `stranger`, `staff` for whoever of the staff, `staff:Ada` for one of them.
    public var who: String?
    /// How its name begins: `token` finds `token.make` and `token.revoke`.
    public var what: String?
    /// `ok`, `refused`, `failed`.
    public var result: String?
    /// A part of its detail or of the address it came from, in any case of ASCII letters.
    public var text: String?
    public var from: WallTime?
    /// Exclusive.
    public var until: WallTime?

    public init() {}
}

/// One entry as it stands in the log, whether or not it is what was written.
public struct AuditLine: Sendable, Equatable {
    /// Counts from 1, without a gap.
    public let sequence: Int64
    /// Nil where it was changed, or comes from a newer version.
    public let entry: AuditEntry?
    /// Whether its content has the hash that stands beside it.
    public let isIntact: Bool
    /// Layout of the hashed bytes.
    public let format: Int64
    /// The entry's JSON, byte for byte as it was hashed.
    public let body: [UInt8]
    /// 32 bytes: the hash of the entry before it.
    public let previous: [UInt8]
    /// 32 bytes.
    public let hash: [UInt8]
}

/// A part of the audit log, newest first.
public struct AuditPage: Sendable, Equatable {
    public let lines: [AuditLine]
    /// What continues it; nil at the log's beginning. A page without a line may have one: each looks at a bounded number.
    public let next: Int64?
}

extension Journal {
    /// How many entries one question looks at.
    static let auditWindow: Int64 = 50_000

    /// Entries that fit, newest first. An entry that was changed is always among them.
    /// - Parameters:
    ///   - before: Continues an earlier page.
    ///   - limit: At most this many, 1 to 1000.
    public func auditPage(
        _ filter: AuditFilter,
        before: Int64?,
        limit: Int
    ) async throws(JournalError) -> AuditPage {
        try await auditPage(filter, before: before, limit: limit, window: Self.auditWindow)
    }

    func auditPage(
        _ filter: AuditFilter,
        before: Int64?,
        limit: Int,
        window: Int64
    ) async throws(JournalError) -> AuditPage {
        let most = min(max(limit, 1), 1000)
        return try await reading { db in
            let newest = try Int64.fetchOne(db, sql: "SELECT max(seq) FROM audit") ?? 0
            let start = min(before ?? .max, newest + 1)
            let floor = start > window ? start - window : 1
            let (condition, arguments) = filter.condition
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT \(AuditRow.columns) FROM audit WHERE seq < ? AND seq >= ?\(condition)
                    ORDER BY seq DESC LIMIT ?
                    """,
                arguments: [start, floor] + arguments + [most]
            )
            let lines = try rows.map(AuditLine.init)
            let last = lines.count == most ? lines.last?.sequence ?? floor : floor
            return AuditPage(lines: lines, next: last > 1 ? last : nil)
        }
    }

    /// Entries in the order in which they were written, from the one after `sequence` on.
    /// - Parameter limit: At most this many, 1 to 1000.
    public func auditLines(after sequence: Int64, limit: Int) async throws(JournalError) -> [AuditLine] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: "SELECT \(AuditRow.columns) FROM audit WHERE seq > ? ORDER BY seq LIMIT ?",
                arguments: [sequence, min(max(limit, 1), 1000)]
            ).map(AuditLine.init)
        }
    }
}

extension AuditLine {
    fileprivate init(_ row: Row) throws {
        let (stored, hash) = try AuditRow.read(row)
        sequence = stored.sequence
        format = stored.format
        body = Array(stored.body)
        previous = Array(stored.previous)
        self.hash = Array(hash)
        isIntact = stored.hash == hash
        // A changed entry says nothing that could be believed, and one of a newer version nothing that is understood.
        entry = isIntact ? try? stored.stored().entry : nil
    }
}

extension AuditFilter {
    /// What follows a `WHERE` with an ` AND`, and its values. Entries that are no JSON fit everything: somebody changed them.
    fileprivate var condition: (sql: String, arguments: StatementArguments) {
        var parts: [String] = []
        var arguments: StatementArguments = []
        func add(_ sql: String, _ values: (any DatabaseValueConvertible)?...) {
            parts.append(sql)
            arguments += StatementArguments(values)
        }
        let json = "CAST(body AS TEXT)"
        if let who {
            let (kind, name) = Self.split(who)
            if let name {
                add("json_extract(\(json), ?) = ?", "$.who.\(kind).\(kind == "till" ? "token" : "name")", name)
            } else {
                add("json_type(\(json), ?) IS NOT NULL", "$.who.\(kind)")
            }
        }
        if let what { add("substr(json_extract(\(json), '$.what'), 1, length(?)) = ?", what, what) }
        if let result { add("json_extract(\(json), '$.result') = ?", result) }
        if let text {
            let place = "lower(json_extract(\(json), '$.detail') || ' ' || json_extract(\(json), '$.from'))"
            add("instr(\(place), lower(?)) > 0", text)
        }
        if let from { add("json_extract(\(json), '$.at') >= ?", from.millisecondsSince1970) }
        if let until { add("json_extract(\(json), '$.at') < ?", until.millisecondsSince1970) }
        guard !parts.isEmpty else { return ("", []) }
        let all = parts.joined(separator: " AND ")
        return (" AND CASE WHEN json_valid(\(json)) THEN \(all) ELSE 1 END", arguments)
    }

    /// Its kind without anything that would mean something in a path, and the name behind the colon.
    private static func split(_ who: String) -> (kind: String, name: String?) {
        let parts = who.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let kind = String((parts.first ?? "").filter { $0.isASCII && $0.isLetter })
        return (kind, parts.count == 2 ? String(parts[1]) : nil)
    }
}

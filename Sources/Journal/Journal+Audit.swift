import GRDB
public import Payments

extension Journal {
    /// Appends to the audit log. Returns once it survives a power cut.
    public func audit(_ entry: AuditEntry) async throws(JournalError) {
        let body = try StoredJSON.encode(entry)
        try await writing { db in try AuditRow.append(body, to: db) }
    }

    /// Newest first. `before` continues after the last one of an earlier page.
    /// - Parameter limit: At most this many, 0 to 1000.
    public func auditEntries(before: Int64?, limit: Int) async throws(JournalError) -> [StoredAuditEntry] {
        try await reading { db in
            try Row.fetchAll(
                db,
                sql: "SELECT \(AuditRow.columns) FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?",
                arguments: [before ?? .max, min(max(limit, 0), 1000)]
            ).map { try AuditRow(checked: $0).stored() }
        }
    }

    /// Checks the whole chain of audit entries.
    public func verifyAudit() async throws(JournalError) -> ChainCheck {
        try await reading { db in try Chain.audit.check(db) }
    }
}

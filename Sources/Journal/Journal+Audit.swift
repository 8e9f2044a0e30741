import GRDB
public import Payments

extension Journal {
    /// Appends to the audit log. Returns once it survives a power cut.
    public func audit(_ entry: AuditEntry) async throws(JournalError) {
        let body = try StoredJSON.encode(entry)
        try await writing { [self] db in try appendAudit(db, body) }
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

    /// Checks the whole chain of audit entries, its seal, and that it goes as far as it once did.
    ///
    /// The hashes alone can be made anew by whoever can write into the file. The seal and the mark beside the database cannot, without
    /// the device's key.
    public func verifyAudit() async throws(JournalError) -> ChainCheck {
        // Before the log is read: a reader never sees less than what was marked.
        let mark = marked
        return try await reading { [key] db in
            let check = try Chain.audit.check(db)
            guard case .intact(let count, _) = check else { return check }
            let last = Int64(count)
            if let lost = mark?.lostAudit { return .broken(atSequence: lost.from, what: ChainCheck.lost) }
            if let mark {
                let now = try mark.judged(
                    Journal.ends(db),
                    entry: { _ in mark.ends.head },
                    audit: { try Chain.audit.hash(db, $0) }
                )
                if let lost = now.lostAudit { return .broken(atSequence: lost.from, what: ChainCheck.lost) }
            }
            guard case .good = try AuditSeal.standing(db, key: key) else {
                return .broken(atSequence: last, what: ChainCheck.unsealed)
            }
            return check
        }
    }

    /// How many entries at the beginning this device does not vouch for: from before there was a seal, or from another terminal's
    /// backup. 0 where it vouches for all; nil where the seal does not fit.
    public func auditTakenOver() async throws(JournalError) -> Int64? {
        try await reading { [key] db in
            if case .good(let takenOver) = try AuditSeal.standing(db, key: key) { takenOver } else { nil }
        }
    }

    /// The last entry and its hash: written down elsewhere, they prove later that nothing before it was changed.
    public func auditEnd() async throws(JournalError) -> (entries: Int64, head: [UInt8]) {
        try await reading { db in
            let tail = try Chain.audit.tail(db)
            return (tail.sequence, Array(tail.hash))
        }
    }
}

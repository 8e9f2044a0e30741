import Foundation
public import Journal
public import Payments

/// Sets a new owner password at the machine itself, while the terminal does not run: the act of whoever may read its record.
public enum OwnerPassword {
    /// Why it was not set. Nothing was changed.
    public enum Failure: Error, Sendable, Equatable {
        /// Nobody has claimed the terminal: the code on its screen makes an owner.
        case noOwner
        /// The password is too short, too long, or among the first that anybody would try.
        case notUsable(Reason)
        /// The password could not be computed on; another try may help.
        case notComputed(detail: String)
        case journal(JournalError)
    }

    /// Sets it, signs everybody out, and writes both into the audit log. Computes for some 100 ms.
    /// - Parameter journal: Opened by the caller, who closes it.
    public static func set(_ password: String, in journal: Journal, at now: WallTime) async throws(Failure) {
        if let objection = PasswordRule.objection(to: password) { throw .notUsable(objection.reason) }
        let stored: StoredDocument?
        do throws(JournalError) { stored = try await journal.document(Entrance.ownerDocument) } catch {
            throw .journal(error)
        }
        guard let stored else { throw .noOwner }
        let bytes: [UInt8]
        do {
            let owner = Owner(password: try PasswordHash(password), sessionsFrom: now.millisecondsSince1970)
            bytes = Array(try JSONEncoder().encode(owner))
        } catch { throw .notComputed(detail: "\(error)") }
        let entry = AuditEntry(
            at: now,
            who: .terminal,
            from: "till reset-owner",
            what: "reset",
            result: "ok",
            detail: "a new password, set at the machine; everybody is signed out"
        )
        do throws(JournalError) {
            // Written first: a password that nobody heard of is worse than an entry too many.
            try await journal.audit(entry)
            let change = try await journal.setDocument(
                Entrance.ownerDocument,
                bytes,
                expecting: .version(stored.version),
                by: .terminal,
                at: now
            )
            guard case .stored = change else { throw .inUse(detail: "the owner was changed at the same moment") }
        } catch { throw .journal(error) }
    }
}

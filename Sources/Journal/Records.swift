public import Payments

/// A charge as the journal knows it.
public struct ChargeRecord: Sendable, Equatable {
    public let charge: Charge
    /// When the last thing happened to it, by the wall clock of that moment.
    public let updatedAt: WallTime
}

/// One entry of a charge's history.
public struct StoredEvent: Sendable, Equatable {
    /// Counts all entries of the journal from 1, without a gap.
    public let sequence: Int64
    /// Nil for the first entry, which opened the charge.
    public let event: Charge.Event?
    public let time: WallTime
    /// 32 bytes; covers this entry and, through the one before it, all earlier ones.
    public let hash: [UInt8]
}

/// A small named value, such as the settings, with its version.
public struct StoredDocument: Sendable, Equatable {
    public let bytes: [UInt8]
    /// 1 for the first; each change counts it up.
    public let version: Int
    public let changedAt: WallTime
    public let changedBy: Actor
}

/// What became of a change to a document.
public enum DocumentChange: Sendable, Equatable {
    case stored(version: Int)
    /// It has another version than the one that was expected. Nothing was changed.
    case conflict(current: StoredDocument?)
}

/// Which version a change builds on.
public enum DocumentExpectation: Sendable, Equatable {
    /// It must have this version; nil: it must not exist yet.
    case version(Int?)
    /// Whatever is there is overwritten.
    case any
}

/// A secret that changes together with a document.
public struct SecretChange: Sendable, CustomStringConvertible, CustomReflectable {
    public let name: String
    /// Nil forgets it.
    public let bytes: [UInt8]?

    public init(name: String, bytes: [UInt8]?) { (self.name, self.bytes) = (name, bytes) }

    public var description: String { "redacted" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Who did what, when, from where, and whether it was allowed. Never holds a secret.
public struct AuditEntry: Sendable, Codable, Equatable {
    public var at: WallTime
    public var who: Actor
    /// The address it came from.
    public var from: String
    /// For example `login`.
    public var what: String
    /// `ok`, `refused` or `failed`.
    public var result: String
    public var detail: String

    public init(at: WallTime, who: Actor, from: String, what: String, result: String, detail: String) {
        (self.at, self.who, self.from, self.what, self.result, self.detail) = (at, who, from, what, result, detail)
    }

    /// Of a charge that is opened.
    init(opening terms: ChargeTerms, from place: String) {
        self.init(
            at: terms.openedAt,
            who: terms.openedBy,
            from: place,
            what: "charge",
            result: "ok",
            detail: terms.id.rawValue
        )
    }
}

/// An entry of the audit log, with its place in it.
public struct StoredAuditEntry: Sendable, Equatable {
    /// Counts from 1, without a gap.
    public let sequence: Int64
    public let entry: AuditEntry
}

/// What was looked at when the journal was opened, and what was done about it.
public struct StartupReport: Sendable, Equatable {
    /// There was no journal in the folder.
    public let isNew: Bool
    /// How many entries the journal has.
    public let entries: Int64
    /// How many of them, the last ones, were checked: all of a short journal. ``Journal/verifyChain()`` checks the rest.
    public let entriesChecked: Int64
    /// The tables of current states did not say what the entries say, and were made anew from them.
    public let didRebuild: Bool
    /// Whose tables were left: a newer version's, such as `v7`. The journal is as it was before them; see
    /// ``Journal/open(directory:deviceKey:)``. Nil where nothing was left.
    public internal(set) var tookBack: String?
    /// Entries of charges that were written once and are missing, as this start found; nil where none are, or where an earlier start
    /// found the same.
    public internal(set) var lostEntries: LostEntries?
    /// The same of the audit log.
    public internal(set) var lostAudit: LostEntries?
}

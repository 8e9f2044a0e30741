public import Journal
public import Payments

/// What a backup says of itself. Sealed with it.
public struct BackupFacts: Sendable, Codable, Equatable {
    static let kind = "till backup"
    static let version = 1
    static let fileName = "backup.json"
    static let secretsName = "secrets.json"
    static let journalName = "journal.sqlite"
    /// Of the two small files.
    static let mostBytes = 1 << 20

    var kind = Self.kind
    var version = Self.version
    public var madeAt: WallTime
    /// The program's version.
    public var madeBy: String
    /// The merchant's name, where one was set.
    public var merchantName: String?
    /// The journal's own name.
    public var journal: String
    public var ends: JournalCopy.Ends
    /// Charges that no authority had ended when it was made.
    public var openCharges: Int
    /// Secrets that could not be opened when it was made: they have to be entered anew.
    public var lostSecrets: [String]
    /// Of the journal.
    public var journalBytes: Int
}

/// The terminal's durable memory of charges, as the core needs it. `Journal` implements it over SQLite.
public protocol ChargeJournal: Sendable {
    /// Opens a charge and begins it in one step: all of it or nothing. Returns once it survives a power cut; only then may
    /// anything about it leave the terminal.
    /// - Parameters:
    ///   - events: What happens to it in the same moment, and does not end it: attempts that start.
    ///   - place: Where it was asked for, such as an address on the network. The audit log gets its line of the charge in
    ///     the same step; nil: it gets none.
    /// - Throws: ``JournalError``. It counts as not recorded: refuse the charge. Where the storage failed to say whether it
    ///   kept it, the next start may find it; nothing about it has left the terminal then.
    func open(
        _ terms: ChargeTerms,
        beginning events: [Charge.Event],
        under key: IdempotencyKey?,
        from place: String?
    ) async throws(JournalError)

    /// The charge that was opened under a caller's key, with the digest of what was asked for then.
    func chargeOpened(under key: String) async throws(JournalError) -> (id: ChargeID, requestDigest: [UInt8])?

    /// Appends what happened to a charge. Returns once it survives a power cut; act on it only then.
    /// - Parameters:
    ///   - charge: The charge after the event, for the journal's tables of current states.
    ///   - time: When it happened, by the wall clock.
    /// - Throws: ``JournalError``. It counts as not recorded: do not act on the event. Where the storage failed to say
    ///   whether it kept it, the next start may find it, and asks the authority as about everything open.
    func append(_ event: Charge.Event, to charge: Charge, at time: WallTime) async throws(JournalError)

    /// Every charge with an attempt that the authority has not ended, oldest first, replayed from its events.
    /// - Throws: ``JournalError``. Take no new charges before it succeeds.
    func openCharges() async throws(JournalError) -> [Charge]

    /// What was charged since `time` in minor units of `currency`, charges that ended unpaid not counted.
    func openedMinorUnits(since time: WallTime, currency: Currency) async throws(JournalError) -> Int64
}

extension ChargeJournal {
    /// Opens a charge to which nothing has happened yet.
    public func open(
        _ terms: ChargeTerms,
        under key: IdempotencyKey?,
        from place: String? = nil
    ) async throws(JournalError) {
        try await open(terms, beginning: [], under: key, from: place)
    }
}

/// A caller's name for one request to charge: the same name and content never makes a second charge.
public struct IdempotencyKey: Sendable, Hashable {
    /// 1 to 255 characters of the caller's choice.
    public let key: String
    /// SHA-256 of what was asked for, so that the same key with another content is noticed.
    public let requestDigest: [UInt8]

    public init(key: String, requestDigest: [UInt8]) { (self.key, self.requestDigest) = (key, requestDigest) }
}

/// Why the journal could not remember or recall. In every case nothing was lost that had been acknowledged.
public enum JournalError: Error, Sendable, Equatable {
    /// No room to record. Free space; until then charges are refused.
    case diskFull
    /// The storage does not take writes.
    case readOnly(detail: String)
    /// The file is not what was written: broken, cut, or changed by somebody. Keep it, restore a backup, call for help.
    case corrupt(detail: String)
    /// Written by a newer version of the program, with payments that this one would not know. Update, or restore the backup made
    /// before the update.
    case fromNewerVersion(detail: String)
    /// Another process has it open.
    case inUse(detail: String)
    /// The storage failed to sync. What was acknowledged before stands; nothing more is recorded until the program starts again and
    /// sees what the storage kept.
    case lostWrite(detail: String)
    /// The file was deleted, replaced or cut while the program has it open. What this program knows is gone at its end: take a
    /// backup before the next start.
    case replaced(detail: String)
    /// Anything else the storage said.
    case unavailable(detail: String)
}

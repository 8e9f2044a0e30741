public import Journal
public import Locks
public import Payments
public import Terminal
public import TestSupport

/// The terminal's power: goes out after so many records in the journal, so that nothing after them is remembered.
public final class Fuse: Sendable {
    private let left: Mutex<Int?>
    private let count = Mutex(0)

    /// - Parameter records: Nil for a fuse that holds.
    public init(after records: Int? = nil) { left = Mutex(records) }

    /// Kinds of what happened over BLE that the disk does not take now.
    public let refusedKinds = Mutex<Set<String>>([])
    /// Whether the disk takes what happens to charges.
    public let refusesCharges = Mutex(false)
    /// Notes on charges that the disk takes its time for, until this latch is open.
    public let slowness = Mutex(Slowness())
    /// A structure: each look at a closure that stands in a lock by itself wraps it once more, and the wraps stay.
    public struct Slowness: Sendable {
        public var applies: @Sendable (Charge.Event) -> Bool = { _ in false }
        public let isOver = Latch()
    }
    /// Payments over BLE whose entries cannot be read.
    public let unreadable = Mutex<Set<String>>([])

    public var isBlown: Bool { left.withLock { $0 == 0 } }
    /// Records that were written.
    public var records: Int { count.withLock { $0 } }

    public func allows(_ entries: [TapEntry]) throws(JournalError) {
        let kinds = refusedKinds.withLock { $0 }
        if entries.contains(where: { kinds.contains($0.kind) }) { throw .diskFull }
    }

    /// Before each record.
    public func pass() throws(JournalError) { if isBlown { throw .unavailable(detail: "the power is out") } }

    /// After each record that is on the disk.
    public func burn() {
        count.withLock { $0 += 1 }
        left.withLock { left in if let some = left, some > 0 { left = some - 1 } }
    }
}

/// The journal, as far as its fuse lets records through.
public struct FusedArchive: ChargeArchive {
    private let journal: Journal
    private let fuse: Fuse
    private let executor: SimulationExecutor?

    /// - Parameter executor: Runs everybody who waits for the test's clock; nil where they run anywhere.
    public init(journal: Journal, fuse: Fuse, executor: SimulationExecutor? = nil) {
        (self.journal, self.fuse, self.executor) = (journal, fuse, executor)
    }

    private func work<Value>(
        _ work: (Journal) async throws(JournalError) -> Value
    ) async throws(JournalError) -> Value {
        guard let executor else { return try await work(journal) }
        return try await executor.elsewhere { () async throws(JournalError) in try await work(journal) }
    }

    public func open(
        _ terms: ChargeTerms,
        beginning events: [Charge.Event],
        under key: IdempotencyKey?,
        from place: String?
    ) async throws(JournalError) {
        try fuse.pass()
        try await work { journal async throws(JournalError) in
            try await journal.open(terms, beginning: events, under: key, from: place)
        }
        fuse.burn()
    }
    public func chargeOpened(under key: String) async throws(JournalError) -> (id: ChargeID, requestDigest: [UInt8])? {
        try await work { journal async throws(JournalError) in try await journal.chargeOpened(under: key) }
    }
    public func append(
        _ events: [Charge.Event],
        to charge: Charge,
        at time: WallTime,
        with notes: TapNotes
    ) async throws(JournalError) {
        try fuse.pass()
        await Task.yield()
        if fuse.refusesCharges.withLock({ $0 }) { throw .diskFull }
        try fuse.allows(notes.entries)
        let slowness = fuse.slowness.withLock { $0 }
        if events.contains(where: slowness.applies) { await slowness.isOver.pass() }
        try await work { journal async throws(JournalError) in
            try await journal.append(events, to: charge, at: time, with: notes)
        }
        fuse.burn()
    }
    public func openCharges() async throws(JournalError) -> [Charge] {
        try await work { journal async throws(JournalError) in try await journal.openCharges() }
    }
    public func openedMinorUnits(since time: WallTime, currency: Currency) async throws(JournalError) -> Int64 {
        try await work { journal async throws(JournalError) in
            try await journal.openedMinorUnits(since: time, currency: currency)
        }
    }
    public func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)? {
        try await work { journal async throws(JournalError) in try await journal.record(of: id) }
    }
    public func writeFault() async -> JournalError? {
        guard !fuse.isBlown else { return .unavailable(detail: "the power is out") }
        return try? await work { journal async throws(JournalError) in await journal.writeFault() }
    }
    public func charges(ofPayment name: String) async throws(JournalError) -> [Charge] {
        try await work { journal async throws(JournalError) in try await journal.charges(ofPayment: name) }
    }
    public func records(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await work { journal async throws(JournalError) in
            try await journal.records(before: before, limit: limit, state: state)
        }
    }
    public func unseen(
        since time: WallTime,
        limit: Int
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await work { journal async throws(JournalError) in try await journal.unseen(since: time, limit: limit) }
    }
    public func withAskedRefunds(limit: Int) async throws(JournalError) -> [Charge] {
        try await work { journal async throws(JournalError) in try await journal.withAskedRefunds(limit: limit) }
    }
    public func unpaid(since time: WallTime) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await work { journal async throws(JournalError) in try await journal.unpaid(since: time) }
    }
    public func charges(
        from: WallTime,
        until: WallTime,
        after: ChargeID?,
        limit: Int
    ) async throws(JournalError) -> [Charge] {
        try await work { journal async throws(JournalError) in
            try await journal.charges(from: from, until: until, after: after, limit: limit)
        }
    }
}

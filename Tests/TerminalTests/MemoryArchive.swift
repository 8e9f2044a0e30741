import Journal
import Locks
import Payments
import Terminal

/// An archive in memory that can be told to fail at the n-th write. Like a disk it takes its time: whoever asks lets others in
/// meanwhile.
final class MemoryArchive: ChargeArchive {
    private struct State {
        var charges: [ChargeID: (terms: ChargeTerms, events: [Charge.Event], updatedAt: WallTime)] = [:]
        var keys: [String: (id: ChargeID, requestDigest: [UInt8])] = [:]
        var places: [ChargeID: String] = [:]
        var writes = 0
        var failsAt: ClosedRange<Int>?
    }

    private let state = Mutex(State())
    private let held = Mutex<AsyncStream<Never>?>(nil)
    private let waiting = Mutex(0)

    /// Whether somebody waits for an answer.
    var isAwaited: Bool { waiting.withLock { $0 > 0 } }

    /// Reads of one charge get no answer until the continuation finishes.
    func hold() -> AsyncStream<Never>.Continuation {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        held.withLock { $0 = stream }
        return continuation
    }

    var writes: Int { state.withLock { $0.writes } }

    /// Writes of these numbers, from 1, fail with a full disk.
    func fail(at writes: ClosedRange<Int>?) { state.withLock { $0.failsAt = writes } }

    func events(of id: ChargeID) -> [Charge.Event] { state.withLock { $0.charges[id]?.events ?? [] } }

    /// Where the audit log says that a charge was asked for.
    func place(of id: ChargeID) -> String? { state.withLock { $0.places[id] } }

    var allCharges: [Charge] {
        state.withLock { $0.charges.values.map { Charge(terms: $0.terms, replaying: $0.events) } }
    }

    func open(
        _ terms: ChargeTerms,
        beginning events: [Charge.Event],
        under key: IdempotencyKey?,
        from place: String?
    ) async throws(JournalError) {
        try await write { state in
            state.charges[terms.id] = (terms, events, terms.openedAt)
            state.places[terms.id] = place
            if let key { state.keys[key.key] = (terms.id, key.requestDigest) }
        }
    }

    func chargeOpened(under key: String) async throws(JournalError) -> (id: ChargeID, requestDigest: [UInt8])? {
        await Task.yield()
        return state.withLock { $0.keys[key] }
    }

    func append(
        _ events: [Charge.Event],
        to charge: Charge,
        at time: WallTime,
        with notes: TapNotes
    ) async throws(JournalError) {
        try await write { state in
            state.charges[charge.id]?.events += events
            state.charges[charge.id]?.updatedAt = time
        }
    }

    func openCharges() async throws(JournalError) -> [Charge] {
        await Task.yield()
        return allCharges.filter { !$0.state.isFinal || $0.attempts.contains(where: \.isOpen) }
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    func openedMinorUnits(since time: WallTime, currency: Currency) async throws(JournalError) -> Int64 {
        await Task.yield()
        return allCharges.filter { $0.terms.openedAt >= time }.reduce(0) { $0 + $1.terms.amount.minorUnits }
    }

    func writeFault() async -> JournalError? {
        await Task.yield()
        return state.withLock { state in state.failsAt?.contains(state.writes + 1) == true ? .diskFull : nil }
    }

    func charges(ofPayment name: String) async throws(JournalError) -> [Charge] {
        await Task.yield()
        return allRecords.map(\.charge).filter { $0.attempts.contains { $0.names(payment: name) } }
    }

    func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)? {
        await Task.yield()
        waiting.withLock { $0 += 1 }
        if let held = held.withLock(\.self) { for await _ in held {} }
        waiting.withLock { $0 -= 1 }
        return state.withLock { $0.charges[id].map { (Charge(terms: $0.terms, replaying: $0.events), $0.updatedAt) } }
    }

    func records(
        before: ChargeID?,
        limit: Int,
        state wanted: Charge.State?
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        await Task.yield()
        return state.withLock { state in
            state.charges.values.map { (Charge(terms: $0.terms, replaying: $0.events), $0.updatedAt) }
        }
        .filter { wanted == nil || $0.0.state == wanted }
        .sorted { $0.0.id.rawValue > $1.0.id.rawValue }
        .prefix(limit).map { ($0.0, $0.1) }
    }

    private var allRecords: [(charge: Charge, updatedAt: WallTime)] {
        state.withLock { state in
            state.charges.values.map { (Charge(terms: $0.terms, replaying: $0.events), $0.updatedAt) }
        }
        .sorted { $0.0.id.rawValue < $1.0.id.rawValue }
    }

    func unseen(
        since time: WallTime,
        limit: Int
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        await Task.yield()
        return Array(
            allRecords.reversed().filter { $0.charge.unseen != nil && $0.updatedAt >= time }.prefix(limit)
        )
    }

    func withAskedRefunds(limit: Int) async throws(JournalError) -> [Charge] {
        await Task.yield()
        return Array(allCharges.filter(\.hasAskedRefund).prefix(limit))
    }

    func unpaid(since time: WallTime) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        await Task.yield()
        return allRecords.filter {
            [.expired, .cancelled, .failed].contains($0.charge.state) && $0.updatedAt >= time
                && !$0.charge.attempts.contains(where: \.isOpen)
        }
    }

    func charges(
        from: WallTime,
        until: WallTime,
        after: ChargeID?,
        limit: Int
    ) async throws(JournalError) -> [Charge] {
        await Task.yield()
        let all = allRecords.map(\.charge).filter { $0.terms.openedAt >= from && $0.terms.openedAt < until }
        return Array(all.filter { after.map(\.rawValue) ?? "" < $0.id.rawValue }.prefix(limit))
    }

    private func write(_ change: (inout State) -> Void) async throws(JournalError) {
        await Task.yield()
        let isFull = state.withLock { state in
            state.writes += 1
            if state.failsAt?.contains(state.writes) == true { return true }
            change(&state)
            return false
        }
        // It is written, and whoever wrote it has not heard so yet.
        await Task.yield()
        if isFull { throw .diskFull }
    }
}

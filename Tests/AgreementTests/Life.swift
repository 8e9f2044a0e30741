import Journal
import Payments
import Synchronization
import Terminal
import WalletConnectPay

/// One run of the terminal's program. It dies, as in a power cut, at the n-th thing that it does outside of itself.
///
/// What it did before stays: the journal's file and what the gateway knows. From its death on it does nothing more.
final class Life: Sendable {
    private struct State {
        var steps = 0
        var isOver = false
        var writing = 0
    }

    private let diesAt: Int?
    private let state = Mutex(State())

    /// - Parameter diesAt: The step that is not taken any more, from 1; nil: it lives on.
    init(diesAt: Int?) { self.diesAt = diesAt }

    var steps: Int { state.withLock { $0.steps } }
    var isOver: Bool { state.withLock { $0.isOver } }
    /// True while the journal works, which takes real time.
    var isWriting: Bool { state.withLock { $0.writing > 0 } }

    /// False where it is not alive to take this step.
    func step() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.steps += 1
            state.isOver = state.steps == diesAt
            return !state.isOver
        }
    }

    fileprivate func startWriting() { state.withLock { $0.writing += 1 } }
    fileprivate func endWriting() { state.withLock { $0.writing -= 1 } }
}

/// The journal, as far as the program lives to write it. It may die before a write, or after it and before it knows.
struct MortalArchive: ChargeArchive {
    let journal: Journal
    let life: Life

    private static let dead = JournalError.unavailable(detail: "the program is dead")

    private func write(_ work: () async throws(JournalError) -> Void) async throws(JournalError) {
        guard life.step() else { throw Self.dead }
        life.startWriting()
        defer { life.endWriting() }
        try await work()
        guard life.step() else { throw Self.dead }
    }

    private func read<Value>(_ work: () async throws(JournalError) -> Value) async throws(JournalError) -> Value {
        guard !life.isOver else { throw Self.dead }
        life.startWriting()
        defer { life.endWriting() }
        return try await work()
    }

    func open(_ terms: ChargeTerms, under key: IdempotencyKey?) async throws(JournalError) {
        try await write { () async throws(JournalError) in try await journal.open(terms, under: key) }
    }

    func append(_ event: Charge.Event, to charge: Charge, at time: WallTime) async throws(JournalError) {
        try await write { () async throws(JournalError) in try await journal.append(event, to: charge, at: time) }
    }

    func chargeOpened(under key: String) async throws(JournalError) -> (id: ChargeID, requestDigest: [UInt8])? {
        try await read { () async throws(JournalError) in try await journal.chargeOpened(under: key) }
    }

    func openCharges() async throws(JournalError) -> [Charge] {
        try await read { () async throws(JournalError) in try await journal.openCharges() }
    }

    func openedMinorUnits(since time: WallTime, currency: Currency) async throws(JournalError) -> Int64 {
        try await read { () async throws(JournalError) in
            try await journal.openedMinorUnits(since: time, currency: currency)
        }
    }

    func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)? {
        try await read { () async throws(JournalError) in try await journal.record(of: id) }
    }

    func unseen(since time: WallTime, limit: Int) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)]
    {
        try await read { () async throws(JournalError) in try await journal.unseen(since: time, limit: limit) }
    }

    func unpaid(since time: WallTime) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await read { () async throws(JournalError) in try await journal.unpaid(since: time) }
    }

    func charges(
        from: WallTime,
        until: WallTime,
        after: ChargeID?,
        limit: Int
    ) async throws(JournalError) -> [Charge] {
        try await read { () async throws(JournalError) in
            try await journal.charges(from: from, until: until, after: after, limit: limit)
        }
    }

    func records(
        before: ChargeID?,
        limit: Int,
        state: Charge.State?
    ) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)] {
        try await read { () async throws(JournalError) in
            try await journal.records(before: before, limit: limit, state: state)
        }
    }
}

/// The line to the gateway, as far as the program lives to use it. It may die before a request leaves, or before it has
/// read the answer.
struct MortalTransport: HTTPTransport {
    let line: DirectTransport
    let life: Life

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        guard life.step() else { throw .cancelled }
        let answer: Result<HTTPResponse, TransportError>
        do { answer = .success(try await line.send(request)) } catch { answer = .failure(error) }
        guard life.step() else { throw .cancelled }
        return try answer.get()
    }
}

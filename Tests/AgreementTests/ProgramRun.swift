import Journal
import Locks
import Payments
import Terminal
import TestSupport
import WalletConnectPay

/// A place in a run of the program at which it can die: on one side of a write to the journal, or of an exchange with the
/// gateway, by what it knows then.
struct Point: Hashable, Sendable, CustomStringConvertible {
    enum Side: String, Sendable {
        case before
        /// It is done, and the program does not know.
        case after
    }

    let side: Side
    /// The journal's event, or the request without names.
    let what: String
    /// The charge as the journal has it.
    let state: Charge.State?
    /// Whether it has to do with a charge.
    let isTills: Bool

    var description: String { "\(side) \(what) while \(state?.rawValue ?? "no charge is known")" }
}

/// The n-th time that a run comes to a point.
struct Death: Hashable, Sendable, CustomStringConvertible {
    let point: Point
    /// From 1.
    let occasion: Int
    /// Until the program is started again. The customer's wallet goes on meanwhile.
    var pause = Duration.zero

    var description: String { "\(point) (\(occasion).), back after \(pause)" }

    /// Where a run that came by these points is to be killed: everywhere if it is short. Where nobody answers for long, or
    /// somebody answers too slowly, the same questions come again and again: of each point the first two and the last time.
    static func all(along points: [Point]) -> [Death] {
        var occasions: [Point: Int] = [:]
        var order: [Death] = []
        for point in points {
            occasions[point, default: 0] += 1
            order.append(Death(point: point, occasion: occasions[point, default: 0]))
        }
        let isShort = order.count <= 40
        return order.filter { isShort || $0.occasion <= 2 || $0.occasion == occasions[$0.point] }.enumerated().map {
            // In turns started again at once, and when whoever pays has long paid.
            Death(point: $1.point, occasion: $1.occasion, pause: $0.isMultiple(of: 2) ? .zero : .seconds(20))
        }
    }
}

/// One run of the terminal's program. It may die, as in a power cut, at one of the things that it does outside of itself.
///
/// What it did before stays: the journal's file and what the gateway knows. From its death on it does nothing more.
final class ProgramRun: Sendable {
    private struct State {
        var points: [Point] = []
        var isOver = false
        var charge: Charge.State?
        var occasions = 0
    }

    private let death: Death?
    private let state = Mutex(State())

    /// - Parameter death: What it does not do any more; nil: it lives on.
    init(_ death: Death?) { self.death = death }

    /// Where it came by, the place of its death included.
    var points: [Point] { state.withLock { $0.points } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// False where it is not alive to go on.
    /// - Parameter isTills: Whether it has to do with the charge.
    func comesBy(_ side: Point.Side, _ what: String, isTills: Bool = true) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            let point = Point(side: side, what: what, state: isTills ? state.charge : nil, isTills: isTills)
            state.points.append(point)
            guard let death, death.point == point else { return true }
            state.occasions += 1
            state.isOver = state.occasions == death.occasion
            return !state.isOver
        }
    }

    fileprivate func knows(_ charge: Charge.State) { state.withLock { $0.charge = charge } }
}

/// The journal, as far as the program lives to write it. It may die before a write, or after it and before it knows.
struct MortalArchive: ChargeArchive {
    let journal: Journal
    let run: ProgramRun

    private static let dead = JournalError.unavailable(detail: "the program is dead")

    private func write(
        _ what: String,
        _ work: @escaping @Sendable () async throws(JournalError) -> Void
    ) async throws(JournalError) {
        guard run.comesBy(.before, what) else { throw Self.dead }
        // Others come in between, as they do while the real one works.
        await Task.yield()
        try SimulationExecutor.standingStill(for: work)
        await Task.yield()
        guard run.comesBy(.after, what) else { throw Self.dead }
    }

    private func read<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(JournalError) -> Value
    ) async throws(JournalError) -> Value {
        await Task.yield()
        guard !run.isOver else { throw Self.dead }
        return try SimulationExecutor.standingStill(for: work)
    }

    func open(
        _ terms: ChargeTerms,
        beginning events: [Charge.Event],
        under key: IdempotencyKey?,
        from place: String?
    ) async throws(JournalError) {
        try await write("opened") { () async throws(JournalError) in
            try await journal.open(terms, beginning: events, under: key, from: place)
        }
        run.knows(.created)
    }

    func append(
        _ events: [Charge.Event],
        to charge: Charge,
        at time: WallTime,
        with notes: TapNotes
    ) async throws(JournalError) {
        let names = events.map { String(describing: $0).prefix { $0 != "(" } }.joined(separator: " and ")
        try await write("\(names), so \(charge.state.rawValue)") { () async throws(JournalError) in
            try await journal.append(events, to: charge, at: time, with: notes)
        }
        run.knows(charge.state)
    }

    func chargeOpened(under key: String) async throws(JournalError) -> (id: ChargeID, requestDigest: [UInt8])? {
        try await read { () async throws(JournalError) in try await journal.chargeOpened(under: key) }
    }

    func openCharges() async throws(JournalError) -> [Charge] {
        let open = try await read { () async throws(JournalError) in try await journal.openCharges() }
        if let charge = open.last { run.knows(charge.state) }
        return open
    }

    func openedMinorUnits(since time: WallTime, currency: Currency) async throws(JournalError) -> Int64 {
        try await read { () async throws(JournalError) in
            try await journal.openedMinorUnits(since: time, currency: currency)
        }
    }

    func writeFault() async -> JournalError? {
        do throws(JournalError) {
            return try await read { () async throws(JournalError) in await journal.writeFault() }
        } catch { return error }
    }

    func charges(ofPayment name: String) async throws(JournalError) -> [Charge] {
        try await read { () async throws(JournalError) in try await journal.charges(ofPayment: name) }
    }

    func record(of id: ChargeID) async throws(JournalError) -> (charge: Charge, updatedAt: WallTime)? {
        try await read { () async throws(JournalError) in try await journal.record(of: id) }
    }

    func unseen(since time: WallTime, limit: Int) async throws(JournalError) -> [(charge: Charge, updatedAt: WallTime)]
    {
        try await read { () async throws(JournalError) in try await journal.unseen(since: time, limit: limit) }
    }

    func withAskedRefunds(limit: Int) async throws(JournalError) -> [Charge] {
        try await read { () async throws(JournalError) in try await journal.withAskedRefunds(limit: limit) }
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
    let run: ProgramRun
    /// Whether its requests have to do with the charge.
    var isTills = true

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let what = Self.words(request)
        guard run.comesBy(.before, what, isTills: isTills) else { throw .cancelled }
        let answer: Result<HTTPResponse, TransportError>
        do { answer = .success(try await line.send(request)) } catch { answer = .failure(error) }
        guard run.comesBy(.after, what, isTills: isTills) else { throw .cancelled }
        return try answer.get()
    }

    /// `POST /v1/payments/…/cancel`
    private static func words(_ request: HTTPRequest) -> String {
        let path = request.url.dropFirst(DirectTransport.baseURL.count).prefix { $0 != "?" }
        let names = ["pay_", "mrch_", "crypto_"]
        let parts = path.split(separator: "/").map { part in
            names.contains(where: part.hasPrefix) ? "…" : String(part)
        }
        return "\(request.method.rawValue) /" + parts.joined(separator: "/")
    }
}

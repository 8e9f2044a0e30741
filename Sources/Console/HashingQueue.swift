import Dispatch
import Locks

/// Computes hashes of passwords and PINs one after the other, each of which takes up to 64 MiB for some 100 ms.
///
/// The line is short. Whoever is known goes first; among strangers whoever was wrong least often. Wrong sign-ins from many addresses
/// make neither the owner's password nor a PIN at the counter wait longer than the one hash that is under way.
final class HashingQueue: Sendable {
    /// Who wants a hash.
    enum Asker: Sendable, Equatable {
        /// Signed in, at a known browser, or with the right code from the screen.
        case known
        /// - Parameter wrong: How often the source was wrong. Smaller goes first.
        case stranger(wrong: Int)
    }

    /// The known who may wait at once.
    static let mostKnown = 16
    /// The strangers who may wait at once. Eight wait for a second; on slow machines for some four.
    static let mostStrangers = 8

    private struct Job {
        let wrong: Int
        let compute: @Sendable () -> Void
        /// Tells whoever waits that there is no place any more.
        let refuse: @Sendable () -> Void
    }

    private struct State {
        var known: [Job] = []
        var strangers: [Job] = []
        var isComputing = false

        mutating func next() -> Job? {
            if !known.isEmpty { return known.removeFirst() }
            // The first of those that were wrong equally often.
            if let first = strangers.indices.min(by: { strangers[$0].wrong < strangers[$1].wrong }) {
                return strangers.remove(at: first)
            }
            isComputing = false
            return nil
        }

        /// Removes the last of those that were wrong most often where more strangers wait than may.
        mutating func removeExcess() -> Job? {
            guard strangers.count > mostStrangers,
                let last = strangers.indices.reversed().max(by: { strangers[$0].wrong < strangers[$1].wrong })
            else { return nil }
            return strangers.remove(at: last)
        }
    }

    private let state = Mutex(State())
    /// Charges go before passwords.
    private let queue = DispatchQueue(label: "till.hashing", qos: .utility)

    /// Asks whether there is a place, before a try is counted.
    /// - Throws: ``Problem`` 503 with the time after which to try again. Nothing was computed then.
    func requirePlace(for asker: Asker) throws(Problem) {
        let hasPlace = state.withLock { state in
            switch asker {
            case .known: state.known.count < Self.mostKnown
            case .stranger(let wrong):
                state.strangers.count < Self.mostStrangers || state.strangers.contains { $0.wrong > wrong }
            }
        }
        guard hasPlace else { throw Self.busy }
    }

    /// The known who wait now.
    var knownWaiting: Int { state.withLock { $0.known.count } }
    /// The strangers who wait now.
    var strangersWaiting: Int { state.withLock { $0.strangers.count } }

    /// Computes `work` in its turn, on a thread that nobody waits for.
    /// - Throws: What `work` throws; ``busy`` where strangers that were wrong less often took the place. Nothing was computed then.
    func compute<Value: Sendable>(
        for asker: Asker,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let wrong = if case .stranger(let wrong) = asker { wrong } else { 0 }
            let job = Job(
                wrong: wrong,
                compute: { continuation.resume(with: Result { try work() }) },
                refuse: { continuation.resume(throwing: Self.busy) }
            )
            add(job, of: asker)
        }
    }

    private func add(_ job: Job, of asker: Asker) {
        let (mustBegin, excess) = state.withLock { state in
            if asker == .known { state.known.append(job) } else { state.strangers.append(job) }
            defer { state.isComputing = true }
            return (!state.isComputing, state.removeExcess())
        }
        excess?.refuse()
        if mustBegin { queue.async { self.computeAll() } }
    }

    private func computeAll() {
        while let job = state.withLock({ $0.next() }) { job.compute() }
    }

    /// The same words as the server's own, which keeps too many bodies out.
    static let busy: Problem = {
        var problem = Problem(
            503,
            "terminal_busy",
            "The terminal has too many requests at once. Nothing was done by this one.",
            "Try again in a few seconds."
        )
        problem.retryAfter = .seconds(1)
        return problem
    }()
}

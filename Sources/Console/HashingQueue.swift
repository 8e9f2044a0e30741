import Dispatch
import Locks

/// Computes hashes of passwords and PINs one after the other, each of which takes up to 64 MiB for some 100 ms.
///
/// The line is short. Whoever is known goes first, and strangers have places of their own: wrong sign-ins from many addresses make
/// neither the owner's password nor a PIN at the counter wait longer than the one hash that is under way.
final class HashingQueue: Sendable {
    /// Who wants a hash.
    enum Asker: Sendable, Equatable {
        /// Signed in, at a known browser, or with the right code from the screen.
        case known
        case stranger

        /// Who may wait at once. Eight wait for a second; on slow machines for some four.
        var most: Int {
            switch self {
            case .known: 16
            case .stranger: 8
            }
        }
    }

    private typealias Job = @Sendable () -> Void

    private struct State {
        var known: [Job] = []
        var strangers: [Job] = []
        var isComputing = false

        mutating func next() -> Job? {
            if !known.isEmpty { return known.removeFirst() }
            if !strangers.isEmpty { return strangers.removeFirst() }
            isComputing = false
            return nil
        }
    }

    private let state = Mutex(State())
    /// Charges go before passwords.
    private let queue = DispatchQueue(label: "till.hashing", qos: .utility)

    /// Asks whether there is a place, before a try is counted.
    /// - Throws: ``Problem`` 503 with the time after which to try again. Nothing was computed then.
    func requirePlace(for asker: Asker) throws(Problem) {
        guard waiting(asker) < asker.most else { throw Self.busy }
    }

    /// How many wait now.
    func waiting(_ asker: Asker) -> Int { state.withLock { asker == .known ? $0.known.count : $0.strangers.count } }

    /// Computes `work` in its turn, on a thread that nobody waits for.
    /// - Throws: What `work` throws.
    func compute<Value: Sendable>(
        for asker: Asker,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            add({ continuation.resume(with: Result { try work() }) }, of: asker)
        }
    }

    private func add(_ job: @escaping Job, of asker: Asker) {
        let mustBegin = state.withLock { state in
            if asker == .known { state.known.append(job) } else { state.strangers.append(job) }
            defer { state.isComputing = true }
            return !state.isComputing
        }
        if mustBegin { queue.async { self.computeAll() } }
    }

    private func computeAll() {
        while let job = state.withLock({ $0.next() }) { job() }
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

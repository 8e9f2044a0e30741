import Dispatch

/// The line before scrypt, which takes 64 MiB and 100 ms on a fast machine, a second on a slow one: one at a time, and whoever
/// was wrong least often goes first. So a dozen strangers who guess as fast as they can cost the owner one hash, and not all of theirs.
actor HashLine {
    /// Others that were wrong less often fill the line. Nothing was computed; another try may help.
    struct Full: Error {}

    /// Guesses that wait at once.
    static let most = 32

    private struct Waiter {
        let rank: Int
        let turn: CheckedContinuation<Bool, Never>
    }

    private var waiting: [Waiter] = []
    private var isBusy = false
    /// Guesses that wait now.
    var count: Int { waiting.count }
    /// Guesses that found the line full.
    private(set) var hasSentAway = 0
    private let queue = DispatchQueue(label: "till.password")

    /// Computes it on a thread that nobody waits for.
    /// - Parameter rank: 0 for somebody who is known, else how often the source was wrong. Smaller goes first.
    /// - Throws: ``Full``, or what `work` throws.
    func run<Value: Sendable>(rank: Int, _ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        if isBusy {
            let hasTurn = await withCheckedContinuation { turn in enter(Waiter(rank: rank, turn: turn)) }
            guard hasTurn else { throw Full() }
        }
        isBusy = true
        defer { leave() }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }

    private func enter(_ waiter: Waiter) {
        waiting.append(waiter)
        guard waiting.count > Self.most,
            let last = waiting.indices.reversed().max(by: { waiting[$0].rank < waiting[$1].rank })
        else { return }
        hasSentAway += 1
        waiting.remove(at: last).turn.resume(returning: false)
    }

    private func leave() {
        guard let next = waiting.indices.min(by: { waiting[$0].rank < waiting[$1].rank }) else {
            isBusy = false
            return
        }
        // The line stays busy: the turn is handed over.
        waiting.remove(at: next).turn.resume(returning: true)
    }
}

public import Locks
public import Payments
public import Terminal

/// A rail whose authority is the test: it does nothing by itself and remembers what it was asked for.
public final class ScriptedRail: RailDriver {
    public enum Call: Hashable, Sendable { case pursue(ChargeID), withdraw(ChargeID), ask(ChargeID) }

    public let rail: Rail
    private let withdraws: Bool
    private let state = Mutex<(calls: [Call], links: [ChargeID: AttemptLink])>(([], [:]))
    private let answer: @Sendable (AttemptLink) async -> Void
    /// What the authority says to each request for a mark, one after the other; then nothing usable.
    public let marks = Mutex<(answers: [RefundAnswer], asked: Int)>(([], 0))

    /// - Parameter withdraws: Its authority cancels what it is told to.
    /// - Parameter answer: What the authority says when it is asked once.
    public init(
        _ rail: Rail = .scan,
        withdraws: Bool = false,
        answer: @escaping @Sendable (AttemptLink) async -> Void = { _ in }
    ) {
        self.rail = rail
        self.withdraws = withdraws
        self.answer = answer
    }

    public var calls: [Call] { state.withLock { $0.calls } }

    public func markRefunded(_ attempt: AttemptLink) async -> RefundAnswer {
        marks.withLock { marks in
            marks.asked += 1
            return marks.answers.isEmpty ? .silent("time-out") : marks.answers.removeFirst()
        }
    }

    public func link(_ id: ChargeID) -> AttemptLink? { state.withLock { $0.links[id] } }

    public func pursue(_ attempt: AttemptLink) async {
        note(.pursue(attempt.terms.id), attempt)
        // Follows until the attempt is over, as a rail does; the test speaks for the authority through `link`.
        let (never, continuation) = AsyncStream<Never>.makeStream()
        await withTaskCancellationHandler {
            for await _ in never {}
        } onCancel: {
            continuation.finish()
        }
    }

    public func withdraw(_ attempt: AttemptLink) async {
        note(.withdraw(attempt.terms.id), attempt)
        await Task.yield()
        if withdraws { await attempt.record(.reported(attempt: attempt.id, report: .cancelled)) }
    }

    public func ask(_ attempt: AttemptLink) async {
        note(.ask(attempt.terms.id), attempt)
        await answer(attempt)
    }

    private func note(_ call: Call, _ attempt: AttemptLink) {
        state.withLock { state in
            state.calls.append(call)
            state.links[attempt.terms.id] = attempt
        }
    }
}

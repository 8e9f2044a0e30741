import Dispatch
import Synchronization

/// The one thread on which everybody in a play acts, one after the other, so that it is known when all have done what they
/// can and wait for time to pass. That costs no guess and no turn of a busy loop, and a play goes the same way each time.
final class Stage: TaskExecutor {
    private struct State {
        /// To be run, and the one that runs.
        var jobs = 0
        /// On its way somewhere else, and coming back as a job: a write of the journal.
        var away = 0
        var audience: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = DispatchQueue(label: "stage")
    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs += 1 }
        queue.async {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.change { $0.jobs -= 1 }
        }
    }

    /// Returns when nobody on the stage has anything left to do. To be called by one of them.
    func untilCalm() async {
        await withCheckedContinuation { continuation in state.withLock { $0.audience.append(continuation) } }
    }

    func leave() { change { $0.away += 1 } }
    func comeBack() { change { $0.away -= 1 } }

    /// Work that goes on elsewhere once it is cancelled, for as long as it takes to end there.
    func minding<Value: Sendable>(_ work: @Sendable () async -> Value) async -> Value {
        let isElsewhere = Mutex(false)
        let value = await withTaskCancellationHandler(operation: work) {
            isElsewhere.withLock { $0 = true }
            leave()
        }
        if isElsewhere.withLock({ $0 }) { comeBack() }
        return value
    }

    private func change(_ body: (inout State) -> Void) {
        let audience = state.withLock { state in
            body(&state)
            guard state.jobs == 0, state.away == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.audience = [] }
            return state.audience
        }
        for continuation in audience { continuation.resume() }
    }
}

import Dispatch
import Locks

/// The one thread on which everybody in a play acts, one after the other, so that it is known when all have done what they
/// can and wait for time to pass. That costs no guess and no turn of a busy loop. Nothing of a play runs anywhere else but the
/// journal's own work, and the thread stands still for that: a play goes the same way each time, however busy the machine is.
final class Stage: TaskExecutor {
    private struct State {
        /// In the order in which they run.
        var waiting: [UnownedJob] = []
        var isRunning = false
        var audience: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = DispatchQueue(label: "stage")
    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let starts = state.withLock { state in
            state.waiting.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { queue.async { self.run() } }
    }

    /// Returns when nobody on the stage has anything left to do. To be called by one of them.
    func untilCalm() async {
        await withCheckedContinuation { continuation in state.withLock { $0.audience.append(continuation) } }
    }

    private func run() {
        while true {
            let (job, audience) = state.withLock { state -> (UnownedJob?, [CheckedContinuation<Void, Never>]) in
                guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), []) }
                defer { state.audience = [] }
                state.isRunning = !state.audience.isEmpty
                return (nil, state.audience)
            }
            if let job { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            // Those who wait for calm, once there is: they are the next to act.
            for continuation in audience { continuation.resume() }
            if job == nil && audience.isEmpty { return }
        }
    }

    /// Everybody waits until this is done, on another thread.
    static func standingStill<Value: Sendable, Failure: Error>(
        for work: @escaping @Sendable () async throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let isDone = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Value, Failure>?>(nil)
        Task.detached {
            let came: Result<Value, Failure>
            do throws(Failure) { came = .success(try await work()) } catch { came = .failure(error) }
            result.withLock { $0 = came }
            isDone.signal()
        }
        isDone.wait()
        guard let came = result.withLock({ $0 }) else { preconditionFailure("the signal comes after the result") }
        return try came.get()
    }
}

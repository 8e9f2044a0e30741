import Dispatch
import Locks

/// An executor with one thread, on which all tasks of a simulation run one after the other. It knows when all of them wait for
/// time to pass, without a guess and without a busy loop. Only the journal's own work runs elsewhere, and the thread stands still
/// for that: a play goes the same way each time, however busy the machine is.
public final class SimulationExecutor: TaskExecutor {
    private struct State {
        /// In the order in which they run.
        var waiting: [UnownedJob] = []
        var isRunning = false
        /// Tasks that wait until no other has anything left to do.
        var calmWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = DispatchQueue(label: "simulation")
    private let state = Mutex(State())

    public init() {}

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let starts = state.withLock { state in
            state.waiting.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { queue.async { self.run() } }
    }

    /// Returns when no other task has anything left to do. To be called by one of them.
    public func untilCalm() async {
        await withCheckedContinuation { continuation in state.withLock { $0.calmWaiters.append(continuation) } }
    }

    private func run() {
        while true {
            let (job, waiters) = state.withLock { state -> (UnownedJob?, [CheckedContinuation<Void, Never>]) in
                guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), []) }
                defer { state.calmWaiters = [] }
                state.isRunning = !state.calmWaiters.isEmpty
                return (nil, state.calmWaiters)
            }
            if let job { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            // Those who wait for calm, once there is: they run next.
            for continuation in waiters { continuation.resume() }
            if job == nil && waiters.isEmpty { return }
        }
    }

    /// Stops all tasks until this is done, on another thread.
    public static func standingStill<Value: Sendable, Failure: Error>(
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

import Dispatch
import Locks

/// An executor with one thread, on which all tasks of a simulation run one after the other. It knows when all of them wait for
/// time to pass, without a guess and without a busy loop. Only the journal's own work runs elsewhere. The thread stands still for
/// it (``standingStill(for:)``), and a play goes the same way each time, however busy the machine is; or the others go on
/// (``elsewhere(_:)``), and nobody is calm before it has come back.
public final class SimulationExecutor: TaskExecutor {
    private struct State {
        /// In the order in which they run, with what an actor is bound to.
        var waiting: [(job: UnownedJob, actors: ActorExecutor?)] = []
        var isRunning = false
        /// How many tasks wait for work that is done elsewhere.
        var elsewhere = 0
        /// Tasks that wait until no other has anything left to do.
        var calmWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = DispatchQueue(label: "simulation")
    private let state = Mutex(State())

    public init() {}

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        run { $0.waiting.append((job, nil)) }
    }

    /// Makes sure that somebody looks at what has changed.
    private func run(after change: (inout State) -> Void) {
        let starts = state.withLock { state in
            change(&state)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { queue.async { self.run() } }
    }

    /// The same thread for actors that bring an executor of their own, so that calm counts what they do.
    public var forActors: any SerialExecutor { ActorExecutor(executor: self) }

    private final class ActorExecutor: SerialExecutor {
        private let executor: SimulationExecutor

        init(executor: SimulationExecutor) { self.executor = executor }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            executor.run { $0.waiting.append((job, self)) }
        }
        func checkIsolated() { dispatchPrecondition(condition: .onQueue(executor.queue)) }
    }

    /// Returns when no other task has anything left to do.
    public func untilCalm() async {
        await withCheckedContinuation { continuation in run { $0.calmWaiters.append(continuation) } }
    }

    private func run() {
        while true {
            let (next, waiters) = state.withLock {
                state -> ((job: UnownedJob, actors: ActorExecutor?)?, [CheckedContinuation<Void, Never>]) in
                guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), []) }
                let waiters = state.elsewhere == 0 ? state.calmWaiters : []
                if !waiters.isEmpty { state.calmWaiters = [] }
                state.isRunning = !waiters.isEmpty
                return (nil, waiters)
            }
            if let (job, actors) = next {
                if let actors {
                    unsafe job.runSynchronously(on: actors.asUnownedSerialExecutor())
                } else {
                    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
                }
            }
            // Those who wait for calm, once there is: they run next.
            for continuation in waiters { continuation.resume() }
            if next == nil && waiters.isEmpty { return }
        }
    }

    /// Does something that takes time on other threads, such as a write to the disk. Nobody is calm until it is done.
    public func elsewhere<Value, Failure: Error>(
        _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        state.withLock { $0.elsewhere += 1 }
        defer { run { $0.elsewhere -= 1 } }
        return try await work()
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

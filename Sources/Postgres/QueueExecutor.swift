import Dispatch

/// Runs an actor's jobs on one serial queue of its own, so that blocking calls never hold the shared thread pool.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label, qos: .utility) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    /// Without this, code that assumes to run on the actor would be stopped although it does.
    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

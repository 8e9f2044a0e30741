package import Dispatch

/// Runs an actor's jobs on one serial queue of its own, so that blocking calls never hold the shared thread pool.
package final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter qos: `.utility` for what nobody waits for.
    package init(label: String, qos: DispatchQoS = .utility) { queue = DispatchQueue(label: label, qos: qos) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    /// Without this, code that assumes to run on the actor would be stopped although it does.
    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

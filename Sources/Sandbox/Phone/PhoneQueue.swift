import Dispatch

/// The phone's own queue: what it stores blocks, and must not take a thread from everybody else's tasks.
final class PhoneQueue: SerialExecutor {
    private let queue = DispatchQueue(label: "sandbox phone")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    /// Without this, code that assumes to run on the actor would be stopped although it does.
    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

import Dispatch
import Synchronization

/// The one thread on which everybody in a play acts, one after the other, so that it is known when all have done what they
/// can and wait for time to pass. That costs no guess and no turn of a busy loop. While somebody is at the journal the others
/// stand still, so that a play goes the same way each time, however long the disk takes.
final class Stage: TaskExecutor {
    private struct State {
        /// In the order in which they run.
        var waiting: [UnownedJob] = []
        /// Of whoever is at the journal: goes on first.
        var returning: [UnownedJob] = []
        var isRunning = false
        var atTheJournal = 0
        /// On its way somewhere else, and coming back as a job.
        var away = 0
        var audience: [CheckedContinuation<Void, Never>] = []

        var next: UnownedJob? {
            if !returning.isEmpty { return returning[0] }
            return atTheJournal == 0 ? waiting.first : nil
        }

        mutating func takeNext() -> UnownedJob? {
            if !returning.isEmpty { return returning.removeFirst() }
            return atTheJournal == 0 && !waiting.isEmpty ? waiting.removeFirst() : nil
        }

        var isCalm: Bool { !isRunning && returning.isEmpty && waiting.isEmpty && atTheJournal == 0 && away == 0 }
    }

    private let queue = DispatchQueue(label: "stage")
    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        change { state in
            if state.atTheJournal > 0 { state.returning.append(job) } else { state.waiting.append(job) }
        }
    }

    /// Returns when nobody on the stage has anything left to do. To be called by one of them.
    func untilCalm() async {
        await withCheckedContinuation { continuation in state.withLock { $0.audience.append(continuation) } }
    }

    /// The others wait until whoever calls this has come back.
    func atTheJournal<Value, Failure>(_ work: () async throws(Failure) -> Value) async throws(Failure) -> Value {
        change { $0.atTheJournal += 1 }
        defer { change { $0.atTheJournal -= 1 } }
        return try await work()
    }

    /// Work that goes on elsewhere once it is cancelled, for as long as it takes to end there.
    func minding<Value: Sendable>(_ work: @Sendable () async -> Value) async -> Value {
        let isElsewhere = Mutex(false)
        let value = await withTaskCancellationHandler(operation: work) {
            isElsewhere.withLock { $0 = true }
            change { $0.away += 1 }
        }
        if isElsewhere.withLock({ $0 }) { change { $0.away -= 1 } }
        return value
    }

    private func change(_ body: (inout State) -> Void) {
        let (starts, audience) = state.withLock { state in
            body(&state)
            let starts = !state.isRunning && state.next != nil
            if starts { state.isRunning = true }
            return (starts, Self.audience(&state))
        }
        if starts { queue.async { self.run() } }
        for continuation in audience { continuation.resume() }
    }

    private func run() {
        while let job = state.withLock({ $0.takeNext() }) { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        change { $0.isRunning = false }
    }

    /// Those who wait for calm, once there is.
    private static func audience(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        guard state.isCalm else { return [] }
        defer { state.audience = [] }
        return state.audience
    }
}

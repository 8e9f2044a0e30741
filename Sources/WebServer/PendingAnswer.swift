import CMicrohttpd
import Locks

/// An answer that is still being worked on, and the executor of the task that works on it.
///
/// The task's jobs run on the server's thread. While there are none the connection is suspended; a job that arrives
/// from another thread (a timer, an actor's own queue) resumes it, libmicrohttpd calls the request handler again, and
/// that runs the job. A handler that only calls plain actors is thus done before its first suspension, without any
/// thread switch.
///
/// When the answer is overdue, `giveUp` answers in the task's place. The task's remaining jobs then run on the
/// cooperative pool, and what it returns is dropped.
final class PendingAnswer: TaskExecutor {
    private enum Phase {
        /// On the server's thread, in `start`, `advance` or `wait`.
        case running
        /// Suspended, nothing to do. Whoever changes this resumes the connection, once.
        case parked
        /// Resumed; libmicrohttpd is about to call.
        case waking
        /// The request is over.
        case ended
    }

    private struct State {
        var phase = Phase.running
        var next: UnownedJob?
        var later: [UnownedJob] = []
        var answer: WebResponse?
        var isAbandoned = false
        var task: Task<Void, Never>?

        mutating func append(_ job: UnownedJob) {
            if next == nil { next = job } else { later.append(job) }
        }

        mutating func popJob() -> UnownedJob? {
            defer { next = later.isEmpty ? nil : later.removeFirst() }
            return next
        }
    }

    /// Jobs that run before other connections get their turn.
    private static let jobsPerTurn = 64

    private let state = Mutex(State())
    private let connection: Connection
    private let ledger: Ledger

    init(connection: Connection, ledger: Ledger) { (self.connection, self.ledger) = (connection, ledger) }

    /// Starts the task, which runs at once until it calls an actor or has to wait; `advance` goes on with it. On the server's
    /// thread.
    func start(_ work: @escaping @Sendable () async -> WebResponse) {
        ledger.taskStarted()
        let task = Task.immediate(executorPreference: self) {
            let response = await work()
            self.finish(response)
            self.ledger.taskEnded()
        }
        state.withLock { if $0.answer == nil { $0.task = task } }
    }

    /// Runs the jobs that are due. On the server's thread, from the request handler.
    /// - Returns: The answer; nil where there is none yet. Then `wait` follows.
    func advance() -> WebResponse? {
        enter()
        for _ in 0..<Self.jobsPerTurn {
            guard let job = state.withLock({ state in state.answer == nil ? state.popJob() : nil }) else { break }
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
        var left: [UnownedJob] = []
        let answer = state.withLock { state in
            if state.answer != nil { left = abandon(&state) }
            return state.answer
        }
        forward(left)
        return answer
    }

    private func enter() {
        let wasParked = state.withLock { state in
            let wasParked = state.phase == .waking
            state.phase = .running
            return wasParked
        }
        if wasParked { ledger.unpark() }
    }

    /// Suspends the connection until there is something to do; libmicrohttpd then calls again. On the server's thread.
    /// - Returns: The answer, where there is one after all.
    func wait() -> WebResponse? {
        var left: [UnownedJob] = []
        var mustResume = false
        let answer = state.withLock { state -> WebResponse? in
            if let answer = state.answer {
                left = abandon(&state)
                return answer
            }
            guard ledger.park() else {
                left = abandon(&state)
                return .stopping
            }
            mustResume = state.next != nil
            state.phase = mustResume ? .waking : .parked
            connection.suspend()  // Under the lock: nobody may resume what is not yet suspended.
            return nil
        }
        if mustResume { connection.resume() }
        forward(left)
        return answer
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isForeign, mustResume) = state.withLock { state -> (Bool, Bool) in
            if state.isAbandoned { return (true, false) }
            state.append(job)
            guard state.phase == .parked else { return (false, false) }
            state.phase = .waking
            return (false, true)
        }
        if isForeign { forward([job]) }
        if mustResume { connection.resume() }
    }

    private func finish(_ response: WebResponse) {
        let mustResume = state.withLock { state in
            state.task = nil
            guard state.answer == nil, !state.isAbandoned else { return false }
            state.answer = response
            return wake(&state)
        }
        if mustResume { connection.resume() }
    }

    /// Asks the task to end early; what it then returns is still the answer. From any thread.
    func cancel() { state.withLock { $0.task }?.cancel() }

    /// Answers in the task's place and cancels the task. From any thread.
    func giveUp(answering response: WebResponse) {
        var left: [UnownedJob] = []
        let (task, mustResume) = state.withLock { state -> (Task<Void, Never>?, Bool) in
            guard state.answer == nil, !state.isAbandoned else { return (nil, false) }
            state.answer = response
            let task = state.task
            left = abandon(&state)
            return (task, wake(&state))
        }
        task?.cancel()
        forward(left)
        if mustResume { connection.resume() }
    }

    /// The request is over, answered or not. On the server's thread.
    func requestEnded() {
        var left: [UnownedJob] = []
        let (task, wasParked) = state.withLock { state -> (Task<Void, Never>?, Bool) in
            let (task, wasParked) = (state.task, state.phase == .waking)
            state.phase = .ended
            left = abandon(&state)
            return (task, wasParked)
        }
        if wasParked { ledger.unpark() }
        task?.cancel()
        forward(left)
    }

    private func wake(_ state: inout State) -> Bool {
        guard state.phase == .parked else { return false }
        state.phase = .waking
        return true
    }

    /// From here on this executor has no thread.
    private func abandon(_ state: inout State) -> [UnownedJob] {
        state.isAbandoned = true
        state.task = nil
        defer { (state.next, state.later) = (nil, []) }
        return (state.next.map { [$0] } ?? []) + state.later
    }

    private func forward(_ jobs: [UnownedJob]) {
        for job in jobs { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }
}

import CMicrohttpd
import Locks

/// The bytes of one open event stream, or of a long answer in parts, between the task that makes them and libmicrohttpd, which sends them.
///
/// Bounded: a client that reads slower than events come is cut off, so it costs memory up to the bound and delays
/// nobody. While there is nothing to send the connection is suspended.
final class EventFeed: Sendable, EventTaker {
    /// What libmicrohttpd's content reader reports.
    enum Portion: Equatable { case bytes(Int), nothingYet, end, broken }

    private enum Phase { case reading, parked, waking, ended }

    private struct State {
        var phase = Phase.reading
        var bytes: [UInt8] = []
        var sent = 0
        var isFinished = false
        var task: Task<Void, Never>?
        /// In parts: until all of them were made, an end is none.
        var isIncomplete = false
        /// Who makes the parts, while it waits until the last one has gone.
        var maker: CheckedContinuation<Void, Never>?
        /// Where the events of many come from, and this one's name there.
        var place: (hub: EventHub, name: Int)?
        /// The number of the hub's last event.
        var lastTaken = 0
        /// Woken by the hub, which waits to hear that it is at work.
        var wasWokenByHub = false

        /// The hub, where it waits to hear.
        mutating func waker() -> EventHub? {
            guard wasWokenByHub else { return nil }
            wasWokenByHub = false
            return place?.hub
        }
    }

    private let state = Mutex(State())
    private let connection: Connection
    private let ledger: Ledger
    private let limitBytes: Int
    private let cut: @Sendable () -> Void

    /// - Parameter cut: Closes the connection; called when the client is `limitBytes` behind.
    init(connection: Connection, ledger: Ledger, limitBytes: Int, cut: @escaping @Sendable () -> Void) {
        (self.connection, self.ledger, self.limitBytes, self.cut) = (connection, ledger, limitBytes, cut)
    }

    /// Starts to follow `events`. Ends when they end, the client leaves or falls behind, or the server stops.
    func start(_ events: AsyncStream<ServerSentEvent>) {
        ledger.taskStarted()
        // Requests go first: whoever listens may be hundreds.
        let task = Task(priority: .utility) {
            for await event in events {
                // Cancelled, not left: the next turn then tells whoever makes the events that nobody takes them.
                if !append(event.bytes) { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
            finish()
            ledger.taskEnded()
        }
        keep(task)
    }

    /// Starts to send parts, one after the other.
    func start(parts next: @escaping @Sendable () async throws -> [UInt8]?) {
        ledger.taskStarted()
        state.withLock { $0.isIncomplete = true }
        let task = Task {
            do {
                while let bytes = try await next(), !Task.isCancelled {
                    add(bytes)
                    await partHasGone()
                }
                if !Task.isCancelled { state.withLock { $0.isIncomplete = false } }
            } catch {
                // Whoever makes the parts says why; the client sees that the answer was cut.
            }
            finish()
            ledger.taskEnded()
        }
        keep(task)
    }

    /// Takes its place among those to whom `hub` tells its events. Ends when it is told to, the client leaves or falls behind,
    /// or the server stops.
    func start(_ hub: EventHub, while isWelcome: @escaping @Sendable () -> Bool) {
        let name = hub.join(self, while: isWelcome)
        let isOver = state.withLock { state in
            if !state.isFinished { state.place = (hub, name) }
            return state.isFinished
        }
        if isOver { hub.leave(name) }
    }

    /// From the hub.
    func take(_ bytes: [UInt8], number: Int) -> Bool {
        let (fits, mustResume) = state.withLock { state -> (Bool, Bool) in
            guard !state.isFinished, number > state.lastTaken else { return (true, false) }
            state.lastTaken = number
            guard state.bytes.count - state.sent + bytes.count <= limitBytes else { return (false, false) }
            state.bytes += bytes
            let mustResume = wake(&state)
            if mustResume { state.wasWokenByHub = true }
            return (true, mustResume)
        }
        if mustResume { connection.resume() }
        if !fits {
            finish()
            cut()
        }
        return mustResume
    }

    func end() { finish() }

    private func keep(_ task: Task<Void, Never>) {
        let isFinished = state.withLock { state in
            if !state.isFinished { state.task = task }
            return state.isFinished
        }
        if isFinished { task.cancel() }
    }

    private func add(_ bytes: [UInt8]) {
        let mustResume = state.withLock { state in
            guard !state.isFinished else { return false }
            state.bytes += bytes
            return wake(&state)
        }
        if mustResume { connection.resume() }
    }

    private func partHasGone() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                let isOver = state.isFinished || state.bytes.isEmpty
                if !isOver { state.maker = continuation }
                return isOver
            }
            if isOver { continuation.resume() }
        }
    }

    private func append(_ bytes: [UInt8]) -> Bool {
        let (fits, mustResume) = state.withLock { state -> (Bool, Bool) in
            guard !state.isFinished else { return (true, false) }
            guard state.bytes.count - state.sent + bytes.count <= limitBytes else { return (false, false) }
            state.bytes += bytes
            return (true, wake(&state))
        }
        if !fits { cut() }
        if mustResume { connection.resume() }
        return fits
    }

    /// No more events: what is buffered is sent, then the answer ends. From any thread.
    func finish() {
        let (task, maker, place, waker, mustResume) = state.withLock { state in
            state.isFinished = true
            let waker = state.waker()
            defer { (state.task, state.maker, state.place) = (nil, nil, nil) }
            return (state.task, state.maker, state.place, waker, wake(&state))
        }
        task?.cancel()
        maker?.resume()
        waker?.isAtWork()
        place.map { $0.hub.leave($0.name) }
        if mustResume { connection.resume() }
    }

    /// Fills `buffer`, or suspends the connection. On the server's thread, from the content reader.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        let (portion, wasParked, maker, waker) = state.withLock {
            state -> (Portion, Bool, CheckedContinuation<Void, Never>?, EventHub?) in
            let wasParked = state.phase == .waking
            state.phase = .reading
            let waker = state.waker()
            let count = min(buffer.count, state.bytes.count - state.sent)
            if count > 0 {
                unsafe buffer.copyBytes(from: state.bytes[state.sent..<state.sent + count])
                state.sent += count
                guard state.sent == state.bytes.count else { return (.bytes(count), wasParked, nil, waker) }
                (state.bytes, state.sent) = ([], 0)
                defer { state.maker = nil }
                return (.bytes(count), wasParked, state.maker, waker)
            }
            guard !state.isFinished, ledger.park() else {
                return (state.isIncomplete ? .broken : .end, wasParked, nil, waker)
            }
            state.phase = .parked
            connection.suspend()  // Under the lock: nobody may resume what is not yet suspended.
            return (.nothingYet, wasParked, nil, waker)
        }
        maker?.resume()
        waker?.isAtWork()
        if wasParked { ledger.unpark() }
        return portion
    }

    /// The request is over. On the server's thread.
    func requestEnded() {
        let wasParked = state.withLock { state in
            let wasParked = state.phase == .waking
            (state.phase, state.bytes, state.sent) = (.ended, [], 0)
            return wasParked
        }
        if wasParked { ledger.unpark() }
        finish()
    }

    private func wake(_ state: inout State) -> Bool {
        guard state.phase == .parked else { return false }
        state.phase = .waking
        return true
    }
}

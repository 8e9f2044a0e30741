import Locks
import Payments
import Sandbox
import TestSupport
import WalletConnect

/// A queue between two tasks: who takes from an empty one waits.
final class Line<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var taker: CheckedContinuation<Element?, Never>?
        var isOver = false
    }

    private let state = Mutex(State())

    func put(_ element: Element) {
        let taker = state.withLock { state -> CheckedContinuation<Element?, Never>? in
            defer { state.taker = nil }
            if state.taker == nil { state.elements.append(element) }
            return state.taker
        }
        taker?.resume(returning: element)
    }

    /// Nil when it is over, or the task cancelled.
    func take() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now: Element?? = state.withLock { state in
                    if !state.elements.isEmpty { return .some(state.elements.removeFirst()) }
                    if state.isOver || Task.isCancelled { return .some(nil) }
                    state.taker = continuation
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            letGo(over: false)
        }
    }

    func end() { letGo(over: true) }

    var count: Int { state.withLock { $0.elements.count } }

    private func letGo(over: Bool) {
        let taker = state.withLock { state in
            defer { state.taker = nil }
            if over { state.isOver = true }
            return state.taker
        }
        taker?.resume(returning: nil)
    }
}

/// A clock that stands until the test turns it.
final class HandClock: Sendable {
    private struct State {
        var now = Duration.zero
        var sleepers: [Int: (until: Duration, CheckedContinuation<Void, any Error>)] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let executor: SimulationExecutor?
    private static let start: Int64 = 1_795_000_000_000

    /// - Parameter executor: Runs everybody who waits for this clock; nil: they run anywhere, and nobody knows when they have.
    init(_ executor: SimulationExecutor? = nil) { self.executor = executor }

    var clock: RelayClock {
        RelayClock(
            elapsed: { self.state.withLock { $0.now } },
            wallMilliseconds: { Self.start + self.state.withLock { $0.now.components.seconds } * 1000 },
            sleep: { try await self.sleep($0) },
            random: { UInt64.random(in: .min ... .max) }
        )
    }

    /// The same for a relay.
    var sandbox: SandboxClock {
        SandboxClock(
            now: { WallTime(millisecondsSince1970: Self.start).advanced(by: self.state.withLock { $0.now }) },
            sleep: { try await self.sleep($0) }
        )
    }

    var sleepers: [Duration] { state.withLock { state in state.sleepers.values.map { $0.until - state.now }.sorted() } }

    /// Lets time pass second by second, and before each of them everybody run until they wait. With an executor, to be called by
    /// one of its tasks.
    func advance(_ duration: Duration, step: Duration = .seconds(1)) async {
        await settle()
        var left = duration
        while left > .zero {
            let part = min(step, left)
            left -= part
            let due = state.withLock { state in
                state.now += part
                let due = state.sleepers.filter { $0.value.until <= state.now }
                for key in due.keys { state.sleepers[key] = nil }
                return due.values.map(\.1)
            }
            for sleeper in due { sleeper.resume() }
            await settle()
        }
    }

    private func settle() async {
        if let executor { return await executor.untilCalm() }
        for _ in 0..<200 { await Task.yield() }
    }

    private func sleep(_ duration: Duration) async throws {
        let key = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isOver = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.sleepers[key] = (state.now + duration, continuation)
                    return false
                }
                if isOver { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: key) }?.1.resume(throwing: CancellationError())
        }
    }
}

/// Asks until it is so; the test's time limit ends what never comes.
func until(_ isSo: () async throws -> Bool) async throws {
    while try await !isSo() {
        try Task.checkCancellation()
        try await Task.sleep(for: .milliseconds(2))
    }
}

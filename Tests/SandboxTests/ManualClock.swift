import Locks
import Payments
import Sandbox

/// A clock that stands until the test turns it.
final class ManualClock: Sendable {
    private struct Sleeper {
        let until: WallTime
        let awaken: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = WallTime(millisecondsSince1970: 1_789_586_833_440)
        var sleepers: [Int: Sleeper] = [:]
        var count = 0
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    var clock: SandboxClock {
        SandboxClock(now: { self.state.withLock { $0.now } }, sleep: { try await self.sleep($0) })
    }

    /// How many sleep.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.awaken)
        }
        for sleeper in due { sleeper.resume() }
    }

    private func sleep(_ duration: Duration) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ended: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    let until = state.now.advanced(by: duration)
                    guard until > state.now else { return .success(()) }
                    state.sleepers[number] = Sleeper(until: until, awaken: continuation)
                    return nil
                }
                if let ended { continuation.resume(with: ended) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.awaken.resume(throwing: CancellationError())
        }
    }
}

import Locks

/// Tells tasks that something changed, without losing a change between looking and waiting.
final class Changes: Sendable {
    private struct State {
        var version: UInt64 = 0
        var nextID: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    var version: UInt64 { state.withLock { $0.version } }

    func bump() {
        let waiting = state.withLock { state in
            state.version += 1
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume() }
    }

    /// Returns at the first change after `version`, at once if there was one, and when the task is cancelled.
    func wait(after version: UInt64) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.version == version, !Task.isCancelled else { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }

    /// The same, and no longer than `limit`, if there is one.
    func wait(after version: UInt64, atMost limit: Duration?, clock: any Clock<Duration>) async {
        guard let limit else { return await wait(after: version) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(after: version) }
            group.addTask { try? await clock.sleep(for: limit, tolerance: nil) }  // Throws only when cancelled.
            await group.next()
            group.cancelAll()
        }
    }
}

/// Runs `operation` for at most `limit` and then cancels it. It must end soon when cancelled.
func within<Result: Sendable>(
    _ limit: Duration,
    clock: any Clock<Duration>,
    stage: BluetoothError.Stage,
    _ operation: @escaping @Sendable () async throws(BluetoothError) -> Result
) async throws(BluetoothError) -> Result {
    let result = await withTaskGroup(of: Swift.Result<Result, BluetoothError>?.self) { group in
        group.addTask {
            do throws(BluetoothError) { return .success(try await operation()) } catch { return .failure(error) }
        }
        group.addTask {
            do {
                try await clock.sleep(for: limit, tolerance: nil)
                return .failure(.tooSlow(stage, after: limit))
            } catch {
                return nil  // Cancelled: by the operation's end, or from outside, which the operation tells.
            }
        }
        var first: Swift.Result<Result, BluetoothError>?
        for await answer in group where first == nil {
            first = answer
            if first != nil { group.cancelAll() }
        }
        return first
    }
    guard let result else { throw .cancelled }
    return try result.get()
}

/// Lets one task at a time through, in the order in which they came.
final class Turnstile: Sendable {
    private struct State {
        var isTaken = false
        var nextID: UInt64 = 0
        var queue: [(id: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    /// Follow it with ``leave()``, unless it throws.
    func enter() async throws(BluetoothError) {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isIn = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    guard state.isTaken else {
                        state.isTaken = true
                        return true
                    }
                    state.queue.append((id, continuation))
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            let left = state.withLock { state in
                state.queue.firstIndex { $0.id == id }.map { state.queue.remove(at: $0).continuation }
            }
            left?.resume(returning: false)
        }
        guard isIn else { throw .cancelled }
    }

    /// Whether nobody is in or waits; follow it with ``leave()`` then.
    func enterAtOnce() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.queue.isEmpty else { return state.queue.removeFirst().continuation }
            state.isTaken = false
            return nil
        }
        next?.resume(returning: true)
    }
}

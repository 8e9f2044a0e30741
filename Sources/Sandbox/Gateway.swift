import Payments

/// A running sandbox gateway: one state, the clock that moves it, and the clients who wait for it.
public actor Gateway {
    private var state: GatewayState
    private let clock: SandboxClock
    private var held: [GatewayState.Waiter: CheckedContinuation<GatewayAnswer?, Never>] = [:]
    /// What ``run()`` is to do.
    private enum Errand {
        case ring(at: WallTime)
        case abandon(GatewayState.Waiter)
    }

    private var hasStopped = false
    private let errands = AsyncStream.makeStream(of: Errand.self)
    /// The earliest moment that ``run()`` is going to wake up at.
    private var armed: WallTime?
    private let file: StateFile?
    /// Records on their way to the file.
    private var unwritten: [String] = []
    private var isWriting = false
    private var writeFailure: StateFileError?
    private var waitingForDisk: [CheckedContinuation<Void, Never>] = []

    /// - Parameter file: Where records go before anyone is answered; see ``remembering(_:in:clock:)``.
    public init(_ state: GatewayState, clock: SandboxClock, file: StateFile? = nil) {
        (self.state, self.clock, self.file) = (state, clock, file)
    }

    /// A gateway that goes on where the one before it stopped, at whatever point that was.
    /// - Returns: The gateway, and how many bytes of an unfinished last line were dropped.
    /// - Throws: Why the file cannot be used; the gateway must not start then.
    public static func remembering(
        _ configuration: GatewayConfiguration,
        in path: String,
        clock: SandboxClock
    ) throws(StateFileError) -> (gateway: Gateway, tornBytes: Int) {
        let (file, content) = try StateFile.open(path)
        var state = GatewayState(configuration: configuration)
        do throws(StateFileError) {
            try state.replay(content.lines)
        } catch {
            throw StateFileError(description: "\(path): \(error.description)")
        }
        state.beginRecording(configuration, at: clock.now())
        return (Gateway(state, clock: clock, file: file), content.tornBytes)
    }

    /// Lets payments expire and settle, and ends long polls, each at its moment. Runs until the task is cancelled.
    /// - Throws: When the state file cannot be written any more.
    public func run() async throws(StateFileError) {
        settleUp()  // What a file brought back may be due already.
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for await errand in errands.stream {
                    switch errand {
                    case .ring(let due): group.addTask { await self.ring(at: due) }
                    case .abandon(let waiter): abandon(waiter)
                    }
                }
                group.cancelAll()
            }
        } onCancel: {
            errands.continuation.finish()
        }
        for (waiter, client) in held {
            state.abandon(waiter)
            client.resume(returning: nil)
        }
        held = [:]
        hasStopped = true
        if let writeFailure { throw writeFailure }
    }

    /// Answers one request; ``run()`` is to run beside it. Nil when a fault drops the answer, or the gateway stops before there is one.
    public func answer(_ request: GatewayRequest) async -> GatewayAnswer? {
        if let answer = state.control(request, at: now) {
            settleUp()
            return await isOnDisk() ? answer : GatewayState.failure(500)
        }
        guard let handling = state.receive(request, at: now) else { return GatewayAnswer(.routeNotFound) }
        let answer = await worked(request, handling)
        state.finish(handling, answer)
        return answer
    }

    /// How many questions are held open now.
    public var openPolls: Int { held.count }

    private func worked(_ request: GatewayRequest, _ handling: GatewayState.Handling) async -> GatewayAnswer? {
        for effect in handling.effects(.before) {
            switch effect {
            case .delay(let milliseconds): await pause(milliseconds)
            case .drop: return nil
            case .failure(let status): return GatewayState.failure(status)
            case .refuse(let code): return GatewayAnswer(GatewayState.refusal(code))
            default: break
            }
        }
        let reply = state.perform(request, handling, at: now)
        settleUp()
        let answer: GatewayAnswer
        switch reply {
        case .answer(let known): answer = known
        case .hold(let waiter):
            // Before anything else is awaited: the answer may become known meanwhile, and must find who waits for it.
            guard let later = await wait(for: waiter) else { return nil }
            answer = later
        }
        // Also where the call only looked: what it saw may be on its way to the disk.
        guard await isOnDisk() else { return GatewayState.failure(500) }
        for case .delay(let milliseconds) in handling.effects(.after) { await pause(milliseconds) }
        return state.spoiled(answer, handling)
    }

    private var now: WallTime { clock.now().advanced(by: .seconds(state.skewSeconds)) }

    private func pause(_ milliseconds: Int) async {
        // Throws when the client's task is cancelled: answer at once.
        try? await clock.sleep(.milliseconds(milliseconds))
    }

    private func wait(for waiter: GatewayState.Waiter) async -> GatewayAnswer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { client in
                if Task.isCancelled || hasStopped {
                    state.abandon(waiter)
                    client.resume(returning: nil)
                } else {
                    held[waiter] = client
                }
            }
        } onCancel: {
            errands.continuation.yield(.abandon(waiter))
        }
    }

    private func abandon(_ waiter: GatewayState.Waiter) {
        state.abandon(waiter)
        held.removeValue(forKey: waiter)?.resume(returning: nil)
    }

    /// Hands out answers that became known, and makes sure that ``run()`` wakes up for what is due next.
    private func settleUp() {
        for (waiter, answer) in state.takeWakes() { held.removeValue(forKey: waiter)?.resume(returning: answer) }
        guard let due = state.nextDue else { return }
        if let armed, armed <= due { return }
        armed = due
        errands.continuation.yield(.ring(at: due))
    }

    private func ring(at due: WallTime) async {
        let wait = now.duration(to: due)
        if wait > .zero { try? await clock.sleep(wait) }
        guard !Task.isCancelled else { return }
        if armed == due { armed = nil }
        state.advance(to: now)
        settleUp()
    }

    /// Waits until everything that happened so far is in the file. Calls that come together share one flush.
    private func isOnDisk() async -> Bool {
        guard let file else { return true }
        unwritten += state.takeRecords()
        while !unwritten.isEmpty || isWriting, writeFailure == nil {
            if isWriting {
                let isOfThisBatch = unwritten.isEmpty
                await withCheckedContinuation { waitingForDisk.append($0) }
                if isOfThisBatch { break }
                continue
            }
            isWriting = true
            let batch = unwritten
            unwritten = []
            do throws(StateFileError) {
                try await file.append(batch)
            } catch {
                writeFailure = error
                errands.continuation.finish()
            }
            isWriting = false
            let waiting = waitingForDisk
            waitingForDisk = []
            for client in waiting { client.resume() }
        }
        return writeFailure == nil
    }
}

import Payments

/// A running sandbox gateway: one state, the clock that moves it, and the clients who wait for it.
public actor Gateway {
    private var state: GatewayState
    private let clock: SandboxClock
    private var held: [GatewayState.Waiter: CheckedContinuation<GatewayAnswer?, Never>] = [:]
    private let alarms: AsyncStream<WallTime>
    private let alarm: AsyncStream<WallTime>.Continuation
    /// The earliest moment that ``run()`` is going to wake up at.
    private var armed: WallTime?

    public init(_ state: GatewayState, clock: SandboxClock) {
        (self.state, self.clock) = (state, clock)
        (alarms, alarm) = AsyncStream.makeStream(of: WallTime.self)
    }

    /// Lets payments expire and settle, and ends long polls, each at its moment. Runs until the task is cancelled.
    public func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for await due in alarms {
                    group.addTask { await self.ring(at: due) }
                }
                group.cancelAll()
            }
        } onCancel: {
            alarm.finish()
        }
        for (waiter, client) in held {
            state.abandon(waiter)
            client.resume(returning: nil)
        }
        held = [:]
    }

    /// Answers one request. Nil when a fault drops the answer, or the gateway stops before there is one.
    public func answer(_ request: GatewayRequest) async -> GatewayAnswer? {
        if let answer = state.control(request, at: now) {
            settleUp()
            return answer
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
            guard let later = await wait(for: waiter) else { return nil }
            answer = later
        }
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
                if Task.isCancelled {
                    state.abandon(waiter)
                    client.resume(returning: nil)
                } else {
                    held[waiter] = client
                }
            }
        } onCancel: {
            Task { await abandon(waiter) }  // Ends by itself at once: it only takes the client off the list.
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
        alarm.yield(due)
    }

    private func ring(at due: WallTime) async {
        let wait = now.duration(to: due)
        if wait > .zero { try? await clock.sleep(wait) }
        guard !Task.isCancelled else { return }
        if armed == due { armed = nil }
        state.advance(to: now)
        settleUp()
    }
}

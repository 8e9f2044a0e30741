import Payments
import WalletConnectPay

/// How fast a comparison asks. Customers come first: the gateway limits calls, and a limit that a comparison used up would
/// stop the next charge.
extension DayDesk {
    /// One call, again after silence, in its turn and within the pace that the gateway asks for.
    func paced<Value: Sendable>(
        _ gateway: String,
        _ call: @Sendable () async throws(MerchantError) -> Value
    ) async throws(MerchantError) -> Value {
        let pace = settings.pace
        var failures = 0
        while true {
            guard await waitsForTurn(), await pace.waits(for: gateway, upTo: Self.patience, inBulk: true) else {
                throw .rateLimited(retryAfter: await pace.remainingInBulk(gateway))
            }
            let failure: MerchantError
            do throws(MerchantError) { return try await call() } catch { failure = error }
            failures += 1
            if case .rateLimited(let pause?) = failure { await pace.pause(gateway, for: pause) }
            guard let pause = policy.pause(after: failure, failures: failures, spread: .random(in: 0...1)) else {
                throw failure
            }
            do { try await clock.sleep(pause) } catch { throw failure }  // The terminal stops.
        }
    }

    /// Waits while a charge holds the terminal, and for the space between two calls.
    /// - Returns: False where the terminal stops.
    func waitsForTurn() async -> Bool {
        var waited = Duration.zero
        do {
            while await terminalIsHeld, waited < Self.longestSuspension {
                try await clock.sleep(.seconds(1))
                waited += .seconds(1)
            }
            let left = lastCall.map { $0 + Self.spacing - clock.elapsed() } ?? .zero
            if left > .zero { try await clock.sleep(left) }
        } catch { return false }
        lastCall = clock.elapsed()
        return !Task.isCancelled
    }

    private var terminalIsHeld: Bool {
        get async {
            if case .charging(let shown) = await desk.snapshot.phase { shown.charge.holdsTerminal } else { false }
        }
    }
}

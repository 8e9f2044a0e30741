/// The pauses that gateways have asked for, one for all who ask the same gateway: rails, watches, comparisons.
///
/// Source: RFC 9110, section 10.2.3, `Retry-After`; WalletConnect Pay API 2026-02-19.preview, HTTP 429.
public actor GatewayPace {
    private let clock: TerminalClock
    /// On the clock's `elapsed`, by the gateway's address.
    private var quietUntil: [String: Duration] = [:]

    public init(clock: TerminalClock) { self.clock = clock }

    /// Takes a gateway's word that it wants to be left alone. A shorter pause never ends a longer one.
    public func pause(_ gateway: String, for duration: Duration) {
        let until = clock.elapsed() + duration
        quietUntil[gateway] = max(until, quietUntil[gateway] ?? until)
    }

    /// How long the gateway still wants to be left alone; zero where it may be asked.
    public func remaining(_ gateway: String) -> Duration {
        guard let until = quietUntil[gateway] else { return .zero }
        let left = until - clock.elapsed()
        if left <= .zero { quietUntil[gateway] = nil }
        return max(.zero, left)
    }

    /// Waits for the end of a pause, where it comes within `limit`.
    /// - Returns: Whether the gateway may be asked now; false also where the task was cancelled.
    func waits(for gateway: String, upTo limit: Duration) async -> Bool {
        var waited = Duration.zero
        while true {
            let left = remaining(gateway)
            guard left > .zero else { return !Task.isCancelled }
            guard waited + left <= limit else { return false }
            waited += left
            do { try await clock.sleep(left) } catch { return false }
        }
    }
}

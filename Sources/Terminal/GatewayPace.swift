import WalletConnectPay

/// The pauses that gateways have asked for, one for all who ask the same gateway: rails, watches, comparisons.
///
/// | who asks | how long a pause is kept |
/// |---|---|
/// | a charge, a watch | ``longest`` at most: a customer may have paid, and has five minutes |
/// | a comparison of days | as long as the gateway said |
///
/// Decided in docs/decisions/0034-one-gateway-one-value.md.
/// Source: RFC 9110, section 10.2.3, `Retry-After`; WalletConnect Pay API 2026-02-19.preview, HTTP 429.
public actor GatewayPace {
    /// The longest that an open payment is not asked about because its gateway wants to be left alone.
    public static let longest = Duration.seconds(60)

    private struct Pause {
        /// For charges and watches, on the clock's `elapsed`.
        var short: Duration
        /// As the gateway said.
        var whole: Duration
    }

    private let clock: TerminalClock
    /// By the gateway's address in its canonical form.
    private var pauses: [String: Pause] = [:]

    public init(clock: TerminalClock) { self.clock = clock }

    /// Takes a gateway's word that it wants to be left alone. A shorter pause never ends a longer one.
    public func pause(_ gateway: String, for duration: Duration) {
        let now = clock.elapsed()
        let known = pauses[Self.key(gateway)]
        pauses[Self.key(gateway)] = Pause(
            short: max(now + min(duration, Self.longest), known?.short ?? .zero),
            whole: max(now + duration, known?.whole ?? .zero)
        )
    }

    /// How long the gateway is still left alone by charges; zero where it may be asked.
    public func remaining(_ gateway: String) -> Duration { remaining(gateway, \.short) }

    /// How long it is still left alone by who asks in bulk.
    func remainingInBulk(_ gateway: String) -> Duration { remaining(gateway, \.whole) }

    private func remaining(_ gateway: String, _ end: KeyPath<Pause, Duration>) -> Duration {
        guard let pause = pauses[Self.key(gateway)] else { return .zero }
        let now = clock.elapsed()
        if pause.whole <= now { pauses[Self.key(gateway)] = nil }
        return max(.zero, pause[keyPath: end] - now)
    }

    /// Waits for the end of a pause, where it comes within `limit`.
    /// - Parameter inBulk: Whether the whole pause counts.
    /// - Returns: Whether the gateway may be asked now; false also where the task was cancelled.
    func waits(for gateway: String, upTo limit: Duration, inBulk: Bool = false) async -> Bool {
        var waited = Duration.zero
        while true {
            let left = inBulk ? remainingInBulk(gateway) : remaining(gateway)
            guard left > .zero else { return !Task.isCancelled }
            guard waited + left <= limit else { return false }
            waited += left
            do { try await clock.sleep(left) } catch { return false }
        }
    }

    /// One gateway is one, however its address is written.
    private static func key(_ gateway: String) -> String { GatewayAddress(gateway)?.text ?? gateway }
}

import Console
import Locks
import Payments
import Terminal
import WalletConnectPay

/// Carries requests out, and notes how far the other side's clock is from this machine's. Where the other side's certificate is
/// not believed and nobody has set this machine's clock, it is the clock that is said to be at fault.
final class DatedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let now: @Sendable () -> WallTime
    private let clockIsSet: @Sendable () -> Bool
    private let elapsed: @Sendable () -> Duration
    private let last = Mutex<(offset: MachineView.Offset, elapsed: Duration)?>(nil)

    /// - Parameters:
    ///   - clockIsSet: Whether certificates may be judged by this machine's clock.
    ///   - elapsed: Monotonic time, by which a clock that somebody sets is seen to jump.
    init(
        _ transport: any HTTPTransport,
        clockIsSet: @escaping @Sendable () -> Bool = { true },
        elapsed: @escaping @Sendable () -> Duration = TerminalClock.system.elapsed,
        now: @escaping @Sendable () -> WallTime
    ) {
        (self.transport, self.clockIsSet, self.now, self.elapsed) = (transport, clockIsSet, now, elapsed)
    }

    /// By the last answer that said a time; nil before one came.
    var offset: MachineView.Offset? { last.withLock { $0?.offset } }

    /// How far the other side's clock is ahead of this machine's now; nil where nobody knows. A clock that was set since the
    /// last answer is off by as much less.
    var ahead: Duration? {
        guard let last = last.withLock({ $0 }) else { return nil }
        let age = elapsed() - last.elapsed
        let jump = age - last.offset.at.duration(to: now())
        let offset = Duration.milliseconds(last.offset.milliseconds)
        if (Duration.seconds(-5)...Duration.seconds(5)).contains(jump) { return offset }
        // Over days two clocks that nobody set drift apart by as much.
        return age < .seconds(86_400) ? offset + jump : nil
    }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let sent = now()
        let response: HTTPResponse
        do throws(TransportError) { response = try await transport.send(request) } catch {
            guard error == .untrustedCertificate, !clockIsSet() else { throw error }
            throw .notSent(reason: GatewayLight.clockIsNotSet)
        }
        let received = now()
        // An answer that took long says little of the time: its date was written somewhere in between.
        let took = sent.duration(to: received)
        if (.zero...Duration.seconds(2)).contains(took), let date = response.header("Date").flatMap(HTTPDate.init) {
            let middle = (sent.millisecondsSince1970 + received.millisecondsSince1970) / 2
            let offset = MachineView.Offset(milliseconds: date.seconds * 1000 + 500 - middle, at: received)
            let elapsed = elapsed()
            last.withLock { $0 = (offset, elapsed) }
        }
        return response
    }
}

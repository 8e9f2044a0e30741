import Payments

/// Tells whoever watches over the program that charges can be taken, again and again, for as long as that is so.
///
/// A beat goes the way of every charge: through the desk's own turn, behind whatever is being recorded, and to the journal. Where one
/// of them hangs no beat comes. A journal that refuses is none of it: the screen says so, and a restart would mend nothing.
public struct Heartbeat: Sendable {
    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let pause: Duration

    /// - Parameter watchdog: Within this time somebody expects a beat. Three are sent in it.
    public init(_ desk: ChargeDesk, watchdog: Duration, clock: TerminalClock) {
        (self.desk, self.clock, pause) = (desk, clock, watchdog / 3)
    }

    /// Beats until cancelled.
    public func run(_ beat: @Sendable () async -> Void) async {
        while !Task.isCancelled {
            await desk.turnOnce()
            await beat()
            do { try await clock.sleep(pause) } catch { return }
        }
    }
}

extension ChargeDesk {
    /// Waits its turn as a charge does and as its events do, and for an answer of the journal, whatever it is.
    func turnOnce() async {
        await turn.enter()
        defer { turn.leave() }
        await writing.enter()
        writing.leave()
        var generator = SystemRandomNumberGenerator()
        _ = try? await archive.record(of: ChargeID(at: clock.wallTime(), using: &generator))
    }
}

extension TerminalSnapshot {
    /// What the terminal does, in one line for the operator of the machine. No amounts, no names.
    public var summary: String {
        switch phase {
        case .starting: "starting: asks how earlier payments ended"
        case .unclaimed: "waits for its owner: the claim code is on the screen"
        case .resetting: "waits for a new password: the code is on the screen"
        case .setup: "waits for the merchant's settings"
        case .idle: "ready to charge"
        case .charging(let charge): "charge \(charge.charge.terms.code.rawValue): \(charge.charge.state.rawValue)"
        }
    }
}

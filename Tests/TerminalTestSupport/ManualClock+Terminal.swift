public import Terminal
public import TestSupport

extension ManualClock {
    /// The same clock as the terminal takes it.
    public var terminalClock: TerminalClock {
        TerminalClock(elapsed: { self.now }, sleep: { try await self.sleep(for: $0) }, wallTime: { self.wallTime() })
    }
}

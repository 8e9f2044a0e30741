public import Payments

/// Looks whether the journal answers. A storage that hangs neither takes a write nor refuses it, and what a customer pays meanwhile
/// is not recorded.
public struct StallWatch: Sendable {
    /// A write without an answer for so long counts as one that storage does not take. A slow SD card may hold one for seconds.
    public static let patience = Duration.seconds(5)

    /// The fault that a storage counts as having while it hangs.
    public static let fault = JournalError.unavailable(detail: "a write has had no answer for seconds")

    private let desk: ChargeDesk
    private let clock: TerminalClock
    private let stalledFor: @Sendable () -> Duration?

    /// - Parameter stalledFor: For how long the oldest write has had no answer; nil where none is under way.
    public init(_ desk: ChargeDesk, clock: TerminalClock, stalledFor: @escaping @Sendable () -> Duration?) {
        (self.desk, self.clock, self.stalledFor) = (desk, clock, stalledFor)
    }

    /// Looks each second until cancelled.
    public func run() async {
        while true {
            do { try await clock.sleep(.seconds(1)) } catch { return }  // The terminal stops.
            if let stall = stalledFor(), stall >= Self.patience { await desk.noteStall() }
        }
    }
}

extension ChargeDesk {
    /// Whether the storage hangs: what is asked now would wait for it.
    var isStalled: Bool { fault == StallWatch.fault }

    /// Notes that the journal does not answer. The next write that is recorded takes it back.
    func noteStall() {
        guard fault == nil else { return }
        note(StallWatch.fault)
    }
}

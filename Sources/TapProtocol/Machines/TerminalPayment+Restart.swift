extension TerminalPayment {
    /// A payment as its journal tells it: the records since it was made, in their order.
    public init(expiresAtMilliseconds: Int, replaying records: some Sequence<Record>) {
        self.init(expiresAtMilliseconds: expiresAtMilliseconds)
        for record in records { apply(record) }
    }

    /// What the first thing after a power cut is. Source: BPP/1, section 15.
    mutating func restarted(_ now: Int, _ mayResume: Bool) -> [Action] {
        switch state {
        case .open:
            if mayResume, now < expiresAtMilliseconds { return [.startScanning] }
            return expireAfterRestart()
        // The claim may have left, and the phone may have executed: only the gateway knows.
        case .claimed, .executing: return becomeUnknownAfterRestart()
        case .unknown: return [.tellStaffUnknown, .askGateway] + (winner.map { [.recover($0.link)] } ?? [])
        case .done(.acceptedOffline): return [.queueForSync]
        case .done: return []
        }
    }
}

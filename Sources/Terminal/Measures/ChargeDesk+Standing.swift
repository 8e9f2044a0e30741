import Payments

/// How many payments wait for somebody's word.
public struct Standing: Sendable, Equatable {
    /// With an attempt that no authority has ended.
    public let open: Int
    /// Of those, the ones nobody could say anything about.
    public let unknown: Int
    /// Of those, the ones a phone has promised while nobody could be asked.
    public let promised: Int
}

extension ChargeDesk {
    public var standing: Standing {
        let open = charges.values.filter { $0.attempts.contains(where: \.isOpen) }
        return Standing(
            open: open.count,
            unknown: open.count { $0.state == .unknown },
            promised: open.count(where: \.isPromised)
        )
    }
}

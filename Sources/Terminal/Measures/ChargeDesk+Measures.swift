import Payments

/// What the terminal counts and how it stands, for whoever watches it from outside.
public struct Measures: Sendable {
    public let meter: ChargeMeter
    public let gateway: GatewayLight
    public let tap: TapStatus
    public let connect: ConnectStatus
    /// Charges at the desk with an attempt that no authority has ended.
    public let openCharges: Int
    /// Payments that staff have still to see.
    public let notices: Int
    /// Whether the terminal cannot record.
    public let isInTrouble: Bool
}

extension ChargeDesk {
    public var measures: Measures {
        Measures(
            meter: meter,
            gateway: gateway,
            tap: tap,
            connect: connect,
            openCharges: charges.values.count { $0.attempts.contains(where: \.isOpen) },
            notices: notices.count,
            isInTrouble: fault != nil
        )
    }
}

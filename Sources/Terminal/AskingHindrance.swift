import FoundationEssentials
public import Payments

/// The cause of a silence about an open payment, where the terminal knows it.
///
/// Held in memory only: the journal records the silence.
public enum AskingHindrance: Sendable, Hashable {
    /// The gateway asked to be left alone, and is asked again then.
    case paused(until: WallTime)
    /// The payment was made at another gateway or for another merchant, whose key the terminal does not have any more.
    case elsewhere
    /// The gateway does not accept the terminal's key or merchant ID.
    case refused
    /// The terminal's clock was set while nothing of the charge had left. Its time is over by the new time.
    case overdue
}

extension AskingHindrance {
    /// The reason in words for a cashier: what happened, what it means for the money, what to do.
    /// - Parameters:
    ///   - mayBePaid: Whether the customer could have paid: something payable was made.
    ///   - zone: In which the time of day is written.
    func reason(mayBePaid: Bool, zone: TimeZone) -> Reason {
        let made = mayBePaid ? "made" : "unmade"
        let holdOn = "Do not charge again before the terminal says how it ended."
        let anotherWay = "Wait, or cancel and take the payment another way."
        switch self {
        case .paused(let until):
            let time = until.timeOfDay(in: zone)
            return Reason(
                code: "gateway_paused",
                message: mayBePaid
                    ? "The gateway asks the terminal to wait until \(time). Whether this was paid is not known before then."
                    : "The gateway asks the terminal to wait until \(time). The customer was shown nothing to pay yet.",
                action: mayBePaid ? "Wait until then. \(holdOn)" : anotherWay,
                values: ["case": made, "time": time]
            )
        case .elsewhere:
            return Reason(
                code: "gateway_elsewhere",
                message: mayBePaid
                    ? "This charge was opened at another gateway or for another merchant than the settings name now, "
                        + "and the terminal has no key for it. Money may have moved."
                    : "This charge was opened at another gateway or for another merchant than the settings name now, "
                        + "and the terminal has no key for it.",
                action: "Do not charge again. Check the payment at that gateway, or ask the owner to set it again.",
                values: ["case": made]
            )
        case .refused:
            return Reason(
                code: "gateway_refuses_key",
                message: mayBePaid
                    ? "The gateway does not accept this terminal’s key or merchant ID, and does not say whether this was paid."
                    : "The gateway does not accept this terminal’s key or merchant ID. "
                        + "The customer was shown nothing to pay yet.",
                action: mayBePaid
                    ? "Ask the owner to check both in the settings. \(holdOn)"
                    : "Ask the owner to check both in the settings, or cancel and take the payment another way.",
                values: ["case": made]
            )
        case .overdue:
            return Reason(
                code: "charge_overdue",
                message:
                    "The terminal’s clock was set after this charge was opened, and its time is over. No payment was made.",
                action: "Cancel it, then charge again."
            )
        }
    }
}

extension WallTime {
    /// Hours and minutes, such as `14:05`. A minute that has begun counts as over: nobody comes too early by it.
    func timeOfDay(in zone: TimeZone) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let minutes = (millisecondsSince1970 + 59_999) / 60_000
        let parts = calendar.dateComponents([.hour, .minute], from: Date(timeIntervalSince1970: Double(minutes) * 60))
        func digits(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
        return "\(digits(parts.hour)):\(digits(parts.minute))"
    }
}

extension Reason {
    /// Words for ``GatewayLight/paused(until:)``: what it means for the next charge, and what to do.
    static func gatewayPaused(until time: String) -> Reason {
        Reason(
            code: "gateway_paused",
            message: "The gateway asks the terminal to wait until \(time). A charge is sent only then.",
            action: "Wait until then, or take the payment another way.",
            values: ["case": "terminal", "time": time]
        )
    }
}

extension Reason {
    /// A refund that was asked for, of a payment that was made where the terminal cannot ask any more.
    fileprivate static let refundElsewhere = Reason(
        code: "gateway_elsewhere",
        message:
            "The customer paid, and a refund is written down here. The payment was made at another gateway or for another "
            + "merchant than the settings name now, and the terminal has no key to mark it there.",
        action: "Do not give the money back a second time. Mark it at that gateway, or ask the owner to set it again.",
        values: ["case": "refund"]
    )
}

extension ChargeDesk {
    /// The zone that times of day are written in for staff: the shop's, else the machine's.
    var shopZone: TimeZone { settings?.zone ?? .current }
}

extension TerminalSnapshot {
    /// The reason for staff and programs while the gateway asks to wait; nil while it may be asked.
    public var gatewayPause: Reason? {
        guard case .paused(let until) = gateway else { return nil }
        return .gatewayPaused(until: until.timeOfDay(in: zone))
    }
}

extension ChargeSnapshot {
    /// Words for the state; nil while all goes its way. Where the terminal knows why nobody answers, it says that.
    public var reason: Reason? {
        if let unrecorded = recording.reason { return unrecorded }
        let reason = charge.reason(format: format)
        guard let hindrance, let reason else { return reason }
        switch (reason.code, reason.values["case"]) {
        // A phone's payment is the acquirer's to know.
        case ("gateway_silent", _), ("not_known_yet", "gateway"):
            return hindrance.reason(mayBePaid: charge.mayHaveBeenPaid, zone: zone)
        case ("refund_unconfirmed", _) where hindrance == .elsewhere: return .refundElsewhere
        default: return reason
        }
    }
}

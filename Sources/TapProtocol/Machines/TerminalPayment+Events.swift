/// One session with one phone, by a name that the driver gives it and keeps when the phone reconnects within its
/// advertising session.
public struct LinkID: Sendable, Hashable, Comparable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension TerminalPayment.State {
    public var isFinal: Bool { if case .done = self { true } else { false } }
}

extension TerminalPayment {
    /// What the checks of an accept said.
    public enum AcceptVerdict: Sendable, Hashable {
        case valid(ObjectHash, PaymentClaim.Mode, isTerminalOnline: Bool)
        /// The winner's own accept again is no fault, although a check fails by now: the payment is closed.
        case invalid(ObjectHash, TapErrorCode)

        var acceptHash: ObjectHash {
            switch self {
            case .valid(let hash, _, _), .invalid(let hash, _): hash
            }
        }
    }

    /// Who brought a receipt that has passed its check.
    public enum ReceiptSource: Sendable, Hashable {
        case gateway
        case phone(LinkID)

        var link: LinkID? {
            switch self {
            case .gateway: nil
            case .phone(let link): link
            }
        }
    }

    public enum Event: Sendable, Hashable {
        /// The handshake with a phone can be answered.
        case linkReady(LinkID)
        /// RECEIVED or KEEPALIVE.
        case phoneSpoke(LinkID)
        case accept(LinkID, AcceptVerdict)
        case cancelledByPayer(LinkID)
        /// The merchant wants to cancel.
        case cancelRequested
        case clock(nowMilliseconds: Int)
        /// The gateway has the bundle.
        case submitted
        /// A receipt that has passed its check.
        case receipt(ReceiptSource, PaymentStatus, nowMilliseconds: Int)
        /// A RESULT without a receipt, or with one that did not pass.
        case receiptRefused(LinkID)
        /// The time to execute is over.
        case executionOverdue
        /// The gateway confirms that the payment is void.
        case voidConfirmed
        /// Another way to pay has won the charge.
        case closedByRail
        /// An ERROR. One that ends nothing leaves the link as it is; any other ends what the phone has to say on it.
        case errorFromPhone(LinkID, TapErrorCode)
        /// BYE, a control code, or the link's end.
        case linkLost(LinkID)
        case ping(LinkID)
        case unknownType(LinkID)
        /// A known message in a wrong state.
        case unexpected(LinkID)
        /// The terminal has started again, and this value was read back from its journal.
        case restarted(nowMilliseconds: Int, mayResume: Bool)
    }

    /// What a journal must hold to build this value again.
    public enum Record: Sendable, Hashable {
        case claimed(Winner)
        /// Claim and end in one: nothing more is to come until the gateway is told.
        case acceptedOffline(Winner)
        case reopened(attempt: Int)
        case unknown
        case done(Outcome)
    }

    public enum Action: Sendable, Hashable {
        /// On disk before the actions that follow.
        case journal(Record)
        case offer(LinkID)
        /// Somebody is looking at the request.
        case note(LinkID)
        case claim(LinkID)
        case hold(LinkID)
        case holdOthers(than: LinkID)
        case otherPaidTo(LinkID)
        /// To all links but one; nil for all.
        case otherPaid(except: LinkID?)
        case reopenAll(attempt: Int)
        case reopen(LinkID, attempt: Int)
        case cancel(LinkID, TerminalCancelReason)
        case cancelAll(TerminalCancelReason)
        case cancelOthers(than: LinkID?, TerminalCancelReason)
        /// RESULT, with the receipt where there is one.
        case result(LinkID, PaymentStatus)
        case acknowledge(LinkID)
        case refuse(LinkID, TapErrorCode)
        case pong(LinkID)
        case close(LinkID)
        /// Look for the winner again: for a minute, and for as long as the acquirer would take the bundle while the payment is
        /// not over.
        case recover(LinkID)
        case startScanning, stopScanning
        /// Send the bundle to the gateway: again after 1, 2 and 4 seconds.
        case submit
        case awaitResult(LinkID)
        case queueForSync
        /// Ask how the payment stands; where it is unknown there, submit the bundle within its time, else void it.
        case askGateway
        /// "Unknown: do not hand over."
        case tellStaffUnknown
        /// A closed payment turned out to be paid: show it, and give the money back or the goods out.
        case tellStaffPaidAfterEnd
        /// "Already accepted": offer a void after the result.
        case refuseCancel
    }
}

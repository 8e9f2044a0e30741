import Payments

/// A scenario of one charge: what the people at the counter, in front of it and in the office behind it do.
enum ChargeScenario: String, CaseIterable, Sendable {
    /// The customer pays.
    case paid
    /// The customer pays, and the transfer takes its time.
    case slow
    /// The customer is asked who they are before they can pay.
    case identified
    /// The customer's wallet is not ours; they look at the payment and decline it.
    case declined
    /// Nobody pays.
    case left
    /// The cashier takes the charge back.
    case cancelled
    /// The cashier takes it back while the customer pays.
    case both
    /// The cashier goes on as soon as the terminal lets them; the customer pays.
    case released
    /// The customer pays. The office looks at the payment, marks it as given back and looks it up in the partner's list.
    case refunded
    /// The partner's office works on its merchants while the customer pays.
    case administered

    /// From the customer's signature to the last word. A wallet's confirmation is held for 20 seconds.
    var settleAfter: Duration { self == .slow ? .seconds(50) : .seconds(2) }

    var hasCustomer: Bool { self != .left && self != .cancelled }
    var isCancelled: Bool { self == .cancelled || self == .both }
    var hasOffice: Bool { self == .refunded || self == .administered }
}

/// What somebody besides the terminal says of a payment.
enum Word: Sendable, Equatable, CustomStringConvertible {
    /// It stands so; whoever says it has it from the gateway.
    case stands(String)
    case paid
    /// The customer's money is safe.
    case notPaid
    case refunded
    case notRefunded

    var description: String {
        switch self {
        case .stands(let word): word
        case .paid: "paid"
        case .notPaid: "not paid"
        case .refunded: "given back"
        case .notRefunded: "not given back"
        }
    }

    /// Whether it is wrong of a payment that stands so at this moment.
    func isWrong(of payment: Truth.Payment) -> Bool {
        switch self {
        case .stands("succeeded"), .paid: payment.status != "succeeded"
        case .stands("failed"), .stands("expired"), .stands("cancelled"):
            !["failed", "expired", "cancelled"].contains(payment.status)
        // Not final: it may have gone on since.
        case .stands: false
        case .notPaid: payment.status == "succeeded" || payment.status == "processing"
        case .refunded: !payment.refunded
        case .notRefunded: payment.refunded
        }
    }
}

/// The gateway's own account of things. Source: the sandbox's control interface.
struct Truth: Decodable, Sendable {
    struct Payment: Decodable, Sendable {
        var paymentId: String
        var referenceId: String
        var status: String
        var refunded: Bool
    }
    var payments: [Payment]
}

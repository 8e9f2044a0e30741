public import Payments

/// A charge as lists, searches and exports show it: read from one row; of its entries only those of refusals count.
public struct ChargeSummary: Sendable, Hashable, Identifiable {
    public let id: ChargeID
    /// What customer and cashier compare.
    public let code: String
    public let state: Charge.State
    /// The authority has not ended every attempt.
    public let isOpen: Bool
    /// It was not paid, because an authority refused to make a payment.
    public let wasRefused: Bool
    public let isLate: Bool
    public let isPromised: Bool
    /// Everything that was paid went back to the customer.
    public let isGivenBack: Bool
    /// What staff asked for.
    public let amount: Money
    /// What the customer pays in all.
    public let total: Money
    /// Of the total; nil where nobody was asked for one.
    public let tip: Money?
    /// What was paid beyond the total by further payments, given back or not.
    public let surplus: Money
    /// What went back to the customer.
    public let refunded: Money
    /// The way it was paid, or the only one that was offered; nil where several were and none was taken.
    public let rail: Rail?
    /// As ``Payments/Actor/name``: `staff:Ada`.
    public let openedBy: String
    public let reference: String?
    /// For staff only.
    public let note: String?
    /// The number of the opener's shift; nil of charges from before there were shifts.
    public let shift: Int64?
    /// The payment that counts, or the first that was made.
    public let paymentID: String?
    public let transactionID: String?
    public let openedAt: WallTime
    public let updatedAt: WallTime
}

/// Which charges a list holds: those that fit everything that is set.
public struct ChargeFilter: Sendable, Hashable {
    public var state: Charge.State?
    public var rail: Rail?
    public var currency: Currency?
    /// As ``Payments/Actor/name``: `staff:Ada`.
    public var openedBy: String?
    /// The least and the most that the customer pays in all, in minor units.
    public var total: ClosedRange<Int64>?
    /// Opened then or later.
    public var from: WallTime?
    /// Opened before then.
    public var until: WallTime?
    public var search: ChargeSearch?

    /// Everything.
    public init() {}

    var isEmpty: Bool { self == ChargeFilter() }
}

/// What somebody looks for: a charge fits where one of its words begins with the text, or where it has the amount.
///
/// Its words are the reference, the short code, its own name and those of its payments and transactions; letter case does
/// not matter.
public struct ChargeSearch: Sendable, Hashable {
    public let text: String
    public let total: Money?
    /// Whether the words of notes count: they are for staff only.
    public let readsNotes: Bool

    /// - Parameter text: Nothing fits an empty one.
    public init(text: String, total: Money?, readsNotes: Bool = true) {
        (self.text, self.total, self.readsNotes) = (text, total, readsNotes)
    }
}

/// Where a list goes on.
public enum ChargePlace: Sendable, Hashable {
    /// From the newest back.
    case newest
    /// From the oldest on.
    case oldest
    /// Back from a charge, which is not in it.
    case before(ChargeID)
    /// On from a charge, which is not in it.
    case after(ChargeID)

    var isForward: Bool {
        switch self {
        case .newest, .before: false
        case .oldest, .after: true
        }
    }
}

/// A part of a list, in the direction that was asked for.
public struct ChargePage: Sendable, Hashable {
    public let charges: [ChargeSummary]
    /// Where it goes on in the same direction; nil at the end. Each answer looks at a bounded number of charges, so there may be
    /// more although these are fewer than asked for.
    public let next: ChargeID?
}

/// Sums of charges of one currency, state and rail.
public struct Takings: Sendable, Hashable {
    public let currency: Currency
    public let state: Charge.State
    /// Nil where none was taken.
    public let rail: Rail?
    /// How many were opened within the time.
    public let charges: Int64
    /// What the customers pay in all, tips included, in minor units. An amount above 10¹² counts as that.
    public let totalMinorUnits: Int64
    public let tipMinorUnits: Int64
    /// What was paid beyond that by further payments for the same charges.
    public let surplusMinorUnits: Int64
    /// How many times money went back within the time, whenever the charge was opened.
    public let refunds: Int64
    public let refundedMinorUnits: Int64
}

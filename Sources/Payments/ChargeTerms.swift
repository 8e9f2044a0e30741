/// What was asked for, fixed when the charge is opened and never changed after.
public struct ChargeTerms: Sendable, Hashable, Codable {
    public let id: ChargeID
    public let code: ChargeCode
    /// What the customer pays in all, tip included.
    public let amount: Money
    /// The part of `amount` that is a tip.
    public let tip: Money?
    /// The shop's own number for the sale, where it gave one.
    public let reference: String?
    /// The shop's own words, for staff only: neither customer nor gateway ever gets them. At most ``longestNote`` characters.
    public let note: String?
    public let merchantID: String
    public let merchantName: String
    public let operatorID: String
    /// Where the payment is made, as the settings said then. Another gateway's "not found" would be no word at all.
    public let gatewayURL: String
    public let openedBy: Actor
    public let openedAt: WallTime
    /// How long the customer has. The terminal asks once more then; only the authority ends the payment.
    public let timeLimitSeconds: Int
    /// How far the gateway's clock was ahead of the terminal's when the charge was opened, in seconds; negative where it was
    /// behind. Nil in what versions before this one wrote, which count as 0. Kept, so that an order that is repeated has the
    /// same content.
    public let gatewayAheadSeconds: Int64?

    public init(
        id: ChargeID,
        code: ChargeCode,
        amount: Money,
        tip: Money? = nil,
        reference: String?,
        note: String? = nil,
        merchantID: String,
        merchantName: String,
        operatorID: String,
        gatewayURL: String,
        openedBy: Actor,
        openedAt: WallTime,
        timeLimitSeconds: Int,
        gatewayAheadSeconds: Int64 = 0
    ) {
        self.id = id
        self.code = code
        self.amount = amount
        self.tip = tip
        self.reference = reference
        self.note = note
        self.merchantID = merchantID
        self.merchantName = merchantName
        self.operatorID = operatorID
        self.gatewayURL = gatewayURL
        self.openedBy = openedBy
        self.openedAt = openedAt
        self.timeLimitSeconds = timeLimitSeconds
        // What says nothing is not written down.
        self.gatewayAheadSeconds = gatewayAheadSeconds == 0 ? nil : gatewayAheadSeconds
    }

    /// Characters of a note.
    public static let longestNote = 200

    public var deadline: WallTime { openedAt.advanced(by: .seconds(timeLimitSeconds)) }

    /// ``deadline`` by the gateway's clock.
    public var gatewayDeadline: WallTime { deadline.advanced(by: .seconds(gatewayAheadSeconds ?? 0)) }

    /// The key under which the authority makes at most one payment for this attempt, however often it is asked.
    public func idempotencyKey(attempt: Attempt.ID) -> String { "\(id.rawValue)-\(attempt)" }

    /// The charge's name at the gateway, different for each rail that makes a payment there, so that one that was made
    /// without an answer is found and not taken for the other's. At most 35 characters, as the gateway allows.
    public func reference(on rail: Rail) -> String { id.compact + (rail == .connect ? "c" : "") }

    /// Whether the gateway's `reference` names this charge, on whichever rail.
    public static func reference(_ reference: String, names id: ChargeID) -> Bool {
        charge(ofReference: reference) == id.compact
    }

    /// The charge's 32 digits in a reference, whichever rail it was made for.
    public static func charge(ofReference reference: String) -> String {
        reference.utf8.count == 33 && reference.hasSuffix("c") ? String(reference.dropLast()) : reference
    }
}

/// What one charge may be, as the merchant set it.
public struct ChargeLimits: Sendable, Hashable, Codable {
    /// Largest amount of one charge, in minor units of the merchant's currency. Nil: no limit.
    public var maximumMinorUnits: Int64?
    /// Largest sum of the charges opened within one hour, in minor units. Nil: no limit.
    public var maximumPerHourMinorUnits: Int64?

    public init(maximumMinorUnits: Int64? = nil, maximumPerHourMinorUnits: Int64? = nil) {
        self.maximumMinorUnits = maximumMinorUnits
        self.maximumPerHourMinorUnits = maximumPerHourMinorUnits
    }

    /// No charge is larger, whatever the settings say, in minor units: millions of them can be added.
    public static let mostMinorUnits: Int64 = 1_000_000_000_000

    /// Which limit an amount passes.
    public enum Violation: Error, Sendable, Equatable {
        case aboveMaximum(Money)
        case aboveHourlyMaximum(Money)
        case wrongCurrency(expected: Currency)
        case notPositive
    }

    /// Throws where `amount` must not be charged.
    /// - Parameter openedLastHourMinorUnits: What was charged within the last hour, this charge not counted.
    public func check(
        _ amount: Money,
        currency: Currency,
        openedLastHourMinorUnits: Int64
    ) throws(Violation) {
        guard amount.currency == currency else { throw .wrongCurrency(expected: currency) }
        guard amount.minorUnits > 0 else { throw .notPositive }
        let maximum = min(maximumMinorUnits ?? Self.mostMinorUnits, Self.mostMinorUnits)
        guard amount.minorUnits <= maximum else {
            throw .aboveMaximum(Money(minorUnits: maximum, currency: currency))
        }
        if let maximumPerHourMinorUnits {
            let (sum, overflow) = openedLastHourMinorUnits.addingReportingOverflow(amount.minorUnits)
            guard !overflow, sum <= maximumPerHourMinorUnits else {
                throw .aboveHourlyMaximum(Money(minorUnits: maximumPerHourMinorUnits, currency: currency))
            }
        }
    }
}

/// How much a tip may be, and what is offered.
public struct TipPolicy: Sendable, Hashable, Codable {
    /// Offered as buttons, in percent of the amount, 1 to 100.
    public var presetsPercent: [Int]
    /// Largest tip taken, in percent of the amount. A slip of the finger must not triple a bill.
    public var maximumPercent: Int

    public init(presetsPercent: [Int] = [5, 10, 15], maximumPercent: Int = 50) {
        self.presetsPercent = presetsPercent
        self.maximumPercent = maximumPercent
    }

    /// `percent` of `amount`, half a minor unit rounded up; nil where it cannot be counted or passes the maximum.
    public func tip(percent: Int, of amount: Money) -> Money? {
        guard (0...maximumPercent).contains(percent), amount.minorUnits >= 0 else { return nil }
        let (product, overflow) = amount.minorUnits.multipliedReportingOverflow(by: Int64(percent))
        guard !overflow, product <= Int64.max - 50 else { return nil }
        return Money(minorUnits: (product + 50) / 100, currency: amount.currency)
    }

    /// True where `tip` is not above the largest share of `amount` and of its currency.
    public func allows(_ tip: Money, of amount: Money) -> Bool {
        guard tip.currency == amount.currency, tip.minorUnits >= 0 else { return false }
        guard let maximum = self.tip(percent: maximumPercent, of: amount) else { return false }
        return tip.minorUnits <= maximum.minorUnits
    }
}

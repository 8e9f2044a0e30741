/// Money that staff give back for a payment, by hand: the gateway marks a payment as refunded and moves nothing.
///
/// Source: WalletConnect Pay API 2026-02-19.preview, `POST /v1/refunds`, which knows whole payments only.
public struct Refund: Sendable, Hashable, Codable {
    /// Characters of a reason.
    public static let longestReason = 200

    /// What goes back, in minor units of the charge's currency; more than 0.
    public let minorUnits: Int64
    /// Staff's own words, at most ``longestReason`` characters. Neither customer nor gateway gets them.
    public let reason: String
    public let by: Actor
    /// The refund's identity: the key of the request that asked for it. A charge books a key once. Nil of refunds from before
    /// there were keys.
    public let key: String?

    public init(minorUnits: Int64, reason: String, by: Actor, key: String? = nil) {
        (self.minorUnits, self.reason, self.by, self.key) = (minorUnits, reason, by, key)
    }

    /// The key of a request that brings none: equal ones are the same, and no caller's key begins with a space.
    public static func ownKey(attempt: Attempt.ID, minorUnits: Int64, reason: String, by: Actor) -> String {
        " \(attempt) \(minorUnits) \(by) \(reason)"
    }

    /// Where a refund stands written.
    public enum Mark: String, Sendable, Hashable, Codable {
        /// The gateway marked the payment as refunded.
        case marked
        /// It was marked there already, perhaps by an earlier request whose answer got lost.
        case markedBefore
        /// Here alone: a part of the payment, of which the gateway knows nothing.
        case keptHere
    }
}

/// A refund that counts.
public struct BookedRefund: Sendable, Hashable {
    public let refund: Refund
    public let mark: Refund.Mark
}

extension Charge {
    /// What came in on an attempt, in minor units, tip included; 0 where nothing did, and the most that can be counted where
    /// there was more.
    public func paidMinorUnits(on attempt: Attempt) -> Int64 {
        guard attempt.ending?.evidence != nil else { return 0 }
        let (sum, overflow) = terms.amount.minorUnits.addingReportingOverflow(attempt.claim?.tipMinorUnits ?? 0)
        return overflow ? .max : sum
    }

    /// What of an attempt's payment went back to the customer, in minor units.
    public func refundedMinorUnits(on attempt: Attempt) -> Int64 {
        let paid = paidMinorUnits(on: attempt)
        return attempt.isGivenBack ? paid : min(paid, attempt.refunds.reduce(0) { $0 + $1.refund.minorUnits })
    }

    /// What went back to the customer of all payments for this charge, in minor units.
    public var refundedMinorUnits: Int64 {
        attempts.reduce(0) { sum, attempt in
            let (next, overflow) = sum.addingReportingOverflow(refundedMinorUnits(on: attempt))
            return overflow ? .max : next
        }
    }

    /// What can still be marked as refunded of an attempt's payment; 0 of one that its own authority gives back.
    public func refundableMinorUnits(on attempt: Attempt) -> Int64 {
        guard attempt.rail.authority == .gateway else { return 0 }
        return paidMinorUnits(on: attempt) - refundedMinorUnits(on: attempt)
    }

    /// The refund that was asked for under a key, with its attempt; `mark` is nil while the gateway has not confirmed it. Nil
    /// where none was, or where the gateway denied it.
    public func refund(under key: String) -> (attempt: Attempt.ID, refund: Refund, mark: Refund.Mark?)? {
        for attempt in attempts {
            if let asked = attempt.askedRefund, asked.key == key { return (attempt.id, asked, nil) }
            if let booked = attempt.refunds.first(where: { $0.refund.key == key }) {
                return (attempt.id, booked.refund, booked.mark)
            }
        }
        return nil
    }

    /// Whether staff wrote down a refund: the money is theirs to give back, and the terminal has sent none.
    public var isRefundedByHand: Bool { attempts.contains { !$0.refunds.isEmpty } }

    /// True while a refund waits for the gateway's word.
    public var hasAskedRefund: Bool { attempts.contains { $0.askedRefund != nil } }

    mutating func ask(for refund: Refund, of id: Attempt.ID) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), attempts[index].askedRefund == nil,
            refund.minorUnits > 0, refund.minorUnits <= refundableMinorUnits(on: attempts[index]),
            refund.key.flatMap(refund(under:)) == nil
        else { return }
        attempts[index].askedRefund = refund
    }

    mutating func book(_ mark: Refund.Mark, of id: Attempt.ID) {
        guard let index = attempts.firstIndex(where: { $0.id == id }), let refund = attempts[index].askedRefund else {
            return
        }
        attempts[index].askedRefund = nil
        // What its authority gave back in the meantime is whole already.
        guard !attempts[index].isGivenBack else { return }
        attempts[index].refunds.append(BookedRefund(refund: refund, mark: mark))
        if refundedMinorUnits(on: attempts[index]) == paidMinorUnits(on: attempts[index]) {
            attempts[index].isGivenBack = true
        }
    }
}

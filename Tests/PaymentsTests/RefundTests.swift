import Payments
import Testing

/// Walks everything that can happen to the refunds of one payment, in every order.
struct RefundTests {
    private static let paidMinorUnits: Int64 = 1250

    private static let events: [Charge.Event] =
        [0, -1, 500, 750, paidMinorUnits, paidMinorUnits + 1, .max].map { minorUnits in
            .refundAsked(
                attempt: 1,
                refund: Refund(minorUnits: minorUnits, reason: "cold", by: .staff(name: "Ada"))
            )
        } + [
            .refundAsked(
                attempt: 1,
                refund: Refund(minorUnits: 250, reason: "cold", by: .staff(name: "Ada"), key: "one")
            ),
            .refunded(attempt: 1, mark: .marked), .refunded(attempt: 1, mark: .keptHere),
            .refundDenied(attempt: 1, code: "conflict"), .givenBack(attempt: 1),
        ]

    private struct Step {
        let before: Charge
        let event: Charge.Event
        let after: Charge
    }

    private static let steps: [Step] = {
        var paid = Charge.example(minorUnits: paidMinorUnits)
        let evidence = Evidence(paymentID: "pay_1", transactionID: nil, paid: nil)
        let story: [Charge.Event] = [
            .attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1),
            .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: nil, expiresAt: nil)),
            .reported(attempt: 1, report: .succeeded(evidence)),
        ]
        for event in story { _ = paid.handle(event) }
        var (steps, seen, frontier) = ([Step](), Set<Charge>(), [paid])
        while let charge = frontier.popLast() {
            guard seen.insert(charge).inserted else { continue }
            for event in events {
                var next = charge
                _ = next.handle(event)
                steps.append(Step(before: charge, event: event, after: next))
                // Where too much went back nothing more is to be seen, and it would never end.
                if booked(next) <= paidMinorUnits { frontier.append(next) }
            }
        }
        return steps
    }()

    /// What was booked, added up here: the charge's own sum could hide that it is too much.
    private static func booked(_ charge: Charge) -> Int64 {
        charge.attempts.flatMap(\.refunds).reduce(0) { $0 + $1.refund.minorUnits }
    }

    /// Whoever reads it decides by it whether the customer still gets money.
    @Test func aRefundThatStaffWroteDownIsNeverSaidToHaveSentMoney() {
        for step in Self.steps where step.after.reason?.code == "given_back" {
            let isByHand = Self.booked(step.after) > 0
            #expect(step.after.isRefundedByHand == isByHand)
            #expect(step.after.reason?.values["case"] == (isByHand ? "marked" : "returned"))
            #expect(step.after.reason?.message.contains("went back") == !isByHand, "\(step.event)")
        }
    }

    @Test func neverMoreGoesBackThanWasPaid() {
        for step in Self.steps {
            let asked = step.after.attempt(1)?.askedRefund?.minorUnits ?? 0
            let booked = Self.booked(step.after)
            #expect(booked + asked <= Self.paidMinorUnits, "\(step.event)")
            #expect(step.after.refundedMinorUnits <= Self.paidMinorUnits)
        }
    }

    @Test func whatIsLeftCanBeGivenBackInPartsAndNothingElse() {
        var (taken, refused) = (0, 0)
        for step in Self.steps {
            guard case .refundAsked(_, let refund) = step.event, !step.before.hasAskedRefund else { continue }
            let isWhole = step.before.attempt(1)?.isGivenBack == true
            let left = isWhole ? 0 : Self.paidMinorUnits - Self.booked(step.before)
            let isTaken = step.after.attempt(1)?.askedRefund == refund
            let isRepeated = refund.key.flatMap(step.before.refund(under:)) != nil
            #expect(
                isTaken == (refund.minorUnits > 0 && refund.minorUnits <= left && !isRepeated),
                "\(refund.minorUnits) of \(left)"
            )
            if isTaken { taken += 1 } else { refused += 1 }
        }
        #expect(taken > 0 && refused > 0)
    }

    @Test func aKeyIsBookedOnceWhateverComesInBetween() {
        for step in Self.steps {
            let booked = step.after.attempts.flatMap(\.refunds).filter { $0.refund.key == "one" }
            #expect(booked.count <= 1, "\(step.event)")
        }
    }

    /// A second wish would be booked in place of the first by the answer to the first.
    @Test func aRefundThatWaitsForItsAnswerIsReplacedByNoOther() {
        for step in Self.steps where step.before.hasAskedRefund {
            guard case .refundAsked = step.event else { continue }
            #expect(step.after == step.before)
        }
    }
}

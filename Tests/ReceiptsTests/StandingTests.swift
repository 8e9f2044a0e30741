import Payments
import Testing

@testable import Receipts

/// A receipt says of the money what is true, and no more.
struct StandingTests {
    private static let released = Actor.staff(name: "owner")

    private static let stories: [([Charge.Event], Receipt.Standing)] = [
        ([], .notPaidYet),
        (ExampleCharge.offered, .notPaidYet),
        (ExampleCharge.offered + [.silent(attempt: 1, reason: "no answer")], .unknown),
        (ExampleCharge.told(.processing), .inProgress),
        (ExampleCharge.told(.processing) + [.silent(attempt: 1, reason: "no answer")], .unknown),
        (
            ExampleCharge.told(.processing) + [.silent(attempt: 1, reason: "no answer"), .released(by: released)],
            .unknown
        ),
        (ExampleCharge.told(.unrecognised(word: "perhaps")), .unknown),
        (ExampleCharge.told(.contradictory(what: "another amount")), .unknown),
        (ExampleCharge.told(.succeeded(ExampleCharge.evidence)), .paid),
        (ExampleCharge.told(.failed(code: "declined")), .failed),
        (ExampleCharge.told(.expired), .expired),
        (ExampleCharge.told(.cancelled), .cancelled),
        (ExampleCharge.tapped + [.promised(attempt: 1)], .acceptedOffline),
        (
            ExampleCharge.tapped + [
                .promised(attempt: 1), .reported(attempt: 1, report: .succeeded(ExampleCharge.evidence)),
            ], .paid
        ),
        (ExampleCharge.told(.succeeded(ExampleCharge.evidence)) + [.givenBack(attempt: 1)], .refunded),
        (ExampleCharge.offered + [.cancelRequested(by: released)], .notPaidYet),
    ]

    @Test(arguments: stories)
    func aReceiptSaysPaidOnlyOnTheAuthoritysWord(events: [Charge.Event], expected: Receipt.Standing) {
        let charge = ExampleCharge(events: events).charge
        let receipt = ExampleCharge(events: events).receipt()
        #expect(receipt.standing == expected)
        let text = receipt.slip().text(columns: .wide)
        #expect(text.split(separator: "\n").contains { $0.trimmed == ReceiptWords.english.title(expected) })
        #expect((text.contains("\n" + String(repeating: " ", count: 22) + "PAID\n")) == (expected == .paid))
        #expect(expected.provesPayment == (charge.state == .succeeded && !charge.isGivenBack))
    }

    @Test(arguments: Receipt.Standing.allCases)
    func whatIsNeitherPaidNorOverSaysThatItProvesNothing(standing: Receipt.Standing) {
        let words = ReceiptWords.english.meaning(standing) ?? ""
        switch standing {
        case .paid: #expect(words.isEmpty)
        case .refunded: #expect(words.contains("went back"))
        case .failed, .expired, .cancelled:
            #expect(ReceiptWords.english.title(standing) == "NOT PAID" && words.contains("No money moved."))
        case .acceptedOffline: #expect(words.contains("not yet settled") && words.contains("not a proof of payment"))
        case .notPaidYet, .inProgress, .unknown: #expect(words.contains("not a proof of payment"))
        }
    }

    @Test func aRefundOfAPartIsSaidBesideWhatWasPaid() {
        let refund = Refund(minorUnits: 100, reason: "secret reason", by: Self.released)
        let paid = ExampleCharge.told(.succeeded(ExampleCharge.evidence)) + [.refundAsked(attempt: 1, refund: refund)]
        #expect(!ExampleCharge(events: paid).receipt().slip().text(columns: .wide).contains("Refunded"))
        let receipt = ExampleCharge(events: paid + [.refunded(attempt: 1, mark: .keptHere)]).receipt()
        let text = receipt.slip().text(columns: .wide)
        #expect(receipt.standing == .paid && receipt.refundedText != nil)
        #expect(text.contains("Refunded") && !text.contains("secret reason"))
        #expect(text.contains("The shop says that it gave"))
        let rest = Refund(
            minorUnits: ExampleCharge(events: paid).charge.total.minorUnits - 100,
            reason: "x",
            by: Self.released
        )
        let all =
            paid + [
                .refunded(attempt: 1, mark: .keptHere), .refundAsked(attempt: 1, refund: rest),
                .refunded(attempt: 1, mark: .marked),
            ]
        let whole = ExampleCharge(events: all).receipt()
        #expect(whole.standing == .refunded && whole.refundedText == nil)
        let said = whole.slip().text(columns: .wide)
        #expect(said.contains("The shop says that it gave") && !said.contains("went back to the customer"))
    }

    @Test func aSecondPaymentIsSaid() {
        let second: [Charge.Event] = [
            .attemptStarted(attempt: 1, rail: .scan), .attemptStarted(attempt: 2, rail: .connect),
            .sending(attempt: 1), .sending(attempt: 2),
            .offered(attempt: 1, offer: ExampleCharge.offer), .offered(attempt: 2, offer: ExampleCharge.offer),
            .reported(attempt: 1, report: .succeeded(ExampleCharge.evidence)),
            .reported(attempt: 2, report: .succeeded(ExampleCharge.evidence)),
        ]
        #expect(ExampleCharge(events: second).receipt().slip().text(columns: .wide).contains("Paid more than once"))
        #expect(!ExampleCharge(events: ExampleCharge.told(.succeeded(ExampleCharge.evidence))).receipt().isPaidTwice)
    }

    @Test func aTipOnThePhoneAndOneAtTheTillAreToldApartFromThePrice() {
        #expect(ExampleCharge(events: ExampleCharge.told(.succeeded(ExampleCharge.evidence))).receipt().tipText == nil)
        let atTill = ExampleCharge(tip: 250, events: ExampleCharge.told(.succeeded(ExampleCharge.evidence))).receipt()
        #expect((atTill.amountText, atTill.tipText, atTill.totalText) == ("€10.00", "€2.50", "€12.50"))
        let onPhone = ExampleCharge(
            events: Array(ExampleCharge.tapped.prefix(3)) + [
                .claimWanted(attempt: 1, tipMinorUnits: 100), .claimed(attempt: 1),
                .reported(attempt: 1, report: .succeeded(ExampleCharge.evidence)),
            ]
        ).receipt()
        #expect((onPhone.amountText, onPhone.tipText, onPhone.totalText) == ("€12.50", "€1.00", "€13.50"))
        #expect(onPhone.way == .tap && onPhone.confirmedBy == .acquirer)
    }
}

extension Substring {
    var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}

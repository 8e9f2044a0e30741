import Foundation
import Payments
import Testing
import TestSupport
import WalletConnectPay

@testable import Terminal

/// Two lists of one day: where they agree nothing is said, and each thing that differs is named, with its charge.
struct DayComparisonTests {
    private static let start = WallTime(millisecondsSince1970: 1_790_000_000_000)
    private static let comparison = DayComparison(
        day: start..<start.advanced(by: .seconds(86_400)),
        listedUntil: start.advanced(by: .seconds(90_000)),
        merchantID: "mrch_1"
    )

    /// A day of a shop, and the gateway's faithful list of it.
    private struct Day {
        var journal: [JournalPayment] = []
        var listed: [ListedEntry] = []
        /// Names that bear the terminal's mark.
        var own: Set<String> = []

        init(charges: Int, _ random: inout SeededGenerator) {
            for number in 0..<charges {
                let opened = start.advanced(by: .seconds(Int.random(in: -7000...93_000, using: &random)))
                let id = ChargeID(at: opened, using: &random)
                let amount = Money(minorUnits: .random(in: 1...100_000, using: &random), currency: .euro)
                let words: [(JournalPayment.Standing, PaymentStatus)] = [
                    (.paid, .succeeded), (.open, .requiresAction), (.open, .processing), (.unpaid(.expired), .expired),
                    (.unpaid(.cancelled), .cancelled), (.unpaid(.failed), .failed),
                ]
                let (standing, status) = words[Int.random(in: 0..<words.count, using: &random)]
                let isMade = number % 7 != 0 || standing == .paid
                journal.append(
                    JournalPayment(
                        id: id,
                        code: ChargeCode(using: &random),
                        amount: amount,
                        openedAt: opened,
                        standing: isMade ? standing : .unpaid(nil),
                        payments: isMade ? ["pay_\(number)": standing] : [:]
                    )
                )
                guard isMade else { continue }
                listed.append(
                    ListedEntry(
                        paymentID: "pay_\(number)",
                        reference: id.compact,
                        merchantID: Bool.random(using: &random) ? "mrch_1" : nil,
                        status: status,
                        amount: .fiat(code: "EUR", minorUnits: amount.minorUnits),
                        createdAt: opened.advanced(by: .seconds(Int.random(in: -30...60, using: &random)))
                    )
                )
            }
        }

        /// Charges of the day itself that have a payment, with its place in the list.
        var inside: [(charge: JournalPayment, index: Int)] {
            journal.filter { DayComparisonTests.comparison.day.contains($0.openedAt) }.compactMap { charge in
                listed.firstIndex { $0.reference == charge.id.compact }.map { (charge, $0) }
            }
        }

        func find() -> DayComparison.Finding {
            var comparison = DayComparisonTests.comparison
            comparison.isOwn = { [own] in own.contains($0) }
            return comparison.find(journal: journal, listed: listed)
        }
    }

    @Test(arguments: 0..<200)
    func aFaithfulListAgreesInAnyOrderAndHoweverOftenAPaymentComes(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var day = Day(charges: 60, &random)
        day.listed.shuffle(using: &random)
        day.journal.shuffle(using: &random)
        let charges = day.journal.filter { Self.comparison.day.contains($0.openedAt) }
        let open = charges.filter { $0.standing == .open }.count
        let agreement = DayComparison.Finding(differences: [], compared: charges.count, open: open)
        #expect(day.find() == agreement)
        day.listed += day.listed.prefix(20)
        #expect(day.find() == agreement)
    }

    /// Changes one entry of a faithful list, and expects that this is named and nothing else.
    @Test(arguments: DayDifference.Kind.allCases, 0..<40)
    func oneThingThatDiffersIsNamedAndNothingElse(kind: DayDifference.Kind, seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var day = Day(charges: 120, &random)
        let fitting = day.inside.filter { charge, _ in
            switch kind {
            case .paidAtGateway: charge.standing != .paid
            case .paidInJournal, .paidTwice: charge.standing == .paid
            case .endedOtherwise: charge.standing == .unpaid(.expired) || charge.standing == .open
            default: true
            }
        }
        let (charge, index) = try #require(fitting.randomElement(using: &random))
        switch kind {
        case .paidAtGateway: day.listed[index].status = .succeeded
        case .paidInJournal:
            day.listed[index].status =
                [.failed, .cancelled, .requiresAction, .processing].randomElement(using: &random) ?? .failed
        case .endedOtherwise: day.listed[index].status = .cancelled
        case .unrecognised: day.listed[index].status = .unrecognised("reviewing")
        case .amount:
            day.listed[index].amount = [
                .fiat(code: "EUR", minorUnits: charge.amount.minorUnits + 1),
                .fiat(code: "USD", minorUnits: charge.amount.minorUnits),
                PayAmount(unit: "iso4217/EUR", value: "0\(charge.amount.minorUnits)"),
            ].randomElement(using: &random)
        case .paidTwice:
            var second = day.listed[index]
            second.paymentID = "pay_second"
            second.status = .succeeded
            day.listed.append(second)
        case .otherMerchant: day.listed[index].merchantID = "mrch_2"
        case .otherReference: day.listed[index].reference = "ORDER-7"
        case .notListed: day.listed.remove(at: index)
        case .lost:
            day.journal.removeAll { $0.id == charge.id }
            day.listed[index].createdAt = charge.openedAt
            day.own = [charge.id.compact]
        case .notOurs:
            day.journal.removeAll { $0.id == charge.id }
            day.listed[index].createdAt = charge.openedAt
        }
        let found = day.find().differences
        let kinds = found.map(\.kind)
        // A second payment of the same charge is also one that the journal has not booked.
        #expect(kinds == (kind == .paidTwice ? [.paidAtGateway, .paidTwice] : [kind]))
        #expect(
            found.allSatisfy {
                $0.charge == (kind == .notOurs || kind == .lost ? nil : charge.id) && $0.paymentID != nil
            }
        )
        #expect(found.allSatisfy { !$0.reason(format: .english).message.isEmpty })
    }

    @Test(arguments: [
        (PayAmount.fiat(code: "EUR", minorUnits: 1250), "of 12,50\u{00A0}€ as"),
        (.fiat(code: "JPY", minorUnits: 1250), "of 1.250\u{00A0}¥ as"),
        (PayAmount(unit: "iso4217/EUR", value: "01250"), "of 01250 EUR in smallest units as"),
        (PayAmount(unit: "iso4217/EUR", value: "-5"), "of -5 EUR in smallest units as"),
        (PayAmount(unit: "iso4217/XXX", value: "1250"), "of 1250 XXX in smallest units as"),
        (PayAmount(unit: "caip19/x", value: "1250"), "of 1250 caip19/x in smallest units as"),
        (
            PayAmount(
                unit: "caip19/x",
                value: "13500000",
                display: AmountDisplay(assetSymbol: "USDC", assetName: "USD Coin", decimals: 6, networkName: "Base")
            ), "of 13.5\u{00A0}USDC on Base as"
        ),
    ])
    func anAmountOfTheListIsWrittenAsPeopleWriteIt(amount: PayAmount, words: String) throws {
        let entry = ListedEntry(paymentID: "pay_x", status: .succeeded, amount: amount, createdAt: Self.start)
        let found = Self.comparison.find(journal: [], listed: [entry]).differences
        let message = try #require(found.first).reason(format: AmountFormat(locale: "de-DE")).message
        #expect(message.contains(words), "\(message)")
    }

    @Test(arguments: ["pay_-", "pay_zz"])
    func theSecondPaymentIsTheOneThatIsNotBooked(name: String) throws {
        var random = SeededGenerator(seed: 3)
        var day = Day(charges: 20, &random)
        let paid = try #require(day.inside.first { $0.charge.standing == .paid })
        var second = day.listed[paid.index]
        second.paymentID = name
        day.listed.append(second)
        let surplus = day.find().differences.filter { $0.kind == .paidTwice }
        #expect(surplus.map(\.paymentID) == [name])
    }

    @Test func moneyComesBeforeEverythingElse() {
        var random = SeededGenerator(seed: 11)
        var day = Day(charges: 900, &random)
        for (charge, index) in day.inside {
            switch charge.standing {
            case .paid: day.listed[index].status = .failed
            case .unpaid(.expired): day.listed[index].status = .succeeded
            default: day.listed[index].status = .unrecognised("x")
            }
            if index.isMultiple(of: 5) { day.listed[index].amount = .fiat(code: "EUR", minorUnits: 0) }
        }
        let ranks = day.find().differences.map(\.kind.rank)
        #expect(ranks == ranks.sorted() && Set(ranks) == [0, 2, 3, 4])
    }

    @Test func questionsAboutMoneyAreKeptForIt() {
        var questions = DayQuestions(left: 5)
        #expect((0..<9).map { _ in questions.takes(leaving: 3) }.filter(\.self).count == 2 && questions.unasked == 7)
        #expect((0..<4).map { _ in questions.takes() }.filter(\.self).count == 3 && questions.unasked == 8)
    }

    @Test func whatBelongsToTheDaysBesideItIsLeftToThem() {
        var random = SeededGenerator(seed: 7)
        var day = Day(charges: 200, &random)
        let outside = Set(day.journal.filter { !Self.comparison.day.contains($0.openedAt) }.map(\.id.compact))
        #expect(!outside.isEmpty)
        for index in day.listed.indices where outside.contains(day.listed[index].reference ?? "") {
            day.listed[index].status = .unrecognised("x")
        }
        day.listed.append(
            ListedEntry(paymentID: "pay_x", status: .succeeded, createdAt: Self.start.advanced(by: .seconds(-1)))
        )
        #expect(day.find().differences.isEmpty)
        day.listed.append(ListedEntry(paymentID: "pay_y", status: .succeeded, createdAt: nil))
        #expect(day.find().differences.map(\.paymentID) == ["pay_y"], "a time that cannot be read hides nothing")
    }

    @Test func aChargeThatTheListCannotShowYetIsNotMissing() {
        var random = SeededGenerator(seed: 8)
        var day = Day(charges: 30, &random)
        day.listed = []
        var comparison = Self.comparison
        comparison.listedUntil = comparison.day.lowerBound
        #expect(comparison.find(journal: day.journal, listed: []).differences.isEmpty)
        #expect(!day.find().differences.isEmpty)
    }

    /// A day of ten thousand payments.
    @Test func aBusyDayIsComparedInSeconds() {
        var random = SeededGenerator(seed: 9)
        let day = Day(charges: 10_000, &random)
        let clock = ContinuousClock()
        var found = DayComparison.Finding()
        let duration = clock.measure { found = day.find() }
        #expect(found.differences.isEmpty && found.compared > 8000)
        #expect(duration < .seconds(10), "\(duration)")
    }
}

import Foundation
import GRDB
@testable import Journal
import Payments
import Testing
import TestSupport

/// Lists, searches and sums are what the entries say, whatever happens.
struct HistoryTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Random charges of random lives, with openings and events of different charges among each other.
    private func playAtRandom(in journal: Journal, charges: Int) async throws -> [Charge] {
        var lives: [Charge] = []
        let currencies = [Currency.euro, .usDollar, .yen]
        for number in 0..<charges {
            let terms = ChargeTerms.example(
                minorUnits: .random(in: 100...5000),
                currency: currencies.randomElement() ?? .euro,
                reference: number % 3 == 0 ? nil : "Sale-\(number)",
                at: WallTime.example.advanced(by: .seconds(.random(in: 0...400_000)))
            )
            try await journal.open(terms, under: nil)
            lives.append(Charge(terms: terms))
            for _ in 0..<Int.random(in: 0...12) {
                let index = Int.random(in: lives.indices)
                let event = Charge.Event.random()
                _ = lives[index].handle(event)
                let time = lives[index].terms.openedAt.advanced(by: .seconds(.random(in: 0...200_000)))
                try await journal.append(event, to: lives[index], at: time)
            }
        }
        return lives
    }

    private func sums(_ charges: some Sequence<Charge>) -> [String: Int64] {
        var sums: [String: Int64] = [:]
        for charge in charges {
            let name = "\(charge.terms.amount.currency.code) \(charge.state.rawValue)"
            sums[name, default: 0] += charge.total.minorUnits
        }
        return sums
    }

    private func sums(_ takings: [Takings]) -> [String: Int64] {
        var sums: [String: Int64] = [:]
        for one in takings where one.charges > 0 {
            sums["\(one.currency.code) \(one.state.rawValue)", default: 0] += one.totalMinorUnits
        }
        return sums
    }

    @Test func listsAndSumsAreWhatTheEntriesSay() async throws {
        for _ in 0..<2 {
            let folder = try TemporaryFolder()
            let journal = try folder.open()
            let charges = try await playAtRandom(in: journal, charges: 40)
            #expect(try await journal.verifyProjections() == nil)
            let all = try await journal.charges(ChargeFilter(), from: .oldest, limit: 1000)
            #expect(all.charges.map(\.id) == charges.map(\.id) && all.next == nil)
            #expect(all.charges.map(\.state) == charges.map(\.state))
            #expect(all.charges.map(\.total) == charges.map(\.total))
            #expect(all.charges.map(\.wasRefused) == charges.map(\.wasRefused))
            let ever = WallTime(millisecondsSince1970: 0)..<WallTime.example.advanced(by: .seconds(86_400 * 30))
            let takings = try await journal.takings(in: [ever])[0]
            #expect(sums(takings) == sums(charges))
            let refunded = takings.reduce(0) { $0 + $1.refundedMinorUnits }
            #expect(refunded == charges.reduce(0) { $0 + $1.refundedMinorUnits })
            try journal.close()
            let again = try folder.open()
            #expect(!again.startup.didRebuild)
        }
    }

    /// The word in the list is the word of the charge: “refused” only where no payment was ever made.
    @Test func aListTellsARefusedChargeFromOneThatWasNotPaid() async throws {
        let journal = try folder.open()
        let begin: [Charge.Event] = [.attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1)]
        let refusal = Charge.Event.refused(attempt: 1, refusal: Refusal(code: "merchant_not_found", message: "no"))
        let declined = Charge.Event.reported(attempt: 1, report: .failed(code: "declined"))
        let evidence = Evidence(paymentID: "pay_2", transactionID: nil, paid: nil)
        let paidOtherwise: [Charge.Event] = [
            .sending(attempt: 2), .offered(attempt: 2, offer: Offer(paymentID: "pay_2", link: nil, expiresAt: nil)),
            .reported(attempt: 2, report: .succeeded(evidence)),
        ]
        let lives: [(events: [Charge.Event], isRefused: Bool)] = [
            (begin + [refusal], true),
            (begin + [Charge.Event.offer, declined], false),
            // It had an answer after all, and that payment failed.
            (begin + [refusal, Charge.Event.offer, declined], false),
            // A refusal to the second request says nothing of the first one.
            (begin + [.silent(attempt: 1, reason: "30 s"), .sending(attempt: 1), refusal], false),
            (begin + [refusal, .attemptStarted(attempt: 2, rail: .tap), .cancelRequested(by: .terminal)], true),
            (Charge.Event.paid, false),
            // One way to pay was refused, and by the other it was paid.
            ([.attemptStarted(attempt: 2, rail: .tap)] + begin + [refusal] + paidOtherwise, false),
        ]
        var charges: [Charge] = []
        for life in lives {
            let charge = try await journal.play(life.events)
            #expect(charge.wasRefused == life.isRefused)
            charges.append(charge)
        }
        let all = try await journal.charges(ChargeFilter(), from: .oldest, limit: 10).charges
        #expect(all.map(\.wasRefused) == lives.map(\.isRefused))
        #expect(all.map(\.state) == charges.map(\.state))
        // However it is found.
        var failed = ChargeFilter()
        failed.state = .failed
        var found = ChargeFilter()
        found.total = 1250...1250
        for filter in [failed, found] {
            let listed = try await journal.charges(filter, from: .oldest, limit: 10).charges
            #expect(listed.contains { $0.wasRefused })
            for charge in charges where listed.contains(where: { $0.id == charge.id }) {
                #expect(listed.first { $0.id == charge.id }?.wasRefused == charge.wasRefused)
            }
        }
    }

    @Test func daysAddUpWhereverTheyBegin() async throws {
        let journal = try folder.open()
        let charges = try await playAtRandom(in: journal, charges: 30)
        for offset in [0, 5 * 3600 + 1800, -3 * 3600, 45 * 60] as [Int64] {
            let first = TakingsDelta.start(of: WallTime.example.millisecondsSince1970, TakingsDelta.day) + offset * 1000
            let days = (0..<6).map { day in
                let start = first + Int64(day) * TakingsDelta.day
                return WallTime(
                    millisecondsSince1970: start
                )..<WallTime(millisecondsSince1970: start + TakingsDelta.day)
            }
            let takings = try await journal.takings(in: days)
            for (day, taken) in zip(days, takings) {
                #expect(sums(taken) == sums(charges.filter { day.contains($0.terms.openedAt) }), "\(offset)")
            }
        }
    }

    /// Whichever of a day's spans are read for it.
    @Test func anyQuartersOfAnHourAddUp() async throws {
        let journal = try folder.open()
        let charges = try await playAtRandom(in: journal, charges: 60)
        let first = TakingsDelta.start(of: WallTime.example.millisecondsSince1970, TakingsDelta.day) - TakingsDelta.day
        let times = (0..<300).map { _ in
            let start = first + TakingsDelta.quarter * Int64.random(in: 0..<400)
            let end = start + TakingsDelta.quarter * Int64.random(in: 1...400)
            return WallTime(millisecondsSince1970: start)..<WallTime(millisecondsSince1970: end)
        }
        for (time, taken) in zip(times, try await journal.takings(in: times)) {
            #expect(sums(taken) == sums(charges.filter { time.contains($0.terms.openedAt) }), "\(time)")
        }
    }

    @Test func aRefundCountsOnTheDayItHappened() async throws {
        let journal = try folder.open()
        var charge = try await journal.play(Charge.Event.paid)
        let later = WallTime.example.advanced(by: .seconds(86_400 * 3))
        _ = charge.handle(.givenBack(attempt: 1))
        try await journal.append(.givenBack(attempt: 1), to: charge, at: later)
        let day = TakingsDelta.day
        let starts = [WallTime.example, later].map { TakingsDelta.start(of: $0.millisecondsSince1970, day) }
        let days = starts.map { WallTime(millisecondsSince1970: $0)..<WallTime(millisecondsSince1970: $0 + day) }
        let takings = try await journal.takings(in: days)
        #expect(takings[0].map(\.charges) == [1] && takings[0].map(\.refunds) == [0])
        #expect(takings[1].map(\.charges) == [0] && takings[1].map(\.refundedMinorUnits) == [1250])
        #expect(try await journal.verifyProjections() == nil)
    }

    @Test func everyFilterFindsWhatFitsAndPagesLeaveNothingOut() async throws {
        let journal = try folder.open()
        let charges = try await playAtRandom(in: journal, charges: 60)
        let summaries = try await journal.charges(ChargeFilter(), from: .newest, limit: 1000).charges
        func expect(_ filter: ChargeFilter, _ fits: (ChargeSummary) -> Bool, _ what: String) async throws {
            let wanted = summaries.filter(fits)
            for isForward in [false, true] {
                var (found, place) = ([ChargeSummary](), isForward ? ChargePlace.oldest : .newest)
                while true {
                    let page = try await journal.charges(filter, from: place, limit: 7)
                    found += page.charges
                    guard let next = page.next else { break }
                    place = isForward ? .after(next) : .before(next)
                }
                #expect(Set(found.map(\.id)) == Set(wanted.map(\.id)) && found.count == wanted.count, "\(what)")
                let times = found.map(\.openedAt)
                #expect(times == (isForward ? times.sorted() : times.sorted().reversed()), "\(what)")
            }
        }
        for state in Charge.State.allCases {
            var filter = ChargeFilter()
            filter.state = state
            try await expect(filter, { $0.state == state }, state.rawValue)
            filter.rail = .tap
            filter.currency = .euro
            try await expect(filter, { $0.state == state && $0.rail == .tap && $0.currency == .euro }, "\(state) tap")
        }
        var filter = ChargeFilter()
        filter.openedBy = "staff:Ada"
        filter.from = WallTime.example.advanced(by: .seconds(100_000))
        filter.until = WallTime.example.advanced(by: .seconds(300_000))
        let (from, until) = (try #require(filter.from), try #require(filter.until))
        try await expect(filter, { $0.openedAt >= from && $0.openedAt < until }, "time")
        filter.openedBy = "till:none"
        try await expect(filter, { _ in false }, "nobody")
        filter = ChargeFilter()
        filter.total = 1000...2000
        try await expect(filter, { (1000...2000).contains($0.total.minorUnits) }, "amounts")
        filter = ChargeFilter()
        filter.search = ChargeSearch(text: "sALe-1", total: nil)
        try await expect(filter, { $0.reference?.hasPrefix("Sale-1") == true }, "reference")
        let one = try #require(charges.randomElement())
        filter.search = ChargeSearch(text: String(one.id.rawValue.prefix(24)), total: nil)
        try await expect(filter, { $0.id.rawValue.hasPrefix(one.id.rawValue.prefix(24)) }, "name")
        filter.search = ChargeSearch(text: "nothing like it", total: one.total)
        try await expect(filter, { $0.total == one.total }, "amount")
        filter.search = ChargeSearch(text: "pay_1", total: nil)
        let withPayment = Set(
            charges.filter {
                $0.attempts.contains { $0.offer != nil || $0.ending != nil } && ChargeWords.of($0).contains("pay_1")
            }
            .map(\.id)
        )
        try await expect(filter, { withPayment.contains($0.id) }, "payment")
        filter.search = ChargeSearch(text: " ", total: nil)
        try await expect(filter, { _ in false }, "nothing")
    }

    /// The terminal made this file before there were lists and sums.
    @Test func aJournalOfTheVersionBeforeIsListedAfterTheUpdate() async throws {
        let old = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Files/journal-v4.sqlite")
        try FileManager.default.copyItem(at: old, to: URL(fileURLWithPath: folder.database))
        let journal = try folder.open()
        #expect(journal.startup.entries > 0 && FileManager.default.fileExists(atPath: folder.database + ".v4"))
        #expect(try await journal.verifyProjections() == nil)
        let listed = try await journal.charges(ChargeFilter(), from: .newest, limit: 1000).charges
        #expect(listed.contains { $0.state == .succeeded && $0.total.minorUnits == 1250 && $0.rail == .scan })
        var filter = ChargeFilter()
        filter.search = ChargeSearch(text: "PAY_01K9", total: nil)
        #expect(try await journal.charges(filter, from: .newest, limit: 1000).charges.count >= listed.count - 1)
    }

    /// The power goes at any of the transactions that make the tables anew.
    @Test func tablesThatWereHalfMadeAreFinishedAtTheNextStart() async throws {
        let journal = try folder.open()
        _ = try await playAtRandom(in: journal, charges: 10)
        try await journal.writing { db in
            for number in 0..<(2 * Projection.stepCharges) {
                let terms = ChargeTerms.example(minorUnits: Int64(100 + number))
                let body = try StoredJSON.encode(Opening(terms: terms, idempotencyKey: nil, requestDigest: nil))
                let entry = Entry(
                    sequence: 0,
                    charge: terms.id.rawValue,
                    kind: Entry.opened,
                    body: body,
                    wallMilliseconds: terms.openedAt.millisecondsSince1970,
                    monotonicNanoseconds: 0,
                    boot: "",
                    previous: Data()
                )
                let sequence = try journal.append(db, entry)
                let opening = Opening(terms: terms, idempotencyKey: nil, requestDigest: nil)
                _ = try Projection.open(db, Charge(terms: terms), opening, sequence, last: sequence, at: terms.openedAt)
            }
        }
        let before = try await journal.charges(ChargeFilter(), from: .oldest, limit: 1000)
        for steps in 0...3 {
            try await journal.pool.write { db in try RebuildMark(version: "older", lastCharge: "x").store(db) }
            try Projection.rebuild(journal.pool, version: "v6", steps: steps)
            #expect(try await (journal.verifyProjections() == nil) == (steps == 3), "\(steps)")
            let copy = try folder.copy()
            let again = try copy.open()
            #expect(again.startup.didRebuild)
            #expect(try await again.verifyProjections() == nil)
            #expect(try await again.charges(ChargeFilter(), from: .oldest, limit: 1000) == before)
            try again.close()
        }
    }

    @Test(arguments: [
        "UPDATE charge SET total_minor_units = total_minor_units + 1", "UPDATE charge SET rail = 'tap'",
        "DELETE FROM charge_word WHERE word LIKE 'sale%'", "INSERT INTO charge_word VALUES (1, 'x')",
        "UPDATE takings SET total_minor_units = total_minor_units + 1", "DELETE FROM takings WHERE span_ms = 900000",
        "UPDATE takings SET refunds = refunds + 1 WHERE span_ms = 86400000",
    ])
    func aListThatDisagreesIsFoundAndMadeAnew(sql: String) async throws {
        let journal = try folder.open()
        try await journal.play(Charge.Event.paid, .example(reference: "Sale-1"))
        #expect(try await journal.verifyProjections() == nil)
        try await journal.pool.write { try $0.execute(sql: sql) }
        #expect(try await journal.verifyProjections() != nil)
        try journal.close()
        let again = try folder.open()
        #expect(again.startup.didRebuild)
        #expect(try await again.verifyProjections() == nil)
    }

    @Test func theLargestAmountsCanBeAdded() async throws {
        let journal = try folder.open()
        for _ in 0..<3 { try await journal.play([.cancelRequested(by: .terminal)], .example(minorUnits: .max - 50)) }
        #expect(try await journal.verifyProjections() == nil)
        let ever = WallTime(millisecondsSince1970: 0)..<WallTime.example.advanced(by: .seconds(86_400))
        #expect(try await journal.takings(in: [ever])[0].reduce(0) { $0 + $1.charges } == 3)
        let always = WallTime(millisecondsSince1970: .min)..<WallTime(millisecondsSince1970: .max)
        #expect(try await journal.takings(in: [always])[0].reduce(0) { $0 + $1.charges } == 3)
    }
}

extension ChargeSummary {
    fileprivate var currency: Currency { total.currency }
}

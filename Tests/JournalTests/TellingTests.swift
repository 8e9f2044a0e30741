import Payments
import Testing
import TestSupport

@testable import Journal

/// What an outbox reads: every entry once, in order, each with the charge as it was then.
struct TellingTests {
    @Test(arguments: [1, 2, 3, 7, 1000])
    func everyEntryIsToldOnceWithTheChargeAsItWasHoweverLittleIsReadAtATime(limit: Int) async throws {
        let folder = try TemporaryFolder()
        let journal = try folder.open()
        var charges: [ChargeID: Charge] = [:]
        var expected: [(ChargeID, Charge.State, isNew: Bool)] = []
        func append(_ event: Charge.Event, to id: ChargeID) async throws {
            var charge = try #require(charges[id])
            let before = charge.state
            _ = charge.handle(event)
            charges[id] = charge
            try await journal.append(event, to: charge, at: .example)
            expected.append((id, charge.state, charge.state != before))
        }
        let (first, second) = (ChargeTerms.example(), ChargeTerms.example())
        for terms in [first, second] {
            try await journal.open(terms, under: nil)
            charges[terms.id] = Charge(terms: terms)
            expected.append((terms.id, .created, true))
        }
        // Taking turns, so that each page holds parts of both.
        for event in [
            Charge.Event.attemptStarted(attempt: 1, rail: .scan), .sending(attempt: 1),
            .offered(attempt: 1, offer: Offer(paymentID: "pay_1", link: "https://pay.test/1", expiresAt: nil)),
            .reported(attempt: 1, report: .processing),
        ] {
            try await append(event, to: first.id)
            try await append(event, to: second.id)
        }
        try await append(
            .reported(attempt: 1, report: .succeeded(Evidence(paymentID: "pay_1", transactionID: nil, paid: nil))),
            to: second.id
        )
        try await append(.reported(attempt: 1, report: .expired), to: first.id)

        var told: [ToldEntry] = []
        while true {
            let page = try await journal.told(after: told.last?.sequence ?? 0, limit: limit)
            #expect(page.count <= limit)
            if page.isEmpty { break }
            told += page
        }
        #expect(told.map(\.sequence) == Array(1...Int64(expected.count)))
        #expect(told.map(\.charge.id) == expected.map(\.0))
        #expect(told.map(\.charge.state) == expected.map(\.1))
        #expect(told.map(\.isNewState) == expected.map(\.isNew))
        #expect(try await journal.lastSequence() == Int64(expected.count))
        #expect(told.last?.charge == charges[first.id])
        let name = try await journal.name()
        #expect(name.count == 36)
        #expect(try await journal.told(after: .max, limit: 5).isEmpty)
    }
}

import Payments
import Testing
import TestSupport

@testable import Terminal

/// A comparison is never in the way of a customer.
@Suite(.timeLimit(.minutes(1)))
struct DayPaceTests {
    @Test func callsOfAComparisonAreSpaced() async throws {
        try await DayShop.open(pageSize: 1) { shop in
            for id in 2...4 { shop.gateway.set("pay_\(id)", listed: "processing", status: "processing") }
            _ = try await shop.comparing()
            let times = shop.gateway.times
            #expect(times.count > 8)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(gaps.allSatisfy { $0 >= .milliseconds(250) }, "\(gaps)")
        }
    }

    @Test func nothingIsAskedWhileAChargeHoldsTheTerminal() async throws {
        try await DayShop.open(inFlight: "processing") { shop in
            await shop.desk.show(try await shop.desk.charge(shop.ids[4]).charge)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await shop.days.compare(shop.day) }
                for _ in 0..<300 {
                    while !shop.clock.hasSleeper(for: .seconds(1)) { try await DayShop.pause() }
                    shop.clock.advance(by: .seconds(1))
                }
                #expect(shop.gateway.calls.isEmpty)
                await shop.desk.show(nil)
                while shop.gateway.calls.isEmpty {
                    if shop.clock.hasSleeper(for: .seconds(1)) { shop.clock.advance(by: .seconds(1)) }
                    try await DayShop.pause()
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func aChargeThatNeverEndsDoesNotKeepTheDayFromBeingCompared() async throws {
        try await DayShop.open(inFlight: "processing") { shop in
            await shop.desk.show(try await shop.desk.charge(shop.ids[4]).charge)
            let start = shop.clock.now
            let report = try await shop.comparing()
            #expect(report.gaps == [.stillOpen(1)] && shop.clock.now - start >= .seconds(900))
        }
    }
}

extension ChargeDesk {
    /// Puts a charge on the screen, or takes it off.
    fileprivate func show(_ charge: Charge?) {
        checking = nil
        if let charge { charges[charge.id] = charge }
        shown = charge?.id
    }
}

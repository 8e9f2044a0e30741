import Payments
import Testing
import TestSupport

@testable import Terminal

/// A day compared for real: a journal on disk, the charge desk, and a gateway whose list and statuses the test sets.
@Suite(.timeLimit(.minutes(1)))
struct DayDeskTests {
    @Test func aDayThatAgreesSaysSo() async throws {
        try await DayShop.open { shop in
            let report = try await shop.comparing()
            #expect(report.allAgree && report.charges == 5 && report.listed == 5, "\(report)")
            #expect(report.summary.code == "comparison_agrees")
            #expect(try await shop.days.report(of: shop.day) == report, "kept")
            #expect(shop.gateway.calls.count == 1, "the list was one page, and nothing had to be asked")
            #expect(shop.gateway.calls.first?.contains("startTs=") == true)
        }
    }

    /// The shop's own sales are not a stranger's because somebody saved the address with a slash.
    @Test(arguments: ["https://gateway.test/", "https://gateway.test/v1", "https://GATEWAY.test:443/v1/"])
    func aDayIsTheSameHoweverTheGatewayWasWritten(gatewayURL: String) async throws {
        try await DayShop.open(madeAt: gatewayURL) { shop in
            let report = try await shop.comparing()
            #expect(report.allAgree && report.charges == 5 && report.notOurs.isEmpty, "\(report)")
        }
    }

    @Test(arguments: [2, 3, 4, 5])
    func aPaymentThatTheListHasAsPaidIsBookedByItsStatusAndSaid(number: Int) async throws {
        try await DayShop.open { shop in
            shop.gateway.set("pay_\(number)", listed: "succeeded", status: "succeeded")
            let report = try await shop.comparing()
            #expect(report.booked == [shop.ids[number - 1]] && report.differences.isEmpty && !report.allAgree)
            let charge = try await shop.desk.charge(shop.ids[number - 1]).charge
            #expect(charge.state == .succeeded && charge.evidence?.paymentID == "pay_\(number)")
            #expect(await shop.desk.snapshot.notices.map(\.id) == report.booked)
        }
    }

    /// Both sides say the same of it, and neither says how it ends.
    @Test(arguments: ["requires_action", "processing", nil])
    func whatIsStillInFlightIsNoAgreement(word: String?) async throws {
        try await DayShop.open(inFlight: word ?? "processing") { shop in
            if word == nil { shop.gateway.remove("pay_5") }
            let report = try await shop.comparing()
            #expect(report.gaps == [.stillOpen(1)] && !report.allAgree && report.mayImprove)
            #expect(report.summary.message.contains("it is not known yet how one charge ends"))
        }
    }

    @Test func aPaymentInFlightThatTheListHasAsPaidIsBooked() async throws {
        try await DayShop.open(inFlight: "succeeded") { shop in
            let report = try await shop.comparing()
            #expect(report.isComplete && report.booked == [shop.ids[4]] && report.differences.isEmpty)
        }
    }

    @Test func aDayThatIsNotOverNeverAgrees() async throws {
        try await DayShop.open(isOver: false) { shop in
            let report = try await shop.comparing()
            #expect(report.gaps == [.dayNotOver] && !report.allAgree && report.differences.isEmpty)
            #expect(report.summary.message.contains("the day is not over yet"))
        }
    }

    /// The list is a hint, the status is the authority.
    @Test func aListThatSaysPaidBooksNothingByItself() async throws {
        try await DayShop.open { shop in
            shop.gateway.set("pay_2", listed: "succeeded", status: "cancelled")
            let report = try await shop.comparing()
            #expect(report.differences.map(\.kind) == [.paidAtGateway] && report.booked.isEmpty && !report.allAgree)
            #expect(try await shop.desk.charge(shop.ids[1]).charge.state == .cancelled)
        }
    }

    @Test(arguments: [("succeeded", true), ("failed", false)])
    func aListThatIsBehindIsNoDifferenceWhereTheStatusAgrees(status: String, agrees: Bool) async throws {
        try await DayShop.open { shop in
            shop.gateway.set("pay_1", listed: "processing", status: status)
            let report = try await shop.comparing()
            #expect(report.allAgree == agrees && report.differences.map(\.kind) == (agrees ? [] : [.paidInJournal]))
            #expect(try await shop.desk.charge(shop.ids[0]).charge.state == .succeeded, "paid stays paid")
        }
    }

    /// Booked or not, nobody knows: that is no complete comparison.
    @Test(arguments: ["pay_1", "pay_2", "pay_4"])
    func aQuestionWithoutAnAnswerLeavesTheDayIncomplete(payment: String) async throws {
        try await DayShop.open { shop in
            shop.gateway.set(payment, listed: payment == "pay_2" ? "succeeded" : "cancelled", status: "failed")
            shop.gateway.silent = [payment]
            let report = try await shop.comparing()
            #expect(report.gaps == [.noAnswer(1)] && report.mayImprove && report.differences.count == 1)
            #expect(report.summary.message.contains("no answer about one difference"))
        }
    }

    @Test func aGatewayThatStaysSilentIsNotAskedAboutEveryDifference() async throws {
        try await DayShop.open { shop in
            for id in 2...5 { shop.gateway.set("pay_\(id)", listed: "requires_action", status: "requires_action") }
            shop.gateway.set("pay_1", listed: "failed", status: "failed")
            shop.gateway.silent = ["pay_1", "pay_2", "pay_3", "pay_4", "pay_5"]
            let report = try await shop.comparing()
            #expect(report.gaps == [.noAnswer(5)] && report.differences.count == 5)
            // The list, the desk's four questions, and three with five repetitions each.
            #expect(shop.gateway.calls.count <= 20)
        }
    }

    @Test(arguments: [
        ListFault.status(500), .silence, .status(400), .circle, .endless, .unreadable, .slowDown(3600),
    ])
    func aListThatIsNotWholeNeverAgrees(fault: ListFault) async throws {
        try await DayShop.open(pageSize: 2) { shop in
            shop.gateway.fail(from: 2, fault)
            let report = try await shop.comparing()
            #expect(!report.isComplete && !report.allAgree && report.summary.code == "comparison_incomplete")
            #expect(
                !report.differences.contains { $0.kind == .notListed },
                "what was not listed may stand on a later page"
            )
            #expect(report.mayImprove)
        }
    }

    @Test func aPageThatFailsOnceIsAskedForAgainAtTheGatewaysPace() async throws {
        try await DayShop.open(pageSize: 2) { shop in
            let start = shop.clock.now
            shop.gateway.fail(from: 2, .slowDown(60), times: 1)
            let report = try await shop.comparing()
            #expect(report.allAgree && report.listed == 5)
            #expect(shop.clock.now - start >= .seconds(60))
        }
    }

    @Test func whatTheGatewayListsTwiceOrTheTerminalDidNotMakeIsSorted() async throws {
        try await DayShop.open(pageSize: 3) { shop in
            shop.gateway.add("pay_99", reference: "WEB-1", status: "succeeded")
            shop.gateway.repeats = true
            let report = try await shop.comparing()
            #expect(report.allAgree && report.differences.isEmpty, "another till's payment is no fault of this one")
            #expect(report.notOurs.map(\.paymentID) == ["pay_99"] && report.notOurs.first?.listedReference == "WEB-1")
        }
    }

    @Test func chargesMadeElsewhereAreNotPassedOffAsCompared() async throws {
        try await DayShop.open(merchantID: "mrch_new") { shop in
            let report = try await shop.comparing()
            #expect(report.gaps == [.elsewhere(5)] && !report.allAgree && !report.mayImprove)
        }
    }

    @Test func aWishIsFulfilledAndADayToComeIsRefused() async throws {
        try await DayShop.open { shop in
            await #expect(throws: DayRefusal.hasNotBegun) {
                try await shop.days.request(try #require(ShopDay("2199-01-01")))
            }
            try await shop.days.request(shop.day)
            try await shop.days.request(shop.day)
            #expect(await shop.days.isComparing(shop.day))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await shop.days.run() }
                while try await shop.days.report(of: shop.day) == nil { try await DayShop.pause() }
                // The day may be due by itself too: that comparison keeps its distance from the one before.
                while await shop.days.isComparing(shop.day) {
                    if let wait = shop.clock.shortestSleep, wait <= .seconds(30) { shop.clock.advance(by: wait) }
                    try await DayShop.pause()
                }
                group.cancelAll()
            }
        }
    }

    /// A page that asks again and again while a day is compared never hears that it is over and that there is nothing.
    @Test(arguments: 0..<20)
    func whenAComparisonIsOverItsReportIsThere(_: Int) async throws {
        try await DayShop.open { shop in
            try await shop.days.request(shop.day)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await shop.comparing() }
                for _ in 0..<8 {
                    group.addTask {
                        var now = try await shop.days.standing(of: shop.day)
                        while now.isComparing { now = try await shop.days.standing(of: shop.day) }
                        #expect(now.report != nil)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// What was found stands, whatever becomes of later tries.
    @Test(arguments: [true, false])
    func aBrokenComparisonNeverTakesAWholeOnesPlace(agrees: Bool) async throws {
        try await DayShop.open { shop in
            if !agrees { shop.gateway.set("pay_1", listed: "failed", status: "failed") }
            let whole = try await shop.comparing()
            #expect(whole.isComplete && whole.allAgree == agrees)
            shop.gateway.fail(from: 1, .silence)
            let after = try await shop.comparing()
            #expect(after.isComplete && after.differences == whole.differences && after.comparedAt == whole.comparedAt)
            #expect(after.summary.action.contains("could not be finished") && after.brokenSince != nil)
            #expect(try await shop.days.report(of: shop.day) == after)
            shop.gateway.fail(from: 1, .silence, times: 0)
            #expect(try await shop.comparing().brokenSince == nil, "a whole one takes its place")
        }
    }

    @Test func whatABrokenComparisonFindsIsSaidAllTheSame() async throws {
        try await DayShop.open(pageSize: 1) { shop in
            #expect(try await shop.comparing().allAgree)
            shop.gateway.set("pay_1", listed: "failed", status: "failed")
            shop.gateway.fail(from: 8, .silence)
            let report = try await shop.comparing()
            #expect(!report.isComplete && report.differences.map(\.kind) == [.paidInJournal] && report.mayImprove)
        }
    }

    @Test func aStopOfTheTerminalLeavesNoBrokenReport() async throws {
        try await DayShop.open { shop in
            shop.gateway.fail(from: 1, .silence)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await shop.days.compare(shop.day) }
                while shop.clock.shortestSleep == nil { try await DayShop.pause() }
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(try await shop.days.report(of: shop.day) == nil)
        }
    }

    @Test func aWishThatIsNotTakenIsRefused() async throws {
        try await DayShop.open { shop in
            var day = shop.day
            for _ in 0..<4 {
                try await shop.days.request(day)
                day = day.previous
            }
            await #expect(throws: DayRefusal.tooManyWait) { try await shop.days.request(day) }
            #expect(await shop.days.isComparing(day) == false && !DayRefusal.tooManyWait.reason.action.isEmpty)
        }
    }

    @Test func aDayIsComparedByItselfOnceItIsOverAndOnceMoreTwoDaysLater() async throws {
        try await DayShop.open { shop in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await shop.days.run() }
                while try await shop.days.report(of: shop.day) == nil { try await DayShop.pause() }
                while !shop.clock.hasSleeper(for: .seconds(60)) { try await DayShop.pause() }
                shop.clock.advance(by: .seconds(60))
                while !shop.clock.hasSleeper(for: .seconds(600)) { try await DayShop.pause() }
                shop.clock.advance(by: .seconds(600))
                while !shop.clock.hasSleeper(for: .seconds(600)) { try await DayShop.pause() }
                #expect(shop.gateway.calls.count == 1)
                let first = try #require(try await shop.days.report(of: shop.day))
                shop.clock.advance(by: .seconds(2 * 86_400))
                while try await shop.days.report(of: shop.day) == first { try await DayShop.pause() }
                group.cancelAll()
            }
        }
    }
}

import Foundation
import Payments
import Testing

@testable import Terminal

/// What a day is, in every time zone, and when it is compared by itself.
struct ShopDayTests {
    private static func time(_ text: String) throws -> WallTime { try #require(WallTime(internetText: text)) }

    @Test(arguments: [
        ("2026-11-20", "Europe/Berlin", "2026-11-19T23:00:00Z", 24),
        ("2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z", 23),
        ("2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00Z", 25), ("2026-11-20", "UTC", "2026-11-20T00:00:00Z", 24),
        ("2026-11-20", "Asia/Kathmandu", "2026-11-19T18:15:00Z", 24),
        ("2028-02-29", "Pacific/Auckland", "2028-02-28T11:00:00Z", 24),
        // In Cairo the clock goes from 23:59 to 1:00.
        ("2026-04-24", "Africa/Cairo", "2026-04-23T22:00:00Z", 23),
    ])
    func itGoesFromMidnightToMidnightOfTheShopsClock(text: String, zone: String, start: String, hours: Int) throws {
        let bounds = try #require(ShopDay(text)).bounds(in: try #require(TimeZone(identifier: zone)))
        let first = try Self.time(start)
        #expect(bounds.lowerBound == first)
        #expect(bounds.lowerBound.duration(to: bounds.upperBound) == .seconds(hours * 3600))
    }

    @Test(arguments: [
        "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Africa/Cairo", "America/Havana", "Australia/Lord_Howe",
        "Pacific/Kiritimati", "UTC",
    ])
    func daysFollowEachOtherWithoutAGap(name: String) throws {
        let zone = try #require(TimeZone(identifier: name))
        var day = try #require(ShopDay("2028-03-05"))
        for _ in 0..<800 {
            let (bounds, before) = (day.bounds(in: zone), day.previous)
            #expect(before.bounds(in: zone).upperBound == bounds.lowerBound && before < day)
            #expect(ShopDay(of: bounds.lowerBound, in: zone) == day)
            #expect(ShopDay(of: bounds.upperBound.advanced(by: .milliseconds(-1)), in: zone) == day)
            day = before
        }
        #expect(day.text == "2025-12-26")
    }

    @Test(arguments: [
        "", "2026-11-31", "2026-02-29", "2026-1-01", "26-11-20", "2026-11-20 ", "2026-00-10", "1999-12-31",
        "٢٠٢٦-11-20",
        "2026-11-20T00", "2026/11/20", "-026-11-20",
    ])
    func whatIsNoDayIsNone(text: String) { #expect(ShopDay(text) == nil) }

    @Test(arguments: [
        // Now, the last report: of which day, made when, may it improve; then what is compared, and when.
        ("2026-11-20T00:05:00Z", nil, nil, false, "2026-11-19", "2026-11-20T00:15:00Z"),
        ("2026-11-20T14:00:00Z", nil, nil, false, "2026-11-19", "2026-11-20T00:15:00Z"),
        ("2026-11-20T14:00:00Z", "2026-11-19", "2026-11-20T00:15:01Z", false, "2026-11-20", "2026-11-21T00:15:00Z"),
        ("2026-11-20T00:20:00Z", "2026-11-19", "2026-11-20T00:15:01Z", true, "2026-11-19", "2026-11-20T00:45:01Z"),
        ("2026-11-20T14:00:00Z", "2026-11-19", "2026-11-19T20:00:00Z", false, "2026-11-19", "2026-11-20T00:15:00Z"),
        ("2026-11-20T14:00:00Z", "2026-11-18", "2026-11-19T00:15:00Z", false, "2026-11-19", "2026-11-20T00:15:00Z"),
    ])
    func theDayBeforeIsComparedOnceAfterMidnight(
        now: String,
        last: String?,
        made: String?,
        mayImprove: Bool,
        day: String,
        due: String
    ) throws {
        let zone = try #require(TimeZone(identifier: "UTC"))
        var report: DayReport?
        if let last, let made {
            let lastDay = try #require(ShopDay(last))
            report = .example(lastDay, bounds: lastDay.bounds(in: zone), at: try Self.time(made))
            if mayImprove { report?.gaps = [.listBroken("x")] }
        }
        let plan = DayPlan(at: try Self.time(now), in: zone, last: report)
        let expected = try Self.time(due)
        #expect(plan.day.text == day && plan.due == expected)
    }

    /// A report that cannot get better is not made again and again.
    @Test func aGapThatStaysDoesNotBringTheDayBack() throws {
        let (zone, day) = (try #require(TimeZone(identifier: "UTC")), try #require(ShopDay("2026-11-19")))
        let made = try Self.time("2026-11-20T00:15:00Z")
        var report = DayReport.example(day, bounds: day.bounds(in: zone), at: made)
        for gap in [DayReport.Gap.elsewhere(2), .tooMany] {
            report.gaps = [gap]
            #expect(DayPlan(at: made, in: zone, last: report).day.text == "2026-11-20")
        }
    }
}

extension DayReport {
    static func example(_ day: ShopDay, bounds: Range<WallTime>, at time: WallTime) -> DayReport {
        DayReport(
            day: day,
            from: bounds.lowerBound,
            until: bounds.upperBound,
            comparedAt: time,
            gaps: [],
            charges: 3,
            listed: 3,
            differences: [],
            notOurs: [],
            more: 0,
            booked: []
        )
    }
}

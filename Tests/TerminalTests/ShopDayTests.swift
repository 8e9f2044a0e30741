import Foundation
import Payments
import Testing

@testable import Terminal

/// What a day is, in every time zone.
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

    /// A machine without a battery starts in 1970; what it writes down must be readable all the same.
    @Test(arguments: [0, 946_600_000_000, -90_000_000_000_000, .min, .max, 7_300_000_000_000, 300_000_000_000_000_000])
    func aClockThatIsFarOffNamesADayThatCanBeReadBack(milliseconds: Int64) throws {
        let time = WallTime(millisecondsSince1970: milliseconds)
        for name in ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"] {
            let zone = try #require(TimeZone(identifier: name))
            let day = ShopDay(of: time, in: zone)
            #expect(ShopDay(day.text) == day && ["2000-01-01", "2199-12-31"].contains(day.text))
            let decoded = try JSONDecoder().decode(ShopDay.self, from: try JSONEncoder().encode(day))
            #expect(decoded == day)
            #expect(DayPlan.days(at: time, in: zone).isEmpty, "nothing is compared until the clock is right")
        }
    }

    @Test(arguments: [
        "", "2026-11-31", "2026-02-29", "2026-1-01", "26-11-20", "2026-11-20 ", "2026-00-10", "1999-12-31",
        "٢٠٢٦-11-20",
        "2026-11-20T00", "2026/11/20", "-026-11-20",
    ])
    func whatIsNoDayIsNone(text: String) { #expect(ShopDay(text) == nil) }
}

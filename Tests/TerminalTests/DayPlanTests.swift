import Foundation
import Payments
import Testing

@testable import Terminal

/// Which day is compared by itself, and when. Each row is a moment and what there is at it.
struct DayPlanTests {
    private static func time(_ text: String) throws -> WallTime { try #require(WallTime(internetText: text)) }

    /// What there is for a day: `whole`, `open` where it may get better, `gap` where it cannot.
    private static func plan(
        _ now: String,
        first: String = "2026-11-18T10:00:00Z",
        _ made: [(day: String, at: String, what: String)],
        tried: [ShopDay: Duration] = [:]
    ) throws -> DayPlan? {
        let zone = try #require(TimeZone(identifier: "UTC"))
        var reports: [ShopDay: DayReport] = [:]
        for (name, at, what) in made {
            let day = try #require(ShopDay(name))
            var report = DayReport.example(day, bounds: day.bounds(in: zone), at: try time(at))
            if what == "open" { report.gaps = [.stillOpen(1)] }
            if what == "gap" { report.gaps = [.elsewhere(2)] }
            reports[day] = report
        }
        return DayPlan(at: try time(now), in: zone, first: try time(first), reports: reports, tried: tried)
    }

    @Test(
        arguments: [
            // The first day of all is compared a quarter of an hour after its end, or as soon as the terminal runs again.
            ("2026-11-18T14:00:00Z", [], "2026-11-18", "2026-11-19T00:15:00Z"),
            ("2026-11-19T00:05:00Z", [], "2026-11-18", "2026-11-19T00:15:00Z"),
            ("2026-11-19T14:00:00Z", [], "2026-11-18", "2026-11-19T00:15:00Z"),
            // A report from before the day's end is none, and so is one from a clock that ran ahead.
            (
                "2026-11-19T14:00:00Z", [("2026-11-18", "2026-11-18T20:00:00Z", "whole")], "2026-11-18",
                "2026-11-19T00:15:00Z"
            ),
            (
                "2026-11-19T14:00:00Z", [("2026-11-18", "2026-12-18T20:00:00Z", "whole")], "2026-11-18",
                "2026-11-19T00:15:00Z"
            ),
            // What may get better comes back after half an hour, and later after six.
            (
                "2026-11-19T00:20:00Z", [("2026-11-18", "2026-11-19T00:15:01Z", "open")], "2026-11-18",
                "2026-11-19T00:45:01Z"
            ),
            (
                "2026-11-21T00:20:00Z",
                [
                    ("2026-11-18", "2026-11-21T00:15:00Z", "open"), ("2026-11-19", "2026-11-20T00:15:00Z", "whole"),
                    ("2026-11-20", "2026-11-21T00:15:00Z", "whole"),
                ], "2026-11-18", "2026-11-21T06:15:00Z"
            ),
            // What is whole, or cannot get better, comes back once after two days.
            (
                "2026-11-19T00:20:00Z", [("2026-11-18", "2026-11-19T00:15:01Z", "whole")], "2026-11-19",
                "2026-11-20T00:15:00Z"
            ),
            (
                "2026-11-19T00:20:00Z", [("2026-11-18", "2026-11-19T00:15:01Z", "gap")], "2026-11-19",
                "2026-11-20T00:15:00Z"
            ),
            (
                "2026-11-21T00:05:00Z",
                [("2026-11-18", "2026-11-19T00:15:01Z", "whole"), ("2026-11-19", "2026-11-20T00:15:01Z", "gap")],
                "2026-11-18", "2026-11-21T00:00:00Z"
            ),
            (
                "2026-11-21T00:20:00Z",
                [("2026-11-18", "2026-11-21T00:01:00Z", "whole"), ("2026-11-19", "2026-11-20T00:15:01Z", "gap")],
                "2026-11-20", "2026-11-21T00:15:00Z"
            ),
            // The terminal was off over a weekend: the oldest comes first, and one that has to wait holds nobody up.
            ("2026-11-23T08:00:00Z", [], "2026-11-18", "2026-11-19T00:15:00Z"),
            (
                "2026-11-20T08:00:00Z", [("2026-11-18", "2026-11-20T07:50:00Z", "open")], "2026-11-19",
                "2026-11-20T00:15:00Z"
            ),
        ] as [(String, [(String, String, String)], String, String)]
    )
    func theOldestDayThatIsDueIsCompared(
        now: String,
        made: [(String, String, String)],
        day: String,
        due: String
    ) throws {
        let plan = try #require(try Self.plan(now, made.map { (day: $0.0, at: $0.1, what: $0.2) }))
        let expected = try Self.time(due)
        #expect(plan.day.text == day && plan.due == expected)
    }

    /// Where the shop is older than two weeks, older days are let go.
    @Test func aDayOfMoreThanTwoWeeksAgoIsLetGo() throws {
        let plan = try #require(try Self.plan("2027-03-01T12:00:00Z", []))
        #expect(plan.day.text == "2027-02-15")
    }

    /// A report that the journal could not take is no reason to compare without a pause.
    @Test func aDayThatWasTriedRestsWhateverCameOfIt() throws {
        let day = try #require(ShopDay("2026-11-18"))
        let plan = try #require(try Self.plan("2026-11-19T14:00:00Z", [], tried: [day: .seconds(600)]))
        let expected = try Self.time("2026-11-19T14:20:00Z")
        #expect(plan.day == day && plan.due == expected)
        let later = try #require(try Self.plan("2026-11-19T14:00:00Z", [], tried: [day: .seconds(1800)]))
        #expect(later.due <= (try Self.time("2026-11-19T14:00:00Z")))
    }

    @Test func everyDayIsComparedTwiceAndNeverMore() throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let first = try Self.time("2026-10-20T10:00:00Z")
        var (now, reports, count) = (first, [ShopDay: DayReport](), [ShopDay: Int]())
        let end = try Self.time("2026-11-20T10:00:00Z")
        while let plan = DayPlan(at: now, in: zone, first: first, reports: reports), plan.due < end {
            now = max(now, plan.due)
            reports[plan.day] = .example(plan.day, bounds: plan.day.bounds(in: zone), at: now)
            count[plan.day, default: 0] += 1
        }
        #expect(count.count == 31)
        #expect(count.filter { $0.value != 2 }.keys.sorted().map(\.text) == ["2026-11-18", "2026-11-19"])
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

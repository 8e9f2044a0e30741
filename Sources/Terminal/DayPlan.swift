import FoundationEssentials
import Payments

/// Which day is compared by itself next, and when. A value: it decides, and compares nothing.
///
/// Each of the last ``daysBack`` days on which the terminal charged already, from the day of its first charge on:
///
/// | what there is for the day | when |
/// |---|---|
/// | no report made after its end | a quarter of an hour after its end, or now where that has passed |
/// | an incomplete report that may get better | half an hour after it was made; from two days after the day on, six hours |
/// | any other report | two days after the day's end, once: a payment can come late |
/// | a report from then or later | not again |
///
/// The oldest day that is due comes first. Half an hour lies between two tries of one day, whatever came of them.
struct DayPlan: Sendable, Equatable {
    /// How many days back a day is still made up for.
    static let daysBack = 14
    /// Time for the last charges of the day to end.
    static let afterMidnight = Duration.seconds(15 * 60)
    static let again = Duration.seconds(30 * 60)
    /// For a day that stays incomplete: what did not close in two days hardly closes within half an hour.
    static let laterAgain = Duration.seconds(6 * 3600)
    /// From the day's end to the second look at it.
    static let secondLook = Duration.seconds(48 * 3600)

    var day: ShopDay
    var due: WallTime

    /// - Parameters:
    ///   - first: When the first charge was opened. Before it there is nothing to compare.
    ///   - reports: The last one of each of the days, where there is one.
    ///   - tried: How long ago each day was last tried since the terminal started, also where no report came of it.
    init?(
        at now: WallTime,
        in zone: TimeZone,
        first: WallTime,
        reports: [ShopDay: DayReport],
        tried: [ShopDay: Duration] = [:]
    ) {
        let dues = Self.days(at: now, in: zone).compactMap { day -> DayPlan? in
            let end = day.bounds(in: zone).upperBound
            guard end > first, var due = Self.due(end, reports[day], now) else { return nil }
            if let ago = tried[day] { due = max(due, now.advanced(by: Self.again - ago)) }
            return DayPlan(day: day, due: due)
        }
        // Where none is due, the one that is due first; of two at once, the older.
        guard let next = dues.first(where: { $0.due <= now }) ?? dues.min(by: { $0.due < $1.due }) else { return nil }
        self = next
    }

    private init(day: ShopDay, due: WallTime) { (self.day, self.due) = (day, due) }

    /// The days that may be compared by themselves, the oldest first and today the last. None where the clock is so wrong
    /// that it names no day.
    static func days(at now: WallTime, in zone: TimeZone) -> [ShopDay] {
        let today = ShopDay(of: now, in: zone)
        guard today.bounds(in: zone).contains(now) else { return [] }
        var days = [today]
        for _ in 0..<daysBack { days.append(days[days.count - 1].previous) }
        return days.reversed()
    }

    private static func due(_ end: WallTime, _ report: DayReport?, _ now: WallTime) -> WallTime? {
        // Made before the day was over, it says nothing about the rest of the day; made by a clock that ran ahead, nothing
        // at all.
        guard let report, report.comparedAt >= max(end, report.until), report.comparedAt <= now else {
            return end.advanced(by: afterMidnight)
        }
        let secondLook = end.advanced(by: secondLook)
        if report.mayImprove {
            return report.comparedAt.advanced(by: report.comparedAt < secondLook ? again : laterAgain)
        }
        return report.comparedAt < secondLook ? secondLook : nil
    }
}

import FoundationEssentials
import Payments

/// When a day is compared by itself. A value: it decides, and compares nothing.
///
/// | what there is for the day before today | when |
/// |---|---|
/// | no report | a quarter of an hour after midnight, or now where that has passed |
/// | an incomplete report that may get better | half an hour after it was made |
/// | any other report | not again; the next is due after the next midnight |
struct DayPlan: Sendable, Equatable {
    /// Time for the last charges of the day to end.
    static let afterMidnight = Duration.seconds(15 * 60)
    static let again = Duration.seconds(30 * 60)

    var day: ShopDay
    var due: WallTime

    /// - Parameter last: Of the day before the day of `now`, where there is one.
    init(at now: WallTime, in zone: TimeZone, last: DayReport?) {
        let today = ShopDay(of: now, in: zone)
        let midnight = today.bounds(in: zone).lowerBound
        day = today.previous
        // Made before the day was over, on somebody's wish, it says nothing about the rest of the day.
        guard let last, last.day == day, last.comparedAt >= last.until else {
            due = midnight.advanced(by: Self.afterMidnight)
            return
        }
        if last.mayImprove {
            due = last.comparedAt.advanced(by: Self.again)
        } else {
            day = today
            due = today.bounds(in: zone).upperBound.advanced(by: Self.afterMidnight)
        }
    }
}

public import Payments

/// A moment as the shop's own clock shows it, with its distance from UTC, so that it can be read anywhere.
public struct LocalTime: Sendable, Equatable {
    public let moment: WallTime
    /// Within 18 hours of UTC.
    public let secondsAheadOfUTC: Int

    public init(_ moment: WallTime, secondsAheadOfUTC: Int) {
        self.moment = moment
        self.secondsAheadOfUTC = min(max(secondsAheadOfUTC, -64_800), 64_800)
    }

    /// For example `2026-11-22 14:33 +01:00`. Years beyond four digits are shown as the last one.
    public var text: String {
        let (earliest, latest): (Int64, Int64) = (-62_135_596_800, 253_402_300_799)  // Years 1 to 9999.
        let local = moment.secondsSince1970.addingReportingOverflow(Int64(secondsAheadOfUTC))
        let seconds = min(max(local.overflow ? latest : local.partialValue, earliest), latest)
        let days = Int((Double(seconds) / 86_400).rounded(.down))
        let rest = Int(seconds) - days * 86_400
        let (year, month, day) = Self.date(daysSince1970: days)
        let zone = abs(secondsAheadOfUTC) / 60
        return "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2)) "
            + "\(Self.digits(rest / 3600, 2)):\(Self.digits(rest / 60 % 60, 2)) "
            + (secondsAheadOfUTC < 0 ? "-" : "+") + "\(Self.digits(zone / 60, 2)):\(Self.digits(zone % 60, 2))"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    /// The Gregorian date of a day. Counts in spans of 400 years that begin on the first of March, so that the leap day is
    /// a year's last.
    private static func date(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
        let days = daysSince1970 + 719_468  // Since the first of March of year 0.
        let span = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfSpan = days - span * 146_097
        let yearOfSpan = (dayOfSpan - dayOfSpan / 1460 + dayOfSpan / 36_524 - dayOfSpan / 146_096) / 365
        let dayOfYear = dayOfSpan - (365 * yearOfSpan + yearOfSpan / 4 - yearOfSpan / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfSpan + span * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

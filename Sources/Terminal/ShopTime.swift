public import FoundationEssentials
public import Payments

/// A moment as the shop's own clock on the wall shows it.
public struct ShopTime: Sendable, Hashable {
    public let moment: WallTime
    /// The shop's day that it lies in.
    public let day: ShopDay
    /// `YYYY-MM-DD HH:MM:SS`, without a zone: spreadsheets take it for a time. An hour that comes twice is told apart by
    /// ``moment`` only.
    public let text: String

    public init(_ moment: WallTime, in zone: TimeZone) {
        self.moment = moment
        day = ShopDay(of: moment, in: zone)
        let date = Date(timeIntervalSince1970: Double(moment.millisecondsSince1970) / 1000)
        let (local, isFar) = moment.secondsSince1970.addingReportingOverflow(Int64(zone.secondsFromGMT(for: date)))
        let second = isFar ? 0 : ((local % 86_400) + 86_400) % 86_400
        func digits(_ number: Int64) -> String { number < 10 ? "0\(number)" : String(number) }
        text = "\(day.text) \(digits(second / 3600)):\(digits(second / 60 % 60)):\(digits(second % 60))"
    }
}

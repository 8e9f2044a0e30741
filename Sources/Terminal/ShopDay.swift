public import FoundationEssentials
public import Payments

/// A day as the shop counts it: from midnight to midnight of its own clock on the wall, so 23 or 25 hours long twice a year.
public struct ShopDay: Sendable, Hashable, Codable, Comparable, CustomStringConvertible {
    /// `YYYY-MM-DD`.
    public let text: String

    /// Nil unless `text` is `YYYY-MM-DD` and a day of the Gregorian calendar from 2000 to 2199.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2]), (2000...2199).contains(year)
        else { return nil }
        let components = DateComponents(year: year, month: month, day: day, hour: 12)
        guard let date = Self.calendar(.gmt).date(from: components), Self.text(of: date, .gmt) == text else {
            return nil
        }
        self.text = text
    }

    /// The day of a moment in a time zone; of a clock that is far off, the first or the last day that there is.
    init(of time: WallTime, in zone: TimeZone) {
        // By text only where the years have four digits; a clock may name any year.
        let date = min(max(Self.date(time), Self.earliest), Self.latest)
        text = min(max(Self.text(of: date, zone), "2000-01-01"), "2199-12-31")
    }

    /// 1999-12-01 and 2200-02-01: within a month of the first and the last day in every time zone.
    private static let earliest = Date(timeIntervalSince1970: 944_006_400)
    private static let latest = Date(timeIntervalSince1970: 7_260_796_800)

    /// The moments it holds, the end not included.
    public func bounds(in zone: TimeZone) -> Range<WallTime> {
        let start = Self.start(noon, zone)
        let end = Self.start(noon.addingTimeInterval(86_400), zone)
        return Self.time(start)..<max(Self.time(start), Self.time(end))
    }

    /// The day before.
    public var previous: ShopDay { ShopDay(of: Self.time(noon.addingTimeInterval(-86_400)), in: .gmt) }

    public var description: String { text }

    public static func < (lhs: ShopDay, rhs: ShopDay) -> Bool { lhs.text < rhs.text }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let day = ShopDay(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a day")
        }
        self = day
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    // MARK: - The calendar

    /// Noon of this day in Greenwich: far from every midnight, so that a day added to it is the next day.
    private var noon: Date {
        let parts = text.split(separator: "-").compactMap { Int($0) }
        let components = DateComponents(year: parts[0], month: parts[1], day: parts[2], hour: 12)
        return Self.calendar(.gmt).date(from: components) ?? .distantPast
    }

    /// The first moment of the day that `noon` names; where the clock skips midnight, the first one after it.
    private static func start(_ noon: Date, _ zone: TimeZone) -> Date {
        let parts = calendar(.gmt).dateComponents([.year, .month, .day], from: noon)
        let local = calendar(zone)
        let midday = local.date(
            from: DateComponents(year: parts.year, month: parts.month, day: parts.day, hour: 12)
        )
        return local.startOfDay(for: midday ?? noon)
    }

    private static func text(of date: Date, _ zone: TimeZone) -> String {
        let parts = calendar(zone).dateComponents([.year, .month, .day], from: date)
        func digits(_ number: Int?, _ count: Int) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(parts.year, 4))-\(digits(parts.month, 2))-\(digits(parts.day, 2))"
    }

    private static func calendar(_ zone: TimeZone) -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        return calendar
    }

    private static func date(_ time: WallTime) -> Date {
        Date(timeIntervalSince1970: Double(time.millisecondsSince1970) / 1000)
    }

    private static func time(_ date: Date) -> WallTime {
        WallTime(millisecondsSince1970: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}

extension WallTime {
    /// RFC 3339 in UTC, to the millisecond.
    var internetText: String {
        Date(timeIntervalSince1970: Double(millisecondsSince1970) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// A moment as RFC 3339 writes it, with or without fractions of a second; nil where it is none.
    init?(internetText text: String) {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
        guard let date = try? style.parse(text) else { return nil }  // From outside: another form is no time.
        self.init(millisecondsSince1970: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }
}

extension MerchantSettings {
    /// Where the shop's days begin and end: its own time zone, else the machine's.
    public var zone: TimeZone { timeZone.flatMap(TimeZone.init(identifier:)) ?? .current }
}

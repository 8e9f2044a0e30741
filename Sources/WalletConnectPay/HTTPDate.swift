import FoundationEssentials

/// A moment as HTTP writes it, in each of the three forms that a recipient must read.
///
/// Source: RFC 9110, section 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
/// `Sun Nov  6 08:49:37 1994`.
public struct HTTPDate: Sendable, Hashable, Comparable {
    /// Unix time.
    public let seconds: Int64

    /// Reads one of the three forms; nil for any other text, and for a day that no calendar has.
    public init?(_ text: String) {
        guard text.utf8.count <= 64, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
        let fields: (day: Substring, month: Substring, year: Substring, clock: Substring)
        switch parts.count {
        case 6 where parts[0].count == 4 && parts[0].hasSuffix(",") && parts[3].count == 4 && parts[5] == "GMT":
            fields = (parts[1], parts[2], parts[3], parts[4])
        case 4 where parts[0].hasSuffix(",") && parts[3] == "GMT":
            let date = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, date[2].count == 2 else { return nil }
            fields = (date[0], date[1], date[2], parts[2])
        case 5 where parts[0].count == 3 && parts[4].count == 4: fields = (parts[2], parts[1], parts[4], parts[3])
        default: return nil
        }
        guard let month = Self.months.firstIndex(of: String(fields.month)), let day = Self.number(fields.day, 1...31),
            var year = Self.number(fields.year, 0...9999)
        else { return nil }
        // Two digits: the obsolete form. No server that writes it is older than the web.
        if fields.year.count == 2 { year += year < 70 ? 2000 : 1900 }
        let clock = fields.clock.split(separator: ":", omittingEmptySubsequences: false)
        guard year >= 1970, clock.count == 3, let hour = Self.number(clock[0], 0...23),
            let minute = Self.number(clock[1], 0...59), let second = Self.number(clock[2], 0...60)
        else { return nil }
        let components = DateComponents(
            timeZone: .gmt,
            year: year,
            month: month + 1,
            day: day,
            hour: hour,
            minute: minute,
            second: second
        )
        guard let date = Calendar(identifier: .gregorian).date(from: components) else { return nil }
        seconds = Int64(date.timeIntervalSince1970)
    }

    public static func < (one: HTTPDate, other: HTTPDate) -> Bool { one.seconds < other.seconds }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
}

extension HTTPResponse {
    /// How long the other side asks to be left alone, in whole seconds from 0 to `limit`; nil where it does not say.
    ///
    /// A date counts from the answer's own `Date`: this machine's clock may be wrong. Without one it says nothing.
    /// Source: RFC 9110, section 10.2.3, `Retry-After`.
    public func retryAfter(atMost limit: Duration = .seconds(3600)) -> Duration? {
        guard let text = header("Retry-After") else { return nil }
        let most = limit.components.seconds
        // More digits than a number holds are more than any limit.
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(min(Int64(text) ?? most, most))
        }
        guard let until = HTTPDate(text), let now = header("Date").flatMap(HTTPDate.init) else { return nil }
        return .seconds(min(max(until.seconds - now.seconds, 0), most))
    }
}

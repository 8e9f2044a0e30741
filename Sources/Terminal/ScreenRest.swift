public import FoundationEssentials
public import Payments
import Screen

/// When the screen rests while nobody pays, and how. A screen with anything to say never rests.
public struct ScreenRest: Sendable, Hashable, Codable {
    public enum Mode: String, Sendable, Hashable, Codable, CaseIterable { case never, dim, dark }

    public var mode = Mode.never
    /// Minutes since midnight on the shop's clock, 0 to 1439. From this one on it rests …
    public var from = 22 * 60
    /// … and from this one on no more; before `from` it is the next day's.
    public var until = 6 * 60

    /// So long after the last thing that happened it stays as bright as by day.
    public static let quiet = Duration.seconds(60)

    public init() {}

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.mode, into: &mode)
        try container.read(.from, into: &from)
        try container.read(.until, into: &until)
    }

    private enum CodingKeys: String, CodingKey { case mode, from, until }

    /// Whether the shop's clock stands within the hours. A clock that is put forward or back in between is followed: what
    /// counts is what it shows.
    public func isDue(at time: WallTime, in zone: TimeZone) -> Bool {
        guard mode != .never else { return false }
        let date = Date(timeIntervalSince1970: Double(time.millisecondsSince1970) / 1000)
        let local = Int((date.timeIntervalSince1970 / 60).rounded(.down)) + zone.secondsFromGMT(for: date) / 60
        let minute = (local % 1440 + 1440) % 1440
        return from <= until ? from <= minute && minute < until : from <= minute || minute < until
    }

    /// `HH:MM`; nil where it is no time of a day.
    public static func minute(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) }), parts[1].utf8.count == 2,
            let hour = UInt8(parts[0]), let minute = UInt8(parts[1]), hour < 24, minute < 60
        else { return nil }
        return Int(hour) * 60 + Int(minute)
    }

    public static func text(_ minute: Int) -> String {
        let (hour, rest) = minute.quotientAndRemainder(dividingBy: 60)
        return (hour < 10 ? "0" : "") + "\(hour):" + (rest < 10 ? "0" : "") + "\(rest)"
    }

    /// How a scene is shown while nothing has happened for `quiet`: only the idle page rests, and only where it says nothing
    /// that staff have still to see.
    func applied(to scene: Scene, isDue: Bool, quiet: Duration) -> Scene {
        guard isDue, quiet >= Self.quiet, Self.mayRest(scene), case .idle(var idle) = scene else { return scene }
        switch mode {
        case .never: return scene
        case .dim: idle.rest = .dim
        case .dark: idle.rest = .dark
        }
        return .idle(idle)
    }

    static func mayRest(_ scene: Scene) -> Bool {
        guard case .idle(let idle) = scene else { return false }
        return idle.notices.isEmpty && idle.progress == nil
    }
}

extension ChargeDesk {
    /// Takes what the owner set about the screen's rest, at once.
    public func use(rest: ScreenRest) {
        guard self.rest != rest else { return }
        self.rest = rest
        wakeScreen()
    }

    /// Somebody is there: the screen is bright for a while, whatever the hour.
    public func wakeScreen() {
        guard rest.mode != .never else { return }
        wakes &+= 1
        publish()
    }
}

import Foundation
import Payments
import Screen
import Testing

@testable import Terminal

/// A screen that rests by the shop's clock, and never while it has anything to say.
struct ScreenRestTests {
    private static func rest(_ from: String, _ until: String, _ mode: ScreenRest.Mode = .dark) throws -> ScreenRest {
        var rest = ScreenRest()
        rest.mode = mode
        rest.from = try #require(ScreenRest.minute(from))
        rest.until = try #require(ScreenRest.minute(until))
        return rest
    }

    private static func time(_ text: String) throws -> WallTime { try #require(WallTime(internetText: text)) }

    @Test(arguments: [
        ("22:00", "06:00", "2026-11-22T20:59:59Z", false), ("22:00", "06:00", "2026-11-22T21:00:00Z", true),
        ("22:00", "06:00", "2026-11-23T04:59:59Z", true), ("22:00", "06:00", "2026-11-23T05:00:00Z", false),
        ("13:00", "14:30", "2026-11-22T12:15:00Z", true), ("13:00", "14:30", "2026-11-22T13:30:00Z", false),
        ("00:00", "23:59", "2026-11-22T22:59:00Z", false), ("00:00", "23:59", "2026-11-22T23:00:00Z", true),
        // Before 1970, where clocks stand that nobody has set.
        ("22:00", "06:00", "1969-12-31T22:30:00Z", true), ("22:00", "06:00", "1969-12-31T12:00:00Z", false),
    ])
    func itRestsBetweenTheHoursAlsoOverMidnight(from: String, until: String, at: String, isDue: Bool) throws {
        let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
        #expect(try Self.rest(from, until).isDue(at: Self.time(at), in: berlin) == isDue)
        #expect(try !Self.rest(from, until, .never).isDue(at: Self.time(at), in: berlin))
    }

    @Test(arguments: [
        "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Chatham", "Australia/Lord_Howe",
        "America/Los_Angeles",
        "Pacific/Kiritimati", "UTC",
    ])
    func whatCountsIsWhatTheClockOnTheWallShowsAlsoWhenItIsPutForward(zone name: String) throws {
        let zone = try #require(TimeZone(identifier: name))
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        (formatter.timeZone, formatter.dateFormat) = (zone, "HH:mm")
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<400 {
            // Around the nights in which clocks change as well as anywhere in 30 years.
            let base = [1_774_746_000, 1_792_893_600, 1_772_960_400, 1_793_520_000, 1_775_314_800].randomElement(
                using: &generator
            )
            let second =
                Bool.random() ? (base ?? 0) + Int.random(in: -90_000...90_000) : Int.random(in: 0...2_000_000_000)
            var rest = ScreenRest()
            rest.mode = .dim
            rest.from = Int.random(in: 0..<1440)
            rest.until = Int.random(in: 0..<1440)
            let shown = formatter.string(from: Date(timeIntervalSince1970: Double(second)))
            let minute = try #require(ScreenRest.minute(shown))
            // Walking on from `from`, `until` is not met before now.
            let since = (minute - rest.from + 1440) % 1440
            let length = (rest.until - rest.from + 1440) % 1440
            let time = WallTime(millisecondsSince1970: Int64(second) * 1000 + Int64.random(in: 0..<1000))
            #expect(
                rest.isDue(at: time, in: zone) == (since < length),
                "\(name) \(shown) \(ScreenRest.text(rest.from))–\(ScreenRest.text(rest.until))"
            )
        }
    }

    @Test func everyMinuteOfADayReadsAsItIsWritten() {
        for minute in 0..<1440 { #expect(ScreenRest.minute(ScreenRest.text(minute)) == minute) }
    }

    @Test func nothingButTheIdlePageRestsAndThatOnlyWhenItHasBeenQuiet() throws {
        let rest = try Self.rest("22:00", "06:00")
        let idle = Scene.idle(.init(merchantName: "Kiosk"))
        let resting = Scene.idle(.init(merchantName: "Kiosk", rest: .dark))
        #expect(rest.applied(to: idle, isDue: true, quiet: .seconds(60)) == resting)
        #expect(rest.applied(to: idle, isDue: true, quiet: .seconds(59)) == idle)
        #expect(rest.applied(to: idle, isDue: false, quiet: .seconds(600)) == idle)
        let awake: [Scene] = [
            .idle(.init(merchantName: "Kiosk", notices: [.init(.late, amountText: "€1", chargeCode: "K7QM")])),
            .idle(.init(merchantName: "Kiosk", progress: .init(step: 1, count: 2))), .starting(checkingPayments: 1),
            .setup(.init(claimAddress: "a", addressText: "a", claimCode: "b", fingerprintText: "c")),
            .charge(.init(merchantName: "Kiosk", amountText: "€1", link: nil, chargeCode: "K7QM")),
            .processing(.init(merchantName: "Kiosk", amountText: "€1", chargeCode: "K7QM")),
            .paid(.init(merchantName: "Kiosk", amountText: "€1", chargeCode: "K7QM")),
            .promised(.init(merchantName: "Kiosk", amountText: "€1", chargeCode: "K7QM")), .unknown(.init()),
            .notPaid(.init(kind: .failed)), .offline(.init(merchantName: "Kiosk")), .message(.init(title: "Hello")),
            .keypad(.init(.typing)),
        ]
        for scene in awake { #expect(rest.applied(to: scene, isDue: true, quiet: .seconds(6000)) == scene) }
    }
}

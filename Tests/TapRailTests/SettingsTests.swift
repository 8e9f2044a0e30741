import Foundation
import Terminal
import Testing

/// Stored settings of other versions.
struct SettingsTests {
    private func read(_ json: String) throws -> TapSettings {
        try JSONDecoder().decode(TapSettings.self, from: Data(json.utf8))
    }

    @Test func whatIsMissingHasItsDefault() throws {
        var expected = TapSettings()
        expected.isEnabled = true
        expected.tips.maximumPercent = 20
        expected.thresholds.near = -60
        let json = #"{"isEnabled":true,"tips":{"maximumPercent":20},"thresholds":{"near":-60},"ofALaterVersion":[1]}"#
        #expect(try read(json) == expected)
    }

    @Test func whatIsStoredIsReadBack() throws {
        var settings = TapSettings()
        settings.mode = .tagged
        settings.shortCodeAboveMinorUnits = 5000
        settings.offline.isAllowed = true
        settings.timers.connect = .milliseconds(1234)
        settings.timers.recover = .seconds(90)
        #expect(try JSONDecoder().decode(TapSettings.self, from: JSONEncoder().encode(settings)) == settings)
    }

    @Test func aTimeOutsideItsBoundsBecomesTheNearestBound() throws {
        let timers = try read(
            #"{"timers":{"connect":1,"execute":99999999999,"keepAlive":"long","recover":30000}}"#
        ).timers
        #expect(timers.connect == .seconds(1))
        #expect(timers.execute == .seconds(120))
        #expect(timers.keepAlive == .seconds(15))
        #expect(timers.recover == .seconds(30))
        #expect(timers.corrected.sorted() == ["connect", "execute", "keepAlive"])
    }
}

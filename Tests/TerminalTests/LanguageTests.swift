import Foundation
import Payments
import Screen
import Testing

@testable import Terminal

/// Which language the screen speaks, and what it says there instead of reasons that are in English.
struct LanguageTests {
    private static let form = SettingsForm(
        operatorID: "op-1",
        merchantID: "merchant-1",
        merchantName: "Café Zoë",
        gatewayURL: "https://api.pay.walletconnect.com",
        currency: "EUR"
    )
    private static let gateways = GatewayPolicy(allowsLoopbackHTTP: false)

    @Test(arguments: [nil, "en", "de", "es", "fr", "ar"])
    func theShopsLanguageIsKept(language: String?) throws {
        var form = Self.form
        form.language = language
        #expect(try form.checked(hasKey: true, gateways: Self.gateways).language == language)
    }

    @Test(arguments: ["", "xx", "de-DE", "DE", "../de"])
    func aLanguageTheScreenDoesNotSpeakIsRefused(language: String) {
        var form = Self.form
        form.language = language
        let error = #expect(throws: FormErrors.self) { try form.checked(hasKey: true, gateways: Self.gateways) }
        #expect(error?.fields.keys.sorted() == ["language"])
        #expect(error?.fields["language"]?.code == "language_unknown")
    }

    /// What an earlier version stored has no language in it.
    @Test func earlierSettingsAreRead() throws {
        let now = try Self.form.checked(hasKey: true, gateways: Self.gateways)
        var document = try #require(
            try JSONSerialization.jsonObject(with: JSONEncoder().encode(now)) as? [String: Any]
        )
        document["language"] = nil
        let earlier = try JSONSerialization.data(withJSONObject: document)
        #expect(try JSONDecoder().decode(MerchantSettings.self, from: earlier).language == nil)
    }

    @Test func earlierReasonsAreRead() throws {
        let earlier = Data(#"{"code":"a","message":"b","action":"c"}"#.utf8)
        let reason = try JSONDecoder().decode(Reason.self, from: earlier)
        #expect(reason == Reason(code: "a", message: "b", action: "c"))
        let now = Reason(code: "a", message: "b", action: "c", values: ["limit": "€5.00"])
        #expect(try JSONDecoder().decode(Reason.self, from: JSONEncoder().encode(now)) == now)
    }

    @Test func aScreenSaysAReasonForStaffInNoLanguage() {
        let offline = Scene.offline(Scene.Offline(merchantName: "Café Zoë", detail: "The storage is full."))
        for text in ScreenText.all {
            #expect(offline.said(in: text) == .offline(Scene.Offline(merchantName: "Café Zoë")), "\(text.languageTag)")
        }
    }

    @Test func aScreenInAnotherLanguageSaysNothingInEnglish() {
        let keypad = Scene.keypad(Scene.Keypad(.notCharged, whatHappened: "The gateway said no.", whatToDo: "Ask."))
        #expect(keypad.said(in: .english) == keypad)
        for text in ScreenText.all where text.languageTag != "en" {
            #expect(keypad.said(in: text) == .keypad(Scene.Keypad(.notCharged)))
        }
    }

    /// What is known of the money must be said in every language: only the reason goes.
    @Test func theUnknownAndThePaidPageStayWhatTheyAre() {
        let scenes: [Scene] = [
            .unknown(Scene.Unknown(amountText: "€12.50", chargeCode: "K7QM")),
            .paid(Scene.Paid(merchantName: "A", amountText: "€12.50", chargeCode: "K7QM", arrivedLate: true)),
        ]
        for text in ScreenText.all { for scene in scenes { #expect(scene.said(in: text) == scene) } }
    }
}

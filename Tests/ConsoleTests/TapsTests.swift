import Foundation
import Journal
import Logging
import Payments
import TapProtocol
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// A machine without Bluetooth.
struct NoRadio: TapRadio {
    private struct Gone: Error {}

    func sightings(of services: [ServiceUUID]) -> AsyncThrowingStream<TapSighting, any Error> {
        AsyncThrowingStream { $0.finish(throwing: Gone()) }
    }
    func connect(
        _ phone: TapSighting.PhoneAddress,
        characteristics: TapCharacteristics,
        timers: TapTimers
    ) async throws(TapRadioError) -> any TapConnection { throw .failed("no radio") }

    var health: AsyncStream<TapRadioHealth> { AsyncStream { $0.yield(.gone(reason: "there is no adapter")) } }
}

/// A radio that hears one phone so often and so strong, and then nothing more.
struct OnePhone: TapRadio {
    let rssi: Int
    let times: Int

    func sightings(of services: [ServiceUUID]) -> AsyncThrowingStream<TapSighting, any Error> {
        AsyncThrowingStream { air in
            for _ in 0..<times {
                air.yield(TapSighting(address: .init("anna"), services: Set(services), rssi: rssi, at: .zero))
            }
        }
    }
    func connect(
        _ phone: TapSighting.PhoneAddress,
        characteristics: TapCharacteristics,
        timers: TapTimers
    ) async throws(TapRadioError) -> any TapConnection { throw .failed("not asked for") }

    var health: AsyncStream<TapRadioHealth> { AsyncStream { $0.yield(.ready) } }
}

/// An acquirer that nobody reaches.
private struct NoAcquirer: Error {}

/// Tap on a terminal without Bluetooth and with an acquirer that nobody reaches.
func unreachableTap(
    _ journal: Journal,
    _ desk: ChargeDesk,
    _ clock: StillClock,
    _ logger: Logger,
    radio: any TapRadio = NoRadio()
) async throws -> TapDesk {
    let station = TapStation(radio: radio, journal: journal, clock: clock.terminalClock, logger: logger)
    let taps = TapDesk(
        journal: journal,
        desk: desk,
        station: station,
        acquirers: GatewayPolicy(allowsLoopbackHTTP: false),
        clock: clock.terminalClock,
        logger: logger
    ) { _ in throw NoAcquirer() }
    try await taps.load()
    return taps
}

/// What the page may see and change about payments from phones, over its own API.
@Suite(.timeLimit(.minutes(2)))
struct TapsTests {
    private static let password = "correct horse battery"
    private static let canary = "canary-of-the-acquirer"

    private func claim(_ page: Page) async throws {
        let code = try await page.claimCode()
        #expect(try await page.send("POST", "claim", #"{"code":"\#(code)","password":"\#(Self.password)"}"#) == 201)
    }

    /// A whole form; `more` are members before it.
    private static func form(_ more: String = "", url: String = "https://acquirer.test") -> String {
        """
        {\(more)"enabled":true,"mode":"near","acquirerURL":"\(url)","acquirerLogin":"shop",
         "acquirerPassword":"\(canary)","terminalID":"till-1"}
        """
    }

    private func version(_ page: Page) async throws -> Int? {
        try Page.said(try await page.ask("GET", "taps", ""))["version"] as? Int
    }

    private func code(_ response: WebResponse) throws -> String? { try Page.said(response)["code"] as? String }

    @Test func settingsAreTheOwnersAndGivingBackIsNotTheCashiers() throws {
        let id = "01941f29-7c00-7000-8000-000000000001"
        let read = try Route("GET", "/api/v1/taps", query: [:])
        let save = try Route("PUT", "/api/v1/taps", query: [:])
        let back = try Route("POST", "/api/v1/charges/\(id)/take-back", query: [:])
        #expect(read.roles == [.owner] && save.roles == [.owner] && back.roles == [.owner, .manager])
        #expect(!read.changesState && save.changesState && back.changesState)
        #expect(!read.isOpen && !save.isOpen && !back.isOpen)
        #expect(throws: Problem.self) { try Route("DELETE", "/api/v1/taps", query: [:]) }
        #expect(throws: Problem.self) { try Route("GET", "/api/v1/charges/\(id)/take-back", query: [:]) }
    }

    @Test func whoIsNotSignedInOrComesFromAnotherPageChangesNothing() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            let stranger = page.another()
            #expect(try await stranger.send("GET", "taps", "") == 401)
            #expect(try await stranger.send("PUT", "taps", Self.form()) == 401)
            let forged = try await page.ask("PUT", "taps", Self.form(), csrf: "0")
            #expect(try forged.status == 403 && code(forged) == "csrf_token_wrong")
            #expect(try await version(page) == 0)
        }
    }

    @Test func whatIsSavedIsSaidAndTheSecretNever() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            for answer in [
                try await page.ask("PUT", "taps", Self.form()), try await page.ask("GET", "taps", ""),
            ] {
                #expect(answer.status == 200)
                let said = try Page.said(answer)
                #expect(said["enabled"] as? Bool == true && said["acquirerLogin"] as? String == "shop")
                #expect(said["acquirerPasswordSet"] as? Bool == true && said["version"] as? Int == 1)
                #expect((said["light"] as? [String: Any])?["state"] as? String == "hindered")
                #expect((said["notices"] as? [Any])?.isEmpty == true)
                guard case .bytes(let bytes) = answer.body else {
                    Issue.record("no bytes")
                    return
                }
                #expect(!String(decoding: bytes, as: UTF8.self).contains(Self.canary))
            }
            let rows = try await page.rows()
            #expect(rows.contains { $0.what == "taps" && $0.result == "ok" && $0.who == Entrance.ownerActor })
            #expect(!rows.contains { "\($0)".contains(Self.canary) })
        }
    }

    @Test func aFormThatCannotBeUsedIsRefusedFieldByField() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            let strange = try await page.ask("PUT", "taps", Self.form(#""acquirer":"x","#))
            #expect(try strange.status == 422 && code(strange) == "unknown_field")
            let wrong = try await page.ask("PUT", "taps", #"{"enabled":true,"acquirerURL":"ftp://x","offlineHours":0}"#)
            #expect(wrong.status == 422)
            let fields = try #require(try Page.said(wrong)["fields"] as? [String: Any])
            #expect(
                Set(fields.keys)
                    == ["acquirerURL", "acquirerLogin", "acquirerPassword", "terminalID", "offlineHours"]
            )
            #expect(try await version(page) == 0)
            #expect(try await page.rows().last.map { "\($0.what) \($0.result)" } == "taps refused")
        }
    }

    @Test func twoWhoSaveAtOnceDoNotUndoEachOther() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            #expect(try await page.send("PUT", "taps", #"{"version":0,"offlineHours":10}"#) == 200)
            let second = try await page.ask("PUT", "taps", #"{"version":0,"offlineHours":11}"#)
            #expect(try second.status == 409 && code(second) == "settings_changed")
            #expect(try Page.said(try await page.ask("GET", "taps", ""))["offlineHours"] as? Int == 10)
        }
    }

    @Test func theTagIsMadeAnewOnlyForWhoeverAsksForIt() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            func tag() async throws -> [UInt8]? { try await page.journal.document("tap-tag")?.bytes }
            #expect(try await page.send("PUT", "taps", #"{"version":0,"renewTag":true}"#) == 200)
            let first = try #require(try await tag())
            #expect(try await page.send("PUT", "taps", #"{"version":1,"offlineHours":10}"#) == 200)
            #expect(try await tag() == first)
            #expect(try await page.send("PUT", "taps", #"{"version":2,"renewTag":true}"#) == 200)
            #expect(try await tag() != first)
        }
    }

    @Test func theTimesCanBeSetWithinTheirBoundsAndHoldAtOnce() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            func times() async throws -> [String: [String: Int]] {
                try Page.said(try await page.ask("GET", "taps", ""))["times"] as? [String: [String: Int]] ?? [:]
            }
            let usual = try await times()
            #expect(usual.count == 15)
            #expect(usual["connect"] == ["milliseconds": 5000, "usual": 5000, "least": 1000, "most": 30_000])
            let set = #"{"times":{"connect":7500,"fresh":0,"recover":300000}}"#
            let answer = try await page.ask("PUT", "taps", set)
            #expect(answer.status == 200)
            let said = try #require(try Page.said(answer)["times"] as? [String: [String: Int]])
            #expect(said["connect"]?["milliseconds"] == 7500 && said["connect"]?["usual"] == 5000)
            let taps = try #require(page.console.taps)
            #expect(await taps.current?.settings.timers.connect == .milliseconds(7500))
            #expect(await taps.current?.settings.timers.fresh == .zero)
            // What is not named stays.
            #expect(try await page.send("PUT", "taps", #"{"times":{"hello":900}}"#) == 200)
            #expect(try await times()["recover"]?["milliseconds"] == 300_000)
            for (body, field) in [
                (#"{"connect":999}"#, "times.connect"), (#"{"connect":30001}"#, "times.connect"),
                (#"{"connect":"5"}"#, "times.connect"), (#"{"connect":1.5}"#, "times.connect"),
                (#"{"lunch":1000}"#, "times.lunch"), ("5", "times"), ("[]", "times"),
            ] {
                let refused = try await page.ask("PUT", "taps", #"{"times":\#(body)}"#)
                let fields = try Page.said(refused)["fields"] as? [String: [String: String]] ?? [:]
                #expect(refused.status == 422 && Array(fields.keys) == [field], "\(body): \(fields)")
            }
            let refused = try await page.ask("PUT", "taps", #"{"times":{"hello":1}}"#)
            let fields = try Page.said(refused)["fields"] as? [String: [String: String]] ?? [:]
            #expect(fields["times.hello"]?["message"] == "This must be between 0.5 s and 10 s.")
            #expect(try await times()["hello"]?["milliseconds"] == 900)
        }
    }

    @Test func theServicesCharacteristicsCanBeSetEachByItself() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            let names = ["serviceUUID", "writeUUID", "statusUUID", "readUUID"]
            func said(_ body: String) async throws -> [String] {
                let answer = try Page.said(try await page.ask("PUT", "taps", body))
                return names.map { answer[$0] as? String ?? "none" }
            }
            let standard = "7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9"
            #expect(try await said(#"{"offlineHours":10}"#) == [standard, "", "", ""])
            let own = (1...3).map { "6b1d7a5\($0)-93c4-4e0f-b8d7-15f2a6c09e31" }
            let all = #"{"writeUUID":"\#(own[0])","statusUUID":"\#(own[1])","readUUID":"\#(own[2])"}"#
            #expect(try await said(all) == [standard] + own)
            // What is not named stays, and nothing means what follows from the service.
            #expect(try await said(#"{"statusUUID":""}"#) == [standard, own[0], "", own[2]])
            let refused = try await page.ask("PUT", "taps", #"{"writeUUID":"7d2b","readUUID":"\#(standard)"}"#)
            let fields = try Page.said(refused)["fields"] as? [String: [String: String]] ?? [:]
            #expect(refused.status == 422)
            #expect(fields.mapValues { $0["code"] } == ["writeUUID": "uuid_invalid", "readUUID": "uuid_twice"])
        }
    }

    @Test func anotherAcquirerNeedsTheOwnersPasswordAgain() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            #expect(try await page.send("PUT", "taps", Self.form()) == 200)
            let other = "https://elsewhere.test"
            for proof in ["", #""password":"wrong horse battery","#] {
                let refused = try await page.ask("PUT", "taps", Self.form(proof, url: other))
                #expect(refused.status == 422)
                #expect((try Page.said(refused)["fields"] as? [String: Any])?.keys.contains("password") == true)
            }
            #expect(try await version(page) == 1)
            // What leaves the acquirer as it is needs none.
            #expect(try await page.send("PUT", "taps", #"{"mode":"tap"}"#) == 200)
            #expect(
                try await page.send("PUT", "taps", Self.form(#""password":"\#(Self.password)","#, url: other)) == 200
            )
            #expect(try await version(page) == 3)
        }
    }

    @Test func whatWasNotPaidByPhoneIsNotGivenBackAndTheReasonIsSaid() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            let settings = """
                {"operatorID":"op-1","merchantID":"mrch_1","merchantName":"Kiosk","gatewayURL":"https://gateway.test",
                 "gatewayKey":"wcp_canary","currency":"EUR"}
                """
            #expect(try await page.send("PUT", "settings", settings) == 200)
            await page.untilReady()
            let opened = try Page.said(try await page.ask("POST", "charges", #"{"amountMinor":1250}"#))
            let id = try #require(opened["id"] as? String)
            let refused = try await page.ask("POST", "charges/\(id)/take-back")
            #expect(try refused.status == 409 && code(refused) == "nothing_to_give_back")
            let row = try #require(try await page.rows().last)
            #expect(row.what == "charge.take-back" && row.result == "refused" && row.detail == id)
            let strange = try await page.ask("POST", "charges/\(id)/take-back", #"{"amountMinor":1}"#)
            #expect(try strange.status == 422 && code(strange) == "unknown_field")
            #expect(try await page.send("POST", "charges/\(id)/take-back", "{}", csrf: "0") == 403)
            #expect(try await page.another().send("POST", "charges/\(id)/take-back", "{}") == 401)
            let unknown = "charges/01941f29-7c00-7000-8000-000000000001/take-back"
            let missing = try await page.ask("POST", unknown)
            #expect(try missing.status == 404 && code(missing) == "charge_not_found")
        }
    }

    @Test func withoutATagThereIsNothingForASticker() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            let said = try Page.said(try await page.ask("GET", "taps", ""))
            #expect(said["tagURI"] is NSNull && (said["tagCode"] as? [String]) == [])
        }
    }

    // MARK: - Measuring

    private static let calibration = "taps/calibration"

    private func state(_ page: Page) async throws -> [String: Any] {
        try Page.said(try await page.ask("GET", Self.calibration, ""))
    }

    @Test func measuringIsTheOwnersAlone() async throws {
        for (method, isChange) in [("GET", false), ("POST", true), ("PUT", true), ("DELETE", true)] {
            let route = try Route(method, "/api/v1/\(Self.calibration)", query: [:])
            #expect(route.roles == [.owner] && route.changesState == isChange && !route.isOpen)
        }
        try await withConsole(withTap: true) { page in
            try await claim(page)
            let stranger = page.another()
            let body = #"{"place":"inside","mode":"near"}"#
            for method in ["GET", "POST", "PUT", "DELETE"] {
                #expect(try await stranger.send(method, Self.calibration, method == "GET" ? "" : body) == 401)
            }
            #expect(try await page.send("POST", Self.calibration, body, csrf: "0") == 403)
            #expect(try await state(page)["measuring"] is NSNull)
        }
    }

    @Test func aMeasurementThatMeansNothingIsRefused() async throws {
        try await withConsole(withTap: true) { page in
            try await claim(page)
            for (body, field) in [
                (#"{"place":"nowhere","mode":"near"}"#, "place"), (#"{"mode":"near"}"#, "place"),
                (#"{"place":"inside","mode":"loud"}"#, "mode"), (#"{"place":"inside"}"#, "mode"),
                (#"{"place":5,"mode":"near"}"#, "place"), (#"{"place":"inside","mode":"near","rssi":-40}"#, "rssi"),
            ] {
                let refused = try await page.ask("POST", Self.calibration, body)
                #expect(refused.status == 422, "\(body)")
                #expect((try Page.said(refused)["fields"] as? [String: Any])?[field] != nil, "\(body)")
            }
            #expect(try await state(page)["measuring"] is NSNull)
            // Nothing was measured, and nobody can say a number of their own.
            let kept = try await page.ask("PUT", Self.calibration)
            #expect(try kept.status == 409 && code(kept) == "nothing_measured")
            let made = try await page.ask("PUT", Self.calibration, #"{"threshold":-20}"#)
            #expect(try made.status == 422 && code(made) == "unknown_field")
            #expect(try await version(page) == 0)
            #expect(try await page.rows().last.map { "\($0.what) \($0.result)" } == "taps.calibration refused")
        }
    }

    @Test func aMeasuredLimitIsSavedWithWhoDidIt() async throws {
        try await withConsole(withTap: true, radio: OnePhone(rssi: -52, times: 60)) { page in
            try await claim(page)
            #expect(try await page.send("POST", Self.calibration, #"{"place":"inside","mode":"tap"}"#) == 200)
            var said = try await state(page)
            while !(said["measuring"] is NSNull) {
                await Task.yield()
                said = try await state(page)
            }
            #expect(said["samples"] as? Int == 50 && said["threshold"] as? Int == -55)
            #expect((said["inside"] as? [String: Any])?["median"] as? Int == -52)
            let saved = try await page.ask("PUT", Self.calibration)
            #expect(saved.status == 200)
            let now = try Page.said(saved)
            #expect(now["tapThreshold"] as? Int == -55 && now["version"] as? Int == 1)
            let kept = try #require((now["calibrations"] as? [String: Any])?["tap"] as? [String: Any])
            #expect(kept["by"] as? String == "owner" && kept["threshold"] as? Int == -55)
            let row = try #require(try await page.rows().last)
            #expect(row.what == "taps.calibration" && row.result == "ok" && row.detail == "tap: -55 dBm")
            #expect(row.who == Entrance.ownerActor)
            #expect(try await state(page)["inside"] is NSNull)
        }
    }

    @Test func aMeasurementCanBeStopped() async throws {
        try await withConsole(withTap: true, radio: OnePhone(rssi: -52, times: 10)) { page in
            try await claim(page)
            #expect(try await page.send("POST", Self.calibration, #"{"place":"inside","mode":"tap"}"#) == 200)
            var said = try await state(page)
            while said["samples"] as? Int != 10 {
                await Task.yield()
                said = try await state(page)
            }
            #expect(said["measuring"] as? String == "inside")
            #expect(said["signal"] as? Int == -52 && said["phones"] as? Int == 1)
            let second = try await page.ask("POST", Self.calibration, #"{"place":"outside","mode":"tap"}"#)
            #expect(try second.status == 409 && code(second) == "measuring")
            #expect(try await page.send("DELETE", Self.calibration, "") == 200)
            #expect(try await state(page)["measuring"] is NSNull)
        }
    }

    @Test func aTerminalWithoutTapHasNoneOfIt() async throws {
        try await withConsole { page in
            try await claim(page)
            #expect(try await page.send("GET", "taps", "") == 404)
            #expect(try await page.send("PUT", "taps", Self.form()) == 404)
            #expect(try await page.send("GET", Self.calibration, "") == 404)
        }
    }
}

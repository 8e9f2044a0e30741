import Foundation
import Journal
import Locks
import Payments
import Sound
import Testing
import WebServer

@testable import Console
@testable import Terminal

/// What the page knows of sound: whether it is on, how loud, on what, and how to try it.
@Suite(.timeLimit(.minutes(2)))
struct SoundTests {
    private func withShop(_ loudspeaker: (any Loudspeaker)?, _ body: (Page) async throws -> Void) async throws {
        try await withConsole(loudspeaker: loudspeaker) { page in
            let code = try await page.claimCode()
            let claim = #"{"code":"\#(code)","password":"a long enough passphrase"}"#
            #expect(try await page.send("POST", "claim", claim) == 201)
            try await body(page)
        }
    }

    private func sound(_ page: Page) async throws -> [String: Any] {
        try #require(try Page.said(try await page.ask("GET", "counter"))["sound"] as? [String: Any])
    }

    private func code(_ sound: [String: Any]) -> String? { (sound["trouble"] as? [String: Any])?["code"] as? String }

    @Test func theOwnerSetsWhetherAndHowLoudAndEverythingElseStays() async throws {
        try await withShop(Loudspeakers()) { page in
            let before = try await sound(page)
            #expect(before["on"] as? Bool == true && before["loudness"] as? Int == 70)
            #expect(before["device"] as? String == "Shelf" && before["trouble"] is NSNull)
            for wrong in ["-1", "101", "99999999999"] {
                let answer = try await page.ask("PUT", "counter", #"{"soundLoudness":\#(wrong)}"#)
                let fields = try Page.said(answer)["fields"] as? [String: [String: Any]]
                #expect(answer.status == 422 && fields?["soundLoudness"]?["code"] as? String == "loudness_out_of_range")
            }
            #expect(try await page.send("PUT", "counter", #"{"sound":false,"soundLoudness":0}"#) == 200)
            #expect(try await page.send("PUT", "counter", #"{"keypadMode":"confirm"}"#) == 200)
            let after = try await sound(page)
            #expect(after["on"] as? Bool == false && after["loudness"] as? Int == 0)
            let kept = await page.desk.snapshot.sound
            #expect(!kept.isOn && kept.loudness == 0, "in force at once")
            let stored = try #require(try await page.journal.document("counter"))
            #expect(String(decoding: stored.bytes, as: UTF8.self).contains(#""loudness":0"#))
            #expect(
                try await page.rows().filter { $0.what == "counter" }.map(\.result) == [
                    "refused", "refused", "refused", "ok", "ok",
                ]
            )
        }
    }

    @Test func tryingItPlaysWhatIsHeardOfAPaymentAlsoWhereSoundIsOff() async throws {
        let box = Loudspeakers()
        try await withShop(box) { page in
            #expect(try await page.send("PUT", "counter", #"{"sound":false,"soundLoudness":40}"#) == 200)
            #expect(try await page.send("POST", "counter/sound", "{}") == 200)
            #expect(try await page.send("POST", "counter/sound", #"{"soundLoudness":100}"#) == 200)
            #expect(try await page.send("POST", "counter/sound", #"{"soundLoudness":101}"#) == 422)
            #expect(
                box.heard == [
                    Loudspeakers.Played(tone: .paid, loudness: 40), Loudspeakers.Played(tone: .paid, loudness: 100),
                ]
            )
            #expect(try await sound(page)["loudness"] as? Int == 40, "nothing is set by trying")
            let rows = try await page.rows().filter { $0.what == "sound.test" }
            #expect(rows.map(\.result) == ["ok", "ok"] && rows.map(\.detail) == ["40 %", "100 %"])
        }
    }

    @Test func whereThereIsNoDeviceThePageAndTheTrialSayWhy() async throws {
        let troubles: [(SoundFailure, String)] = [
            (.noDevice, "no_sound_device"), (.off, "sound_off"), (.inUse(device: "hw:0"), "sound_in_use"),
            (.failed(device: "hw:0", detail: "Input/output error"), "sound_failed"),
        ]
        for (failure, code) in troubles {
            try await withShop(Loudspeakers(failure)) { page in
                let said = try await sound(page)
                #expect(said["device"] is NSNull && self.code(said) == code)
                let answer = try await page.ask("POST", "counter/sound", "{}")
                let refused = try Page.said(answer)["code"] as? String
                #expect(answer.status == 409 && refused == code)
                let rows = try await page.rows().filter { $0.what == "sound.test" }
                #expect(rows.map(\.result) == ["refused"] && rows.map(\.detail) == [code])
            }
        }
        try await withShop(nil) { page in
            let said = try await sound(page)
            #expect(self.code(said) == "sound_off")
        }
    }

    /// Whoever presses again and again keeps no payment from being heard.
    @Test func oneTrialAtATime() async throws {
        let box = Loudspeakers()
        let desk = SoundDesk(box)
        box.hold()
        async let first: Void = desk.play(loudness: 70)
        while !box.isPlaying { await Task.yield() }
        do throws(Problem) {
            try await desk.play(loudness: 70)
            Issue.record("a second one waits behind the first")
        } catch { #expect(error.status == 409 && error.reason.code == "sound_busy") }
        box.letGo()
        try await first
        #expect(box.heard.count == 1)
        try await desk.play(loudness: 70)
        #expect(box.heard.count == 2)
    }
}

/// A loudspeaker that writes down what it plays.
private final class Loudspeakers: Loudspeaker {
    struct Played: Equatable {
        var tone: Tone
        var loudness: Int
    }

    private struct State {
        var heard: [Played] = []
        var isHeld = false
        var isPlaying = false
    }
    private let state = Mutex(State())
    private let failure: SoundFailure?

    init(_ failure: SoundFailure? = nil) { self.failure = failure }

    var heard: [Played] { state.withLock { $0.heard } }
    var isPlaying: Bool { state.withLock { $0.isPlaying } }

    func hold() { state.withLock { $0.isHeld = true } }
    func letGo() { state.withLock { $0.isHeld = false } }

    func device() async throws(SoundFailure) -> String {
        await Task.yield()
        if let failure { throw failure }
        return "Shelf"
    }

    func play(_ tone: Tone, loudness: Int) async throws(SoundFailure) {
        await Task.yield()
        if let failure { throw failure }
        state.withLock { $0.isPlaying = true }
        while state.withLock({ $0.isHeld }), !Task.isCancelled { await Task.yield() }
        state.withLock { state in
            state.isPlaying = false
            state.heard.append(Played(tone: tone, loudness: loudness))
        }
    }
}

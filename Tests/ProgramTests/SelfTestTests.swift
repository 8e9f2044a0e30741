import Foundation
import Machine
import Testing
import WalletConnectPay

@testable import Bluetooth
@testable import till

/// What decides whether a new version is kept: a machine that lacks something is no fault of the version.
struct SelfTestTests {
    /// The screen's part of the self-test on a machine whose kernel shows these devices.
    private func screen(_ devices: [String]) async throws -> Finding {
        let folder = FileManager.default.temporaryDirectory.appending(path: "till-self-test-\(UUID().uuidString)").path
        for device in devices + ["graphics/fbcon", "state"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(device)", withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = Configuration()
        configuration.state = folder + "/state"
        // Not whatever this machine has itself.
        configuration.sink = .drm
        configuration.screenPath = "/dev/dri/none"
        return await Trial(configuration, kernel: folder).screen()
    }

    @Test func aMachineWithoutAnyScreenPassesWithANote() async throws {
        let finding = try await screen([])
        #expect(finding.weight == .note && finding.text.contains("no screen"), "\(finding.line)")
        #expect(finding.text.contains("can be read"), "a code is drawn all the same")
    }

    @Test(arguments: ["graphics/fb0", "drm/card0", "drm/card1-HDMI-A-1"])
    func aScreenThatCannotBeDrawnOnIsAProblem(device: String) async throws {
        let finding = try await screen([device])
        #expect(finding.weight == .bad, "\(finding.line)")
    }

    @Test func anAdapterThatNeverWorkedHereIsNoFaultAndOneThatDidIs() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "till-self-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = Configuration()
        configuration.state = folder
        let trial = Trial(configuration)
        func radio(_ name: String, at place: String) -> MachineFacts.Radio {
            MachineFacts.Radio(name: name, driver: nil, isBlocked: nil, place: place)
        }
        let (own, plugged) = (radio("hci0", at: "usb1/1-1"), radio("hci1", at: "usb1/1-2"))
        let none = RadioState.unavailable(.noAdapter(nil))
        #expect(trial.finding(none, []).weight == .note)
        #expect(trial.finding(none, [own]).weight == .note, "its firmware is missing")
        #expect(trial.finding(nil, [own]).weight == .bad, "bluetoothd says nothing")
        let ready = RadioState.ready(RadioState.Radio(name: "hci1", address: nil))
        #expect(trial.finding(ready, [own, plugged]).weight == .good)
        #expect(trial.finding(none, [own, plugged]).weight == .bad)
        #expect(trial.finding(none, [radio("hci0", at: "usb1/1-2")]).weight == .bad, "under another name")
        #expect(trial.finding(none, [own]).weight == .note, "it was pulled out, and the other never worked")
        #expect(trial.finding(none, []).weight == .note)
    }

    /// A screen that is there and shows nothing is a fault; one that is not there is none.
    @Test(arguments: [("fb0", "dark", Finding.Weight.bad), ("fb0", "", .good), ("", "dark", .good)])
    func whatTheTerminalSaysOfItsScreenCounts(device: String, screen: String, weight: Finding.Weight) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "till-self-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: "\(folder)/graphics/\(device)",
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let body = screen.isEmpty ? #"{"status":"ok"}"# : #"{"screen":"\#(screen)","status":"ok"}"#
        let answer = HTTPResponse(status: 200, body: Array(body.utf8))
        #expect(Trial(Configuration(), kernel: folder).finding(answer).weight == weight)
    }

    @Test func aTerminalThatCanRecordNothingIsNotGood() {
        let answer = HTTPResponse(status: 503, body: Array(#"{"code":"journal_full","status":"failing"}"#.utf8))
        #expect(Trial(Configuration()).finding(answer).weight == .bad)
    }
}

import Foundation
import Testing

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
}

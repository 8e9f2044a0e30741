import FoundationEssentials
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// The terminal on a machine whose sound card is a file, and on one without a card.
@Suite(.timeLimit(.minutes(3)))
struct HeardTests {
    @Test func aPaymentIsHeard() async throws {
        try await withTestBed { bed in
            let (settings, recording) = (bed.folder.appending("asound.conf"), bed.folder.appending("heard.raw"))
            let lines = """
                pcm.!default {
                    type file
                    slave.pcm { type null }
                    file "\(recording)"
                    format raw
                }
                """
            try Data(lines.utf8).write(to: URL(filePath: settings.string))
            let environment = Environment.inherit.updating(["ALSA_CONFIG_PATH": settings.string])
            try await bed.withTerminal(sound: "default", environment: environment) { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: "k1").json()
                let link = try #require(try await terminal.reaches("requiresAction", charge.id).link)
                #expect(Self.heard(recording).isEmpty, "nothing is paid")
                #expect(try await bed.pay(link))
                _ = try await terminal.reaches("succeeded", charge.id)
                var heard = Self.heard(recording)
                while heard.last != 0 || heard.count < Self.shortest {
                    try await Task.sleep(for: .milliseconds(20))
                    heard = Self.heard(recording)
                }
                let loud = try #require(heard.firstIndex { abs(Int($0)) > 1000 })
                #expect(Self.hertz(heard[loud..<loud + 4800]) == 13, "659 Hz: 13 waves in a fiftieth of a second")
            }
        }
    }

    @Test func withoutACardItIsSaidOnceAndPaymentsGoOn() async throws {
        try await withTestBed { bed in
            try await bed.withTerminal(sound: "plughw:31,0") { terminal in
                let session = try await terminal.claim()
                try await terminal.setUp(session)
                for key in ["k1", "k2"] {
                    let charge: ProgramTestBed.Terminal.Charge = try await terminal.charge(session, key: key).json()
                    let link = try #require(try await terminal.reaches("requiresAction", charge.id).link)
                    #expect(try await bed.pay(link))
                    _ = try await terminal.reaches("succeeded", charge.id)
                }
                let answer = try await terminal.send(.POST, "/api/v1/counter/sound", session, json: [String: Int]())
                #expect(answer.status == 409)
                #expect(try answer.json(ProgramTestBed.Terminal.Refusal.self).code == "no_sound_device")
                let log = try String(
                    contentsOf: URL(filePath: bed.folder.appending("terminal.log").string),
                    encoding: .utf8
                )
                #expect(log.split(separator: "payments end without a sound").count == 2)
                #expect(!log.contains("ALSA lib"), "the library writes nothing by itself")
            }
        }
    }

    /// Samples of a third of a second: less is no sound that is over.
    private static let shortest = 16_000

    private static func heard(_ file: FilePath) -> [Int16] {
        // Not there before the first sound.
        let bytes = [UInt8]((try? Data(contentsOf: URL(filePath: file.string))) ?? Data())
        return stride(from: 0, to: bytes.count - 1, by: 2).map {
            Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8)
        }
    }

    /// How often a tenth of a second of samples rises through zero, by five.
    private static func hertz(_ samples: ArraySlice<Int16>) -> Int {
        zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 } / 5
    }
}

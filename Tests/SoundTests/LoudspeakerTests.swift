import Foundation
import Testing

@testable import Sound

/// The real ALSA, playing into files, and what it says where there is nothing to play on.
@Suite(.timeLimit(.minutes(1)))
struct LoudspeakerTests {
    @Test(arguments: Tone.allCases) func whatIsPlayedIsTheTone(tone: Tone) async throws {
        try await withFile { file in
            let speaker = CardLoudspeaker(device: "file:\(file),raw")
            #expect(try await speaker.device() == "file:\(file),raw")
            try await speaker.play(tone, loudness: 40)
            #expect(try Self.samples(of: file) == tone.samples(loudness: 40))
        }
    }

    /// Opened for each sound: a device that is put in another's place is used from the next one on.
    @Test func nothingOfTheDeviceIsKeptBetweenTwoSounds() async throws {
        try await withFile { file in
            let speaker = CardLoudspeaker(device: "file:\(file),raw")
            try await speaker.play(.notPaid, loudness: 100)
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
            }
            #expect(!open.contains(file))
            try FileManager.default.removeItem(atPath: file)
            try await speaker.play(.paid, loudness: 100)
            #expect(try Self.samples(of: file) == Tone.paid.samples(loudness: 100))
        }
    }

    @Test(arguments: ["plughw:31,0", "hw:31", "nobody has such a device"])
    func whereTheNamedDeviceIsMissingNothingIsHeardAndItIsSaid(name: String) async throws {
        let speaker = CardLoudspeaker(device: name)
        await #expect(throws: SoundFailure.self) { try await speaker.play(.paid, loudness: 70) }
        await #expect(throws: SoundFailure.self) { try await speaker.device() }
    }

    @Test func aNamedCardThatIsNotThereIsNoDevice() async throws {
        await #expect(throws: SoundFailure.noDevice) {
            try await CardLoudspeaker(device: "plughw:31,0").play(.paid, loudness: 70)
        }
    }

    /// Of a machine without sound, as servers are; another one would be heard.
    @Test(.enabled(if: !FileManager.default.fileExists(atPath: "/dev/snd")))
    func aMachineWithoutCardsHasNoDevice() async throws {
        let speaker = CardLoudspeaker(device: "")
        await #expect(throws: SoundFailure.noDevice) { try await speaker.device() }
        await #expect(throws: SoundFailure.noDevice) { try await speaker.play(.paid, loudness: 70) }
    }

    @Test func aTerminalThatIsToBeSilentLooksForNoDevice() async throws {
        let speaker = CardLoudspeaker(device: "none")
        await #expect(throws: SoundFailure.off) { try await speaker.device() }
        await #expect(throws: SoundFailure.off) { try await speaker.play(.paid, loudness: 70) }
    }

    @Test func aSoundThatTakesTooLongIsLeftOut() async throws {
        try await withFile { file in
            let device = "file:\(file),raw"
            await #expect(throws: SoundFailure.failed(device: device, detail: "it was not played in time")) {
                try await CardLoudspeaker(device: device, limit: .zero).play(.paid, loudness: 70)
            }
            let heard = try Self.samples(of: file)
            #expect(heard.isEmpty)
        }
    }

    @Test func whoeverPluggedALoudspeakerInHearsItThere() {
        func card(_ driver: String, _ output: String) -> SoundCard {
            SoundCard(name: output, title: "", driver: driver, output: output)
        }
        let cards = [
            card("HDA-Intel", "HDMI 0"), card("HDA-Intel", "ALC269 Analog"), card("HDA-Intel", "DisplayPort 1"),
            card("USB-Audio", "USB Audio"), card("HDA-Intel", "ALC269 Digital"),
        ]
        let order = SoundCard.inOrder(cards).map(\.output)
        #expect(order == ["USB Audio", "ALC269 Analog", "ALC269 Digital", "HDMI 0", "DisplayPort 1"])
    }

    @Test(arguments: [
        "Master", "PCM", "Speaker", "Headphone", "Line Out", "Front", "Bass Speaker", "Headset", "Speaker+LO", "IEC958",
    ])
    func whatStandsBetweenASoundAndItsHearersIsOpened(name: String) { #expect(MixerControl.isPlayback(name)) }

    @Test(arguments: [
        "Mic", "Front Mic", "Line", "CD", "Mic Boost", "Headphone Mic Boost", "Loopback Mixing", "Beep", "Capture",
    ])
    func noMicrophoneIsLetThrough(name: String) { #expect(!MixerControl.isPlayback(name)) }

    // MARK: - Files in place of cards

    private func withFile(_ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "till-sound-\(UUID().uuidString).raw").path()
        defer { try? FileManager.default.removeItem(atPath: file) }  // Of a test: a rest does no harm.
        try await body(file)
    }

    private static func samples(of file: String) throws -> [Int16] {
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
        return stride(from: 0, to: bytes.count - 1, by: 2).map {
            Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8)
        }
    }
}

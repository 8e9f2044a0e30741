import CALSA
import Executors

/// Plays on the machine's sound cards through ALSA.
///
/// Works on a queue of its own, which it may block for as long as its limit says; nothing else waits for it. A device is looked for
/// and opened for each sound and closed behind it, so that it can be unplugged, and costs nothing at rest.
public actor CardLoudspeaker: Loudspeaker {
    private enum Place {
        case nowhere, first
        case named(String)
    }
    private let place: Place
    private let limit: Duration
    /// One for all: the library's configuration is the whole program's.
    private static let queue = QueueExecutor(label: "till.sound")

    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe Self.queue.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - device: An ALSA name, such as `plughw:1,0`. Empty: the first card that plays; `none`: nothing is ever heard.
    ///   - limit: How long one sound may take.
    public init(device: String, limit: Duration = .seconds(3)) {
        switch device {
        case "": place = .first
        case "none": place = .nowhere
        default: place = .named(device)
        }
        self.limit = limit
        till_silence_alsa()
    }

    public func device() throws(SoundFailure) -> String {
        // The library would else keep the configuration that it reads.
        defer { snd_config_update_free_global() }
        switch place {
        case .nowhere: throw .off
        case .first:
            guard let card = SoundCard.all().first else { throw .noDevice }
            return card.title
        case .named(let name):
            do throws(SoundFailure) { _ = try Playback(name) } catch .inUse(let device) { return device }
            return name
        }
    }

    public func play(_ tone: Tone, loudness: Int) throws(SoundFailure) {
        defer { snd_config_update_free_global() }
        let end = ContinuousClock.now + limit
        let samples = tone.samples(loudness: loudness)
        switch place {
        case .nowhere: throw .off
        case .named(let name): try play(samples, on: name, until: end)
        case .first:
            var failure: SoundFailure?
            for card in SoundCard.all() {
                do throws(SoundFailure) { return try play(samples, on: card.name, until: end) } catch {
                    failure = failure ?? error
                }
            }
            throw failure ?? .noDevice
        }
    }

    private func play(
        _ samples: [Int16],
        on name: String,
        until end: ContinuousClock.Instant
    ) throws(SoundFailure) {
        let playback = try Playback(name)
        if let card = playback.card { MixerControl.openAll(ofCard: card) }
        try playback.play(samples, until: end)
    }
}

import Payments
import Sound
import Terminal
import WebServer

/// The loudspeaker, as the page tells of it and tries it.
actor SoundDesk {
    private let loudspeaker: (any Loudspeaker)?
    private var isTried = false

    /// - Parameter loudspeaker: Nil where the terminal makes no sound.
    init(_ loudspeaker: (any Loudspeaker)?) { self.loudspeaker = loudspeaker }

    /// What would play, or why nothing would.
    func device() async -> (device: String?, trouble: SoundFailure?) {
        guard let loudspeaker else { return (nil, .off) }
        do throws(SoundFailure) { return (try await loudspeaker.device(), nil) } catch { return (nil, error) }
    }

    /// Plays what is heard of a payment that is paid. One at a time: a payment's own sound waits for no more than that.
    func play(loudness: Int) async throws(Problem) {
        guard !isTried else { throw Self.busy }
        isTried = true
        defer { isTried = false }
        do throws(SoundFailure) {
            guard let loudspeaker else { throw .off }
            try await loudspeaker.play(.paid, loudness: loudness)
        } catch { throw Problem(409, error.reason) }
    }

    private static let busy = Problem(
        409,
        "sound_busy",
        "The sound is being played already.",
        "Wait until it is over, then try it again."
    )
}

extension Console {
    /// As loud as it is sent, or else as it is set; also where sound is off.
    func trySound(_ pass: Gate.Pass) async throws(Problem) -> WebResponse {
        var fields = try Form(pass.request.body.isEmpty ? Array("{}".utf8) : pass.request.body)
        var form = CounterForm()
        form.soundLoudness = fields.integer("soundLoudness")
        try fields.finish()
        _ = try form.checked(over: await counter.tips, await counter.rest)
        let loudness = form.sound(over: await counter.sound).loudness
        do throws(Problem) { try await sound.play(loudness: loudness) } catch {
            await entrance.audit(
                "sound.test",
                "refused",
                error.reason.code,
                by: pass.who,
                from: pass.request.peerAddress
            )
            throw error
        }
        await entrance.audit("sound.test", "ok", "\(loudness) %", by: pass.who, from: pass.request.peerAddress)
        return .json(JSON.object(["heard": .bool(true)]).text)
    }
}

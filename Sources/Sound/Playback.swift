import CALSA
import Glibc

/// A device that is open for one sound, closed with the object. Used on its loudspeaker's queue only.
@safe struct Playback: ~Copyable {
    private let handle: OpaquePointer
    private let device: String

    /// As much as the longest sound: it is handed over at once, and a busy machine does not tear it.
    private static let buffer: UInt32 = 700_000  // Microseconds.
    private static let slice: Int32 = 20  // Milliseconds.

    /// Never waits for a device that another program has.
    init(_ device: String) throws(SoundFailure) {
        var opened: OpaquePointer?
        let code = unsafe snd_pcm_open(&opened, device, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
        guard code == 0, let opened = unsafe opened else { throw Self.failure(code, device) }
        unsafe handle = opened
        self.device = device
    }

    /// The card it plays on; nil where that is none of the kernel's.
    var card: Int32? {
        var about: OpaquePointer?
        guard unsafe snd_pcm_info_malloc(&about) == 0 else { return nil }
        defer { unsafe snd_pcm_info_free(about) }
        guard unsafe snd_pcm_info(handle, about) == 0 else { return nil }
        let card = unsafe snd_pcm_info_get_card(about)
        return card < 0 ? nil : card
    }

    /// Returns when the last sample was heard.
    func play(_ samples: [Int16], until end: ContinuousClock.Instant) throws(SoundFailure) {
        let rate = UInt32(Tone.samplesPerSecond)
        try check(
            unsafe snd_pcm_set_params(
                handle,
                SND_PCM_FORMAT_S16_LE,
                SND_PCM_ACCESS_RW_INTERLEAVED,
                1,
                rate,
                1,
                Self.buffer
            )
        )
        var rest = samples[...]
        while !rest.isEmpty {
            try inTime(end)
            let count = unsafe rest.withUnsafeBufferPointer {
                unsafe snd_pcm_writei(handle, $0.baseAddress, UInt($0.count))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == 0 || count == Int(-EAGAIN) {
                try wait()
            } else {
                // It ran dry or was asleep, and goes on.
                try check(unsafe snd_pcm_recover(handle, Int32(count), 1))
            }
        }
        try drain(until: end)
    }

    /// Asked without waiting, it says each time that it is not done, until it is silent.
    private func drain(until end: ContinuousClock.Instant) throws(SoundFailure) {
        while true {
            let code = unsafe snd_pcm_drain(handle)
            guard code == -EAGAIN else {
                // It ran dry in the same moment: everything was heard.
                if code != -EPIPE { try check(code) }
                return
            }
            let state = unsafe snd_pcm_state(handle)
            guard state == SND_PCM_STATE_DRAINING || state == SND_PCM_STATE_RUNNING || state == SND_PCM_STATE_PREPARED
            else { return }
            try inTime(end)
            poll(nil, 0, Self.slice)
        }
    }

    private func wait() throws(SoundFailure) {
        let code = unsafe snd_pcm_wait(handle, Self.slice)
        if code < 0 { try check(unsafe snd_pcm_recover(handle, code, 1)) }
    }

    /// In slices: whoever is told to stop is not kept for the whole time.
    private func inTime(_ end: ContinuousClock.Instant) throws(SoundFailure) {
        guard !Task.isCancelled, ContinuousClock.now < end else {
            throw .failed(device: device, detail: "it was not played in time")
        }
    }

    private func check(_ code: Int32) throws(SoundFailure) {
        guard code >= 0 else { throw Self.failure(code, device) }
    }

    private static func failure(_ code: Int32, _ device: String) -> SoundFailure {
        switch -code {
        case EBUSY: .inUse(device: device)
        case ENOENT, ENODEV, ENXIO: .noDevice
        default: .failed(device: device, detail: unsafe String(cString: snd_strerror(code)))
        }
    }

    // What is still to be heard is left out.
    deinit { unsafe snd_pcm_close(handle) }
}

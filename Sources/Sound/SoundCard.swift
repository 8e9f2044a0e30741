import CALSA

/// Something that plays, as the kernel lists it.
struct SoundCard: Equatable {
    /// As ALSA opens it; rates and channels that the card does not have are made for it.
    var name: String
    /// The card's own, for people.
    var title: String
    var driver: String
    /// What of the card it is.
    var output: String

    /// Which is tried before which: somebody plugged a USB loudspeaker in to hear it, and a monitor often has none.
    var rank: Int {
        if driver == "USB-Audio" { return 0 }
        let words = output.uppercased()
        return words.contains("HDMI") || words.contains("DISPLAYPORT") ? 2 : 1
    }

    /// In the order in which they are tried; equal ones as the kernel has them.
    static func inOrder(_ cards: [SoundCard]) -> [SoundCard] {
        cards.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(\.element)
    }

    /// All that plays, now.
    static func all() -> [SoundCard] {
        var (cards, number): ([SoundCard], Int32) = ([], -1)
        // The kernel has no more than 32.
        while unsafe snd_card_next(&number) == 0, (0..<32).contains(number) { cards += outputs(of: number) }
        return inOrder(cards)
    }

    private static func outputs(of card: Int32) -> [SoundCard] {
        var control: OpaquePointer?
        guard unsafe snd_ctl_open(&control, "hw:\(card)", SND_CTL_NONBLOCK) == 0, let control = unsafe control else {
            return []
        }
        defer { unsafe snd_ctl_close(control) }
        var (about, output): (OpaquePointer?, OpaquePointer?) = (nil, nil)
        guard unsafe snd_ctl_card_info_malloc(&about) == 0 else { return [] }
        defer { unsafe snd_ctl_card_info_free(about) }
        guard unsafe snd_pcm_info_malloc(&output) == 0 else { return [] }
        defer { unsafe snd_pcm_info_free(output) }
        guard unsafe snd_ctl_card_info(control, about) == 0 else { return [] }
        let title = unsafe String(cString: snd_ctl_card_info_get_name(about))
        let driver = unsafe String(cString: snd_ctl_card_info_get_driver(about))
        var (found, device): ([SoundCard], Int32) = ([], -1)
        while unsafe snd_ctl_pcm_next_device(control, &device) == 0, device >= 0 {
            unsafe snd_pcm_info_set_device(output, UInt32(device))
            unsafe snd_pcm_info_set_subdevice(output, 0)
            unsafe snd_pcm_info_set_stream(output, SND_PCM_STREAM_PLAYBACK)
            // A device that only records is none of these.
            guard unsafe snd_ctl_pcm_info(control, output) == 0 else { continue }
            let name = unsafe String(cString: snd_pcm_info_get_name(output))
            found.append(SoundCard(name: "plughw:\(card),\(device)", title: title, driver: driver, output: name))
        }
        return found
    }
}

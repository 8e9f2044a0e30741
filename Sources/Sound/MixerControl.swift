import CALSA

/// The controls of a card's mixer. Cards come up silent, and nobody at a counter has a mixer.
enum MixerControl {
    /// Words of controls that let something be heard which is not played: with them a microphone would whistle.
    private static let others: Set<String> = [
        "mic", "microphone", "capture", "input", "cd", "aux", "video", "tv", "radio", "loopback", "sidetone", "beep",
        "boost",
    ]

    /// Whether a control stands between what is played and whoever hears it.
    static func isPlayback(_ name: String) -> Bool {
        let words = name.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
        if words.contains("line"), !words.contains("out") { return false }
        return others.isDisjoint(with: words)
    }

    /// Lets everything be heard that is played on a card, as loud as it goes: loudness is in the samples. A card without a mixer,
    /// and a control that cannot be set, stay as they are.
    static func openAll(ofCard card: Int32) {
        var mixer: OpaquePointer?
        guard unsafe snd_mixer_open(&mixer, 0) == 0, let mixer = unsafe mixer else { return }
        defer { unsafe snd_mixer_close(mixer) }
        guard unsafe snd_mixer_attach(mixer, "hw:\(card)") == 0, unsafe snd_mixer_selem_register(mixer, nil, nil) == 0,
            unsafe snd_mixer_load(mixer) == 0
        else { return }
        var next = unsafe snd_mixer_first_elem(mixer)
        while let control = unsafe next {
            unsafe open(control)
            unsafe next = snd_mixer_elem_next(control)
        }
    }

    private static func open(_ control: OpaquePointer) {
        guard unsafe isPlayback(String(cString: snd_mixer_selem_get_name(control))) else { return }
        if unsafe snd_mixer_selem_has_playback_switch(control) == 1 {
            unsafe snd_mixer_selem_set_playback_switch_all(control, 1)
        }
        var (least, most) = (0, 0)
        if unsafe snd_mixer_selem_has_playback_volume(control) == 1,
            unsafe snd_mixer_selem_get_playback_volume_range(control, &least, &most) == 0
        {
            unsafe snd_mixer_selem_set_playback_volume_all(control, most)
        }
    }
}

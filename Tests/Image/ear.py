"""What a machine's sound card played, as QEMU wrote it into a WAV file, and a listener for it."""

import array
import math
import pathlib

RATE, CHANNELS = 48000, 2
#: The header that QEMU writes first. Its lengths are filled in only when the machine is switched off in order.
HEADER = 44
#: What is looked at for one pitch, in samples: a twentieth of a second.
WINDOW = RATE // 20
#: The piano's keys around the terminal's notes.
SCALE = [440 * 2 ** (key / 12) for key in range(-14, 17)]


def card(path):
    """A sound card on the machine's PCI bus, as most PCs have it, with a file for a loudspeaker."""
    return [
        "-audiodev", f"wav,id=speaker,path={path},out.frequency={RATE},out.channels={CHANNELS},out.format=s16",
        "-device", "intel-hda", "-device", "hda-output,audiodev=speaker",
    ]  # fmt: skip


def samples(path):
    """The left channel's."""
    data = pathlib.Path(path).read_bytes()[HEADER:]
    both = array.array("h", data[: len(data) // (2 * CHANNELS) * 2 * CHANNELS])
    return both[::CHANNELS]


def power(part, hertz):
    """How much there is of a pitch, by Goertzel's way."""
    factor = 2 * math.cos(2 * math.pi * hertz / RATE)
    last = before = 0.0
    for sample in part:
        last, before = sample + factor * last - before, last
    return last * last + before * before - factor * last * before


def notes(path):
    """The pitches that were heard, one after the other, in whole hertz; each only once however long it was heard."""
    heard = samples(path)
    found = []
    for start in range(0, len(heard) - WINDOW, WINDOW):
        part = heard[start : start + WINDOW]
        if max(map(abs, part)) < 1000:
            continue
        strength = {pitch: power(part, pitch) for pitch in SCALE}
        pitch, most = max(strength.items(), key=lambda entry: entry[1])
        # A window in which a note begins, ends or is torn has no pitch of its own.
        if most < 0.5 * sum(sample * sample for sample in part) * len(part) / 2:
            continue
        if not found or found[-1] != round(pitch):
            found.append(round(pitch))
    return found


def has(found, *wanted):
    """Whether these were heard in this order, whatever else was."""
    rest = iter(found)
    return all(any(pitch == note for pitch in rest) for note in wanted)

#!/usr/bin/env python3
"""Makes the table of `make bench-ble` from what a run of the scenario bench-tap left: the phone's log with times, and what
went over the air. Both terminals are measured by the same two clocks, neither of which is theirs.

    stages.py FOLDER        the scenario's results
"""

import pathlib
import re
import struct
import sys

# The beginning of 1970 in the record's microseconds. Source: BlueZ 5.66 src/shared/btsnoop.c, `btsnoop_write`.
EPOCH = 0x00E03AB44A676000 - 946_684_800_000_000
HCI_EVENT = 3
LE_META, REPORTS = 0x3E, (0x02, 0x0D)  # Source: Bluetooth Core 5.4, Vol 4, Part E, 7.7.65.

STAGES = (
    ("advertisement seen → prompt on the phone", "seen", "Asked"),
    ("accept → claim", "Sent      ACCEPT", "Heard     CLAIM"),
    ("claim → result", "Heard     CLAIM", "Heard     RESULT"),
)


def advertisements(path):
    """When the terminal's controller, the first one, heard somebody advertise."""
    air, position = path.read_bytes(), 16
    while position + 24 <= len(air):
        length, flags = struct.unpack_from(">II", air, position + 4)
        (at,) = struct.unpack_from(">q", air, position + 16)
        packet = air[position + 24 : position + 24 + length]
        position += 24 + length
        if flags == HCI_EVENT and len(packet) > 2 and packet[0] == LE_META and packet[2] in REPORTS:
            yield (at - EPOCH) / 1e6


def lines(path):
    """A log of `SECONDS TEXT`; what has no time is left out."""
    for line in path.read_text().splitlines():
        if found := re.match(r"(\d+\.\d+) (.*)", line):
            yield float(found[1]), found[2]


def payments(folder):
    """Each payment's terminal and the times of what happened in it."""
    begun = list(lines(folder / "turns.log"))
    happened = [(at, "seen") for at in advertisements(folder / "air.btsnoop")]
    for log in sorted(folder.glob("phone*.log")):
        happened += lines(log)
    happened.sort()
    for (start, terminal), (end, _) in zip(begun, begun[1:] + [(float("inf"), "")]):
        times = {}
        for at, text in happened:
            if start <= at < end:
                for _, first, last in STAGES:
                    for mark in (first, last):
                        if text.startswith(mark):
                            times.setdefault(mark, at)
        yield terminal, times


def quantile(values, share):
    """The smallest value that so many are not above."""
    return sorted(values)[max(0, -(-len(values) * share // 100) - 1)]


def main():
    folder = pathlib.Path(sys.argv[1])
    spans = {}
    counts = {}
    for terminal, times in payments(folder):
        counts[terminal] = counts.get(terminal, 0) + 1
        for stage, first, last in STAGES:
            if first in times and last in times:
                spans.setdefault((stage, terminal), []).append((times[last] - times[first]) * 1000)
    if not counts:
        sys.exit("No payment was measured.")
    print(f"{counts.get('till', 0)} payments by Till and {counts.get('bleak', 0)} by bleak, in turns, with the same phone")
    rows = [("stage", "", "Till", "bleak", "ratio", "")]
    for stage, _, _ in STAGES:
        for share in (50, 95):
            ours, base = (spans.get((stage, terminal), []) for terminal in ("till", "bleak"))
            if not ours or not base:
                sys.exit(f"Nothing was measured of ‘{stage}’.")
            ours, base = quantile(ours, share), quantile(base, share)
            mark = "ok" if ours <= base else "SLOWER"
            rows.append((stage, f"p{share}", f"{ours:.1f} ms", f"{base:.1f} ms", f"{ours / base:.2f}", mark))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    rows.insert(1, tuple("─" * width for width in widths))
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    memory = [line.split() for line in (folder / "memory.log").read_text().splitlines()]
    said = ", ".join(f"{int(kilobytes) / 1024:.1f} MB after {count}" for count, kilobytes in memory)
    print(f"Till's resident memory: {said} payments")
    for (stage, terminal), values in spans.items():
        if len(values) != counts[terminal]:
            print(f"Of ‘{stage}’ at {terminal} only {len(values)} were seen.")


main()

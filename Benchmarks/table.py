#!/usr/bin/env python3
"""Runs the benchmarks one after the other and prints their figures as one table, each beside its baseline and its limit.

Figures of one line come from one run, in which Till and the baseline take turns: what else the machine does hits both.
A line that misses its limit is marked, and the command ends with 1.
"""
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build/release"
lines = []


def line(what, till, baseline="", ratio="", limit="", holds=None):
    mark = "" if holds is None else ("ok" if holds else "MISSED")
    lines.append((what, till, baseline, ratio, limit, mark))
    print(f"  {what}: {till} {mark}", flush=True)


def output(*command, check=True, timeout=600):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=check, timeout=timeout).stdout


def spans(text):
    """`name: p50 1.23 ms, p99 4.56 ms, …` as {name: (p50, p99)}."""
    found = re.findall(r"^(.+): p50 ([\d.]+) ms, p99 ([\d.]+) ms", text, re.M)
    return {name.strip(): (float(middle), float(slow)) for name, middle, slow in found}


def screen():
    figures = spans(output(BUILD / "till-bench-screen"))
    (middle, slow), (base, base_slow) = figures["charge to verified pixels"], figures["qrencode program + copy, not checked"]
    line("QR page drawn, shown, read back: p50", f"{middle:.1f} ms", f"{base:.1f} ms qrencode + blit", f"{middle / base:.2f}")
    line("QR page drawn, shown, read back: p99", f"{slow:.1f} ms", f"{base_slow:.1f} ms qrencode + blit", f"{slow / base_slow:.2f}",
         "25 ms", slow < 25)


def payment():
    # The gateway's pace makes a round last a second.
    figures = spans(output(BUILD / "till-bench-payment", "1000", timeout=2400))
    slow = figures["request to verified QR pixels, without the gateway"][1]
    line("charge request → QR pixels, whole terminal: p99", f"{slow:.1f} ms", limit="25 ms", holds=slow < 25)
    slow = figures["final word at the gateway to paid pixels"][1]
    line("final word at the gateway → “paid” pixels: p99", f"{slow:.1f} ms", limit="50 ms", holds=slow < 50)


def library():
    """A call through the library beside the same call by curl, at one gateway in turns."""
    figures = spans(output(BUILD / "till-bench-payment", "library", "300"))
    for call in ("create", "cancel", "status"):
        ours, base = (figures[f"{call} through {way}"][0] for way in ("the library", "curl"))
        line(f"merchant call through the library, {call}: p50", f"{ours:.2f} ms", f"{base:.2f} ms curl", f"{ours / base:.2f}",
             "+ 2 ms", ours - base < 2)


def journal():
    text = output(BUILD / "till-bench-journal")
    for name, ours, base, ratio in re.findall(r"^journal, (.+): (\d+), C (\d+), ratio ([\d.]+)", text, re.M):
        is_promised = "at once" in name
        line(f"journal, {name}", f"{ours}/s", f"{base}/s SQLite in C", ratio, "0.80" if is_promised else "",
             float(ratio) >= 0.8 if is_promised else None)
    ours, base, ratio = re.search(r"^SQLite in C on a queue of its own: (\d+), C (\d+), ratio ([\d.]+)", text, re.M).groups()
    line("SQLite in C, each transaction to a queue of its own and back", f"{ours}/s", f"{base}/s SQLite in C", ratio)
    ours, base = map(int, re.search(r"^bytes written for a transaction: journal (\d+), C (\d+)", text, re.M).groups())
    line("journal, one after the other, written for each", f"{ours / 1000:.1f} KB", f"{base / 1000:.1f} KB SQLite in C", f"{ours / base:.2f}")


def history():
    """Lists, searches and sums at 10 000 and at a million charges, and files of all of them with commits beside."""
    row = re.compile(r"^history, (.+): (\d+) p50 ([\d.]+) ms, worst [\d.]+ ms; (\d+) p50 ([\d.]+) ms, worst ([\d.]+) ms; growth ([\d.]+)", re.M)
    text = output(BUILD / "till-bench-history")
    for name, few, base, many, ours, worst, growth in row.findall(text):
        line(f"history of {int(many):,} charges, {name}: p50", f"{ours} ms", f"{base} ms at {int(few):,}", growth, "50 ms", float(ours) < 50)
    row = re.compile(
        r"^exports, (.+): (\d+) first ([\d.]+) ms, whole (\d+) ms; (\d+) first ([\d.]+) ms, whole (\d+) ms, ([\d.]+) MB; growth ([\d.]+)", re.M)
    for name, few, base_first, base, many, first, whole, size, growth in row.findall(text):
        if float(size):
            line(f"{int(many):,} {name}: first bytes", f"{first} ms", f"{base_first} ms at {int(few):,}",
                 f"{float(first) / float(base_first):.1f}", "50 ms", float(first) < 50)
        size = f", {size} MB" if float(size) else ""
        line(f"{int(many):,} {name}: whole{size}", f"{int(whole) / 1000:.1f} s", f"{int(base) / 1000:.2f} s at {int(few):,}", growth)
    found = re.search(r"^commit beside them: p50 [\d.]+ ms, p99 ([\d.]+) ms; alone p50 [\d.]+ ms, p99 ([\d.]+) ms", text, re.M)
    slow, alone = map(float, found.groups())
    line("journal, a commit beside each of these: p99", f"{slow:.1f} ms", f"{alone:.1f} ms alone", f"{slow / alone:.2f}", "15 ms", slow < 15)


def web():
    text = output("Benchmarks/web/run", ".build/bench-web-baseline", BUILD / "till-bench-web", "--rounds", "9", "--seconds", "1",
                  check=False)
    row = re.compile(r"^(\S.*?)\s{2,}(\d+)\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(0\.\d+)?", re.M)
    for name, connections, base, ours, ratio, floor in row.findall(text):
        line(f"web, {name}, {connections} at once", f"{ours}/s", f"{base}/s libmicrohttpd in C", ratio, floor,
             float(ratio) >= float(floor) if floor else None)


def tap():
    text = output(BUILD / "till-bench-tap", "2000")
    for who, middle, slow in re.findall(r"^tap, (.+): p50 ([\d.]+) ms, p95 ([\d.]+) ms", text, re.M):
        line(f"tap, framing and cryptography, {who}: p50", f"{float(middle):.2f} ms")
        line(f"tap, framing and cryptography, {who}: p95", f"{float(slow):.2f} ms", limit="2 ms", holds=float(slow) < 2)


def first(process, deadline, wanted):
    """The process's next announcement of an event."""
    text = ""
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 0.1)[0]:
            text += os.read(process.stdout.fileno(), 65536).decode()
            for announced in text.split("\n")[:-1]:
                if json.loads(announced)["event"] == wanted:
                    return
    sys.exit(f"the terminal did not come to “{wanted}”")


def wakeups(pid):
    """How often each of its threads went to sleep by itself, see proc(5)."""
    counts = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        counts[task.name] = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M).group(1))
    return counts


@contextlib.contextmanager
def terminal(width, height):
    """A terminal of its own that draws a screen of that size; how long its first page took, in milliseconds."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="till-bench-"))
    page = folder / "screen.png"
    (folder / "till.yaml").write_text(
        f"state: {folder}/state\n"
        f'web: {{ address: 127.0.0.1, port: 0, names: [localhost], pages: "{ROOT}/Public" }}\n'
        f"screen: {{ sink: png, path: {page}, width: {width}, height: {height} }}\nlog: {{ level: error }}\n"
    )
    began = time.monotonic()
    process = subprocess.Popen([BUILD / "till", "run", "--config", folder / "till.yaml", "--announce", "-"], stdout=subprocess.PIPE)
    try:
        while not page.exists() and time.monotonic() < began + 10:
            time.sleep(0.001)
        took = (time.monotonic() - began) * 1000
        first(process, began + 20, "claim")
        yield process.pid, took
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)
        process.stdout.close()
        shutil.rmtree(folder)


def memory(pid):
    """Megabytes that a process takes up, and those of them that no file is behind."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return (int(re.search(rf"{name}:\s+(\d+)", status).group(1)) / 1024 for name in ("VmRSS", "RssAnon"))


def idle():
    starts = []
    for number in range(7):
        with terminal(800, 480) as (pid, took):
            starts.append(took)
            if number < 6:
                continue
            time.sleep(2)  # Until what a start leaves behind has settled.
            before, seconds = wakeups(pid), 10
            time.sleep(seconds)
            after = wakeups(pid)  # Threads that have ended meanwhile slept all the time.
            rate = sum(count - before.get(name, 0) for name, count in after.items()) / seconds
            resident, own = memory(pid)
            line("idle: resident memory, 800×480", f"{resident:.0f} MB", limit="60 MB", holds=resident < 60)
            line("idle: of it not backed by files", f"{own:.0f} MB")
            line("idle: wake-ups of all threads", f"{rate:.1f}/s")
    with terminal(3840, 2160) as (pid, _):
        time.sleep(12)
        resident, own = memory(pid)
        line("idle: resident memory, 3840×2160", f"{resident:.0f} MB", limit="80 MB", holds=resident < 80)
        line("idle: of it not backed by files", f"{own:.0f} MB")
    middle = sorted(starts)[len(starts) // 2]
    line("start → first screen, 800×480 PNG: p50", f"{middle:.0f} ms", limit="300 ms", holds=middle < 300)


def relay():
    """5000 clients at a relay that is a process of its own, publishing and receiving on the same cores."""
    text = output(BUILD / "till-bench-relay", "5000", "4000")
    middle, slow = spans(text)["publish to delivery"]
    line("WalletConnect relay, 5000 clients: publish → delivery, p50", f"{middle:.2f} ms")
    line("WalletConnect relay, 5000 clients: publish → delivery, p99", f"{slow:.2f} ms", limit="20 ms", holds=slow < 20)
    each = float(re.search(r"([\d.]+) KB each", text).group(1))
    line("WalletConnect relay: memory of one client", f"{each:.1f} KB", limit="64 KB", holds=each < 64)


def connect():
    """Pair, agree, ask, sign at a relay of its own; the terminal's side keeps everything in a journal on the disk."""
    row = re.compile(r"^(.+): p50 ([\d.]+) ms, p95 ([\d.]+) ms", re.M)

    def figures(*command):
        return {name: (float(middle), float(slow)) for name, middle, slow in row.findall(output(*command))}

    ours = figures(BUILD / "till-bench-connect", "payments", "100")
    python = ROOT / ".build/python/bin/python"
    certificates = ROOT / "Tests/RelayTests/Certificates"
    foreign = figures(BUILD / "till-bench-connect", "foreign", "7", python, ROOT / "Tests/ConnectWalletTests/foreign_wallet.py",
                      certificates / "certificate.pem", certificates / "key.pem")
    for part in ("code: wish to mailbox", "scan to proposal shown", "approval to settled session", "request to shown",
                 "signature to terminal"):
        line(f"WalletConnect, {part}: p95", f"{ours[part][1]:.1f} ms")
    slow = ours["pair to signed"][1]
    base = foreign["foreign, pair to signed"][1]
    line("WalletConnect, pair → settled → request → signed: p95", f"{slow:.1f} ms", f"{base:.0f} ms pyWalletConnect",
         f"{slow / base:.3f}", "100 ms", slow < 100)
    rates = re.compile(r"^(.+): sealed (\d+)/s, opened (\d+)/s", re.M)
    (_, *till), = rates.findall(output(BUILD / "till-bench-connect", "envelopes", "50000"))
    for name, *base in rates.findall(output(python, ROOT / "Benchmarks/envelopes.py", "20000")):
        for what, one, other in zip(("sealed", "opened"), till, base):
            ratio = int(one) / int(other)
            is_promised = name == "pure Python"
            line(f"WalletConnect envelopes of 2 KB, {what}", f"{one}/s", f"{other}/s {name}", f"{ratio:.2f}",
                 "10" if is_promised else "", ratio >= 10 if is_promised else None)


def polls():
    found = json.loads(output(ROOT / "Benchmarks/polls.py", BUILD / "till-sandbox"))
    count = found["count"]
    line(f"sandbox: {count} held questions, all waiting after", f"{found['waitingSeconds']:.1f} s")
    line(f"sandbox: {count} held questions, memory for each", f"{found['kilobytesPerWaiting']:.1f} KB")
    line(f"sandbox: {count} held questions, processor while they wait", f"{found['idleProcessorShare'] * 100:.1f} %")
    line(f"sandbox: {count} held questions, all answered after", f"{found['releaseSeconds']:.2f} s", holds=found["right"] == count)


def page():
    """The page on a slow phone, and 200 of them beside a charge."""
    python = ROOT / ".build/python/bin/python"
    # No terminal packs its screen into a file, which costs ten times what drawing it does. The screen has rows of its own.
    shop = ["env", "TILL_BUILD=release", "TILL_LOG=error", "TILL_SCREEN_SINK=none", "scripts/with-shop"]
    text = output(*shop, python, ROOT / "Benchmarks/page.py", timeout=1200)
    found = json.loads(text.strip().splitlines()[-1])
    whole = found["shopMilliseconds"]
    line("page, first load to keypad, processor ÷ 4, 40 ms and 10 Mbit/s: p50", f"{whole:.0f} ms", limit="1000 ms", holds=whole < 1000)
    line("page, the same with 150 ms and 1.6 Mbit/s: p50", f"{found['slowMilliseconds']:.0f} ms")
    size = found["kilobytes"]
    line(f"page, first load over the wire, {found['requests']} requests", f"{size:.0f} KB", limit="150 KB", holds=size < 150)
    slow = found["eventSlow"]
    line("page, event → shown: p50", f"{found['eventMiddle']:.1f} ms")
    line("page, event → shown: p99", f"{slow:.1f} ms", limit="50 ms", holds=slow < 50)
    line("page, the same in a burst of 60 charges: p99", f"{found['burstSlow']:.1f} ms")
    slow, base = found["createSlow"], found["createBesideSlow"]
    line("API, charge created: p50", f"{found['createMiddle']:.1f} ms", f"{found['storageMiddle']:.1f} ms one synced write",
         f"{found['createMiddle'] / found['storageMiddle']:.1f}")
    line("API, charge created: p99", f"{slow:.1f} ms", f"{found['storageSlow']:.1f} ms one synced write", f"{slow / found['storageSlow']:.1f}",
         "15 ms", slow < 15)
    line(f"API, charge created beside {found['clients']} pages that listen: p99", f"{base:.1f} ms", f"{slow:.1f} ms without", f"{base / slow:.2f}",
         "15 ms", base < 15 and found["heard"] == found["clients"])


def main():
    print("Measuring …", flush=True)
    for part in (screen, payment, library, journal, history, tap, idle, web, page, polls, relay, connect):
        part()
    widths = [max(len(row[column]) for row in lines) for column in range(6)]
    heads = ("what", "Till", "baseline", "ratio", "limit", "")
    widths = [max(width, len(head)) for width, head in zip(widths, heads)]
    print()
    for row in [heads, tuple("─" * width for width in widths), *lines]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    return 1 if any(row[5] == "MISSED" for row in lines) else 0


sys.exit(main())

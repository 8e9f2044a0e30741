"""Boots the guest, prints and counts what its scenarios say, and does what only the host can: looks at the guest's screen
with a foreign eye, presses its keys, opens its web page from outside.

The guest speaks first and in lines: `ready SECONDS`, `scenario NAME`, `ok SECONDS SENTENCE`, `FAILED SENTENCE: DETAIL`, `note WORDS`,
`end NAME SECONDS HOW`, `done`, and `ask …`, which is answered with `answer …` or `refused REASON`:

    qr                what the QR codes on the screen say, separated by spaces
    text              the words on the screen, as tesseract reads them
    picture NAME      keeps the screen as NAME.png beside the scenario's logs
    pixels            a fingerprint of all pixels of the screen
    keys CODE…        presses keys, by QEMU's names for them (1, kp_7, ret)
    page [PATH]       what the web page answers from outside: its status and the SHA-256 of its certificate (base64url)
    pairing           how many packets of the Security Manager, which pairs, the scenario's air.btsnoop holds
    clock             the host's time, in seconds since 1970
"""

import argparse
import base64
import hashlib
import http.client
import json
import os
import pathlib
import re
import select
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time


class Refused(Exception):
    """The host cannot do what the guest asks for."""


class Monitor:
    """QEMU's machine protocol."""

    def __init__(self, path, alive):
        self.socket = connect(path, alive)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline() or '{"error": {"desc": "QEMU has ended"}}')
            if "error" in answer:
                raise Refused(answer["error"]["desc"])
            if "return" in answer:
                return answer["return"]


def connect(path, alive, limit=120.0):
    end = time.monotonic() + limit
    while True:
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(str(path))
            line.settimeout(60)
            return line
        except OSError:
            line.close()
            if time.monotonic() > end or not alive():
                raise
            time.sleep(0.05)


class Host:
    """What the guest may ask for."""

    def __init__(self, monitor, results, port):
        self.monitor, self.results, self.port = monitor, results, port
        self.scenario = "boot"

    def answer(self, words):
        ask = getattr(self, f"ask_{words[0]}", None) if words else None
        if ask is None:
            raise Refused(f"the host does not know ‘{' '.join(words)}’")
        return " ".join(ask(*words[1:]).split())

    def screen(self, path, kind="png"):
        self.monitor.command("screendump", filename=str(path), format=kind)
        return path

    def read(self, before, image, after=()):
        done = subprocess.run([*before, str(image), *after], capture_output=True, text=True, timeout=240)
        return done.stdout

    def ask_qr(self):
        with tempfile.TemporaryDirectory() as folder:
            image = self.screen(pathlib.Path(folder, "screen.png"))
            return self.read(["zbarimg", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable"], image)

    def ask_text(self):
        with tempfile.TemporaryDirectory() as folder:
            image = pathlib.Path(folder, "screen.pgm")
            colours = self.screen(pathlib.Path(folder, "screen.ppm"), "ppm").read_bytes()
            # Coloured words on a dark ground are pictures to tesseract: dark words on white, by the green that is in all.
            _, size, _, pixels = colours.split(b"\n", 3)
            dark_on_white = bytes(255 if value < 112 else 0 for value in range(256))
            image.write_bytes(b"P5\n" + size + b"\n255\n" + pixels[1::3].translate(dark_on_white))
            return self.read(["tesseract"], image, ["-", "--psm", "11"])

    def ask_picture(self, name):
        folder = self.results / self.scenario
        folder.mkdir(exist_ok=True)
        self.screen(folder / f"{pathlib.Path(name).name}.png")
        return "kept"

    def ask_pixels(self):
        with tempfile.TemporaryDirectory() as folder:
            image = self.screen(pathlib.Path(folder, "screen.ppm"), "ppm")
            return hashlib.sha256(image.read_bytes()).hexdigest()[:16]

    def ask_keys(self, *codes):
        for code in codes:
            # Num Lock as a finger presses it, also where the guest's processor is late; Enter right after it answers nothing.
            milliseconds = 400 if code == "num_lock" else 100
            self.monitor.command("send-key", **{"keys": [{"type": "qcode", "data": code}], "hold-time": milliseconds})
            time.sleep(milliseconds / 1000 + (0.4 if code == "num_lock" else 0.05))
        return "pressed"

    def ask_page(self, path="/"):
        # The certificate is the terminal's own; the scenario compares its fingerprint with what the screen says.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        page = http.client.HTTPSConnection("localhost", self.port, context=context, timeout=60)
        try:
            page.connect()
            digest = hashlib.sha256(page.sock.getpeercert(binary_form=True)).digest()
            certificate = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            page.request("GET", path)
            return f"{page.getresponse().status} {certificate}"
        finally:
            page.close()

    def ask_pairing(self):
        # Source: BlueZ 5.66 src/shared/btsnoop.h and doc/btsnoop.txt, the monitor's format; Bluetooth Core 5.4, Vol 3,
        # Part A, 2.1: channel 6 on LE is the Security Manager's.
        air = (self.results / self.scenario / "air.btsnoop").read_bytes()
        packets, links, position = 0, 0, 16
        while position + 24 <= len(air):
            length, flags = struct.unpack_from(">II", air, position + 4)
            packet = air[position + 24 : position + 24 + length]
            position += 24 + length
            if flags & 0xFFFF in (4, 5) and len(packet) >= 8:
                links += 1
                packets += struct.unpack_from("<H", packet, 6)[0] == 6
        if links == 0:
            raise Refused("nothing was recorded on the air")
        return str(packets)

    def ask_clock(self):
        return str(int(time.time()))


class Ledger:
    """What was promised and what was kept, scenario by scenario."""

    def __init__(self):
        self.rows = {}

    def begin(self, name):
        self.rows[name] = [0, 0, 0.0]
        print(f"{name}", flush=True)

    def note(self, name, kept, line):
        self.rows.setdefault(name, [0, 0, 0.0])[0 if kept else 1] += 1
        print(f"  {line}", flush=True)

    def table(self):
        width = max([8, *map(len, self.rows)])
        print(f"\n{'scenario':{width}}  passed  failed  seconds")
        for name, (passed, failed, seconds) in self.rows.items():
            print(f"{name:{width}}  {passed:6}  {failed:6}  {seconds:7.1f}")
        passed, failed = (sum(row[index] for row in self.rows.values()) for index in (0, 1))
        print(f"{passed} passed, {failed} failed", flush=True)
        return passed > 0 and failed == 0


def clock_option(accelerator):
    """The speed of the guest's clock, where it is the host's and known.

    An emulated guest would measure it, and measures it wrong on a busy host: by a factor of three was seen, with which every
    time limit in the guest is three times too short. `no_timer_check` is for the same: a timer that ticks late there is not
    broken. Source: Linux, Documentation/admin-guide/kernel-parameters.txt.
    """
    processor = pathlib.Path("/proc/cpuinfo").read_text()
    megahertz = re.search(r"^cpu MHz\s*:\s*([\d.]+)", processor, re.M)
    if accelerator == "kvm" or "tsc_known_freq" not in processor or not megahertz:
        return ""
    return f" tsc_early_khz={round(float(megahertz[1]) * 1000)}"


def program_option(accelerator):
    """Programs always at the same addresses, where the processor is emulated.

    What it has translated is kept by the address at which it ran: elsewhere the same program is translated anew at each
    start, until the translations have filled their memory and all of them are dropped, with seconds in which everything is slow.
    Source: Linux, Documentation/admin-guide/kernel-parameters.txt.
    """
    return "" if accelerator == "kvm" else " norandmaps"


class Guest:
    """The virtual machine, from power on to power off."""

    def __init__(self, options, accelerator):
        run = pathlib.Path(options.run)
        for name in ("line.sock", "monitor.sock"):
            (run / name).unlink(missing_ok=True)
        disk = run / "disk.img"
        disk.unlink(missing_ok=True)
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        subprocess.run(["mkfs.ext4", "-q", disk, "256M"], check=True, env={**os.environ, "PATH": path})
        forward = f"hostfwd=tcp:127.0.0.1:{options.port}-:{options.port}"
        self.errors = open(run / "qemu.log", "wb")
        self.process = subprocess.Popen(
            [
                "qemu-system-x86_64", "-accel", accelerator, "-M", "pc", "-cpu", "max", "-smp", "2", "-m", "1024",
                "-nodefaults", "-no-reboot", "-display", "none", "-rtc", "base=utc",
                "-kernel", f"{options.guest}/vmlinux", "-initrd", f"{options.guest}/root.cpio",
                "-append", "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check cryptomgr.notests=1"
                " net.ifnames=0" + program_option(accelerator) + clock_option(accelerator),
                "-serial", f"file:{run}/console.log", "-qmp", f"unix:{run}/monitor.sock,server=on,wait=off",
                "-device", "VGA,xres=1280,yres=800", "-device", "qemu-xhci", "-device", "usb-kbd",
                "-drive", f"file={disk},format=raw,if=virtio",
                "-device", "virtio-rng-pci", "-netdev", f"user,id=net,restrict=on,{forward}",
                "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=line,path={run}/line.sock,server=on,wait=off",
                "-device", "virtserialport,chardev=line,name=rig",
                "-fsdev", f"local,id=rig,path={run}/share,security_model=none,readonly=on",
                "-device", "virtio-9p-pci,fsdev=rig,mount_tag=rig",
                "-fsdev", f"local,id=results,path={run}/results,security_model=none",
                "-device", "virtio-9p-pci,fsdev=results,mount_tag=results",
            ],
            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors,
        )  # fmt: skip
        try:
            self.line = connect(run / "line.sock", self.alive)
            self.monitor = Monitor(run / "monitor.sock", self.alive)
        except OSError:
            self.off()
            raise
        self.rest = b""

    def alive(self):
        return self.process.poll() is None

    def say(self, text):
        self.line.sendall(text.encode() + b"\n")

    def hear(self, end):
        """The next line of the guest; None when it is off or `end` is over."""
        while b"\n" not in self.rest:
            wait = end - time.monotonic()
            if wait <= 0 or not select.select([self.line], [], [], wait)[0]:
                return None
            got = self.line.recv(65536)
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace").strip()

    def off(self):
        try:
            self.process.wait(20 if self.process.poll() is None and getattr(self, "finished", False) else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


def boot(options):
    """A guest that answers: with KVM where that works, otherwise wholly emulated."""
    choices = [("kvm", 15.0), ("tcg,thread=multi", 120.0 * options.patience)]
    remembered = pathlib.Path(options.remember)
    known = remembered.read_text().strip() if remembered.exists() else ""
    if known != "kvm" and (known or not os.access("/dev/kvm", os.R_OK | os.W_OK)):
        choices = choices[1:]
    for accelerator, limit in choices:
        started = time.monotonic()
        try:
            guest = Guest(options, accelerator)
        except OSError:
            continue
        line = guest.hear(started + limit)
        if line and line.startswith("ready"):
            remembered.write_text(accelerator.split(",")[0] + "\n")
            took = time.monotonic() - started
            print(f"The guest is up after {took:.1f} s ({accelerator.split(',')[0]}).", flush=True)
            return guest
        guest.off()
        if accelerator == "kvm":
            print(f"KVM does not get a guest up here within {limit:.0f} s; it is emulated.", flush=True)
    return None


def listen(guest, host, ledger, end):
    """Follows the guest to the end of its plan. False when it never got there."""
    name = host.scenario
    while (line := guest.hear(end)) is not None:
        word, _, rest = line.partition(" ")
        if word == "scenario":
            name = host.scenario = rest
            ledger.begin(name)
        elif word == "ok":
            ledger.note(name, True, line)
        elif word == "FAILED":
            ledger.note(name, False, line)
            try:
                host.ask_picture(f"failed-{ledger.rows[name][1]}")
            except Refused as refusal:
                print(f"    no picture of it: {refusal}")
        elif word == "note":
            print(f"  {line}", flush=True)
        elif word == "ask":
            try:
                guest.say("answer " + host.answer(rest.split()))
            except (Refused, OSError, subprocess.SubprocessError, http.client.HTTPException, TypeError) as error:
                guest.say("refused " + " ".join(str(error).split()))
        elif word == "end":
            _, seconds, how = rest.split(" ", 2)
            ledger.rows[name][2] = float(seconds)
            if how != "to its end":
                ledger.note(name, False, f"FAILED the scenario runs to its end: it ended {how}")
            elif sum(ledger.rows[name][:2]) == 0:
                ledger.note(name, False, "FAILED the scenario checks something: it promised nothing")
        elif word == "done":
            guest.finished = True
            return True
    return False


def main():
    parser = argparse.ArgumentParser()
    for name in ("--guest", "--run", "--remember"):
        parser.add_argument(name, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--patience", type=float, default=4)
    options = parser.parse_args()
    run = pathlib.Path(options.run)
    ledger = Ledger()
    guest = boot(options)
    if guest is None:
        print(f"FAILED the guest boots; see {run}/console.log and {run}/qemu.log")
        return 1
    try:
        host = Host(guest.monitor, run / "results", options.port)
        if not listen(guest, host, ledger, time.monotonic() + options.limit):
            over = guest.process.poll() is None
            why = f"not within {options.limit:.0f} s" if over else f"the guest went off; see {run}/console.log"
            ledger.note(host.scenario, False, f"FAILED all scenarios run: {why}")
    finally:
        guest.off()
    return 0 if ledger.table() else 1


if __name__ == "__main__":
    sys.exit(main())

"""A machine in QEMU that boots the appliance's image, as a person with a screen, a network and a power plug has it."""

import hashlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time


class Refused(Exception):
    """QEMU cannot do what it was asked for."""


def connect(path, limit=120.0, alive=lambda: True):
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


class Monitor:
    """QEMU's machine protocol."""

    def __init__(self, path, alive):
        self.socket = connect(path, alive=alive)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.command("qmp_capabilities")

    def command(self, name, /, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline() or '{"error": {"desc": "QEMU has ended"}}')
            if "error" in answer:
                raise Refused(answer["error"]["desc"])
            if "return" in answer:
                return answer["return"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Machine:
    """One power-on of a disk. Emulated: no time limit of it says anything about a real machine."""

    #: QEMU's words for how the processor is made: see `accelerator` below.
    ACCELERATOR = "tcg,thread=multi"
    BOARD = ["qemu-system-x86_64", "-M", "q35", "-cpu", "max"]
    SCREEN = ["-device", "VGA,xres=1280,yres=800,edid=on"]

    def __init__(self, folder, disk, port, *, firmware=None, memory=512, screen=True, writable=True, more=()):
        self.folder, self.port, self.begun = pathlib.Path(folder), port, time.monotonic()
        sockets = tempfile.mkdtemp(prefix="till-qmp.")  # A socket's path must be short.
        self.sockets = pathlib.Path(sockets)
        self.log = open(self.folder / "qemu.log", "ab")
        forward = f"hostfwd=tcp:127.0.0.1:{port}-:8443"
        command = [
            *self.BOARD, "-accel", self.ACCELERATOR, "-smp", "2", "-m", str(memory),
            "-nodefaults", "-no-user-config", "-display", "none", "-rtc", "base=utc",
            "-qmp", f"unix:{sockets}/qmp,server=on,wait=off",
            # Each write is on the host's disk, or at least out of QEMU, when the guest is told so: what a killed QEMU had
            # acknowledged is there at the next start.
            "-drive", f"file={disk},if=none,id=disk,format=qcow2,cache=writethrough,discard=unmap,readonly={'off' if writable else 'on'}",
            "-device", "virtio-blk-pci,drive=disk,bootindex=1",
            "-device", "qemu-xhci,id=usb", "-device", "usb-kbd",
            "-device", "virtio-rng-pci", "-device", "i6300esb", "-watchdog-action", "reset",
            "-netdev", f"user,id=net,{forward}", "-device", "virtio-net-pci,netdev=net,romfile=",
        ]  # fmt: skip
        if screen:
            command += self.SCREEN
        if firmware:
            command += ["-bios", str(firmware)]
        command += more
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.monitor = Monitor(self.sockets / "qmp", self.alive)
        except (OSError, Refused):
            self.cut()
            raise

    def seconds(self):
        return time.monotonic() - self.begun

    def alive(self):
        return self.process.poll() is None

    def picture(self, path, kind="png"):
        self.monitor.command("screendump", filename=str(path), format=kind)
        return pathlib.Path(path)

    def pixels(self):
        """Width, height, and the bytes of all pixels."""
        with tempfile.TemporaryDirectory() as folder:
            data = self.picture(pathlib.Path(folder, "screen.ppm"), "ppm").read_bytes()
        _, size, _, pixels = data.split(b"\n", 3)
        width, height = map(int, size.split())
        return width, height, pixels

    def is_lit(self):
        """Whether somebody has painted the screen: firmware and boot loader leave most of it black, the terminal nothing."""
        _, _, pixels = self.pixels()
        samples = [max(pixels[place : place + 3]) for place in range(0, len(pixels) - 2, 3 * 997)]
        return sum(sample > 8 for sample in samples) > len(samples) / 2

    def codes(self):
        """What the QR codes on the screen say, by a reader that shares no line with zbar, which the terminal reads its own with."""
        import zxingcpp  # The machines for 64-bit ARM are tried without it.

        width, height, pixels = self.pixels()
        grey = memoryview(pixels[1::3]).cast("B", (height, width))
        return [found.text for found in zxingcpp.read_barcodes(grey, formats=zxingcpp.BarcodeFormat.QRCode)]

    def words(self):
        with tempfile.TemporaryDirectory() as folder:
            width, height, pixels = self.pixels()
            image = pathlib.Path(folder, "screen.pgm")
            dark_on_white = bytes(255 if value < 112 else 0 for value in range(256))
            image.write_bytes(b"P5\n%d %d\n255\n" % (width, height) + pixels[1::3].translate(dark_on_white))
            said = subprocess.run(
                ["tesseract", str(image), "-", "--psm", "11"], capture_output=True, text=True, timeout=240
            )
        return " ".join(said.stdout.split())

    def press(self, *codes):
        for code in codes:
            self.monitor.command("send-key", keys=[{"type": "qcode", "data": code}])
            time.sleep(0.15)

    def hold(self, down, *codes):
        """Holds keys down together, or lets them go."""
        for code in codes:
            key = {"type": "key", "data": {"down": down, "key": {"type": "qcode", "data": code}}}
            self.monitor.command("input-send-event", events=[key])

    def wait(self, what, limit, every=0.5):
        """The first answer of `what` that is something; None when the time is over or the machine went off."""
        end = time.monotonic() + limit
        while time.monotonic() < end and self.alive():
            if answer := what():
                return answer
            time.sleep(every)
        return None

    def button(self, limit=240):
        """Presses the power button and waits until the machine is off."""
        self.monitor.command("system_powerdown")
        try:
            self.process.wait(limit)
            return True
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.cut()

    def cut(self):
        """Pulls the plug."""
        if self.log.closed:
            return
        if self.alive():
            self.process.kill()
        self.process.wait()
        self.log.close()
        (self.sockets / "qmp").unlink(missing_ok=True)
        self.sockets.rmdir()


def overlay(image, disk, size="2G"):
    """A disk of its own that begins as the image and is larger than it, as real ones are."""
    subprocess.run(
        ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(pathlib.Path(image).resolve()), "-F", "raw", str(disk), size],
        check=True,
    )


def accelerator(image, folder, remembered):
    """KVM where that gets the image onto its screen soon, else the whole machine is emulated. What was found stays in the file
    `remembered`."""
    choices = {"kvm": "kvm", "tcg": Machine.ACCELERATOR}
    known = remembered.read_text().strip() if remembered.exists() else ""
    if known not in choices:
        known = "kvm" if os.access("/dev/kvm", os.R_OK | os.W_OK) and is_lit_with_kvm(image, folder) else "tcg"
        remembered.write_text(known + "\n")
    return choices[known]


def is_lit_with_kvm(image, folder, limit=20):
    class Fast(Machine):
        ACCELERATOR = "kvm"

    disk, lit = pathlib.Path(folder, "kvm.qcow2"), False
    overlay(image, disk)
    try:
        machine = Fast(folder, disk, free_port())
        try:
            lit = machine.wait(machine.is_lit, limit)
        finally:
            machine.cut()
    except (OSError, Refused):
        pass  # QEMU ended: it may not use KVM, or KVM does not take its processor.
    disk.unlink()
    if not lit:
        print(f"KVM does not get the image onto its screen here within {limit} s; it is emulated.", flush=True)
    return lit

"""The appliance's image for 64-bit ARM, as far as it can be made and tried without a compiler of Swift for it: everything but the
terminal itself, in whose place `stand-in.c` stands. `scripts/test-image arm64` runs it.

    arm64.py --out FOLDER --keys FOLDER      KEYS holds signer.key and signer.pem
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import disk
from guest import Machine, free_port, overlay
from ledger import Ledger

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIRMWARE = pathlib.Path("/usr/share/qemu-efi-aarch64/QEMU_EFI.fd")
IMAGE_LIMIT, MEMORY_LIMIT = 400, 200
#: What the terminal is linked to, on x86-64, beside Swift's own libraries.
LIBRARIES = (
    "libdbus-1.so.3 libsecp256k1.so.1 libnettle.so.8 libsqlite3.so.0 libpangocairo-1.0.so.0 libpango-1.0.so.0 libgobject-2.0.so.0 "
    "libcairo.so.2 libdrm.so.2 libzbar.so.0 libqrencode.so.4 libasound.so.2 libmicrohttpd.so.12 libm.so.6 libz.so.1 libglib-2.0.so.0 "
    "libharfbuzz.so.0 libstdc++.so.6 libgcc_s.so.1"
).split()
#: Where Debian's loader for this machine looks by itself.
PLACES = ["usr/lib/aarch64-linux-gnu", "usr/lib"]
AARCH64 = 183
#: What the stand-in paints, as red, green and blue.
COLOUR = (0xC0, 0x40, 0x80)


class Arm(Machine):
    BOARD = ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72"]
    # The firmware's framebuffer, which the kernel takes over, as on a PC.
    SCREEN = ["-device", "ramfb"]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


def stand_in(folder):
    """A program for 64-bit ARM that needs the terminal's libraries: the compiler is told their names by empty ones."""
    folder.mkdir()
    compiler = ["clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-nostdlib", "-O1", "-fPIC", "-ffreestanding", "-fno-stack-protector"]
    source = ROOT / "Tests/Image/stand-in.c"
    functions = "__libc_start_main open close write socket bind listen accept sendto poll system getenv strlen strcmp strcpy".split()
    (folder / "libc.c").write_text("".join(f"void {name}(void) {{}}\n" for name in functions))
    (folder / "empty.c").write_text("")
    stubs = folder / "stubs"
    stubs.mkdir()
    for name in ["libc.so.6", *LIBRARIES]:
        code = folder / ("libc.c" if name == "libc.so.6" else "empty.c")
        said = run(*compiler, "-w", "-shared", f"-Wl,-soname,{name}", "-o", stubs / name, code)
        if said.returncode:
            raise RuntimeError(said.stderr)
    said = run(
        *compiler, "-Wl,--no-as-needed", "-Wl,--dynamic-linker=/lib/ld-linux-aarch64.so.1", "-fno-builtin", "-pie", "-o",
        folder / "till", source, *sorted(stubs.iterdir()),
    )  # fmt: skip
    if said.returncode:
        raise RuntimeError(said.stderr)
    # It has no package of Swift's in it.
    (folder / "Package.resolved").write_text('{"pins": []}\n')
    return folder / "till"


def elf_machine(path):
    with open(path, "rb") as file:
        head = file.read(20)
    return struct.unpack_from("<H", head, 18)[0] if head[:4] == b"\x7fELF" else None


def links(path):
    """What a program or library needs, and where it looks for it before it looks elsewhere."""
    said = run("readelf", "-dW", path).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    places = [place for found in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", said) for place in found.split(":")]
    return needed, places


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Trials:
    def __init__(self, options, ledger):
        self.out, self.keys, self.ledger = pathlib.Path(options.out), pathlib.Path(options.keys), ledger
        self.limit = 60 * options.patience
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="till-arm64."))
        self.fetched = pathlib.Path(os.environ.get("TILL_IMAGE_FETCHED", ROOT / ".build/image/fetched-arm64"))

    def build(self, out, program):
        more = {"TILL_IMAGE_ARCH": "arm64", "TILL_IMAGE_PROGRAM": str(program), "TILL_IMAGE_KEYRING": str(self.keys / "signer.pem")}
        return run(ROOT / "image/build", out, env=os.environ | more)

    # ---- made

    def made(self):
        print("made", flush=True)
        foreign = self.work / "foreign"
        foreign.mkdir()
        shutil.copy("/bin/true", foreign / "till")
        (foreign / "Package.resolved").write_text('{"pins": []}\n')
        said = self.build(self.work / "refused", foreign / "till")
        self.ledger.promise("A program for another machine is refused", said.returncode == 65, said.stderr)
        said = self.build(self.work / "refused", "")
        self.ledger.promise("Without a program for it there is no image", said.returncode == 64, said.stderr)

        program = stand_in(self.work / "stand-in")
        begun = time.monotonic()
        said = self.build(self.out, program)
        print(f"  made in {time.monotonic() - begun:.0f} s")
        if not self.ledger.promise("The image is made without a compiler of Swift", said.returncode == 0, said.stderr[-500:]):
            return False
        names = ("till.img", "root.squashfs", "sbom.cdx.json")
        second = self.work / "second"
        said = self.build(second, program)
        same = said.returncode == 0 and all(digest(self.out / name) == digest(second / name) for name in names)
        self.ledger.promise("Two builds give the same bytes", same, said.stderr[-500:])
        shutil.rmtree(second, ignore_errors=True)
        return True

    # ---- what can be said without starting it

    def static(self):
        print("static", flush=True)
        image, squashfs = self.out / "till.img", self.out / "root.squashfs"
        packed = self.work / "till.img.zst"
        run("zstd", "-q", "-3", "-T0", image, "-o", packed, check=True)
        megabytes = packed.stat().st_size / 1e6
        packed.unlink()
        print(f"  image: {megabytes:.0f} MB packed, {squashfs.stat().st_size / 1e6:.0f} MB a slot, without the terminal and Swift")
        self.ledger.promise(f"The image is below {IMAGE_LIMIT} MB packed", megabytes < IMAGE_LIMIT, f"{megabytes:.0f} MB")
        scan = run(sys.executable, ROOT / "image/scan.py", squashfs, ROOT, "/opt/swift")
        sentence = "No key, token, password, setuid file, sandbox, compiler, login or folder of this machine is in it"
        self.ledger.promise(sentence, scan.returncode == 0, " · ".join(scan.stdout.splitlines()[:5]) + scan.stderr[-200:])
        self.table(image)
        tree = self.work / "root"
        run("unsquashfs", "-q", "-n", "-d", tree, squashfs, check=True)
        self.programs(tree)
        self.bill()
        self.updates(tree)
        shutil.rmtree(tree)

    def table(self, image):
        parts = json.loads(run("sfdisk", "-J", image, check=True).stdout)["partitiontable"]["partitions"]
        names = [(part["name"], part["uuid"][:13], part["start"] >> 11, part["size"] >> 11) for part in parts]
        wanted = [
            ("till-loader", "7111AAAA-0001", 1, 1), ("till-boot", "7111AAAA-0002", 2, 32),
            ("till-root-A", "7111AAAA-0003", 34, 384), ("till-root-B", "7111AAAA-0004", 418, 384),
        ]  # fmt: skip
        self.ledger.promise("Its disk has the partitions that a PC's has", names == wanted, str(names))
        with open(image, "rb") as file:
            first = file.read(440)
            file.seek(1 << 20)
            loader = file.read(1 << 20)
        self.ledger.promise("Nothing of a BIOS is on it", not (first + loader).strip(b"\0"))
        place = f"{image}@@{disk.BOOT}"
        files = run("mdir", "-b", "-/", "-i", place, "::", check=True).stdout.split()
        wanted = ["::/EFI/BOOT/BOOTAA64.EFI", "::/grub/grub.cfg", "::/grub/grubenv"]
        found = sorted(name for name in files if not name.endswith("/"))
        if not self.ledger.promise("Its boot partition has GRUB for this machine's EFI, and no other", found == wanted, str(files)):
            return
        loader = subprocess.run(["mtype", "-i", place, "::EFI/BOOT/BOOTAA64.EFI"], check=True, capture_output=True).stdout
        header = struct.unpack_from("<I", loader, 0x3C)[0]
        kind = struct.unpack_from("<H", loader, header + 4)[0]
        self.ledger.promise("That GRUB is a program for 64-bit ARM", loader[:2] == b"MZ" and kind == 0xAA64, hex(kind))

    def programs(self, tree):
        first_steps = self.work / "first-steps"
        first_steps.mkdir()
        run("sh", "-c", f"zstd -dc {tree}/boot/initrd | cpio -idm --quiet", cwd=first_steps, check=True)
        kinds = {}
        for folder in (tree, first_steps):
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink() and (machine := elf_machine(path)):
                    kinds[path] = machine
        foreign = [str(path.name) for path, machine in kinds.items() if machine != AARCH64]
        sentence = f"All {len(kinds)} programs, libraries and kernel modules are for 64-bit ARM"
        self.ledger.promise(sentence, len(kinds) > 300 and not foreign, str(foreign[:5]))
        with open(tree / "boot/vmlinuz", "rb") as file:
            head = file.read(64)
        self.ledger.promise("So is the kernel", head[:2] == b"MZ" and head[56:60] == b"ARM\x64", head[56:60].hex())
        # There is no list of libraries for the loader, which this machine's ldconfig cannot make.
        missing = set()
        for path in kinds:
            if path.suffix == ".ko":
                continue
            needed, places = links(path)
            home = str(path.parent.relative_to(tree)) if path.is_relative_to(tree) else ""
            looked = [place.replace("$ORIGIN", home).strip("/") for place in places] + PLACES
            if ".so" in path.name:
                # Who loads a library of a folder of its own has said where that is, for those beside it too.
                looked.append(home)
            missing |= {f"{path.name}: {name}" for name in needed if not any((tree / place / name).exists() for place in looked)}
        self.ledger.promise("The loader finds every library by itself", not missing, str(sorted(missing)[:5]))
        shutil.rmtree(first_steps)

    def bill(self):
        bill = json.loads((self.out / "sbom.cdx.json").read_text())
        held = {(part["name"], part["version"]): part["purl"].rpartition("=")[2] for part in bill["components"]}
        packages = [package for folder in ("debs", "loader") for package in (self.fetched / folder).glob("*.deb")]
        missing = []
        for package in packages:
            name, version, _ = package.name.rsplit("_", 2)
            if (name, version.replace("%3a", ":")) not in held:
                missing.append(package.name)
        machines = set(held.values())
        sentence = f"The list of contents names all {len(held)} packages, GRUB's too, and they are for this machine"
        self.ledger.promise(sentence, packages and not missing and machines == {"arm64", "all"}, f"{missing[:5]} {machines}")

    def updates(self, tree):
        said = re.search(r"^compatible=(.*)$", (tree / "etc/rauc/system.conf").read_text(), re.M)
        self.ledger.promise("It takes updates for till-arm64 alone", said and said[1] == "till-arm64", said and said[1])
        bundle = self.work / "till.raucb"
        made = run(ROOT / "image/bundle", self.out, self.keys / "signer.key", self.keys / "signer.pem", bundle)
        said = run("rauc", "info", "--keyring", self.keys / "signer.pem", "--output-format=json", bundle)
        compatible = json.loads(said.stdout)["compatible"] if said.returncode == 0 else made.stderr[-200:] + said.stderr[-200:]
        self.ledger.promise("A bundle of it says that it is for till-arm64", compatible == "till-arm64", compatible)

    # ---- from power to its units

    def boot(self):
        print("boot", flush=True)
        overlay(self.out / "till.img", self.work / "boot.qcow2")
        self.start("A new machine comes up, and marks its slot as good", self.first_look)
        self.start("It comes up again with what it kept", self.second_look)
        path = disk.raw(self.work / "boot.qcow2", self.work)
        self.look_at_disk(path)
        path.unlink()

    def start(self, sentence, look):
        serial = self.work / "serial.log"
        machine = Arm(self.work, self.work / "boot.qcow2", free_port(), firmware=FIRMWARE, more=["-serial", f"file:{serial}"])
        try:
            counted = machine.wait(lambda: self.settings().get("A_TRY") == "1", self.limit)
            self.ledger.promise("GRUB counts the start", counted, str(self.settings()))
            stands = machine.wait(lambda: self.answers(machine), self.limit, every=1)
            print(f"  emulated: its port answers {machine.seconds():.0f} s after power-on")
            machine.picture(self.out / "boot.png")
            if self.ledger.promise(sentence, stands and look(machine), serial.read_text(errors="replace")[-300:]):
                self.ledger.promise("The power button turns it off", machine.button(), "it was still on")
        finally:
            machine.cut()

    def answers(self, machine):
        with socket.socket() as line:
            line.settimeout(5)
            try:
                line.connect(("127.0.0.1", machine.port))
                return line.recv(100) == b"stand-in\n"
            except OSError:
                return False

    def settings(self):
        return disk.settings_now(self.work / "boot.qcow2", self.work)

    def first_look(self, machine):
        good = machine.wait(lambda: self.settings().get("A_GOOD") == "1", self.limit, every=2)
        print(f"  emulated: marked good {machine.seconds():.0f} s after power-on")
        width, height, pixels = machine.pixels()
        colours = {tuple(pixels[place : place + 3]) for place in range(0, len(pixels), 3 * 997)}
        sentence = f"What is written to the framebuffer is on the screen, {width} × {height}"
        self.ledger.promise(sentence, colours == {COLOUR}, str(sorted(colours)[:4]))
        return good

    def second_look(self, machine):
        return machine.wait(lambda: self.settings().get("A_TRY") == "0", self.limit, every=2)

    def look_at_disk(self, path):
        settings = disk.boot_settings(path)
        wanted = {"ORDER": "A B", "A_OK": "1", "A_TRY": "0", "A_GOOD": "1", "B_OK": "0", "B_TRY": "0", "B_GOOD": "0"}
        self.ledger.promise("The boot loader's settings are in order", settings == wanted, str(settings))
        folder = self.work / "look"
        folder.mkdir()
        if not self.ledger.promise("It made its data partition", disk.unpack_data(path, folder), "there is none"):
            return
        entries = disk.journal(folder)
        texts = [entry.get("MESSAGE") or "" for entry in entries]
        texts = [text if isinstance(text, str) else bytes(text).decode(errors="replace") for text in texts]

        def said(pattern):
            return next((found for text in texts if (found := re.search(pattern, text))), None)

        kernel = said(r"Linux version (\S+-arm64)")
        self.ledger.promise("Debian's kernel for arm64 runs", kernel, "no such line")
        self.ledger.promise("GRUB chose the slot A", said(r"Command line: .*rauc\.slot=A ") or said(r"rauc\.slot=A "))
        booted = said(r"RAUC_SYSTEM_BOOTED_BOOTNAME='(.*)'")
        self.ledger.promise("RAUC, asked over the bus, knows that slot A runs", booted and booted[1] == "A", str(booted))
        for unit in ("nftables", "till.service", "systemd-networkd", "systemd-resolved", "dbus", "avahi-daemon", "iwd", "rauc", "till-good"):
            started = said(f"^(Started|Finished) {re.escape(unit)}")
            self.ledger.promise(f"{unit} is up", started, "its start is not in the journal")
        self.ledger.promise("It reaches its last target", said("Reached target multi-user.target"), "not in the journal")
        failed = sorted({text for text in texts if "Failed with result" in text})
        self.ledger.promise("No unit failed", texts and not failed, " · ".join(failed[:4]))
        watched = said("Watchdog running with a hardware timeout|Using hardware watchdog")
        self.ledger.promise("The machine's own watchdog watches", watched)
        used = said(r"memory in use: (\d+) MB")
        print(f"  memory in use, without the terminal: {used and used[1]} MB")
        self.ledger.promise(f"Less than {MEMORY_LIMIT} MB of memory are in use", used and int(used[1]) < MEMORY_LIMIT)
        starts = len({entry["_BOOT_ID"] for entry in entries if "_BOOT_ID" in entry})
        machines = len({entry["_MACHINE_ID"] for entry in entries if "_MACHINE_ID" in entry})
        self.ledger.promise("Two starts of one machine are in its journal", (starts, machines) == (2, 1), f"{starts}, {machines}")
        for text in texts:
            if text.startswith("Startup finished"):
                print(f"  {text}")
        (self.out / "journal.txt").write_text("\n".join(texts) + "\n")
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--keys", required=True)
    parser.add_argument("--patience", type=float, default=4)
    options = parser.parse_args()
    ledger = Ledger()
    trials = Trials(options, ledger)
    try:
        for part in ("made", "static", "boot"):
            begun = time.monotonic()
            try:
                if getattr(trials, part)() is False:
                    break
            except Exception as error:  # A part that falls over takes no other with it.
                ledger.promise(f"The part ‘{part}’ runs to its end", False, f"{type(error).__name__}: {error}")
            print(f"  {part}: {time.monotonic() - begun:.0f} s", flush=True)
    finally:
        shutil.rmtree(trials.work)
    print(f"{ledger.kept} passed, {ledger.failed} failed", flush=True)
    return 0 if ledger.kept and not ledger.failed else 1


if __name__ == "__main__":
    sys.exit(main())

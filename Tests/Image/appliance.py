"""The appliance's image in a machine: what a merchant sees from power to payment, what an attacker would look for, what is left
after power cuts, and updates that work and that do not. `scripts/test-image` runs it.

    appliance.py --out FOLDER --parts PART…      PARTs: static boot sale tap backup reset cuts update rollback trouble anew
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import string
import subprocess
import sys
import tempfile
import time

import disk
import ear
import outside
import planted
from air import Air
from cuts import Cuts, Known
from guest import Machine, accelerator, free_port, overlay
from large import Large
from ledger import Ledger
from reset import Reset
from terminal import Terminal
from trouble import Trouble

PASSWORD = "four unrelated words: kite"
# Megabytes.
IMAGE_LIMIT, MEMORY_LIMIT = 400, 200
#: How exposed each unit that runs a program may be: little above what it is.
EXPOSURES = {"till.service": 2.2, "till-good.service": 3.0, "till-restart.service": 1.3, "till-stick@.service": 3.9}
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Trials:
    def __init__(self, options, ledger):
        self.out, self.ledger = pathlib.Path(options.out), ledger
        self.limit = 60 * options.patience
        self.how_many, self.seed = options.cuts, options.seed
        self.till = ROOT / ".build/release/till"
        self.keys = pathlib.Path(options.keys or self.out)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="till-image."))
        self.shots = self.out / "shots"
        self.shots.mkdir(exist_ok=True)
        Machine.ACCELERATOR = accelerator(self.out / "till.img", self.work, self.out.parent / "accelerator")
        #: For figures: those of an emulated machine say nothing of a real one.
        self.how = "with KVM" if Machine.ACCELERATOR == "kvm" else "emulated"

    def close(self):
        shutil.rmtree(self.work)

    def start(self, name, **options):
        return Machine(self.work, self.work / name, free_port(), **options)

    def is_up(self, machine):
        terminal = Terminal(machine.port)
        return machine.wait(terminal.answers, self.limit, every=1) and terminal

    def claim_code(self, machine):
        def look():
            return next((text for text in machine.codes() if "#claim=" in text), None)

        return machine.wait(look, self.limit, every=1)

    def becomes_good(self, machine, name, slot):
        """Waits until the self-test has told the boot loader; what it said is read from the disk later."""

        def look():
            return disk.settings_now(self.work / name, self.work).get(f"{slot}_GOOD") == "1"

        return machine.wait(look, self.limit, every=3)

    # ---- what can be said without starting it

    def static(self):
        print("static", flush=True)
        image = self.out / "till.img"
        packed = self.work / "till.img.zst"
        subprocess.run(["zstd", "-q", "-3", "-T0", str(image), "-o", str(packed)], check=True)
        megabytes = packed.stat().st_size / 1e6
        packed.unlink()
        print(f"  image: {megabytes:.0f} MB packed, {(self.out / 'root.squashfs').stat().st_size / 1e6:.0f} MB a slot")
        self.ledger.promise(f"The image is below {IMAGE_LIMIT} MB packed", megabytes < IMAGE_LIMIT, f"{megabytes:.0f} MB")
        self.twice()
        words = [str(ROOT), "/opt/swift"]
        scan = subprocess.run(
            [sys.executable, str(ROOT / "image/scan.py"), str(self.out / "root.squashfs"), *words, "--disk", str(image)],
            capture_output=True, text=True,
        )  # fmt: skip
        sentence = "No key, token, password, setuid file, sandbox, compiler, login or folder of this machine is on its disk"
        self.ledger.promise(sentence, scan.returncode == 0, " · ".join(scan.stdout.splitlines()[:5]) + scan.stderr[-200:])
        count, wrong = planted.missed(image, self.work)
        self.ledger.promise(f"The same scan finds {count} such things where they were planted, and nothing beside", not wrong, str(wrong))
        self.bill()
        self.sandboxes()

    def twice(self):
        """Everything but the compiler a second time, in another folder, from the packages to the disk's last byte."""
        second = self.work / "second"
        differ = self.differing(ROOT, second, {"TILL_BUILT": "1"})
        shutil.rmtree(second, ignore_errors=True)
        self.ledger.promise("Two builds of one compiled program give one hash: disk, slot and list of contents", not differ, str(differ))

    def anew(self):
        """Everything a second time, from the sources on, in another folder whose path is as long.

        Swift's compiler writes the length of a file's path into what it makes of `withoutActuallyEscaping`, and nothing else of it.
        """
        print("anew", flush=True)
        parent = f"{tempfile.gettempdir()}/"
        name = "".join(random.choices(string.ascii_lowercase, k=len(str(ROOT).encode()) - len(parent)))
        if not self.ledger.promise("There is a folder for it", name, f"the path of {ROOT} is too short"):
            return
        sources = pathlib.Path(parent + name)
        sources.mkdir()
        try:
            self.made_anew(sources)
        finally:
            shutil.rmtree(sources)

    def made_anew(self, sources):
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        # The packages that were compiled: what the first build wrote down, which the repository does not keep.
        for name in [*filter(None, names.decode().split("\0")), "Package.resolved"]:
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, sources / name, follow_symlinks=False)
        fetched = os.environ.get("TILL_IMAGE_FETCHED", str(ROOT / ".build/image/fetched"))
        second = sources / "second"
        differ = self.differing(sources, second, {"TILL_BUILT": "", "TILL_IMAGE_FETCHED": fetched})
        if differ and (second / "root.squashfs").exists():
            # To be looked into: the system, and what the compiler made.
            shutil.copy(second / "root.squashfs", self.out / "anew.squashfs")
            shutil.copytree(sources / ".build/release", self.out / "anew", symlinks=True, dirs_exist_ok=True)
        self.ledger.promise("The compiler and all that follows it give the same hash in another folder", not differ, str(differ))

    def differing(self, sources, second, more):
        """Makes the image there again, and says what is not the same; prints all hashes."""
        more = more | {"TILL_IMAGE_KEYRING": str(self.keys / "signer.pem")}
        made = subprocess.run([str(sources / "image/build"), str(second)], env=os.environ | more, capture_output=True, text=True)
        differ = [] if made.returncode == 0 else [made.stderr[-300:]]
        for name in ("till.img", "root.squashfs", "sbom.cdx.json"):
            sums = {digest(folder / name) for folder in (self.out, second) if (folder / name).exists()}
            print(f"  SHA-256 of {name}: {' and '.join(sorted(sums))}")
            if len(sums) != 1 or not (second / name).exists():
                differ.append(name)
        return differ

    def bill(self):
        bill = json.loads((self.out / "sbom.cdx.json").read_text())
        held = {(part["name"], part["version"]) for part in bill["components"]}
        fetched = pathlib.Path(os.environ.get("TILL_IMAGE_FETCHED", ROOT / ".build/image/fetched"))
        packages = {folder: sorted((fetched / folder).glob("*.deb")) for folder in ("debs", "loader")}
        missing = [f"any package of {folder}" for folder, found in packages.items() if not found]
        for package in (package for found in packages.values() for package in found):
            name, version, _ = package.name.rsplit("_", 2)
            if (name, version.replace("%3a", ":")) not in held:
                missing.append(package.name)
        pins = json.loads((ROOT / "Package.resolved").read_text())["pins"]
        missing += [pin["identity"] for pin in pins if pin["identity"] not in {name for name, _ in held}]
        self.ledger.promise(f"The list of contents names all {len(held)} packages, the boot loader's too", held and not missing, str(missing[:5]))
        hashed = all(part.get("hashes") for part in bill["components"] if part["purl"].startswith("pkg:deb/"))
        self.ledger.promise("Each Debian package in it has its SHA-256", hashed)
        inside = subprocess.run(
            ["unsquashfs", "-cat", str(self.out / "root.squashfs"), "usr/share/till/sbom.cdx.json"], capture_output=True
        )
        same = inside.stdout == (self.out / "sbom.cdx.json").read_bytes()
        self.ledger.promise("The list of contents in the image is the same", same, inside.stderr.decode()[-200:])

    def sandboxes(self):
        """How exposed the units are, by systemd's own reckoning: 0 is not at all, 10 is wholly."""
        for unit in sorted(path.name for path in (ROOT / "config/systemd").glob("*.service")):
            most = EXPOSURES.get(unit, 0.0)
            said = subprocess.run(
                ["systemd-analyze", "security", "--offline=true", "--no-pager", str(ROOT / "config/systemd" / unit)],
                capture_output=True, text=True,
            )  # fmt: skip
            found = re.search(r"exposure level for \S+: ([\d.]+)", said.stdout)
            level = float(found[1]) if found else 10.0
            print(f"  exposure of {unit}: {level}")
            self.ledger.promise(f"{unit} is exposed by no more than {most}", level <= most, f"{level}")

    # ---- from power to a terminal that is claimed

    def boot(self):
        print("boot", flush=True)
        overlay(self.out / "till.img", self.work / "boot.qcow2")
        looks = []
        for look in (self.first_start, self.second_start):
            machine = self.start("boot.qcow2")
            try:
                looks.append(look(machine))
            finally:
                machine.cut()
        path = disk.raw(self.work / "boot.qcow2", self.work)
        self.look_at_disk(path, looks)
        path.unlink()
        self.efi()

    def first_start(self, machine):
        lit = machine.wait(lambda: machine.is_lit() and machine.seconds(), self.limit, every=0.1)
        url = self.claim_code(machine)
        ready = machine.seconds()
        machine.picture(self.shots / "claim.png")
        print(f"  {self.how}: first pixels {lit or 0:.1f} s after power-on, claim code read {ready:.1f} s after it")
        if not self.ledger.promise("A new terminal shows a claim code that a foreign reader can read", url, "none was seen"):
            return
        terminal = self.is_up(machine)
        if not self.ledger.promise("Its page answers through the network", terminal, "it does not"):
            return
        shown = re.search(r"cert=([\w-]+)", url)
        self.ledger.promise("The page's certificate is the one in the code", shown and shown[1] == terminal.fingerprint())
        code = re.search(r"#claim=([\w-]+)", url)[1]
        terminal.claim(code, PASSWORD)
        terminal.set_up()
        self.ledger.promise("The owner claims it with the code, and sets it up", terminal.ask("GET", "/api/v1/settings"))
        charge = terminal.charge("12.50")
        self.ledger.promise("A charge of 12.50 is opened and kept", terminal.ask("GET", f"/api/v1/charges/{charge}"))
        terminal.ask("POST", f"/api/v1/charges/{charge}/cancel", {})
        machine.picture(self.shots / "idle.png")
        self.becomes_good(machine, "boot.qcow2", "A")
        self.known = terminal
        pressed = machine.seconds()
        self.ledger.promise("The power button turns it off", machine.button(), "it was still on")
        return lit, pressed

    def second_start(self, machine):
        """As on every other morning of a shop: nothing has to be made, and it can charge."""
        lit = machine.wait(lambda: machine.is_lit() and machine.seconds(), self.limit, every=0.1)
        terminal = self.is_up(machine)
        if not self.ledger.promise("It comes up again, claimed and set up", terminal, "its page does not answer"):
            return None
        terminal.cookie, terminal.csrf = self.known.cookie, self.known.csrf
        charge = terminal.charge("3.00")
        print(f"  {self.how}: first pixels {lit or 0:.1f} s after power-on, a charge taken {machine.seconds():.1f} s after it")
        self.ledger.promise("It takes a charge at once", terminal.ask("GET", f"/api/v1/charges/{charge}"))
        # Its self-test has to be over.
        machine.wait(lambda: disk.settings_now(self.work / "boot.qcow2", self.work).get("A_TRY") == "0", self.limit, every=3)
        pressed = machine.seconds()
        self.ledger.promise("The power button turns it off again", machine.button(), "it was still on")
        return lit, pressed

    def speed(self, entries, looks):
        """From the kernel's start on, where the system's journal counts from. The power button, which the host presses and the
        journal notes a little later, ties both clocks together."""
        starts = list(dict.fromkeys(entry["_BOOT_ID"] for entry in entries if "_BOOT_ID" in entry))
        for what, start, look in zip(("new", "set up"), starts, looks):

            def at(pattern):
                for entry in entries:
                    if entry.get("_BOOT_ID") == start and re.match(pattern, str(entry.get("MESSAGE"))):
                        return int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6
                return None

            ready, pressed = at(r"Started till\.service"), at("Power key pressed")
            if not self.ledger.promise(f"The journal says when it was ready, {what}", ready and pressed and look, f"{ready} {pressed} {look}"):
                continue
            pixels = look[0] - (look[1] - pressed)
            serves = "ready to charge" if what == "set up" else "ready to be claimed"
            print(f"  {self.how}, {what}: kernel start → first pixels {pixels:.1f} s, → {serves} {ready:.1f} s")

    def look_at_disk(self, path, looks):
        settings = disk.boot_settings(path)
        good = settings.get("A_GOOD") == "1" and settings.get("A_TRY") == "0"
        folder = self.work / "look"
        folder.mkdir()
        disk.unpack_data(path, folder)
        entries = disk.journal(folder)
        texts = [entry.get("MESSAGE") or "" for entry in entries]
        texts = [text if isinstance(text, str) else bytes(text).decode(errors="replace") for text in texts]
        tested = [text for text in texts if text.startswith(("ok ", "note ", "PROBLEM "))]
        for text in tested:
            print(f"  self-test: {text}")
        detail = f"{settings}; the self-test said {tested[-4:]}"
        self.ledger.promise("The slot was marked good after the self-test", good and len(tested) >= 4, detail)
        failed = sorted({text for text in texts if "Failed with result" in text})
        self.ledger.promise("No unit failed", texts and not failed, " · ".join(failed[:4]))
        used = next((int(found[1]) for text in texts if (found := re.match(r"memory in use: (\d+) MB", text))), None)
        print(f"  memory in use when it was found good: {used} MB")
        self.ledger.promise(f"Less than {MEMORY_LIMIT} MB of memory are in use", used and used < MEMORY_LIMIT, str(used))
        self.speed(entries, looks)
        print("  " + next((text for text in texts if text.startswith("Startup finished")), "systemd did not finish its start"))
        for unit in ("nftables", "till.service", "systemd-networkd", "dbus"):
            started = any(re.match(f"(Started|Finished) {re.escape(unit)}", text) for text in texts)
            self.ledger.promise(f"{unit} is up", started, "its start is not in the journal")
        watched = any("Watchdog running with a hardware timeout" in text or "Using hardware watchdog" in text for text in texts)
        self.ledger.promise("The machine's own watchdog watches", watched)
        self.verify(folder)
        shutil.rmtree(folder)

    def verify(self, folder, sentence="The record of payments is whole"):
        """By the program of the host, which is the same as the image's."""
        said = subprocess.run(
            [str(self.till), "verify-journal", "--state", str(folder / "var/lib/till")],
            capture_output=True, text=True,
        )  # fmt: skip
        text = (said.stdout + said.stderr).strip().replace("\n", "; ")
        return self.ledger.promise(sentence, said.returncode == 0 and "intact" in text, text)

    # ---- a sale, as a shop makes it

    def sale(self):
        print("sale", flush=True)
        gateway = outside.Gateway(self.work)
        try:
            prepared = disk.with_configuration(self.out / "till.img", self.work, outside.configuration(gateway))
            overlay(prepared, self.work / "sale.qcow2")
            recording = self.shots / "sale.wav"
            machine = self.start("sale.qcow2", more=ear.card(recording))
            try:
                self.sell(machine, gateway)
            finally:
                machine.cut()
            heard = ear.notes(recording)
            self.ledger.promise("The sound of a paid charge was heard: 659 Hz, then 988 Hz", ear.has(heard, 659, 988), f"{heard} Hz")
        finally:
            gateway.close()

    def sell(self, machine, gateway):
        url = self.claim_code(machine)
        if not self.ledger.promise("A terminal that till.yaml prepared comes up", url and self.is_up(machine), "no claim code"):
            return
        code = re.search(r"#claim=([\w-]+)", url)[1]
        with outside.browser(machine.port, self.limit) as page:
            outside.set_up(page, gateway.shop(code))
            page.screenshot(path=self.shots / "sale-set-up.png")
            self.ledger.promise("A browser claims it and goes through its set-up", True)
            self.on_screen(machine, "idle", "Caf")
            machine.press("kp_1", "kp_2", "kp_5", "kp_0", "kp_enter")
            link = machine.wait(lambda: next((text for text in machine.codes() if "#claim=" not in text), None), self.limit, every=1)
            machine.picture(self.shots / "sale-code.png")
            if not self.ledger.promise("12.50 and Enter on the keypad show a payment code", link, "none was seen"):
                return
            self.ledger.promise("The customer’s wallet pays what the screen shows", *gateway.paid(link))
            self.on_screen(machine, "paid", "Paid")
            row = outside.newest_payment(page)
            page.screenshot(path=self.shots / "sale-history.png")
            self.ledger.promise("The history in the browser has it, paid", "12.50" in row and "Paid" in row, row)
        self.ledger.promise("The power button turns it off after a sale", machine.button(), "it was still on")

    def on_screen(self, machine, name, word):
        """Waits until a foreign reader reads the word on the screen."""
        read = ""

        def look():
            nonlocal read
            read = machine.words()
            return word in read

        seen = machine.wait(look, self.limit, every=1)
        machine.picture(self.shots / f"sale-{name}.png")
        return self.ledger.promise(f"The screen says ‘{word}’", seen, read)

    # ---- a payment from a phone that is held near

    def tap(self):
        print("tap", flush=True)
        with contextlib.ExitStack() as ends:
            gateway, acquirer, air = outside.Gateway(self.work), outside.Acquirer(self.work), Air()
            for made in (gateway, acquirer, air):
                ends.callback(made.close)
            prepared = disk.with_configuration(self.out / "till.img", self.work, outside.configuration(gateway, acquirer, shop=gateway.prepared()))
            overlay(prepared, self.work / "tap.qcow2")
            machine = self.start("tap.qcow2", more=air.plug())
            ends.callback(machine.cut)
            self.tapped(machine, acquirer, air)
            machine.cut()
            path = disk.raw(self.work / "tap.qcow2", self.work)
            left = outside.KEY.encode() in disk.boot_partition(path)
            path.unlink()
            self.ledger.promise("The key that till.yaml prepared is nowhere on its partition any more", not left, "it is")

    def tapped(self, machine, acquirer, air):
        url = self.claim_code(machine)
        terminal = url and self.is_up(machine)
        if not self.ledger.promise("A terminal with a Bluetooth controller on its USB comes up", terminal, "no claim code"):
            return
        terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], PASSWORD)
        known = terminal.ask("GET", "/api/v1/settings")
        is_set = known["merchantName"] == "Café Morgenrot" and known["gatewayKeySet"]
        self.ledger.promise("The shop is set as till.yaml prepared it", is_set, str(known))
        terminal.ask("PUT", "/api/v1/taps", acquirer.settings())
        light = {}

        def is_ready():
            nonlocal light
            light = terminal.ask("GET", "/api/v1/taps")["light"]
            return light["state"] == "ready"

        if not self.ledger.promise("Its radio and its acquirer are ready", machine.wait(is_ready, self.limit, every=1), str(light)):
            return
        with open(self.out / "phone.log", "wb+") as log:
            phone = acquirer.phone(air.address, log, self.limit)
            try:
                time.sleep(2)  # As a customer who has the phone in the hand before the amount is typed.
                charge = terminal.charge("12.50")
                machine.wait(lambda: phone.poll() is not None, self.limit, every=0.5)
            finally:
                phone.kill()
                phone.wait()
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
        self.ledger.promise("A phone that is held near pays 12.50", phone.returncode == 0, " · ".join(said[-4:]))
        self.on_screen(machine, "tap-paid", "Paid")
        known = terminal.ask("GET", f"/api/v1/charges/{charge}")
        self.ledger.promise("The terminal says paid", known["state"] == "succeeded", known["state"])
        books = acquirer.books()
        self.ledger.promise("The acquirer has booked it once", books == [("COMPLETED", 1250)], str(books))
        self.ledger.promise("The power button turns it off after a tap", machine.button(), "it was still on")

    # ---- the power goes

    def cuts(self):
        print(f"cuts (seed {self.seed})", flush=True)
        Cuts(self, PASSWORD).all()

    def returns(self, machine, known):
        """Whether the terminal comes up, with all that it had said it has."""
        terminal = self.is_up(machine)
        if not self.ledger.promise("The terminal comes up again", terminal, "its page does not answer"):
            return False
        known.moves_to(terminal)
        lost = known.lost()
        return self.ledger.promise("Nothing that it had acknowledged is lost", not lost, str(lost))

    # ---- a new version

    def remade(self, name, version, change=None):
        """A bundle of the same system with another version in it, and perhaps something else."""
        folder = self.work / name
        folder.mkdir()
        tree = folder / "root"
        subprocess.run(["unsquashfs", "-q", "-n", "-d", str(tree), str(self.out / "root.squashfs")], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        (tree / "usr/lib/till/version").write_text(version + "\n")
        if change:
            change(tree)
        subprocess.run(
            ["mksquashfs", str(tree), str(folder / "root.squashfs"), "-comp", "gzip", "-Xcompression-level", "1", "-all-root",
             "-noappend", "-no-xattrs", "-no-progress", "-quiet", "-action", "uncompressed@pathname(boot/*)"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        shutil.rmtree(tree)
        (folder / "version").write_text(version + "\n")
        return folder

    def bundle(self, folder, signer="signer"):
        target = self.work / f"{folder.name}-{signer}.raucb"
        subprocess.run(
            [str(ROOT / "image/bundle"), str(folder), str(self.keys / f"{signer}.key"), str(self.keys / f"{signer}.pem"),
             str(target)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return target

    def stick(self, name, *bundles):
        """A stick for updates, to be plugged in with `plug`."""
        path = self.work / f"{name}.img"
        with open(path, "wb") as file:
            file.truncate((sum(bundle.stat().st_size for bundle in bundles) >> 20) + 40 << 20)
        subprocess.run(["mkfs.vfat", "-n", "TILL-UPDATE", str(path)], check=True, stdout=subprocess.DEVNULL)
        for bundle in bundles:
            subprocess.run(["mcopy", "-i", str(path), str(bundle), "::"], check=True)
        return ["-drive", f"file={path},if=none,id={name},format=raw,readonly=on"]

    def plug(self, machine, name):
        machine.monitor.command("device_add", driver="usb-storage", id=f"plugged-{name}", drive=name, bus="usb.0", removable=True)

    def settings(self, name):
        path = disk.raw(self.work / name, self.work)
        settings = disk.boot_settings(path)
        path.unlink()
        return settings

    def said(self, name):
        path = disk.raw(self.work / name, self.work)
        folder = self.work / "said"
        folder.mkdir()
        disk.unpack_data(path, folder)
        path.unlink()
        texts = [entry.get("MESSAGE") for entry in disk.journal(folder)]
        shutil.rmtree(folder)
        return [text for text in texts if isinstance(text, str)]

    def update(self):
        print("update", flush=True)
        old = (self.out / "version").read_text().strip()
        newer = self.bundle(self.remade("newer", old + ".1"))
        overlay(self.out / "till.img", self.work / "update.qcow2")
        # QEMU ends where the machine would start anew.
        machine = self.start("update.qcow2", more=["-no-reboot", *self.stick("stick", newer)])
        try:
            url = self.claim_code(machine)
            terminal = url and self.is_up(machine)
            if not self.ledger.promise("The old version comes up", terminal, "no claim code"):
                return
            terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], PASSWORD)
            terminal.set_up()
            known = Known(terminal)
            known.work(3, machine, 0)
            # Until no charge's end is on the screen any more.
            machine.wait(lambda: "Offline" in machine.words(), self.limit, every=1)
            self.plug(machine, "stick")
            self.on_screen(machine, "update-from-a-stick", "Updating")
            machine.wait(lambda: None, self.limit * 2)
            restarted = not machine.alive()
        finally:
            machine.cut()
        settings = self.settings("update.qcow2")
        ready = settings.get("ORDER", "").startswith("B") and settings.get("B_OK") == "1" and settings.get("B_GOOD") != "1"
        detail = f"{settings}; {[text for text in self.said('update.qcow2') if 'install' in text][-4:]}" if not ready else ""
        if not self.ledger.promise("A stick with a signed newer version is installed into the other slot", restarted and ready, detail):
            return
        refused = [self.bundle(self.work / "newer", "stranger"), self.cut_short(newer), self.bundle(self.older())]
        # The stick that brought the new version is still in.
        left_in = ["-device", "usb-storage,drive=stick,bus=usb.0,removable=on"]
        machine = self.start("update.qcow2", more=[*self.stick("stick", newer), *left_in, *self.stick("refused", *refused)])
        try:
            if self.returns(machine, known):
                self.becomes_good(machine, "update.qcow2", "B")
                self.on_screen(machine, "update-was-good", "was updated")
                self.plug(machine, "refused")
                # Last in the order of their names: the one that is not newer.
                self.on_screen(machine, "update-refused", "not newer")
                said = json.dumps(known.terminal.ask("GET", "/api/v1/audit?what=update"))
                codes = ("update_signature", "update_not_whole", "update_not_newer", f"{old}.1 from a USB stick")
                missing = [code for code in codes if code not in said]
                self.ledger.promise("The audit log has what was installed, and why what was refused was not", not missing, str(missing))
                self.ledger.promise("It goes on with what it knew, in the new version", machine.button(), "it does not end")
        finally:
            machine.cut()
        settings = self.settings("update.qcow2")
        texts = self.said("update.qcow2")
        good = settings.get("B_GOOD") == "1" and any(f"version {old}.1 is good" in text for text in texts)
        self.ledger.promise("The new version was found good by its self-test", good, str(settings))
        turned_away = [text for text in texts if text == "not installed: the running version stays"]
        sentence = "A stranger's bundle, half a bundle and one that is not newer are refused"
        self.ledger.promise(sentence, len(turned_away) == 3 and settings.get("A_GOOD") == "1", f"{len(turned_away)}; {settings}")
        passed_over = f"not installed: version {old}.1 runs already" in texts
        self.ledger.promise("Of the stick that stayed in nothing is said", passed_over, str([text for text in texts if "installed" in text]))

    def older(self):
        """A folder to make a bundle of that is signed and older. What its system says of itself is not looked at."""
        folder = self.work / "older"
        folder.mkdir()
        (folder / "root.squashfs").hardlink_to(self.work / "newer" / "root.squashfs")
        (folder / "version").write_text("0.0.1\n")
        return folder

    def cut_short(self, bundle):
        half = bundle.with_name("half.raucb")
        data = bundle.read_bytes()
        half.write_bytes(data[: len(data) // 2])
        return half

    def rollback(self):
        print("rollback", flush=True)
        old = (self.out / "version").read_text().strip()

        def fails(tree):
            program = tree / "usr/bin/till"
            program.unlink()
            program.write_text("#!/bin/sh\nexit 74\n")
            program.chmod(0o755)

        broken = self.bundle(self.remade("broken", old + ".2", fails))
        overlay(self.out / "till.img", self.work / "rollback.qcow2")
        machine = self.start("rollback.qcow2", more=["-no-reboot"])
        try:
            url = self.claim_code(machine)
            terminal = url and self.is_up(machine)
            if not self.ledger.promise("The old version comes up", terminal, "no claim code"):
                return
            terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], PASSWORD)
            terminal.set_up()
            known = Known(terminal)
            known.work(3, machine, 0)
            # A way back is one that was good.
            self.becomes_good(machine, "rollback.qcow2", "A")
            offered = terminal.update(broken, PASSWORD)
            self.ledger.promise("The page takes a signed newer version", offered == old + ".2", str(offered))
            machine.wait(lambda: None, self.limit * 2)
            self.ledger.promise("It is installed, and the machine starts anew", not machine.alive(), "it does not")
        finally:
            machine.cut()
        machine, starts = self.until_it_serves("rollback.qcow2")
        try:
            sentence = "A version that cannot take payments is left after three starts"
            if not self.ledger.promise(sentence, starts == 4, f"{starts} starts") or not self.returns(machine, known):
                return
        finally:
            machine.cut()
        self.stays_in(broken, known)

    def until_it_serves(self, name, more=()):
        """Starts it until its page answers, and says how often that was."""
        for starts in range(1, 6):
            machine = self.start(name, more=["-no-reboot", *more])
            if self.is_up(machine) or machine.alive():
                break
            machine.cut()
        return machine, starts

    def stays_in(self, broken, known):
        """The same version from a stick that nobody pulls out: tried once more, and not at every start."""
        stick = self.stick("stick", broken)
        machine = self.start("rollback.qcow2", more=["-no-reboot", *stick])
        try:
            if not self.returns(machine, known):
                return
            self.becomes_good(machine, "rollback.qcow2", "A")
            self.plug(machine, "stick")
            machine.wait(lambda: None, self.limit * 2)
            self.ledger.promise("A stick brings the same version once more", not machine.alive(), "it is not installed")
        finally:
            machine.cut()
        left_in = [*stick, "-device", "usb-storage,drive=stick,bus=usb.0,removable=on"]
        machine, starts = self.until_it_serves("rollback.qcow2", left_in)
        try:
            self.ledger.promise("It is left again", starts == 4, f"{starts} starts")
            if self.returns(machine, known):
                # The stick is read once the self-test is over.
                self.becomes_good(machine, "rollback.qcow2", "A")
                machine.wait(lambda: None, 60, every=1)
                self.ledger.promise("With the stick still in it goes on, and turns off by its button", machine.button(), "it was starting anew")
        finally:
            machine.cut()
        said = [text for text in self.said("rollback.qcow2") if "installed" in text]
        passed_over = any("was, and did not stay" in text for text in said[-3:])
        self.ledger.promise("The version that did not stay is not installed at every start", passed_over, str(said[-6:]))

    def backup(self):
        """A backup onto a stick, and from it onto a new terminal. Another stick, which is in meanwhile, stays as it was."""
        print("backup", flush=True)
        path, limit = "/api/v1/backup/stick", 10 * self.limit
        overlay(self.out / "till.img", self.work / "backup.qcow2")
        images, more = {}, {}
        for name in ("TILL-BACKUP", "HOLIDAYS"):
            images[name] = self.work / f"{name}.img"
            with open(images[name], "wb") as file:
                file.truncate(40 << 20)
            subprocess.run(["mkfs.vfat", "-n", name, str(images[name])], check=True, stdout=subprocess.DEVNULL)
            more[name] = ["-drive", f"file={images[name]},if=none,id={name},format=raw", "-device",
                          f"usb-storage,id=stick-{name},drive={name},bus=usb.0,removable=on"]  # fmt: skip
        before = images["HOLIDAYS"].read_bytes()
        machine = self.start("backup.qcow2", more=[word for words in more.values() for word in words])
        try:
            url = self.claim_code(machine)
            terminal = url and self.is_up(machine)
            if not self.ledger.promise("The terminal comes up with two sticks in it", terminal, "no claim code"):
                return
            terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], PASSWORD)
            terminal.set_up()
            known = Known(terminal)
            known.work(4, machine, 0)
            sticks = machine.wait(lambda: terminal.ask("GET", path)["sticks"], self.limit, every=2)
            if not self.ledger.promise("The one called TILL-BACKUP can be written onto", sticks and len(sticks) == 1, str(sticks)):
                return
            stick = sticks[0]["name"]
            terminal.ask("POST", path, {"stick": stick, "passphrase": PASSWORD, "password": PASSWORD}, timeout=limit)

            def ended():
                now = terminal.ask("GET", path)
                return now["phase"] == "idle" and now

            now = machine.wait(ended, limit, every=2)
            machine.picture(self.shots / "backup-on-the-stick.png")
            written = now and now["written"]
            if not self.ledger.promise("A backup is on the stick, says the page", written, str(now)):
                return
            place = f"{stick}/{written['file']}"
            found = terminal.ask("POST", "/api/v1/restore/check", {"stick": place, "passphrase": PASSWORD}, timeout=limit)["found"]
            self.ledger.promise("The terminal reads it back and finds it whole", found and found["merchantName"], str(found))
            # Nobody signs the stick off.
            machine.monitor.command("device_del", id="stick-TILL-BACKUP")
            gone = machine.wait(lambda: not terminal.ask("GET", path)["sticks"], self.limit, every=1)
            self.ledger.promise("Pulled out, it is gone from the page", gone, "it is still there")
        finally:
            machine.cut()
        content = subprocess.run(["mtype", "-i", str(images["TILL-BACKUP"]), f"::{written['file']}"], capture_output=True, check=True).stdout
        whole = content.startswith(b"age-encryption.org/v1\n") and len(content) == written["bytes"]
        self.ledger.promise("All of it is on the stick that was pulled out", whole, f"{len(content)} of {written['bytes']} bytes")
        self.ledger.promise("The other stick is as it was, byte for byte", images["HOLIDAYS"].read_bytes() == before, "it was written to")
        overlay(self.out / "till.img", self.work / "restored.qcow2")
        machine = self.start("restored.qcow2", more=more["TILL-BACKUP"])
        try:
            self.restore(machine, known)
        finally:
            machine.cut()

    def restore(self, machine, known):
        """Onto a new terminal, whose owner has another password until then."""
        url = self.claim_code(machine)
        terminal = url and self.is_up(machine)
        if not self.ledger.promise("A new terminal comes up with the stick in it", terminal, "no claim code"):
            return
        new = "another password: heron"
        terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], new)
        files = machine.wait(lambda: terminal.ask("GET", "/api/v1/backup/stick")["files"], self.limit, every=1)
        if not self.ledger.promise("It offers the backup on the stick", files and len(files) == 1, str(files)):
            return
        words = {"stick": files[0]["place"], "passphrase": PASSWORD}
        terminal.ask("POST", "/api/v1/restore/check", words, timeout=10 * self.limit)
        terminal.ask("POST", "/api/v1/restore/apply", {"password": new}, timeout=10 * self.limit)
        machine.wait(lambda: not terminal.answers(), self.limit, every=0.2)
        restored = self.is_up(machine)
        if not self.ledger.promise("Its program begins anew with the backup", restored, "its page does not answer"):
            return
        restored.log_in(PASSWORD)
        known.terminal = restored
        lost = known.lost()
        machine.picture(self.shots / "restored.png")
        sentence = f"With the old owner's password it has the shop's name and all {len(known.charges)} charges of the old terminal"
        self.ledger.promise(sentence, known.charges and not lost, str(lost))
        self.ledger.promise("The power button turns it off after that", machine.button(), "it was still on")

    def reset(self):
        print("reset", flush=True)
        Reset(self, PASSWORD).run()

    def trouble(self):
        print(f"trouble (seed {self.seed})", flush=True)
        with contextlib.closing(Trouble(self, PASSWORD)) as trouble:
            trouble.all()

    def efi(self):
        """A start from EFI firmware, which sets the screen to all that it has: here to 3840 × 2160."""
        firmware = pathlib.Path("/usr/share/ovmf/OVMF.fd")
        if not firmware.exists():
            print("  EFI and a large screen are left out: Debian's package ovmf is not installed.")
            return
        Large(self, PASSWORD, firmware).run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--parts", nargs="+", default=["static", "boot"])
    parser.add_argument("--patience", type=float, default=4)
    parser.add_argument("--cuts", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keys")
    options = parser.parse_args()
    ledger = Ledger()
    trials = Trials(options, ledger)
    try:
        for part in options.parts:
            begun = time.monotonic()
            try:
                getattr(trials, part)()
            except Exception as error:  # A part that falls over takes no other with it.
                ledger.promise(f"The part ‘{part}’ runs to its end", False, f"{type(error).__name__}: {error}")
            print(f"  {part}: {time.monotonic() - begun:.0f} s", flush=True)
    finally:
        trials.close()
    print(f"{ledger.kept} passed, {ledger.failed} failed", flush=True)
    return 0 if ledger.kept and not ledger.failed else 1


if __name__ == "__main__":
    sys.exit(main())

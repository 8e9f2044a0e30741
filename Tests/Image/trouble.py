"""What goes wrong around a terminal: clocks that are decades off, no network, no screen, a disk that takes nothing or is full, a
till.yaml with a mistake, the plug pulled out while an update is installed and while a backup is written."""

import pathlib
import random
import re
import shutil
import subprocess
import tempfile

import disk
from guest import overlay
from terminal import Refusal


class Trouble:
    """A terminal of a shop that has taken charges, switched off; each trouble gets a copy of its disk."""

    def __init__(self, trials, password, known):
        self.trials, self.password, self.known = trials, password, known
        self.work, self.limit, self.promise = trials.work, trials.limit, trials.ledger.promise
        self.chance = random.Random(trials.seed)

    def prepared(self):
        """Whether there is such a terminal now."""
        overlay(self.trials.out / "till.img", self.work / "shop.qcow2")
        machine = self.trials.start("shop.qcow2")
        try:
            url = self.trials.claim_code(machine)
            terminal = url and self.trials.is_up(machine)
            if not self.promise("A terminal comes up", terminal, "no claim code"):
                return False
            terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], self.password)
            terminal.set_up()
            self.known = self.known(terminal)
            self.known.work(4, machine, 0)
            return self.promise("It is switched off", machine.button(), "it was still on")
        finally:
            machine.cut()

    def of_the_shop(self, **options):
        shutil.copyfile(self.work / "shop.qcow2", self.work / "trouble.qcow2")
        return self.trials.start("trouble.qcow2", **options)

    def takes_charges(self, machine, when):
        """Whether it comes up with all that it knew, and takes one more charge."""
        terminal = self.trials.is_up(machine)
        if not self.promise(f"{when} its page answers", terminal, "it does not"):
            return
        terminal.csrf = terminal.ask("POST", "/api/v1/login", {"password": self.password})["csrfToken"]
        known, known.terminal, before = self.known, terminal, self.known.terminal
        lost = known.lost()
        known.terminal = before
        self.promise(f"{when} nothing is lost that it had acknowledged", not lost, str(lost))
        try:
            charge = terminal.charge("2.00")
        except Refusal as refusal:
            self.promise(f"{when} it takes a charge", False, str(refusal))
        else:
            self.promise(f"{when} it takes a charge", charge)

    def says(self, machine, when, word, name):
        read = ""

        def look():
            nonlocal read
            read = machine.words()
            return word in read

        seen = machine.wait(look, self.limit, every=2)
        machine.picture(self.trials.shots / f"trouble-{name}.png")
        self.promise(f"{when} the screen says ‘{word}’", seen, read)

    def clocks(self):
        for base in ("1970-01-01T00:01:00", "2100-01-01T00:01:00"):
            machine = self.of_the_shop(more=["-rtc", f"base={base}"])
            try:
                self.takes_charges(machine, f"In {base[:4]}")
                machine.picture(self.trials.shots / f"trouble-{base[:4]}.png")
            finally:
                machine.cut()

    def network(self):
        machine = self.of_the_shop()
        try:
            machine.monitor.command("set_link", name="net", up=False)
            self.says(machine, "Without its cable", "Offline", "no-cable")
            machine.monitor.command("set_link", name="net", up=True)
            self.takes_charges(machine, "With the cable in again")
        finally:
            machine.cut()

    def screen(self):
        machine = self.of_the_shop(screen=False)
        try:
            self.takes_charges(machine, "Without a screen")

            def passed():
                settings = disk.settings_now(self.work / "trouble.qcow2", self.work)
                return settings.get("A_GOOD") == "1" and settings.get("A_TRY") == "0"

            self.promise("Without a screen its self-test passes", machine.wait(passed, self.limit, every=3), "its start still counts as a try")
        finally:
            machine.cut()

    def read_only(self):
        machine = self.of_the_shop(writable=False)
        try:
            self.says(machine, "On a disk that takes no writes", "storage", "read-only")
        finally:
            machine.cut()

    def full(self):
        path = disk.raw(self.work / "shop.qcow2", self.work)
        disk.fill_data(path, self.work)
        subprocess.run(["qemu-img", "convert", "-O", "qcow2", str(path), str(self.work / "trouble.qcow2")], check=True)
        path.unlink()
        machine = self.trials.start("trouble.qcow2")
        try:
            self.says(machine, "On a full data partition", "storage is full", "full")
        finally:
            machine.cut()

    def configuration(self):
        image = disk.with_configuration(self.trials.out / "till.img", self.work, "web:\n  port: many\n")
        overlay(image, self.work / "trouble.qcow2")
        machine = self.trials.start("trouble.qcow2")
        try:
            url = self.trials.claim_code(machine)
            self.promise("With a mistake in till.yaml it comes up as without that file", url, "no claim code")
        finally:
            machine.cut()
            image.unlink()

    def pulled_out(self):
        """The plug, while an update is installed and while a backup is written."""
        bundle = self.trials.bundle(self.trials.remade("later", (self.trials.out / "version").read_text().strip() + ".3"))
        stick = self.work / "TILL-BACKUP.img"
        with open(stick, "wb") as file:
            file.truncate(40 << 20)
        subprocess.run(["mkfs.vfat", "-n", "TILL-BACKUP", str(stick)], check=True, stdout=subprocess.DEVNULL)
        shutil.copyfile(self.work / "shop.qcow2", self.work / "pulled.qcow2")
        more = ["-drive", f"file={stick},if=none,id=stick,format=raw", "-device", "usb-storage,drive=stick,bus=usb.0,removable=on"]
        machine = self.trials.start("pulled.qcow2", more=more)
        try:
            terminal = self.trials.is_up(machine)
            if not self.promise("It comes up with a stick in it", terminal, "it does not"):
                return
            self.known.moves_to(terminal)
            path = "/api/v1/backup/stick"
            sticks = machine.wait(lambda: terminal.ask("GET", path)["sticks"], self.limit, every=1)
            terminal.ask("POST", path, {"stick": sticks[0]["name"], "passphrase": self.password, "password": self.password})
            machine.wait(lambda: terminal.ask("GET", path)["phase"] == "idle", self.chance.uniform(0, 3), every=0.1)
        finally:
            machine.cut()
        listed = subprocess.run(["mdir", "-b", "-i", str(stick), "::"], check=True, capture_output=True, text=True).stdout
        names = [line.rpartition("/")[2] for line in listed.split()]
        halves = [name for name in names if name.endswith(".age") and not self.is_whole(stick, name)]
        self.promise("Pulled out while a backup was written, no half file has a backup's name", not halves, str(halves))
        for number in (1, 2):
            self.update_is_cut(number, bundle)
        machine = self.trials.start("pulled.qcow2")
        try:
            if self.trials.returns(machine, self.known):
                self.promise("It turns off by its button after that", machine.button(), "it does not")
        finally:
            machine.cut()

    def update_is_cut(self, number, bundle):
        machine = self.trials.start("pulled.qcow2", more=["-no-reboot"])
        try:
            if not self.trials.returns(machine, self.known):
                return
            self.known.terminal.update(bundle, self.password)
            moment = self.chance.uniform(0, 20)
            machine.wait(lambda: None, moment, every=0.1)
            print(f"  cut {number}: {moment:.1f} s after the update began", flush=True)
        finally:
            machine.cut()

    def is_whole(self, stick, name):
        content = subprocess.run(["mtype", "-i", str(stick), f"::{name}"], check=True, capture_output=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            file, secret = pathlib.Path(folder, "read.age"), pathlib.Path(folder, "secret")
            file.write_bytes(content)
            secret.write_text(self.password + "\n")
            said = subprocess.run(
                [str(self.trials.till), "restore", "--state", folder + "/state", "--passphrase-file", str(secret), str(file)],
                capture_output=True,
            )
        return said.returncode == 0

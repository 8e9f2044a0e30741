"""What goes wrong around a terminal: clocks that are decades off, no network, no screen, a disk that takes nothing, is full or dies, a
till.yaml with a mistake, the plug pulled out while an update is installed and while a backup is written."""

import errno
import random
import re
import shutil
import subprocess

import disk
import outside
from cuts import FINAL, Known
from guest import overlay
from terminal import Refusal


class Trouble:
    """A terminal of a shop that has sold, switched off; each trouble gets a copy of its disk."""

    def __init__(self, trials, password):
        self.trials, self.password = trials, password
        self.work, self.limit, self.promise = trials.work, trials.limit, trials.ledger.promise
        self.gateway, self.known = outside.Gateway(self.work), None
        self.chance = random.Random(trials.seed)

    def close(self):
        self.gateway.close()

    def all(self):
        if self.prepared():
            for what in (self.clocks, self.network, self.screen, self.read_only, self.full, self.dying, self.unreadable, self.configuration,
                         self.pulled_out):  # fmt: skip
                what()

    def new(self):
        """The disk of a new terminal, prepared for the shop."""
        image = self.work / "trouble.img"
        if not image.exists():
            text = outside.configuration(self.gateway, shop=self.gateway.prepared())
            disk.with_configuration(self.trials.out / "till.img", self.work, text).rename(image)
        overlay(image, self.work / "trouble.qcow2")
        return "trouble.qcow2"

    def prepared(self):
        """Whether there is such a terminal now: it has sold twice, and one charge was taken back."""
        machine = self.trials.start(self.new())
        try:
            terminal = self.claimed(machine)
            if not self.promise("A terminal comes up", terminal, "no claim code"):
                return False
            self.known = Known(terminal, self.gateway)
            for _ in range(2):
                self.promise("A customer pays, and the terminal says so", *self.known.sell(machine, self.limit))
            self.known.work(4, machine, 0)
            wrong = self.known.settle(machine, self.limit)
            self.promise("What was taken back is cancelled in the gateway's books too", not wrong, str(wrong))
            return self.promise("It is switched off", machine.button(), "it was still on")
        finally:
            machine.cut()
            (self.work / "trouble.qcow2").rename(self.work / "shop.qcow2")

    def claimed(self, machine):
        url = self.trials.claim_code(machine)
        terminal = url and self.trials.is_up(machine)
        if terminal:
            terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], self.password)
        return terminal

    def of_the_shop(self, **options):
        shutil.copyfile(self.work / "shop.qcow2", self.work / "trouble.qcow2")
        return self.trials.start("trouble.qcow2", **options)

    def again(self):
        """The same disk once more, with nothing wrong around it."""
        return self.trials.start("trouble.qcow2")

    def is_as_it_was(self, machine, when, known=None):
        """What is known of the terminal, once it is up with all of it; None where it is not."""
        terminal = self.trials.is_up(machine)
        if not self.promise(f"{when} its page answers", terminal, "it does not"):
            return None
        terminal.csrf = terminal.ask("POST", "/api/v1/login", {"password": self.password})["csrfToken"]
        known = (known or self.known).of(terminal)
        lost = known.lost()
        return known if self.promise(f"{when} nothing is lost that it had acknowledged", not lost, str(lost)) else None

    def sells(self, machine, when, known=None):
        """Whether it comes up with all that it knew, and a customer can pay."""
        known = self.is_as_it_was(machine, when, known)
        if known:
            wrong = known.settle(machine, self.limit)
            self.promise(f"{when} what was open ends as the gateway's books say", not wrong, str(wrong))
            self.promise(f"{when} a customer pays, and it says so", *known.sell(machine, self.limit))

    def says(self, machine, when, word, name):
        read = ""

        def look():
            nonlocal read
            read = machine.words()
            return word in read

        seen = machine.wait(look, self.limit, every=2)
        machine.picture(self.trials.shots / f"trouble-{name}.png")
        return self.promise(f"{when} the screen says ‘{word}’", seen, read)

    def clocks(self):
        """A shop's terminal, and a new one, start decades away from now; at the next start the clock is right again."""
        for year in ("1970", "2100"):
            machine = self.of_the_shop(more=["-rtc", f"base={year}-01-01T00:01:00"])
            try:
                known = self.is_as_it_was(machine, f"In {year}")
                if known:
                    self.waits_for_the_time(machine, f"In {year}", known)
            finally:
                machine.cut()
            self.comes_back(f"With the clock right again after {year}", known)
            machine = self.trials.start(self.new(), more=["-rtc", f"base={year}-01-01T00:01:00"])
            try:
                terminal = self.claimed(machine)
                known = Known(terminal, self.gateway)
                if self.promise(f"A new terminal comes up in {year}, and is claimed", terminal, "no claim code"):
                    self.waits_for_the_time(machine, f"New in {year}", known)
            finally:
                machine.cut()
            self.comes_back(f"With the clock right after a first start in {year}", known)

    def waits_for_the_time(self, machine, when, known):
        """At such a time the gateway's certificate is not good, so nobody can be asked about money."""
        machine.picture(self.trials.shots / f"trouble-{when.replace(' ', '-').lower()}.png")
        clock = next(check for check in known.terminal.ask("GET", "/api/v1/health")["checks"] if check["part"] == "clock")
        says = clock["weight"] == "bad" and "time server" in clock["action"]
        self.promise(f"{when} its page says that the time is not known, and what to do", says, str(clock))
        answer = known.state(known.open("2.00"))
        waits = answer["state"] == "created" and not answer["link"]
        self.promise(f"{when} a charge waits, and is neither paid nor failed", waits, str(answer))
        wrong = known.settle(machine, self.limit)
        self.promise(f"{when} it can be taken back", not wrong, str(wrong))

    def network(self):
        machine = self.of_the_shop()
        try:
            machine.monitor.command("set_link", name="net", up=False)
            self.says(machine, "Without its cable", "Offline", "no-cable")
            machine.monitor.command("set_link", name="net", up=True)
            self.sells(machine, "With the cable in again")
        finally:
            machine.cut()

    def screen(self):
        machine = self.of_the_shop(screen=False)
        try:
            self.sells(machine, "Without a screen")
        finally:
            machine.cut()

    def read_only(self):
        machine = self.of_the_shop(writable=False)
        try:
            self.says(machine, "On a disk that takes no writes", "storage", "read-only")
        finally:
            machine.cut()
        self.comes_back("On a disk that takes writes again")

    def full(self):
        def with_data(change):
            path = disk.raw(self.work / "trouble.qcow2", self.work)
            change(path, self.work)
            subprocess.run(["qemu-img", "convert", "-O", "qcow2", str(path), str(self.work / "trouble.qcow2")], check=True)
            path.unlink()

        shutil.copyfile(self.work / "shop.qcow2", self.work / "trouble.qcow2")
        with_data(disk.fill_data)
        machine = self.again()
        try:
            self.says(machine, "On a full data partition", "storage is full", "full")
        finally:
            machine.cut()
        with_data(disk.empty_data)
        self.comes_back("With room on it again")

    def comes_back(self, when, known=None):
        machine = self.again()
        try:
            self.sells(machine, when, known)
        finally:
            machine.cut()

    # ---- a disk that dies

    def dying(self):
        """While it runs its disk begins to refuse whatever is written: with nobody at the counter, and with a customer who pays."""
        when = "On a disk that begins to refuse writes"
        machine = self.of_the_shop()
        try:
            known = self.is_as_it_was(machine, "Before its disk dies")
            if not known:
                return
            self.promise("Before its disk dies a customer pays, and it says so", *known.sell(machine, self.limit))
            fails(machine, "write")
            try:
                refused, said = False, known.terminal.charge("2.00")
            except Refusal as refusal:
                refused, said = "storage_" in str(refusal), str(refusal)
            self.promise(f"{when} it takes no charge, and says why", refused, said)
            self.says(machine, when, "cannot be recorded", "dying")
        finally:
            machine.cut()
        self.comes_back("With writes taken again", known)
        when = "On a disk that dies while a customer pays"
        machine = self.of_the_shop()
        try:
            known = self.is_as_it_was(machine, "Before its disk dies with a charge open")
            charge, link = known.offered(machine, self.limit) if known else (None, None)
            if not self.promise("Before its disk dies a charge is offered", link):
                return
            fails(machine, "write")
            known.paying.add(charge)
            self.promise("The customer’s wallet pays all the same", *self.gateway.paid(link))
            # Long enough for the gateway's word to come.
            machine.wait(lambda: None, 20)
            read, answer = machine.words(), known.terminal.ask("GET", f"/api/v1/charges/{charge}")
            machine.picture(self.trials.shots / "trouble-dying-open.png")
            says = answer["state"] not in FINAL and "Paid" not in read
            self.promise(f"{when} it says nothing that it could not keep", says, f"{answer['state']}; {read}")
        finally:
            machine.cut()
        self.comes_back("With writes taken again, and that charge paid meanwhile", known)

    def unreadable(self):
        """At a start the disk does not give back what the record of payments lies in, or where it lies."""
        path = disk.raw(self.work / "shop.qcow2", self.work)
        record, place = disk.record_of_payments(path, self.work)
        path.unlink()
        for what, sectors in {"its record of payments": record, "where its record lies": [place]}.items():
            machine = self.of_the_shop()
            try:
                fails(machine, "read", sectors)
                self.says(machine, f"On a disk that cannot read {what}", "cannot be recorded", "unreadable")
            finally:
                machine.cut()
            self.comes_back(f"Once it can read {what} again")

    def configuration(self):
        image = disk.with_configuration(self.trials.out / "till.img", self.work, "web:\n  port: many\n")
        overlay(image, self.work / "trouble.qcow2")
        machine = self.again()
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
        halves = disk.half_backups(self.trials.till, self.password, stick)
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
            terminal = self.known.terminal
            terminal.update(bundle, self.password)
            machine.wait(lambda: terminal.ask("GET", "/api/v1/update")["percent"] > 0, self.limit, every=0.2)
            moment = self.chance.uniform(0, 5)
            machine.wait(lambda: None, moment, every=0.1)
            now = terminal.ask("GET", "/api/v1/update")
            print(f"  cut {number}: {moment:.1f} s after it began to install", flush=True)
            self.promise("The plug is pulled out in the middle of an update", now["phase"] == "installing", str(now))
        finally:
            machine.cut()


def fails(machine, what, sectors=()):
    """From now on the machine's disk answers reads or writes with an error: all of them, or those of these sectors."""
    device = next(device for device in machine.monitor.command("query-block") if device["device"] == "disk")
    rules = [{"event": "none", "iotype": what, "errno": errno.EIO} | place for place in [{"sector": sector} for sector in sectors] or [{}]]
    node = {"node-name": "dying", "image": device["inserted"]["node-name"], "inject-error": rules}
    machine.monitor.command("blockdev-add", driver="blkdebug", **node)
    machine.monitor.command("qom-set", path=device["qdev"], property="drive", value="dying")

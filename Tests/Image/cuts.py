"""The plug, pulled at moments that a seed draws, and what is left afterwards: on the disk, and at the next start."""

import contextlib
import copy
import http.client
import itertools
import pathlib
import random
import re
import shutil
import subprocess
import threading
import time

import disk
import outside
from guest import overlay
from terminal import Refusal

#: The authority has said its last word on these.
FINAL = {"succeeded", "failed", "expired", "cancelled"}
#: In the currency's units. The gateway lets the second one fail after the customer has signed.
PRICE, FAILING = "3.00", "13.37"


class Known:
    """What the terminal has acknowledged, which it may never forget."""

    def __init__(self, terminal, gateway=None):
        self.terminal, self.gateway, self.count = terminal, gateway, 0
        #: Each charge with how it ended, None where that was not said yet.
        self.charges = {}
        #: Those that a customer pays, or has paid, whatever the terminal has heard of it.
        self.paying = set()
        #: The shop's name that was acknowledged last, and the one that was on its way when the power went.
        self.name, self.sent = None, None

    def moves_to(self, terminal):
        terminal.cookie, terminal.csrf = self.terminal.cookie, self.terminal.csrf
        self.terminal = terminal

    def of(self, terminal):
        """The same knowledge of a copy of the terminal, which goes ways of its own from here on."""
        known = copy.copy(self)
        known.terminal, known.charges, known.paying = terminal, dict(self.charges), set(self.paying)
        return known

    def count_of(self, state):
        return sum(1 for ended in self.charges.values() if ended == state)

    def change(self):
        self.sent = f"Shop {self.count + 1}"
        where = {"gatewayURL": self.gateway.seen_by_guest} if self.gateway else {}
        # Without a key, which stays: a new one takes the owner's password, and that takes an emulated machine seconds.
        self.terminal.set_up(merchantName=self.sent, gatewayKey="", **where)
        self.name, self.count = self.sent, self.count + 1

    def work(self, changes, machine, pause):
        """So many changes and some charges, each noted once it was acknowledged. The plug is pulled by the caller."""
        for number in range(changes):
            self.change()
            if number % 3 == 0:
                try:
                    charge = self.open("1.00")
                except Refusal:
                    pass  # The charge before is still open: one at a time.
                else:
                    try:
                        self.terminal.ask("POST", f"/api/v1/charges/{charge}/cancel", {})
                    except Refusal:
                        pass
        time.sleep(pause)

    def open(self, amount):
        charge = self.terminal.charge(amount)
        self.charges[charge] = None
        return charge

    def state(self, charge):
        """How it stands, noted where it has ended."""
        answer = self.terminal.ask("GET", f"/api/v1/charges/{charge}")
        if answer["state"] in FINAL:
            self.charges[charge] = answer["state"]
        return answer

    def offered(self, machine, limit, amount=PRICE):
        """A charge that a customer can pay now, with its link."""
        charge = machine.wait(lambda: self.opened_when_free(amount), limit, every=0.5)
        link = charge and machine.wait(lambda: self.state(charge)["link"], limit, every=0.3)
        return charge, link

    def opened_when_free(self, amount):
        try:
            return self.open(amount)
        except Refusal:
            return None

    def sell(self, machine, limit):
        """A customer pays: whether the terminal says so, and what was said by all of them."""
        charge, link = self.offered(machine, limit)
        if not link:
            return False, f"the charge is not offered: {charge and self.state(charge)}"
        self.paying.add(charge)
        paid, said = self.gateway.paid(link)
        ended = paid and machine.wait(lambda: self.state(charge)["state"] in FINAL, limit, every=0.3)
        return ended and self.charges[charge] == "succeeded", f"{self.charges[charge]}; the wallet said {said}"

    def settle(self, machine, limit):
        """Waits until each charge that was open has ended. Those that ended otherwise than the gateway's books say."""
        wrong = []
        for charge in [charge for charge, ended in self.charges.items() if not ended]:
            said = machine.wait(lambda: self.ended(charge), limit, every=0.5)
            # One that the gateway never heard of is not in its books.
            booked = self.gateway.books().get(said["paymentID"], "cancelled") if said else None
            if not said or said["state"] != booked:
                wrong.append(f"{charge} is {self.state(charge)['state']}, and {booked or 'not over'} in the gateway's books")
        return wrong

    def ended(self, charge):
        """What is known of it once it has ended. One that nobody pays is taken back."""
        answer = self.state(charge)
        if answer["state"] in FINAL:
            return {"state": answer["state"], "paymentID": (answer["evidence"] or {}).get("paymentID")}
        if charge not in self.paying and answer["canCancel"]:
            self.terminal.ask("POST", f"/api/v1/charges/{charge}/cancel", {})
        return None

    def listed(self):
        """Every charge in the terminal's history."""
        charges, more = {}, ""
        while True:
            page = self.terminal.ask("GET", f"/api/v1/charges?limit=100{more}")
            charges |= {charge["id"]: charge for charge in page["charges"]}
            if not page["next"]:
                return charges
            more = f"&before={page['next']}"

    def lost(self):
        listed = self.listed()
        # Whose request was on its way when the power went: nobody was told of them, and they are there.
        self.charges |= {charge: None for charge in listed if charge not in self.charges}
        lost = differing(self.charges, {charge: facts["state"] for charge, facts in listed.items()})
        if self.name:
            name = self.terminal.ask("GET", "/api/v1/settings")["merchantName"]
            if name not in (self.name, self.sent):
                lost.append(f"the shop's name is not {self.name}")
        return lost


def differing(acknowledged, kept):
    """Charges that are not kept, or kept with another end than the one that was acknowledged."""
    gone = [f"{charge} is gone" for charge in acknowledged if charge not in kept]
    return gone + [
        f"{charge} was {ended} and is {kept[charge]}"
        for charge, ended in acknowledged.items()
        if ended and charge in kept and kept[charge] != ended
    ]


class Cuts:
    """Many of them in a row, of one terminal that sells."""

    #: What goes on when the power goes while it works.
    ENDINGS = ["paying", "midway", "open", "midway", "backup", "paying", "failing", "midway", "changed", "open"]
    DISK = "cuts.qcow2"

    def __init__(self, trials, password):
        self.trials, self.password = trials, password
        self.work, self.limit, self.promise = trials.work, trials.limit, trials.ledger.promise
        self.chance = random.Random(trials.seed)
        #: How often the power was cut, and how long a start takes.
        self.number, self.took = 0, 0

    def all(self):
        failing = f"confirm:outcome=failed,amount={FAILING.replace('.', '')}"
        with contextlib.closing(outside.Gateway(self.work, "--fault", failing)) as gateway:
            known = self.first_starts(gateway)
            for doing in self.moments() if known else ():
                if not self.one_cut(doing, known) or not self.read_back(known):
                    return
            if known:
                self.last_start(known)

    def moments(self):
        """When, and doing what: half of them while it starts, half while it works."""
        endings = itertools.cycle(self.ENDINGS)
        return ["start" if self.chance.random() < 0.5 else next(endings) for _ in range(self.trials.how_many)]

    def cut(self, machine, when):
        machine.cut()
        self.number += 1
        print(f"  cut {self.number}: {when}", flush=True)

    # ---- the first start

    def first_starts(self, gateway):
        """New terminals, whose power goes while they start for the first time; the last one is used on."""
        prepared = disk.with_configuration(self.trials.out / "till.img", self.work, outside.configuration(gateway, shop=gateway.prepared()))
        known, longest = None, 15
        for _ in range(max(1, min(3, self.trials.how_many // 15))):
            overlay(prepared, self.work / self.DISK)
            machine = self.trials.start(self.DISK)
            try:
                self.kernel_runs(machine)
                moment = self.chance.uniform(0, longest)
                machine.wait(lambda: None, moment, every=0.1)
                self.cut(machine, f"{moment:.1f} s into the first start, counted from the boot loader")
            finally:
                machine.cut()
            known, longest = self.comes_up_new(gateway)
            if not known:
                break
        return known

    def kernel_runs(self, machine):
        """The boot loader has counted the start, and is done."""
        path = self.work / self.DISK
        before = disk.settings_now(path, self.work).get("A_TRY")
        machine.wait(lambda: disk.settings_now(path, self.work).get("A_TRY") != before, self.limit, every=0.2)

    def comes_up_new(self, gateway):
        """A new terminal that was claimed, and how long the kernel and all after it took."""
        machine = self.trials.start(self.DISK)
        try:
            self.kernel_runs(machine)
            begun = machine.seconds()
            url = self.trials.claim_code(machine)
            terminal = url and self.trials.is_up(machine)
            self.took = machine.seconds()
            if not self.promise("After a power cut in its first start it comes up new", terminal, "no claim code"):
                return None, 0
            terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], self.password)
            settings = terminal.ask("GET", "/api/v1/settings")
            is_set = settings["merchantName"] == "Café Morgenrot" and settings["gatewayKeySet"]
            self.promise("It is set up as till.yaml prepared it, with its key", is_set, str(settings))
            self.cut(machine, "just claimed")
            return Known(terminal, gateway), self.took - begun
        finally:
            machine.cut()

    # ---- all others

    def one_cut(self, doing, known):
        machine = self.trials.start(self.DISK)
        try:
            if doing == "start":
                moment = self.chance.uniform(1, self.took)
                machine.wait(lambda: None, moment, every=0.1)
                self.cut(machine, f"{moment:.1f} s into the start")
                return True
            return self.is_as_it_was(machine, known) and self.sells(machine, known) and getattr(self, doing)(machine, known)
        finally:
            machine.cut()

    def is_as_it_was(self, machine, known):
        if not self.trials.returns(machine, known):
            return False
        open_before = sum(1 for ended in known.charges.values() if not ended)
        wrong = known.settle(machine, self.limit)
        return self.promise(f"The {open_before} charges that were open end as the gateway's books say", not wrong, str(wrong))

    def sells(self, machine, known):
        """One payment that goes well, and a few changes."""
        if not self.promise("A customer pays, and the terminal says so", *known.sell(machine, self.limit)):
            return False
        known.work(self.chance.randint(1, 12), machine, 0)
        return True

    def changed(self, machine, known):
        """Just after something was acknowledged."""
        known.work(self.chance.randint(1, 20), machine, self.chance.uniform(0, 0.2))
        self.cut(machine, f"after {known.count} acknowledged changes and {len(known.charges)} charges")
        return True

    def midway(self, machine, known):
        """Whatever it is doing: in the middle of a question, of an answer, of writing down."""
        moment = self.chance.uniform(0.2, 10)
        plug = threading.Timer(moment, machine.process.kill)
        plug.start()
        try:
            while machine.alive():
                known.work(3, machine, 0)
        except (OSError, http.client.HTTPException, ValueError):
            pass  # Nobody is there any more.
        finally:
            plug.cancel()
        self.cut(machine, f"{moment:.1f} s of changes and charges, in the middle of them")
        return True

    def open(self, machine, known):
        """A charge waits for its customer; half of them pay while it is dark."""
        charge, link = known.offered(machine, self.limit)
        if not self.promise("A charge is offered to a customer", link, str(charge)):
            return False
        pays = self.chance.random() < 0.5
        self.cut(machine, f"a charge is open{', and is paid while it is dark' if pays else ''}")
        if not pays:
            return True
        known.paying.add(charge)
        return self.promise("A customer's wallet pays while the terminal is dark", *known.gateway.paid(link))

    def paying(self, machine, known, amount=PRICE, outcome=0):
        """While a wallet pays: before it signs, while the money moves, while the terminal hears of it."""
        charge, link = known.offered(machine, self.limit, amount)
        if not self.promise("A charge is offered to a customer", link, str(charge)):
            return False
        known.paying.add(charge)
        wallet = known.gateway.wallet(link)
        try:
            moment = self.chance.uniform(0, 3)
            machine.wait(lambda: None, moment, every=0.05)
            self.cut(machine, f"{moment:.1f} s after a wallet began to pay {amount}")
            said = wallet.communicate(timeout=120)[0]
        finally:
            wallet.kill()
        return self.promise(f"The gateway lets {amount} {'fail' if outcome else 'be paid'}", wallet.returncode == outcome, said[-300:])

    def failing(self, machine, known):
        return self.paying(machine, known, FAILING, outcome=1)

    def backup(self, machine, known):
        """While a backup is written onto a stick."""
        path, stick = "/api/v1/backup/stick", usb_stick(self.work, "TILL-BACKUP")
        plug_in(machine, stick)
        sticks = machine.wait(lambda: known.terminal.ask("GET", path)["sticks"], self.limit, every=0.5)
        if not self.promise("A stick can be written onto", sticks):
            return False
        known.terminal.ask("POST", path, {"stick": sticks[0]["name"], "passphrase": self.password, "password": self.password})
        moment = self.chance.uniform(0, 3)
        machine.wait(lambda: known.terminal.ask("GET", path)["phase"] == "idle", moment, every=0.1)
        self.cut(machine, f"{moment:.1f} s after a backup was begun")
        halves = disk.half_backups(self.trials.till, self.password, stick)
        return self.promise("No half file has a backup's name", not halves, str(halves))

    # ---- what is left

    def read_back(self, known):
        """What lies on the disk after a cut, read on the host: whole, and with every acknowledged charge. Cheaper than a start."""
        path, folder, when = disk.raw(self.work / self.DISK, self.work), self.work / "look", f"After cut {self.number}"
        folder.mkdir()
        try:
            if not disk.unpack_data(path, folder):
                return self.promise(f"{when} the data partition is there", False, "there is none")
            if not self.trials.verify(folder, f"{when} the record of payments is whole"):
                return False
            wrong = differing(known.charges, disk.charges(folder))
            paid = known.count_of("succeeded")
            return self.promise(f"{when} all {len(known.charges)} acknowledged charges are in it, {paid} of them paid", not wrong, str(wrong))
        finally:
            path.unlink()
            shutil.rmtree(folder)

    def last_start(self, known):
        machine = self.trials.start(self.DISK)
        try:
            if not self.is_as_it_was(machine, known):
                return
            listed = {facts["paymentID"]: facts["state"] for facts in known.listed().values() if facts["paymentID"]}
            books = known.gateway.books()
            wrong = {payment: (listed.get(payment), state) for payment, state in books.items() if listed.get(payment) != state}
            paid = sum(1 for state in books.values() if state == "succeeded")
            self.promise(f"All {len(books)} payments in the gateway's books are in the history as they are there, {paid} paid", not wrong, str(wrong))
            self.promise("After the last it turns off by its button", machine.button(), "it does not")
        finally:
            machine.cut()
        self.read_back(known)


def usb_stick(folder, label):
    path = pathlib.Path(folder, f"cuts-{label}.img")
    with open(path, "wb") as image:
        image.truncate(40 << 20)
    subprocess.run(["mkfs.vfat", "-n", label, str(path)], check=True, stdout=subprocess.DEVNULL)
    return path


def plug_in(machine, image):
    """A USB stick, while the machine runs."""
    file = {"driver": "file", "filename": str(image)}
    machine.monitor.command("blockdev-add", driver="raw", file=file, **{"node-name": "stick"})
    machine.monitor.command("device_add", driver="usb-storage", id="stick", drive="stick", bus="usb.0", removable=True)

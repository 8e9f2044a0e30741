"""The plug, pulled at moments that a seed draws, and what is left afterwards: on the disk, and at the next start."""

import json
import random
import re
import shutil
import time

import disk
from guest import overlay
from terminal import Refusal


class Known:
    """What the terminal has acknowledged, which it may never forget."""

    def __init__(self, terminal):
        self.terminal, self.charges, self.count = terminal, [], 0
        #: The shop's name that was acknowledged last, and the one that was on its way when the power went.
        self.name, self.sent = None, None

    def moves_to(self, terminal):
        terminal.cookie, terminal.csrf = self.terminal.cookie, self.terminal.csrf
        self.terminal = terminal

    def work(self, changes, machine, pause):
        """So many changes and some charges, each noted once it was acknowledged. The plug is pulled by the caller."""
        for number in range(changes):
            self.sent = f"Shop {self.count + 1}"
            # Without a key, which stays: a new one takes the owner's password, and that takes an emulated machine seconds.
            self.terminal.set_up(merchantName=self.sent, gatewayKey="")
            self.name, self.count = self.sent, self.count + 1
            if number % 3 == 0:
                try:
                    self.charges.append(self.terminal.charge("1.00"))
                except Refusal:
                    pass  # The charge before is still open: one at a time.
                else:
                    try:
                        self.terminal.ask("POST", f"/api/v1/charges/{self.charges[-1]}/cancel", {})
                    except Refusal:
                        pass
        time.sleep(pause)

    def lost(self):
        lost = []
        for charge in self.charges:
            try:
                self.terminal.ask("GET", f"/api/v1/charges/{charge}")
            except Refusal as refusal:
                lost.append(f"{charge}: {refusal}")
        if self.name:
            name = json.dumps(self.terminal.ask("GET", "/api/v1/settings"))
            if f'"{self.name}"' not in name and f'"{self.sent}"' not in name:
                lost.append(f"the shop's name is not {self.name}")
        return lost


class Cuts:
    """Many of them in a row, of one terminal."""

    def __init__(self, trials, password):
        self.trials, self.password = trials, password
        self.work, self.promise = trials.work, trials.ledger.promise

    def moments(self, generator):
        """When, and doing what: half of them while it starts, half while it writes down."""
        return ["start" if generator.random() < 0.5 else "work" for _ in range(self.trials.how_many)]

    def all(self):
        generator = random.Random(self.trials.seed)
        overlay(self.trials.out / "till.img", self.work / "cuts.qcow2")
        machine = self.trials.start("cuts.qcow2")
        begun = time.monotonic()
        first = generator.uniform(5, 25)
        machine.wait(lambda: None, first, every=0.1)
        machine.cut()
        print(f"  cut 1: {first:.1f} s into the first start")
        machine = self.trials.start("cuts.qcow2")
        try:
            url = self.trials.claim_code(machine)
            terminal = url and self.trials.is_up(machine)
            if not self.promise("After a power cut in its first start it comes up new", terminal, "no claim code"):
                return
            took = time.monotonic() - begun - first
            terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], self.password)
            terminal.set_up()
        finally:
            machine.cut()
        known = Known(terminal)
        for number, doing in enumerate(self.moments(generator), 2):
            if not self.one_cut(number, doing, generator, known, took) or not self.read_back(number, known):
                return
        machine = self.trials.start("cuts.qcow2")
        try:
            up = self.trials.returns(machine, known)
            self.promise("After the last it turns off by its button", up and machine.button(), "it does not")
        finally:
            machine.cut()
        path = disk.raw(self.work / "cuts.qcow2", self.work)
        folder = self.work / "look"
        folder.mkdir()
        disk.unpack_data(path, folder)
        path.unlink()
        self.trials.verify(folder, f"After {self.trials.how_many + 2} power cuts the record of payments is whole")
        shutil.rmtree(folder)

    def read_back(self, number, known):
        """What lies on the disk after a cut, read on the host: whole, and with every acknowledged charge. Cheaper than a start."""
        path = disk.raw(self.work / "cuts.qcow2", self.work)
        folder = self.work / "look"
        folder.mkdir()
        try:
            if not disk.unpack_data(path, folder):
                return self.promise(f"After cut {number} the data partition is there", False, "there is none")
            if not self.trials.verify(folder, f"After cut {number} the record of payments is whole"):
                return False
            kept = disk.charges(folder)
            lost = [charge for charge in known.charges if charge not in kept]
            return self.promise(f"After cut {number} all {len(known.charges)} acknowledged charges are in it", not lost, str(lost))
        finally:
            path.unlink()
            shutil.rmtree(folder)

    def one_cut(self, number, doing, generator, known, took):
        machine = self.trials.start("cuts.qcow2")
        try:
            if doing == "start":
                moment = generator.uniform(1, took)
                machine.wait(lambda: None, moment, every=0.1)
                print(f"  cut {number}: {moment:.1f} s into the start", flush=True)
                return True
            if not self.trials.returns(machine, known):
                return False
            wanted = generator.randint(3, 40)
            known.work(wanted, machine, generator.uniform(0, 0.2))
            print(f"  cut {number}: after {known.count} acknowledged changes and {len(known.charges)} charges", flush=True)
            return True
        finally:
            machine.cut()

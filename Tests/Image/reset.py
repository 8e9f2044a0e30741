"""A terminal that changes hands: erased on its page, and by its keypad alone. It is new each time, and knows nothing of before."""

import json
import re

from guest import overlay
from terminal import Refusal

NAME = "Café Morgenrot"


def code_of(url):
    return re.search(r"#claim=([\w-]+)", url)[1]


class Reset:
    def __init__(self, trials, password):
        self.trials, self.password = trials, password
        self.promise, self.limit = trials.ledger.promise, trials.limit

    def run(self):
        overlay(self.trials.out / "till.img", self.trials.work / "reset.qcow2")
        machine = self.trials.start("reset.qcow2")
        try:
            url = self.trials.claim_code(machine)
            terminal = url and self.trials.is_up(machine)
            if not self.promise("A new terminal comes up", terminal, "no claim code"):
                return
            terminal.claim(code_of(url), self.password)
            for when, erase in (("Erased on its page", self.on_page), ("Erased by its keypad", self.by_keypad)):
                charge = self.of_a_shop(machine, terminal)
                if not erase(machine, terminal):
                    return
                old, (terminal, url) = terminal, self.is_new(machine, when, url)
                if not terminal:
                    return
                terminal.claim(code_of(url), self.password)
                self.knows_nothing(when, old, terminal, charge)
            self.promise("The power button turns it off after that", machine.button(), "it was still on")
            said = self.trials.said("reset.qcow2")
            opened = [line for line in said if "charge opened" in line]
            self.promise("The system's journal keeps no amount of before", said and not opened, str(opened[:2]))
        finally:
            machine.cut()

    def of_a_shop(self, machine, terminal):
        """Sets it up, and leaves a charge in its record that came to nothing."""
        terminal.set_up(merchantName=NAME)
        charge = terminal.charge("1.00")
        path = f"/api/v1/charges/{charge}"
        terminal.ask("POST", f"{path}/cancel", {})
        ended = machine.wait(lambda: terminal.ask("GET", path)["state"] == "cancelled", self.limit, every=0.5)
        self.promise("A shop has charged with it", ended, terminal.ask("GET", path)["state"])
        return path

    def on_page(self, machine, terminal):
        try:
            terminal.ask("POST", "/api/v1/wipe", {"word": "Another shop", "password": self.password})
            return self.promise("Its page does not erase it without its shop's name", False, "it did")
        except Refusal as refusal:
            self.promise("Its page does not erase it without its shop's name", "word_wrong" in str(refusal), str(refusal))
        return terminal.ask("POST", "/api/v1/wipe", {"word": NAME, "password": self.password})

    def by_keypad(self, machine, _):
        """+ and − held for eight seconds, then the code that only who sees the screen can type."""
        machine.hold(True, "kp_add", "kp_subtract")
        try:
            asked = machine.wait(lambda: re.search(r"Erase everything.*?\b(\d{6})\b", machine.words()), self.limit, every=0.5)
        finally:
            machine.hold(False, "kp_add", "kp_subtract")
        machine.picture(self.trials.shots / "erase-by-keypad.png")
        if not self.promise("+ and − held on the keypad ask for a code that the screen shows", asked, machine.words()):
            return False
        machine.press(*[f"kp_{digit}" for digit in asked[1]], "kp_enter")
        return True

    def is_new(self, machine, when, old_url):
        def look():
            return next((text for text in machine.codes() if "#claim=" in text and text != old_url), None)

        url = machine.wait(look, self.limit, every=1)
        machine.picture(self.trials.shots / f"{when.lower().replace(' ', '-')}.png")
        terminal = url and self.trials.is_up(machine)
        if not self.promise(f"{when}, it shows another claim code", terminal, "none was seen"):
            return None, None
        old_certificate = re.search(r"cert=([\w-]+)", old_url)[1]
        self.promise(f"{when}, it has another certificate", old_certificate != terminal.fingerprint(), old_certificate)
        return terminal, url

    def knows_nothing(self, when, old, terminal, charge):
        self.refuses(f"{when}, who was signed in is not any more", old, "/api/v1/settings", 401)
        settings = json.dumps(terminal.ask("GET", "/api/v1/settings"), ensure_ascii=False)
        self.promise(f"{when}, it has no shop's name", NAME not in settings, settings[:300])
        self.refuses(f"{when}, it has no charge of before", terminal, charge, 404)

    def refuses(self, sentence, terminal, path, status):
        try:
            terminal.ask("GET", path)
            self.promise(sentence, False, "it answers")
        except Refusal as refusal:
            self.promise(sentence, f": {status} " in str(refusal), str(refusal))

"""A terminal with a screen of 3840 × 2160, started from EFI firmware: from its code to a paid charge, and what the terminal's
program takes of the memory meanwhile."""

import pathlib
import re
import subprocess

import disk
import outside
from guest import overlay

SIZE = (3840, 2160)
SCREEN = ["-device", "VGA,edid=on,xres=3840,yres=2160,vgamem_mb=64"]
#: Megabytes, of the terminal's own process.
LIMIT = 80


class Large:
    def __init__(self, trials, password, firmware):
        self.trials, self.password, self.firmware = trials, password, firmware
        self.promise, self.limit = trials.ledger.promise, trials.limit
        self.used = {}

    def run(self):
        gateway = outside.Gateway(self.trials.work)
        try:
            prepared = disk.with_configuration(self.trials.out / "till.img", self.trials.work, outside.configuration(gateway))
            self.all_of_the_screen(prepared)
            overlay(prepared, self.trials.work / "efi.qcow2")
            machine = self.trials.start("efi.qcow2", firmware=self.firmware, screen=False, more=SCREEN)
            try:
                self.look(machine, gateway)
            finally:
                machine.cut()
        finally:
            gateway.close()

    def all_of_the_screen(self, image):
        """Firmware tells GRUB how large the screen is, and GRUB takes that. QEMU's firmware tells it nothing, which would mean
        800 × 600: the copy that is started here is told by its own settings."""
        place = f"{image}@@{disk.BOOT}"
        settings = subprocess.run(["mtype", "-i", place, "::grub/grub.cfg"], check=True, capture_output=True, text=True).stdout
        assert "gfxpayload=keep" in settings
        changed = pathlib.Path(self.trials.work, "grub.cfg")
        changed.write_text(settings.replace("gfxpayload=keep", f"gfxpayload={SIZE[0]}x{SIZE[1]}x32"))
        subprocess.run(["mcopy", "-o", "-i", place, str(changed), "::grub/grub.cfg"], check=True)

    def look(self, machine, gateway):
        url = self.trials.claim_code(machine)
        machine.picture(self.trials.shots / "claim-efi.png")
        terminal = url and self.trials.is_up(machine)
        if not self.promise("It starts from EFI firmware too", terminal, "no claim code was seen"):
            return
        width, height, _ = machine.pixels()
        self.promise("All of a screen of 3840 × 2160 is painted", (width, height) == SIZE and machine.is_lit(), f"{width} × {height}")
        terminal.claim(re.search(r"#claim=([\w-]+)", url)[1], self.password)
        terminal.set_up(merchantID=outside.MERCHANT, gatewayURL=gateway.seen_by_guest, gatewayKey=outside.KEY)
        token = terminal.makes_token()
        self.note("it waits", terminal, token)
        terminal.charge("12.50")
        link = machine.wait(lambda: next((text for text in machine.codes() if "#claim=" not in text), None), self.limit, every=1)
        if not self.promise("A payment's code is read from that screen", link, "none was seen"):
            return
        self.note("a code is shown", terminal, token)
        self.promise("The customer’s wallet pays what it says", *gateway.paid(link))
        machine.wait(lambda: "Paid" in machine.words(), self.limit, every=1)
        machine.picture(self.trials.shots / "paid-efi.png")
        self.note("it is paid", terminal, token)
        figures = ", ".join(f"{used:.0f} MB while {when}" for when, used in self.used.items())
        print(f"  the terminal's own process: {figures}")
        most = max(self.used.values())
        self.promise(f"With a screen of 3840 × 2160 the terminal's own process stays under {LIMIT} MB", most < LIMIT, f"{most:.0f} MB")

    def note(self, when, terminal, token):
        self.used[when] = terminal.measure("process_resident_memory_bytes", token) / 1e6

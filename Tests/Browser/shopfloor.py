"""What the browser test needs around it: where the terminal is, a browser, and eyes that miss nothing."""

import json
import os
import pathlib
import shlex
import subprocess
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import BrowserContext, Page, Request, Response

CHROMIUM = os.environ.get("TILL_CHROMIUM", "/usr/bin/chromium")
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
OWNER_PASSWORD = "four unrelated words: kite"


#: Seconds for what a program does by itself. Machines differ, and others compute beside it; nothing is lost by waiting.
PATIENCE = 60
#: The same for what a page does.
WAIT_MILLISECONDS = 45_000


def until(look, what: str):
    """What `look` finds, as soon as it finds something."""
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        time.sleep(0.05)
    return found


@dataclass(frozen=True)
class Shop:
    """A fresh terminal, the gateway it is to use, and a customer."""

    url: str
    claim_code: str
    gateway_url: str
    gateway_key: str
    merchant_id: str
    wallet_command: list[str]
    #: Where the terminal keeps its files and its log; None where a terminal elsewhere is tested.
    state: pathlib.Path | None = None
    #: Where the terminal announces what its screen shows; None where a terminal elsewhere is tested.
    announced: pathlib.Path | None = None
    #: What opens the sandbox gateway's own doors.
    control_token: str | None = None
    #: The acquirer of payments by phone: its url, login and password. Empty where there is none.
    acquirer: dict = field(default_factory=dict)

    @classmethod
    def from_environment(cls) -> "Shop":
        """Reads the file named by TILL_SHOP_FILE; each TILL_… variable wins over it."""
        path = os.environ.get("TILL_SHOP_FILE")
        facts = json.loads(pathlib.Path(path).read_text()) if path else {}

        def fact(name: str, variable: str):
            value = os.environ.get(variable) or facts.get(name)
            if not value:
                raise SystemExit(f"browser test: no {name}. Set {variable}, or put it into the file of TILL_SHOP_FILE.")
            return value

        if code_file := os.environ.get("TILL_CLAIM_CODE_FILE"):
            facts["claimCode"] = pathlib.Path(code_file).read_text().strip()
        wallet = fact("walletCommand", "TILL_WALLET_COMMAND")
        return cls(
            url=fact("url", "TILL_URL").rstrip("/"),
            claim_code=fact("claimCode", "TILL_CLAIM_CODE"),
            gateway_url=fact("gatewayURL", "TILL_GATEWAY_URL"),
            gateway_key=fact("gatewayKey", "TILL_GATEWAY_KEY"),
            merchant_id=fact("merchantID", "TILL_MERCHANT_ID"),
            wallet_command=shlex.split(wallet) if isinstance(wallet, str) else list(wallet),
            state=pathlib.Path(facts["state"]) if "state" in facts else None,
            announced=pathlib.Path(facts["state"]) / "terminal.json" if "state" in facts else None,
            control_token=facts.get("controlToken"),
            acquirer=facts.get("acquirer", {}),
        )

    def shown(self) -> list[dict]:
        """What the terminal's screen has shown so far. A line whose end is still to come is not there yet."""
        return [json.loads(line) for line in self.announced.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def on_screen(self, event: str) -> dict:
        """What the terminal's screen shows, once it is of this kind: what became of a charge stays there for a while."""
        return until(lambda: [said for said in self.shown()[-1:] if said["event"] == event], f"the screen to show {event}")[0]

    def pay(self, link: str) -> None:
        """The customer pays: runs the wallet with the charge's link as its last argument."""
        done = subprocess.run([*self.wallet_command, link], capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, f"the wallet could not pay:\n{done.stdout}\n{done.stderr}"


REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  reportViolation(`${event.violatedDirective}: ${event.blockedURI} (${event.sourceFile}:${event.lineNumber})`));
"""


@dataclass
class Watch:
    """Collects whatever no page of the terminal may ever do."""

    origin: str
    faults: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.expose_binding("reportViolation", lambda _source, text: self.faults.append(f"security policy: {text}"))
        context.add_init_script(REPORT_VIOLATIONS)
        context.on("console", lambda message: self._heard(message.type, message.text))
        context.on("weberror", lambda fault: self.faults.append(f"uncaught: {fault.error}"))
        context.on("dialog", self._dialog)
        context.on("request", self._asked)
        context.on("response", self._answered)

    def _heard(self, kind: str, text: str) -> None:
        # Chromium logs each 4xx and each broken connection; answers are judged by `_answered`.
        if kind in ("error", "warning") and not text.startswith("Failed to load resource"):
            self.faults.append(f"console {kind}: {text}")

    def _dialog(self, dialog) -> None:
        self.faults.append(f"a script opened a dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.faults.append(f"request to another origin: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 500 or response.status == 404:
            self.faults.append(f"answer {response.status} to {response.request.method} {response.url}")

    def check(self) -> None:
        faults, self.faults = self.faults, []
        assert not faults, "the page did what it must not:\n  " + "\n  ".join(faults)


#: What of axe-core's rules a colour can break. The others see no difference between light and dark.
COLOUR_RULES = ["color-contrast", "link-in-text-block"]


class Eyes:
    """Looks at a view as people meet it: phone and desktop, light and dark; keeps the pictures; asks axe-core."""

    def __init__(self) -> None:
        folder = os.environ.get("TILL_SHOTS")
        self.folder = pathlib.Path(folder) if folder else None
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
        self.views = 0
        self.looks = 0

    def look(self, page: Page, name: str, sizes: tuple[str, ...] = ("phone", "desktop")) -> None:
        before = page.viewport_size
        self.views += 1
        for size_name, size in (("phone", PHONE), ("desktop", DESKTOP)):
            if size_name not in sizes:
                continue
            page.set_viewport_size(size)
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                self.looks += 1
                self._no_sideways_scrolling(page, f"{name}, {size_name}")
                results = self._violations(page, rules=COLOUR_RULES if theme == "dark" else None)
                assert results.violations_count == 0, f"{name}, {size_name}, {theme}:\n{results.generate_report()}"
                if self.folder:
                    page.screenshot(path=self.folder / f"{name}-{size_name}-{theme}.png", animations="disabled")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(before)

    @staticmethod
    def _violations(page: Page, rules: list[str] | None) -> AxeResults:
        """What axe-core finds wrong; by these rules only, where some are named."""
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
        return AxeResults(page.evaluate("(options) => axe.run(options)", options))

    @staticmethod
    def _no_sideways_scrolling(page: Page, where: str) -> None:
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{where}: the page is {wider} px wider than the window"


def small_targets(page: Page) -> list[str]:
    """Buttons, links and fields on the page that are smaller than a finger: under 44 px in either direction."""
    return page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, select, summary")]
          .filter((element) => element.checkVisibility() && !element.closest(".skip"))
          .map((element) => [element, element.getBoundingClientRect()])
          .filter(([, box]) => box.width > 1 && (box.height < 43.5 || box.width < 43.5))
          .map(([element, box]) => `${element.outerHTML.slice(0, 80)} ${box.width}×${box.height}`)"""
    )


class FakeEvents:
    """Stands in for the terminal's events in one page, so that states can be shown that no shop reaches on order."""

    SCRIPT = """
    // This page has the stream, whatever other tabs there are.
    Object.defineProperty(navigator, "locks", { value: undefined });
    window.terminalEvents = new Promise((opened) => {
      window.EventSource = class extends EventTarget {
        constructor() { super(); this.readyState = 1; opened(this); }
        close() { this.readyState = 2; }
      };
    });
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.charge = None
        self.held = True
        self.notices = []
        page.add_init_script(self.SCRIPT)
        page.route("**/api/v1/charges/current", lambda route: route.fulfill(json=self.charge) if self.charge and self.held else route.fulfill(status=204))
        page.route("**/api/v1/charges?*", lambda route: route.fulfill(json={"charges": [self.charge] if self.charge else [], "next": None}))
        page.route("**/api/v1/charges/*-*", lambda route: route.fulfill(json=self.charge))

    def say(self, charge: dict | None, *, held: bool = True, gateway: str = "ready", phase: str | None = None, checking: int = 0,
            message: dict | None = None) -> None:
        self.charge, self.held = charge, held
        event = {
            "phase": phase or ("charging" if charge and held else "idle"), "checking": checking, "gateway": gateway,
            "charge": charge if held else None, "at": "2026-01-01T12:00:00Z", "notices": self.notices,
            "message": message,
        }
        self.page.evaluate(
            """async (data) => {
              const events = await terminalEvents;
              events.dispatchEvent(new MessageEvent("terminal", { data: JSON.stringify(data) }));
            }""",
            event,
        )


def sample_charge(**changes) -> dict:
    """A charge as the terminal describes it."""
    return {
        "id": "01941f29-7c00-7000-8000-000000000001", "code": "K7QA", "state": "requiresAction", "amountMinor": 1250,
        "currency": "EUR", "amountText": "€12.50", "reference": "Table 4", "merchantName": "Café Zoë",
        "createdAt": "2026-01-01T12:00:00Z", "deadline": "2026-01-01T12:05:00Z", "secondsLeft": 272, "unresolved": False,
        "late": False, "link": None, "reason": None, "evidence": None, "canCancel": True, "canRelease": False, "releaseInSeconds": None, "processingSeconds": None,
    } | changes


#: A charge that two payments came for: the second one is to go back.
PAID_TWICE = sample_charge(
    state="succeeded", canCancel=False, refunds=[], timeline=[], evidence={"paymentID": "pay_1"},
    payments=[
        {"attempt": 1, "paymentID": "pay_1", "leftMinor": 1250, "leftText": "€12.50", "refundAsked": False, "surplus": False},
        {"attempt": 2, "paymentID": "pay_2", "leftMinor": 1250, "leftText": "€12.50", "refundAsked": False, "surplus": True},
    ],
)

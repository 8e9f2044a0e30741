"""Every view that the other suites show in English only, or not at all, in English and Arabic: phone and desktop, light and dark.

A table: each row leads one browser to one view, by names that are the same in every language. Needs a fresh shop:
`scripts/with-shop python Tests/Browser/test_everywhere.py`; TILL_SHOTS names a folder for pictures.
"""

import pathlib
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import DESKTOP, OWNER_PASSWORD, PAID_TWICE, PHONE, WAIT_MILLISECONDS, FakeEvents, sample_charge, small_targets
from steps import cancel_charge, charges, current_charge, new_charge, open_charge, panel, save_well, set_up
from test_shop_states import sample_report
from test_words import PLACES, is_spoken, open_all

PIN = "4826"
OTHER = "01941f29-7c00-7000-8000-000000000002"


@pytest.fixture(scope="module", autouse=True)
def shop_has_a_past(page, shop):
    """People, a payment with a refund, a shift that is over, and tips."""
    set_up(page, shop)
    page.goto("/#/counter")
    page.get_by_label("Tips on the keypad").select_option("allowed")
    save_well(page)
    open_charge(page, "20.00", "Table 9")
    shop.pay(current_charge(page)["link"])
    expect(panel(page, "succeeded")).to_be_visible()
    new_charge(page)
    open_charge(page, "3.00")
    cancel_charge(page)
    new_charge(page)
    paid = next(charge for charge in charges(page) if charge["state"] == "succeeded")
    assert send(page, "POST", f"charges/{paid['id']}/refund", {"amountMinor": 500, "reason": "One plate was cold"}) == 200
    assert send(page, "POST", "shifts/1/close", {}) == 200
    for name, role in (("Ada", "cashier"), ("Mia", "manager")):
        assert send(page, "POST", "staff", {"name": name, "role": role, "pin": PIN}) == 201


def send(page, method: str, path: str, body: dict) -> int:
    return page.evaluate(
        """async ([method, path, body]) => {
          const { csrfToken } = await (await fetch("/api/v1/session")).json();
          const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrfToken };
          return (await fetch(`/api/v1/${path}`, { method, headers, body: JSON.stringify(body) })).status;
        }""",
        [method, path, body],
    )


@pytest.fixture(scope="module")
def states(context, watch, shop_has_a_past):
    """What the browsers of the owner, of a manager, of a cashier and of an unused counter hold; a stranger's holds nothing."""
    owner = context.storage_state()
    kept = {"stranger": None, "owner": owner}
    for name in ("Mia", "Ada", "counter"):
        browser = context.browser.new_context(ignore_https_errors=True, base_url=watch.origin, storage_state=owner)
        page = browser.new_page()
        page.goto("/")
        assert send(page, "POST", "browsers", {}) == 201
        assert send(page, "POST", "logout", {}) == 200
        if name != "counter":
            page.goto("about:blank")
            page.goto("/")
            page.locator(".person-button").filter(has_text=name).click()
            page.keyboard.type(PIN)
            page.keyboard.press("Enter")
            expect(page.locator(".keypad")).to_be_visible()
        kept[name] = browser.storage_state()
        browser.close()
        owner = sign_in_again(context, watch)
    kept["owner"] = owner
    return kept


def sign_in_again(context, watch) -> dict:
    """A session of the owner's own for the next browser."""
    browser = context.browser.new_context(ignore_https_errors=True, base_url=watch.origin, locale="en-US")
    page = browser.new_page()
    page.goto("/")
    page.get_by_label("Password", exact=True).fill(OWNER_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".keypad")).to_be_visible()
    state = browser.storage_state()
    browser.close()
    return state


# The ways to the views


def submit(page) -> None:
    page.locator("form .primary").last.click()


def stub(page, pattern: str, answer, status: int = 200, **headers) -> None:
    page.route(pattern, lambda route: route.fulfill(status=status, json=answer, headers=headers))


def stub_taps(page, **changes) -> None:
    """Payments by phone as they would be set; where they are saved the real ones stay."""
    def answer(route):
        if route.request.method != "GET":
            route.fallback()
            return
        real = route.fetch()
        route.fulfill(response=real, json=real.json() | changes)

    page.route("**/api/v1/taps", answer)


def refused(code: str) -> dict:
    return {"code": code, "message": "…", "action": "…"}


def shows(page, selector: str) -> None:
    expect(page.locator(selector).first).to_be_visible()


def at(place: str, selector: str):
    """A view that only its address leads to."""
    def go(page):
        page.goto(f"/#/{place}")
        shows(page, selector)

    return go


def throttled(page):
    page.goto("/")
    stub(page, "**/api/v1/login", refused("too_many_tries"), 429, **{"Retry-After": "90"})
    page.locator("[name=password]").fill("guess")
    submit(page)
    shows(page, ".wait-line")


def reset_code(page):
    stub(page, "**/api/v1/reset", {"reset": {"state": "shown", "minutes": None}, "way": "stick", "waitMinutes": 15})
    at("reset", ".code-input")(page)


def wrong_sign_in_code(page):
    at("code", ".code-input")(page)
    page.locator(".code-input").fill("AAAA")
    submit(page)
    shows(page, ".notice-bad")


def unreachable(page):
    page.route("**/api/v1/session", lambda route: route.abort())
    at("charge", "main .primary")(page)


def language_question(page):
    at("charge", ".look-button")(page)
    page.locator(".look-button").click()
    shows(page, "dialog[open]")


def pin(page):
    at("charge", ".person-button")(page)
    page.locator(".person-button").filter(has_text="Ada").click()
    shows(page, ".pin-form")


def wrong_pin(page):
    stub(page, "**/api/v1/login/pin", refused("pin_wrong"), 401)
    pin(page)
    page.keyboard.type("0391")
    page.keyboard.press("Enter")
    shows(page, ".notice-bad")


def of_person(button: str):
    def go(page):
        at("staff", ".staff-row")(page)
        page.locator(button).first.click()
        shows(page, "dialog[open]")

    return go


def type_sum(page):
    at("charge", ".keys")(page)
    page.keyboard.type("12.50+3.+2*1.10")
    shows(page, ".tape-line")


def note(page):
    at("charge", ".keys")(page)
    page.keyboard.type("500")
    page.locator(".note-fold summary").click()
    shows(page, "[name=note]")


def other_tip(page):
    at("charge", ".keys")(page)
    page.keyboard.type("1250")
    page.locator(".tip-row .chip").last.click()
    shows(page, "dialog[open]")
    page.locator("dialog [name=tip]").fill("99")
    page.locator("dialog .primary").click()
    shows(page, "dialog .field-error:visible")


def no_answer(page):
    page.route("**/api/v1/charges", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    at("charge", ".keys")(page)
    page.keyboard.type("500")
    page.keyboard.press("Enter")
    shows(page, ".open-question")


def lost(page):
    at("charge", ".keys")(page)
    page.route("**/api/v1/**", lambda route: route.abort())
    page.evaluate("dispatchEvent(new Event('offline'))")
    shows(page, ".banner:not(:empty)")


def event(charge: dict | None = None, click: str | None = None, notices: list | None = None, **how):
    """What the terminal says by an event, and a press on it."""
    def go(page):
        terminal = FakeEvents(page)
        terminal.notices = notices or []
        page.goto("/#/charge")
        terminal.say(charge, **how)
        shows(page, f"[data-act={click}]" if click else ".panel, .keypad")
        if click:
            page.locator(f"[data-act={click}]").click()
            shows(page, "dialog[open]")

    return go


NOTICES = [
    {"id": OTHER, "kind": "paidTwice", "code": "M3XW", "amountText": "€99.00", "at": "2026-01-01T12:00:00Z"},
    {"id": OTHER[:-1] + "3", "kind": "late", "code": "K7QA", "amountText": "€12.50", "at": "2026-01-01T11:58:00Z"},
    {"id": OTHER[:-1] + "4", "kind": "late", "code": "P9ZT", "amountText": "€3.00", "at": "2026-01-01T11:50:00Z"},
]
MESSAGE = {"id": "m1", "kind": "choose", "title": "Which size?", "text": None, "options": ["Kiwi", "Plum"]}


def paid_twice(page):
    stub(page, f"**/api/v1/charges/{PAID_TWICE['id']}", PAID_TWICE)
    at(f"history/{PAID_TWICE['id']}", ".refund-part .button")(page)
    page.locator(".refund-part").scroll_into_view_if_needed()


def refund_question(page):
    paid_twice(page)
    page.locator(".refund-part .button").last.click()
    shows(page, "dialog[open]")
    page.locator("dialog .grave").click()
    shows(page, "dialog .field-error:visible")


def refunded(page):
    at("history", ".list a.row")(page)
    page.locator(".list a.row").filter(has_text="20.00").first.click()
    shows(page, ".refund-line")
    page.locator(".receipt-part .button").first.click()
    shows(page, ".receipt-part .notice-bad")
    page.locator(".refund-part").scroll_into_view_if_needed()


def shift_report(page):
    at("shifts", ".shift-row")(page)
    page.locator(".shift-row").last.click()
    shows(page, ".shift-report")


def days(report: dict | None):
    def go(page):
        day = {"day": "2026-01-01", "comparing": False, "comparedAt": "2026-01-02T00:15:00Z", "allAgree": True, "complete": True}
        stub(page, "**/api/v1/days", {"today": "2026-01-02", "timeZone": "Europe/Berlin", "days": [day]})
        stub(page, "**/api/v1/days/*", {"day": "2026-01-01", "comparing": False, "report": report})
        at("days", ".day-result > *")(page)

    return go


def token_made(page):
    at("tokens", "[name=name]")(page)
    page.locator("[name=name]").fill(f"Counter {page.evaluate('crypto.randomUUID()')[:6]}")
    submit(page)
    shows(page, ".token-text")


def broken_log(page):
    stub(page, "**/api/v1/audit/verify", {"intact": False, "entries": 2, "head": None, "brokenAt": 3, "reason": "its content was changed"})
    at("audit", ".log-line")(page)
    page.locator(".audit-proof button").click()
    shows(page, ".audit-proof .notice-bad")


def settings_coming(page):
    stub(page, "**/api/v1/backup/import", {
        "changes": [{"part": "settings", "field": "merchantName", "from": "Café Zoë", "to": "Kiosk"}, {"part": "receipts", "field": "footer", "from": "", "to": "[\"Thanks\"]"}],
        "problems": [{"part": "settings", "field": "gatewayKey", "code": "required", "message": "…", "action": "…"}],
        "unknownParts": ["connect"], "secrets": [], "sealed": True,
    })
    at("backup", "[name=file][accept*=json]")(page)
    page.locator("[name=file][accept*=json]").set_input_files({"name": "settings.json", "mimeType": "application/json", "buffer": b"{}"})
    page.locator("form", has=page.locator("[name=file][accept*=json]")).locator("button[type=submit]").click()
    shows(page, ".backup-changes")


def wipe_question(page):
    at("backup", "[name=word]")(page)
    page.locator("[name=word]").fill("x")
    page.locator("form", has=page.locator("[name=word]")).locator(".grave").click()
    shows(page, "dialog[open]")


def sick(page):
    def worse(route):
        answer = route.fetch()
        health = answer.json()
        health["weight"] = "bad"
        for index, check in enumerate(health["checks"]):
            check["weight"] = ["bad", "note", "good", "off"][index % 4]
        route.fulfill(response=answer, json=health)

    page.route("**/api/v1/health", worse)
    at("health", ".health-check.weight-bad")(page)
    open_all(page)


def wrong_settings(page):
    at("settings", "[name=merchantName]")(page)
    page.locator("[name=merchantName]").fill("")
    page.locator("[name=operatorID]").fill("op 1!")
    page.locator(".settings-form .primary").click()
    shows(page, ".field-error:visible")


def wrong_password_change(page):
    at("security", "[name=newPassword]")(page)
    page.locator("[name=newPassword]").fill("x")
    page.locator(".settings-form .primary, form .primary").first.click()
    shows(page, ".field-error:visible")


READING = {"median": -47, "weakest": -49, "strongest": -45}
MEASURED = {
    "mode": "near", "measuring": None, "signal": None, "samples": 0, "samplesNeeded": 50, "phones": 0, "inside": READING,
    "outside": READING | {"median": -60, "weakest": -66, "strongest": -57}, "threshold": -52, "problem": None,
}


#: A network of the shop's, one of a stranger's, one of the neighbour's.
NETWORK = {
    "state": "ready", "link": "joined", "network": {"id": "53-passphrase", "name": "Shop", "security": "passphrase"}, "scanning": False, "chargeOpen": True,
    "addresses": ["192.168.7.20"], "pages": ["https://till-abcd.local:8443", "https://192.168.7.20:8443"],
    "attempt": {"name": "مقهى", "stage": "failed", "reason": {"code": "wifi_passphrase_wrong", "message": "Not taken.", "action": "Type it again."}},
    "known": [{"id": "53-passphrase", "name": "Shop", "security": "passphrase", "hidden": True, "heard": True}],
    "networks": [
        {"id": "53-passphrase", "name": "Shop", "security": "passphrase", "bars": 4, "strengthDBm": -40, "known": True, "joined": True, "supported": True},
        {"id": "54-open", "name": "مقهى <b>", "security": "open", "bars": 2, "strengthDBm": -70, "known": False, "joined": False, "supported": True},
        {"id": "55-enterprise", "name": "Office", "security": "enterprise", "bars": 0, "strengthDBm": -90, "known": False, "joined": False, "supported": False},
    ],
}


def network(page):
    page.route("**/api/v1/network**", lambda route: route.fulfill(json=NETWORK))
    at("network", ".network-row")(page)
    open_all(page)


def phones(**measured):
    """With everything on, and a measurement."""
    def go(page):
        stub_taps(page, enabled=True, mode="near", offlineAllowed=True, tipMode="ask")
        stub(page, "**/api/v1/taps/calibration", MEASURED | measured)
        at("phones", "[name=offlineHours]")(page)
        open_all(page)
        shows(page, ".measure-live > *" if measured else ".measure-results > *")

    return go


def wrong_printer(page):
    at("receipts", "[name=printer]")(page)
    page.locator("[name=printer]").fill("/etc/passwd")
    page.locator(".settings-form .primary").click()
    shows(page, ".field-error:visible")


#: Name, whose browser, and the way there. Of what comes last another suite has the English pictures.
BOTH = [
    ("throttled", "stranger", throttled), ("code", "stranger", at("code", ".code-input")), ("code-wrong", "stranger", wrong_sign_in_code),
    ("unreachable", "stranger", unreachable), ("language", "owner", language_question), ("not-for-you", "Ada", at("totals", ".notice")),
    ("shifts-cashier", "Ada", at("shifts", ".shift-mine")), ("shifts-manager", "Mia", at("shifts", ".shift-row")),
    ("staff-manager", "Mia", at("staff", ".staff-row")), ("paid-twice", "owner", paid_twice), ("paid-twice-question", "owner", refund_question),
    ("sick", "owner", sick), ("log-broken", "owner", broken_log), ("settings-coming", "owner", settings_coming), ("wipe-question", "owner", wipe_question),
]
ARABIC = [
    ("login", "stranger", at("", "[name=password]")), ("reset", "stranger", at("reset", ".entrance .text-link")), ("reset-code", "stranger", reset_code),
    ("people", "counter", at("", ".person-button")), ("pin", "counter", pin), ("pin-wrong", "counter", wrong_pin),
    ("me-cashier", "Ada", at("me", "[name=newPIN]")), ("me-manager", "Mia", at("me", "[name=newPIN]")),
    ("settings-manager", "Mia", at("settings", "[name=merchantName]")), ("keypad-counter", "Ada", at("charge", ".keys")),
    ("staff-filled", "owner", at("staff", ".staff-row")), ("staff-add", "owner", of_person(".staff > .primary")),
    ("staff-edit", "owner", of_person(".staff-buttons .button:last-child")), ("staff-code", "owner", of_person(".staff-buttons .button")),
    ("sum", "owner", type_sum), ("note", "owner", note), ("tip-other", "owner", other_tip), ("no-answer", "owner", no_answer), ("lost", "owner", lost),
    ("gateway-gone", "owner", event(gateway="unreachable")), ("starting", "owner", event(phase="starting", checking=2)),
    ("cancel-question", "owner", event(sample_charge(), "cancel")),
    ("release-question", "owner", event(sample_charge(state="processing", canCancel=False, canRelease=True, unresolved=True), "release")),
    ("notices", "owner", event(notices=NOTICES)), ("till-message", "owner", event(message=MESSAGE)),
    ("refunded", "owner", refunded), ("shift-report", "owner", shift_report), ("days-agree", "owner", days(sample_report(allAgree=True))),
    ("days-never", "owner", days(None)), ("token-made", "owner", token_made), ("settings-wrong", "owner", wrong_settings),
    ("security-wrong", "owner", wrong_password_change), ("phones-measured", "owner", phones()),
    ("phones-measuring", "owner", phones(measuring="inside", inside=None, outside=None, threshold=None, signal=-47, samples=12, phones=2)),
    ("receipts-wrong", "owner", wrong_printer), ("network", "owner", network),
]
VIEWS = [(name, who, go, tags) for rows, tags in ((BOTH, ("en", "ar")), (ARABIC, ("ar",))) for name, who, go in rows]


@pytest.mark.parametrize("tag, name, who, go", [(tag, name, who, go) for name, who, go, tags in VIEWS for tag in tags],
                         ids=[f"{name}-{tag}" for name, _, _, tags in VIEWS for tag in tags])
def test_the_view_is_whole(context, watch, states, eyes, tag, name, who, go):
    browser = context.browser.new_context(
        ignore_https_errors=True, viewport=PHONE, locale=tag, reduced_motion="reduce", base_url=watch.origin, storage_state=states[who],
    )
    try:
        browser.set_default_timeout(WAIT_MILLISECONDS)
        watch.over(browser)
        page = browser.new_page()
        go(page)
        if tag == "ar":
            is_spoken(page, tag)
        assert small_targets(page) == []
        eyes.look(page, f"all-{tag}-{name}")
    finally:
        browser.close()


def test_every_step_of_the_set_up_is_whole_in_arabic(context, watch, states, eyes):
    """The owner goes back to its beginning and on again; nothing is changed on the way."""
    browser = context.browser.new_context(
        ignore_https_errors=True, viewport=PHONE, locale="ar", reduced_motion="reduce", base_url=watch.origin, storage_state=states["owner"],
    )
    watch.over(browser)
    page = browser.new_page()
    page.goto("/#/setup")
    step = page.locator(".setup")
    for name in ("acquirer", "gateway", "shop", "ids", "country", "language"):
        expect(step).to_have_attribute("data-step", name)
        is_spoken(page, "ar")
        assert small_targets(page) == []
        eyes.look(page, f"all-ar-setup-{name}")
        if name != "language":
            page.locator(".setup-back").click()
    for name in ("country", "ids", "shop", "gateway", "acquirer", "ways", "test"):
        # The acquirer can be left for later.
        page.locator(".setup-buttons .button:not(.primary)" if name == "ways" else ".setup-buttons .primary").click()
        expect(step).to_have_attribute("data-step", name)
        if name in ("ways", "test"):
            is_spoken(page, "ar")
            assert small_targets(page) == []
            eyes.look(page, f"all-ar-setup-{name}")
    # Tips are asked about where phones can pay.
    stub_taps(page, enabled=True)
    page.goto("about:blank")
    page.goto("/#/setup")
    shows(page, ".setup-buttons .primary")
    expect(step).to_have_attribute("data-step", "test")
    page.locator(".setup-back").click()
    shows(page, ".setup[data-step=tips] [name=tipMode]")
    page.locator("[name=tipMode]").select_option("ask")
    is_spoken(page, "ar")
    assert small_targets(page) == []
    eyes.look(page, "all-ar-setup-tips")
    browser.close()


#: Where the Tab key leads, and what it has passed by: whatever can be pressed or filled in. Of a group of radio buttons one.
CONTROLS = r"""() => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex]";
  const groups = new Set();
  window.controls = [...document.querySelectorAll(kinds)].filter((element) => {
    if (element.tabIndex < 0 || element.disabled || element.closest("[inert]") || !element.checkVisibility({ visibilityProperty: true })) return false;
    if (element.type !== "radio") return true;
    const others = [...document.getElementsByName(element.name)].filter((other) => other.form === element.form);
    return others.some((other) => other.checked) ? element.checked : !groups.has(element.name) && groups.add(element.name);
  });
  return window.controls.map((element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 110));
}"""
#: The control that has the focus: which it is, whether that can be seen on it, what lies above it, and where it is on the page.
FOCUSED = r"""() => {
  const element = document.activeElement;
  const index = window.controls.indexOf(element);
  if (element === document.body) return null;
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const above = document.elementFromPoint((Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2, (top + bottom) / 2);
  const isSeen = above !== null && (element.contains(above) || above.contains(element) && above.matches("label, a, button"));
  let stuck = element;
  while (stuck && !["fixed", "sticky"].includes(getComputedStyle(stuck).position)) stuck = stuck.parentElement;
  return {
    index, what: element.outerHTML.slice(0, 110), isSeen, above: above?.outerHTML.slice(0, 80) ?? null,
    hasRing: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && element.matches(":focus-visible"),
    flows: !stuck && element.closest("main") !== null, top: box.top + scrollY, bottom: box.bottom + scrollY,
  };
}"""


def has_settled(page) -> None:
    """Nothing was put into the page, or taken away, for a while. What never rests is waited for no longer than 3 s."""
    page.evaluate(
        """() => new Promise((resolve) => {
          let timer = setTimeout(resolve, 300);
          setTimeout(resolve, 3_000);
          new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(resolve, 300); }).observe(document.body, { childList: true, subtree: true });
        })"""
    )


def walk(page, where: str, columns: bool) -> int:
    """Once around the page by the Tab key alone. `columns`: what is beside something else may come after it."""
    names = page.evaluate(CONTROLS)
    reached, last = {}, None
    # A date takes several presses.
    for _ in range(5 * len(names) + 5):
        page.keyboard.press("Tab")
        now = page.evaluate(FOCUSED)
        if now is None:
            last = None
            continue
        if last and now["index"] == last["index"]:
            continue
        assert now["index"] >= 0, f"{where}: the focus is where nothing can be done: {now['what']}"
        if now["index"] in reached:
            break
        reached[now["index"]] = now
        assert now["hasRing"], f"{where}: nobody sees that it has the focus: {now['what']}"
        assert now["isSeen"], f"{where}: something lies above it: {now['what']}, {now['above']}"
        if last and not columns and now["flows"] and last["flows"]:
            assert now["bottom"] > last["top"], f"{where}: the focus jumps up, from {last['what']} to {now['what']}"
        if last:
            assert now["index"] > last["index"] or now["index"] == 0, f"{where}: from {last['what']} to {now['what']}"
        last = now
    missed = [name for index, name in enumerate(names) if index not in reached]
    assert not missed, f"{where}: the Tab key does not come to {missed}"
    return len(reached)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_every_control_of_every_page_is_reached_by_the_tab_key(context, watch, states, size):
    browser = context.browser.new_context(
        ignore_https_errors=True, viewport=size, locale="en-US", reduced_motion="reduce", base_url=watch.origin, storage_state=states["owner"],
    )
    watch.over(browser)
    page = browser.new_page()
    stub_taps(page, enabled=True, offlineAllowed=True, tipMode="ask")
    page.goto("/#/charge")
    shows(page, ".keys")
    paid = next(charge for charge in charges(page) if charge["state"] == "succeeded")
    walked = {}
    for place in (*PLACES, f"history/{paid['id']}"):
        page.goto(f"/#/{place}")
        shows(page, "main h1:visible")
        has_settled(page)
        walked[place] = walk(page, place, columns=size is DESKTOP)
    assert walked["charge"] > 15 and walked["phones"] > 15, walked
    browser.close()


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_way_in_is_walked_by_the_tab_key(context, watch, states, size):
    for who, place in (("stranger", ""), ("stranger", "reset"), ("stranger", "code"), ("counter", "")):
        browser = context.browser.new_context(
            ignore_https_errors=True, viewport=size, locale="en-US", reduced_motion="reduce", base_url=watch.origin, storage_state=states[who],
        )
        watch.over(browser)
        page = browser.new_page()
        page.goto(f"/#/{place}")
        shows(page, "main h1:visible")
        has_settled(page)
        # Where a new owner password needs a stick there is nothing to type: the page's language and the way back.
        assert walk(page, f"{who} at {place}", columns=False) >= (2 if place == "reset" else 3)
        browser.close()


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

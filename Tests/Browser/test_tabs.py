"""Many tabs of one browser, and little room: a charge can be opened and cancelled in each.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_tabs.py`.
"""

import sys
import time

import pytest
from playwright.sync_api import expect

from shopfloor import PHONE, WAIT_MILLISECONDS, FakeEvents, until
from steps import cancel_charge, new_charge, open_charge, panel, set_up, type_amount

#: More than the six connections that a browser has to a host.
TABS = 9

#: Counts the connections for events that a tab holds.
COUNTING = """
    window.streams = [];
    window.EventSource = class extends EventSource {
      constructor(address) { super(address); window.streams.push(this); }
    };
"""

HIDE = """(isHidden) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (isHidden ? "hidden" : "visible") });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture(scope="module")
def cookies(context, shop):
    """Those of the owner, who has set the terminal up."""
    page = context.new_page()
    set_up(page, shop)
    page.close()
    return context.storage_state()


@pytest.fixture
def browser_of_its_own(context, shop, watch, cookies):
    """Signed in, with no tab yet. Its tabs share nothing with those of other tests."""
    own = context.browser.new_context(
        ignore_https_errors=True, viewport=PHONE, locale="en-US", reduced_motion="reduce", base_url=shop.url, storage_state=cookies
    )
    own.set_default_timeout(WAIT_MILLISECONDS)
    watch.over(own)
    own.add_init_script(COUNTING)
    yield own
    own.close()


def tab(browser):
    page = browser.new_page()
    page.goto("/#/charge")
    expect(page.get_by_role("group", name="Keypad")).to_be_visible()
    return page


def connections(tabs) -> int:
    return sum(page.evaluate("streams.filter((stream) => stream.readyState !== EventSource.CLOSED).length") for page in tabs)


@pytest.mark.parametrize("others", ["looked at", "hidden"])
def test_a_charge_is_opened_and_cancelled_in_the_ninth_tab_and_seen_in_all(browser_of_its_own, others):
    tabs = []
    for _ in range(TABS):
        if others == "hidden" and tabs:
            tabs[-1].evaluate(HIDE, True)
        tabs.append(tab(browser_of_its_own))
    assert connections(tabs) == 1
    last = tabs[-1]
    open_charge(last, "4.40")
    for page in tabs:
        expect(panel(page, "requiresAction")).to_be_visible()
    cancel_charge(last)
    for page in tabs:
        expect(panel(page, "cancelled")).to_be_visible()
    assert connections(tabs) == 1
    new_charge(last)


def test_the_last_customers_result_leaves_the_screen_with_the_next_customer(browser_of_its_own):
    """By itself it stays there for 20 seconds."""
    page = tab(browser_of_its_own)
    status = "fetch('/api/v1/charges/current').then((answer) => answer.status)"
    open_charge(page, "4.40")
    cancel_charge(page)
    assert page.evaluate(status) == 200
    new_charge(page)
    began = time.monotonic()
    until(lambda: page.evaluate(status) == 204, "the screen to be free")
    assert time.monotonic() - began < 15, "it left by itself"


def test_when_the_tab_with_the_connection_is_closed_another_one_hears(browser_of_its_own):
    tabs = [tab(browser_of_its_own) for _ in range(3)]
    leader = next(page for page in tabs if connections([page]) == 1)
    leader.close()
    rest = [page for page in tabs if page is not leader]
    open_charge(rest[0], "4.40")
    expect(panel(rest[1], "requiresAction")).to_be_visible()
    assert connections(rest) == 1
    cancel_charge(rest[1])
    expect(panel(rest[0], "cancelled")).to_be_visible()
    new_charge(rest[0])


NOTICES = [{"id": f"n{number}", "kind": "late", "code": "K7QA", "amountText": "€12.50", "at": "2026-01-01T12:00:00Z"} for number in (1, 2)]


@pytest.mark.parametrize("size", [(320, 568), (360, 640), (375, 667), (390, 844), (640, 400), (844, 390), (820, 1180)], ids=lambda size: "{}x{}".format(*size))
@pytest.mark.parametrize("text", ["normal", "largest"])
@pytest.mark.parametrize("notices", [0, 2])
def test_the_charge_button_is_never_under_the_navigation(browser_of_its_own, size, text, notices, eyes):
    page = browser_of_its_own.new_page()
    terminal = FakeEvents(page)
    terminal.notices = NOTICES[:notices]
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto("/#/charge")
    terminal.say(None)
    page.evaluate("(size) => { document.documentElement.dataset.size = size; }", text)
    type_amount(page, ["4", "5", "0"])
    button = page.get_by_role("button", name="Charge €4.50")
    box = button.bounding_box()
    # What a finger hits there is the button: neither the navigation nor anything else lies on it.
    for share in (0.1, 0.5, 0.9):
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] * share
        assert y < size[1], f"the button is below the window: {box}"
        assert button.evaluate("(button, [x, y]) => button.contains(document.elementFromPoint(x, y))", [x, y]), f"something lies on the button: {box}"
    clear = page.get_by_role("button", name="Clear").bounding_box()
    amount = page.locator(".amount").bounding_box()
    apart = clear["x"] >= amount["x"] + amount["width"] - 1 or clear["y"] >= amount["y"] + amount["height"] - 1
    assert apart, f"Clear lies on the amount: {clear} and {amount}"
    if eyes.folder:
        page.screenshot(path=eyes.folder / f"keypad-{size[0]}x{size[1]}-{text}-{notices}.png", animations="disabled")
    page.close()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

"""Each moment of a charge, and what can happen to a page in it: a reload, the back button, a second tab, a second browser, a lost
connection, a session that ends. Whatever happens, there is one charge, and the page says what became of it.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_moments.py`.
"""

import pathlib
import re
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, PHONE, WAIT_MILLISECONDS, until
from steps import charges, current_charge, set_up, type_amount


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


class Counter:
    """One browser of the owner, and what else there is around it."""

    def __init__(self, context, shop, watch) -> None:
        self.context, self.shop, self.watch, self.opened = context, shop, watch, []
        self.page = self.browser(context.storage_state()).new_page()
        self.page.goto("/#/charge")
        expect(self.page.locator(".keypad, .panel")).to_be_visible()

    def browser(self, state=None):
        new = self.context.browser.new_context(
            ignore_https_errors=True, viewport=PHONE, locale="en-US", reduced_motion="reduce", base_url=self.shop.url, storage_state=state,
        )
        new.set_default_timeout(WAIT_MILLISECONDS)
        self.watch.over(new)
        self.opened.append(new)
        return new

    def close(self) -> None:
        for browser in self.opened:
            browser.close()


@pytest.fixture
def counter(context, page, shop, watch):
    counter = Counter(context, shop, watch)
    yield counter
    counter.close()
    # The next one begins with nothing under way.
    page.evaluate(
        """async () => {
          const { csrfToken } = await (await fetch("/api/v1/session")).json();
          const charge = await fetch("/api/v1/charges/current").then((answer) => answer.status === 200 ? answer.json() : null);
          if (!charge?.canCancel) return;
          const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrfToken };
          await fetch(`/api/v1/charges/${charge.id}/cancel`, { method: "POST", headers, body: "{}" });
        }"""
    )
    shop_is_free(page)


def shop_is_free(page) -> None:
    def is_free():
        charge = page.evaluate("() => fetch('/api/v1/charges/current').then((answer) => answer.status === 200 ? answer.json() : null)")
        return not charge or charge["state"] in ("succeeded", "cancelled", "failed", "expired")

    until(is_free, "the terminal to be free")


# Moments


def typed(counter):
    type_amount(counter.page, ["1", "2", "5", "0"])


def asked(counter):
    """The terminal has opened the charge; its answer is still under way."""
    counter.page.route("**/api/v1/charges", lambda route: route.fetch() if route.request.method == "POST" else route.continue_())
    typed(counter)
    counter.page.get_by_role("button", name="Charge €12.50").click()
    until(lambda: len(charges(counter.page)) > counter.before, "a charge to be opened")


def waiting(counter):
    typed(counter)
    counter.page.get_by_role("button", name="Charge €12.50").click()
    expect(counter.page.locator(".panel[data-state=requiresAction]")).to_be_visible()


def question(counter):
    """Shall it be cancelled? Nobody has answered."""
    waiting(counter)
    counter.page.get_by_role("button", name="Cancel charge").click()
    expect(counter.page.get_by_role("dialog")).to_be_visible()


def cancelling(counter):
    """The terminal has heard that it is to be cancelled; its answer is still under way."""
    counter.page.route("**/api/v1/charges/*/cancel", lambda route: route.fetch())
    question(counter)
    with counter.page.expect_request("**/api/v1/charges/*/cancel"):
        counter.page.get_by_role("button", name="Yes, cancel").click()


def paid(counter):
    waiting(counter)
    counter.shop.pay(current_charge(counter.page)["link"])
    expect(counter.page.locator(".panel[data-state=succeeded]")).to_be_visible()


# What happens


def reload(counter):
    counter.page.reload()
    return counter.page


def back(counter):
    """Away from it by an address, and back by the browser's button."""
    counter.page.goto("/#/history")
    expect(counter.page.get_by_role("heading", name="History")).to_be_visible()
    counter.page.go_back()
    return counter.page


def second_tab(counter):
    tab = counter.page.context.new_page()
    tab.goto("/")
    return tab


def sign_in(page):
    page.get_by_label("Password", exact=True).fill(OWNER_PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def second_browser(counter):
    other = counter.browser().new_page()
    other.goto("/")
    sign_in(other)
    return other


def lost_connection(counter):
    counter.page.context.set_offline(True)
    expect(counter.page.get_by_text("No connection to the terminal").first).to_be_visible()
    counter.page.context.set_offline(False)
    expect(counter.page.locator(".banner").first).to_be_hidden()
    return counter.page


def ended_session(counter):
    counter.page.context.clear_cookies()
    counter.page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))")
    expect(counter.page.get_by_text("Your session has ended")).to_be_visible()
    sign_in(counter.page)
    return counter.page


#: The moment, what is read afterwards, and how many charges there are more than before.
MOMENTS = [(typed, "", 0), (asked, "Waiting", 1), (waiting, "Waiting", 1), (question, "Waiting", 1), (cancelling, "Cancelled", 1), (paid, "Paid", 1)]
EVENTS = [reload, back, second_tab, second_browser, lost_connection, ended_session]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
@pytest.mark.parametrize("moment, word, more", MOMENTS, ids=[moment.__name__ for moment, _, _ in MOMENTS])
def test_whatever_happens_there_is_one_charge_and_the_page_knows_it(counter, page, moment, word, more, event):
    counter.before = len(charges(page))
    moment(counter)
    seen = event(counter)
    if more == 0:
        # What is typed is this tab's own.
        expect(seen.get_by_role("status", name="Amount")).to_have_text("€0.00" if event in (second_tab, second_browser) else "€12.50")
    else:
        said = seen.locator(".panel:visible, .last-strip:visible").filter(has_text="€12.50").first
        expect(said).to_contain_text(word)
    assert len(charges(page)) == counter.before + more
    if event is not lost_connection:
        # What was asked on the page before is not answered on another one.
        expect(seen.locator("dialog[open]")).to_have_count(0)
    if word == "Waiting":
        # Still the same one, and it can be paid.
        counter.shop.pay(current_charge(page)["link"])
        for other in {seen, counter.page}:
            if not other.locator("dialog[open]").count():
                expect(other.locator(".panel:visible, .last-strip:visible").filter(has_text="€12.50").first).to_contain_text("Paid")


def test_a_session_that_ends_as_the_charge_is_sent_charges_once_after_signing_in(counter, page):
    counter.before = len(charges(page))
    typed(counter)
    keys = []
    counter.page.on("request", lambda request: keys.append(request.headers.get("idempotency-key"))
                    if request.method == "POST" and request.url.endswith("/charges") else None)
    counter.page.context.clear_cookies()
    counter.page.get_by_role("button", name="Charge €12.50").click()
    expect(counter.page.get_by_text("Your session has ended")).to_be_visible()
    assert len(charges(page)) == counter.before, "nobody was signed in"
    sign_in(counter.page)
    again = counter.page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    again.click()
    expect(counter.page.locator(".panel[data-state=requiresAction]")).to_contain_text("€12.50")
    assert len(keys) >= 2 and len(set(keys)) == 1
    assert len(charges(page)) == counter.before + 1


@pytest.mark.parametrize("hours", [-9, 9])
def test_a_browser_whose_clock_is_wrong_counts_down_as_the_terminal_does(counter, page, hours):
    counter.page.add_init_script(f"const now = Date.now; Date.now = () => now() + {hours} * 3_600_000;")
    counter.page.reload()
    counter.before = len(charges(page))
    waiting(counter)
    expect(counter.page.get_by_role("timer")).to_have_text(re.compile(r"[45]:\d\d left"))
    reload(counter)
    expect(counter.page.get_by_role("timer")).to_have_text(re.compile(r"[45]:\d\d left"))
    assert len(charges(page)) == counter.before + 1


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

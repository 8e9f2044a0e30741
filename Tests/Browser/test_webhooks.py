"""Webhooks on the terminal's page, and what a real receiver gets of a real sale: signed, and again until it answers.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_webhooks.py`; TILL_SHOTS names a folder for pictures.
"""

import json
import pathlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "API"))

from own_postgres import TABLE, own_postgres  # noqa: E402
from shopfloor import DESKTOP, OWNER_PASSWORD, PHONE, WAIT_MILLISECONDS, small_targets, until  # noqa: E402
from steps import cancel_charge, current_charge, open_charge, open_or_keep_keypad, panel, set_up  # noqa: E402
from webhook_receiver import is_genuine  # noqa: E402


class Server:
    """Somebody's till, which answers what the test says."""

    def __init__(self):
        self.secret, self.status, self.got, self.forged = "", 204, [], 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if is_genuine(server.secret, self.headers, body):
                    server.got.append((self.headers["webhook-id"], json.loads(body), server.status))
                else:
                    server.forged += 1
                self.send_response(server.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/till?key=receiver"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def until(self, kind: str, status: int = 204) -> tuple:
        return until(lambda: [one for one in self.got if one[1]["type"] == kind and one[2] == status], f"{kind} to come")[-1]

    def until_named(self, identifier: str) -> None:
        """Taken under the name that it had when it was refused."""
        until(lambda: any(one[0] == identifier and one[2] == 204 for one in self.got), f"{identifier} to come again")


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.http.shutdown()


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


def card(page):
    return page.locator(".webhook")


def test_the_owner_makes_a_webhook_and_sees_its_secret_once(page, eyes, server):
    page.goto("/#/settings")
    page.get_by_role("link", name="Webhooks").click()
    expect(page.get_by_text("There are no webhooks.")).to_be_visible()
    page.locator("[name=url]").fill("http://shop.example/till")
    page.locator("[name=url]").fill("http://169.254.169.254/latest")
    page.get_by_role("button", name="Make a webhook").click()
    expect(page.locator("[name=url]")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("no shop has a server")).to_be_visible()
    eyes.look(page, "webhooks-refused", ("phone",))
    page.locator("[name=url]").fill(server.url)
    for name in ("succeeded", "failed", "expired", "cancelled", "unknown"):
        page.locator(f"[name={name}]").uncheck()
    page.get_by_role("button", name="Make a webhook").click()
    expect(page.get_by_text("Choose at least one.")).to_be_visible()
    page.locator("[name=created]").check()
    page.locator("[name=succeeded]").check()
    page.get_by_role("button", name="Make a webhook").click()
    expect(page.locator(".token-text")).to_contain_text("whsec_")
    server.secret = page.locator(".token-text").inner_text().strip()
    expect(card(page)).to_contain_text("Waits for the first event")
    assert small_targets(page) == []
    eyes.look(page, "webhooks-secret")
    page.reload()
    expect(card(page)).to_have_count(1)
    assert server.secret not in page.content()


def test_a_test_arrives_signed(page, server):
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("The test arrived.")).to_be_visible()
    assert server.until("test")[1]["data"] == {} and server.forged == 0


def test_a_sale_arrives_step_by_step_with_the_words_of_the_api(page, shop, server):
    open_charge(page, "12.50", reference="A 4711")
    charge = current_charge(page)
    shop.pay(charge["link"])
    expect(panel(page, "succeeded")).to_contain_text("€12.50")
    identifier, message, _ = server.until("charge.succeeded")
    assert message["data"]["id"] == charge["id"] and message["data"]["reference"] == "A 4711"
    assert message["data"]["totalMinor"] == 1250 and message["data"]["state"] == "succeeded"
    names = [name for name, _, _ in server.got if not name.startswith("test-")]
    assert len(names) == len(set(names)) == 2 and identifier == names[-1]


def test_what_does_not_arrive_is_said_and_sent_again(page, shop, server, eyes):
    open_or_keep_keypad(page)
    server.status = 503
    open_charge(page, "7.00")
    charge = current_charge(page)
    first = server.until("charge.created", 503)[0]
    page.goto("/#/webhooks")
    expect(card(page)).to_have_attribute("data-state", "failing")
    expect(card(page)).to_contain_text("does not take the message (503)")
    eyes.look(page, "webhooks-failing")
    page.goto("/#/health")
    expect(page.locator(".health-check").filter(has_text="Webhooks")).to_contain_text("do not arrive")
    # The receiver is mended, and a test says so: what waits comes at once.
    server.status = 204
    page.goto("/#/webhooks")
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("The test arrived.")).to_be_visible()
    server.until_named(first)
    expect(card(page)).to_have_attribute("data-state", "good")
    shop.pay(charge["link"])
    server.until("charge.succeeded")


def test_one_that_is_gone_is_switched_off_paused_let_go_on_and_deleted(page, server, eyes):
    page.goto("/#/charge")
    expect(panel(page, "succeeded")).to_be_visible()
    open_or_keep_keypad(page)
    server.status = 410
    open_charge(page, "3.00")
    gone = server.until("charge.created", 410)[0]
    page.goto("/#/webhooks")
    expect(card(page)).to_have_attribute("data-state", "off")
    expect(card(page)).to_contain_text("gone for good")
    eyes.look(page, "webhooks-off")
    server.status = 204
    page.get_by_role("button", name="Go on").click()
    expect(card(page)).to_have_attribute("data-state", "good")
    server.until_named(gone)
    page.goto("/#/charge")
    cancel_charge(page)
    page.goto("/#/webhooks")
    page.get_by_role("button", name="Pause").click()
    expect(card(page)).to_have_attribute("data-state", "paused")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(card(page)).to_have_count(1)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("There are no webhooks.")).to_be_visible()
    page.goto("/#/audit")
    for words in ("New webhook", "A webhook was switched off", "Deleted a webhook"):
        expect(page.get_by_text(words).first).to_be_visible()
    assert "key=receiver" not in page.content()


def test_in_arabic_the_address_stays_as_it_is_read(page, context, watch, server, eyes):
    abroad = context.browser.new_context(
        ignore_https_errors=True, viewport=PHONE, locale="ar", reduced_motion="reduce", base_url=watch.origin, storage_state=context.storage_state(),
    )
    abroad.set_default_timeout(WAIT_MILLISECONDS)
    watch.over(abroad)
    arabic = abroad.new_page()
    arabic.goto("/#/webhooks")
    arabic.locator("[name=url]").fill(server.url)
    arabic.locator("form .primary").click()
    expect(arabic.locator(".token-text")).to_contain_text("whsec_")
    expect(card(arabic)).to_have_count(1)
    assert card(arabic).locator(".webhook-url").evaluate("(place) => getComputedStyle(place).direction") == "ltr"
    assert small_targets(arabic) == []
    eyes.look(arabic, "webhooks-ar")
    arabic.set_viewport_size(DESKTOP)
    abroad.close()


def test_events_come_into_the_operators_own_postgresql_and_what_it_missed_comes_later(page, shop, eyes):
    with own_postgres() as database:
        database.start()
        page.goto("/#/settings")
        page.get_by_role("link", name="Outbox").click()
        expect(page.get_by_text("Switched off.")).to_be_visible()
        page.locator("[name=enabled]").check()
        for name, value in (
            ("host", "localhost"), ("port", str(database.port)), ("database", "postgres"), ("user", "till"), ("authorities", database.authority),
            ("outboxPassword", database.password), ("password", OWNER_PASSWORD),
        ):
            page.locator(f"[name={name}]").fill(value)
        page.get_by_role("button", name="Save").click()
        standing = page.locator("#outbox-standing")
        # The operator made neither the user nor the table yet.
        expect(standing).to_contain_text("does not let this user in")
        assert database.password not in page.content()
        assert small_targets(page) == []
        eyes.look(page, "outbox-refused")
        database.ask(f"CREATE ROLE till LOGIN PASSWORD '{database.password}'")
        test = page.get_by_role("button", name="Test the connection")
        test.click()
        expect(page.get_by_text("has no table till_event").first).to_be_visible()
        database.ask(TABLE)
        database.ask("GRANT INSERT ON till_event TO till")
        test.click()
        expect(page.get_by_text("The database takes events")).to_be_visible()
        count = "SELECT count(*) FROM till_event WHERE charge = '{}' AND type = 'charge.{}'"
        # Everything from the first entry on, those of the tests before this too.
        until(lambda: database.ask("SELECT min(sequence) FROM till_event WHERE data->>'reference' = 'A 4711'") != "", "what was before")
        database.stop()
        page.goto("/#/charge")
        open_or_keep_keypad(page)
        open_charge(page, "8.00")
        charge = current_charge(page)
        shop.pay(charge["link"])
        expect(panel(page, "succeeded")).to_contain_text("€8.00")
        database.start()
        page.goto("/#/outbox")
        expect(standing).to_contain_text("does not answer")
        page.get_by_role("button", name="Test the connection").click()
        until(lambda: database.ask(count.format(charge["id"], "succeeded")) == "1", "the charge to come")
        gaps = "SELECT count(*) - max(sequence) || '' FROM till_event"
        assert database.ask(gaps) == "0"
        expect(standing).to_contain_text("Events reach the database.")
        eyes.look(page, "outbox-good", ("phone",))
        page.goto("/#/health")
        expect(page.locator(".health-check").filter(has_text="Operator’s database")).to_contain_text("reach")


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

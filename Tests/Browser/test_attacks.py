"""Attacks by way of a real browser: pages of other origins that use the owner's session, a foreign name for the terminal's
address, markup in every text that the terminal tells, and guessed tokens by the thousand.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_attacks.py`.
"""

import http.client
import http.server
import json
import pathlib
import ssl
import sys
import threading
import time
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from shopfloor import CHROMIUM, PAID_TWICE, PHONE, WAIT_MILLISECONDS, FakeEvents, sample_charge
from steps import charges, current_charge, leave, new_charge, open_charge, panel, set_up
from test_shop_states import sample_report
from test_words import PLACES, open_all

#: Everything by which a page can make the browser send something elsewhere. Says what it got to read.
ATTACK = """<!doctype html><title>Win a prize</title><body><iframe id="frame" src="TARGET/"></iframe>
<form id="form" method="post" action="TARGET/api/v1/charges" enctype="text/plain" target="hole">
<input name='{"amountMinor":666,"currency":"EUR","x":"' value='"}'></form><iframe name="hole"></iframe>
<script>
const seen = [];
const attempt = async (name, work) => {
  try { const got = await work(); if (got) seen.push(`${name}: ${got}`); } catch { /* As it should be. */ }
};
const body = JSON.stringify({ amountMinor: 666, currency: "EUR" });
const with_ = { credentials: "include" };
const api = "TARGET/api/v1/";
(async () => {
  await attempt("simple", async () => (await fetch(`${api}charges`, { method: "POST", mode: "no-cors", body, ...with_ })).text());
  await attempt("json", async () => (await fetch(`${api}charges`, { method: "POST", body, headers: { "Content-Type": "application/json", "Idempotency-Key": "evil" }, ...with_ })).text());
  await attempt("cancel", async () => (await fetch(`${api}charges/CHARGE/cancel`, { method: "POST", mode: "no-cors", body: "{}", ...with_ })).text());
  await attempt("logout", async () => (await fetch(`${api}logout`, { method: "POST", mode: "no-cors", body: "{}", ...with_ })).text());
  await attempt("put", async () => (await fetch(`${api}settings`, { method: "PUT", body: "{}", headers: { "Content-Type": "application/json" }, ...with_ })).text());
  await attempt("read", async () => (await fetch(`${api}charges`, with_)).text());
  await attempt("session", async () => (await fetch(`${api}session`, { mode: "no-cors", ...with_ })).text());
  await attempt("script", () => new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${api}session`; script.onload = () => done("ran"); script.onerror = failed;
    document.body.append(script);
  }));
  await attempt("picture", () => new Promise((done, failed) => {
    const picture = new Image(); picture.onload = () => done("seen"); picture.onerror = failed; picture.src = `${api}logo`;
  }));
  await attempt("events", () => new Promise((done, failed) => {
    const source = new EventSource(`${api}events`, { withCredentials: true });
    source.addEventListener("terminal", (event) => done(event.data)); source.onerror = failed;
  }));
  await attempt("beacon", async () => { navigator.sendBeacon(`${api}charges`, body); });
  await attempt("frame", async () => document.getElementById("frame").contentDocument?.body?.innerText);
  document.getElementById("form").submit();
  await new Promise((done) => setTimeout(done, 500));
  window.seen = seen;
})();
</script>"""


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


@pytest.fixture
def attacker(shop):
    """Somebody else's page; `page` holds what it serves."""
    served = {"text": ""}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(served["text"].encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    served["port"] = server.server_address[1]
    yield served
    server.shutdown()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["a neighbour to whom cookies are sent", "another site"])
def test_a_page_of_somebody_else_changes_nothing_and_reads_nothing(context, page, shop, attacker, host):
    open_charge(page, "2.00")
    running = current_charge(page)
    attacker["text"] = ATTACK.replace("TARGET", shop.url).replace("CHARGE", running["id"])
    before = len(charges(page))
    # Without the watch: other origins and refused answers are what it is about.
    victim = context.browser.new_context(ignore_https_errors=True, storage_state=context.storage_state())
    answers = []
    victim.on("response", lambda answer: answers.append((answer.request.method, urlsplit(answer.url).path, answer.status))
              if answer.url.startswith(shop.url) else None)
    evil = victim.new_page()
    evil.goto(f"http://{host}:{attacker['port']}/")
    evil.wait_for_function("window.seen")
    assert evil.evaluate("seen") == []
    assert evil.frame_locator("#frame").locator("#page").count() == 0, "it is in no frame"
    assert [answer for answer in answers if answer[0] != "OPTIONS" and answer[2] < 400 and answer[1].startswith("/api")] == []
    assert [answer for answer in answers if answer[:2] == ("POST", "/api/v1/charges") and answer[2] == 403], "they came as far as the terminal"
    victim.close()
    assert len(charges(page)) == before
    assert current_charge(page)["id"] == running["id"] and current_charge(page)["state"] == "requiresAction", "and the session is there"
    shop.pay(running["link"])
    expect(panel(page, "succeeded")).to_be_visible()
    new_charge(page)


def test_a_foreign_name_for_the_terminals_address_shows_nothing(context, shop):
    """What a page can do that has pointed its own name at the terminal: DNS rebinding."""
    port = urlsplit(shop.url).port
    browser = context.browser.browser_type.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--host-resolver-rules=MAP evil.test 127.0.0.1"]
    )
    try:
        page = browser.new_context(ignore_https_errors=True).new_page()
        assert page.goto(f"https://evil.test:{port}/").status == 421
        assert "Zoë" not in page.content() and page.locator("script").count() == 0
        for path in ("session", "charges", "settings", "events"):
            status, text = page.evaluate("(path) => fetch(path).then(async (answer) => [answer.status, await answer.text()])", f"/api/v1/{path}")
            assert status == 421 and "Zoë" not in text, path
        assert page.evaluate("() => fetch('/api/v1/login', { method: 'POST', body: '{}' }).then((answer) => answer.status)") == 421
    finally:
        browser.close()


EVIL = "<img src=/evil data-evil onerror='window.evil=1'><script>window.evil=1</script><b data-evil>"
#: What decides how a page is built, and what must be a moment, a currency or a picture to be shown at all. The rest is text.
STRUCTURE = {
    "id", "state", "phase", "kind", "role", "currency", "locale", "language", "timeZone", "csrfToken", "at", "deadline", "weight", "mode",
    "gateway", "mark", "by", "day", "today", "from", "until", "step", "steps", "furthest", "setUpState", "browser", "image", "modules", "hash",
    "columns", "codePage", "tipMode", "color", "rail", "first", "last", "scopes", "first_day", "level", "place", "part", "result", "country", "logo", "icon",
}


def poisoned(value, key: str = ""):
    """The same answer with markup before every text in it."""
    if isinstance(value, dict):
        return {name: poisoned(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one, key) for one in value]
    if not isinstance(value, str) or key in STRUCTURE or key.endswith("At"):
        return value
    return EVIL + value


def poison(route) -> None:
    if route.request.method != "GET" or route.request.url.endswith("/events"):
        route.continue_()
        return
    answer = route.fetch()
    try:
        route.fulfill(response=answer, json=poisoned(answer.json()))
    except json.JSONDecodeError:
        route.fulfill(response=answer)


def assert_nothing_came_alive(page, where: str) -> None:
    assert page.evaluate("document.querySelectorAll('[data-evil]').length") == 0, where
    assert page.evaluate("window.evil") is None, where


@pytest.fixture
def hostile(context, watch):
    """A browser of the owner to which every answer comes with markup in it."""
    browser = context.browser.new_context(
        ignore_https_errors=True, viewport=PHONE, locale="en-US", base_url=watch.origin, storage_state=context.storage_state(),
    )
    browser.set_default_timeout(WAIT_MILLISECONDS)
    watch.over(browser)
    page = browser.new_page()
    page.route("**/api/v1/**", poison)
    yield page
    browser.close()


def test_markup_in_any_text_of_any_answer_is_text_on_every_page(hostile, page):
    """Whatever wrote it: gateway, acquirer, wallet, till, staff, the machine."""
    shown = {}
    for place in [*PLACES, f"history/{charges(page)[0]['id']}", "me"]:
        hostile.goto("about:blank")
        hostile.goto(f"/#/{place}")
        expect(hostile.locator("h1").first).to_be_attached()
        expect(hostile.get_by_text("Loading")).to_have_count(0)
        open_all(hostile)
        assert_nothing_came_alive(hostile, place)
        shown[place] = hostile.locator("body").inner_text().count("data-evil")
    assert sum(count > 0 for count in shown.values()) > 12, shown


def test_markup_in_what_the_terminal_says_by_itself_is_text(hostile):
    terminal = FakeEvents(hostile)
    notice = {"id": PAID_TWICE["id"], "kind": "late", "code": "K7QA", "amountText": "€12.50", "at": "2026-01-01T11:58:00Z"}
    terminal.notices = [poisoned(notice)]
    hostile.goto("/#/charge")
    message = poisoned({"id": "m1", "kind": "choose", "title": "Which size?", "text": "Well?", "options": ["S", "L"]})
    reason = {"code": "x", "message": "What happened.", "action": "What to do."}
    for state in ("created", "requiresAction", "processing", "unknown", "succeeded", "failed", "cancelled", "expired"):
        charge = poisoned(sample_charge(state=state, reason=reason, unresolved=True, evidence={"paidAmountText": "1 USDC"}))
        terminal.say(charge, message=message)
        expect(hostile.locator(".panel")).to_contain_text("data-evil")
        expect(hostile.locator(".till-message")).to_contain_text("data-evil")
        assert_nothing_came_alive(hostile, state)


def test_markup_in_details_refunds_and_days_is_text(hostile):
    detail = poisoned(PAID_TWICE | {
        "evidence": {"paymentID": "pay_1", "network": "Base", "strange": "value"}, "note": "a note", "openedBy": "staff:Ada",
        "timeline": [{"at": "2026-01-01T12:00:00Z", "who": "staff:Ada", "text": "It was opened."}],
        "refunds": [{"amountText": "€1.00", "reason": "cold", "by": "staff:Ada", "mark": "keptHere"}],
    })
    difference = {"code": "day_amount", "message": "Another amount.", "action": "Call.", "chargeID": PAID_TWICE["id"], "chargeCode": "K7QA", "paymentID": "pay_1", "reference": "x"}
    report = poisoned(sample_report(differences=[difference], notOurs=[difference]))
    leave(hostile)
    hostile.route(f"**/api/v1/charges/{PAID_TWICE['id']}", lambda route: route.fulfill(json=detail))
    hostile.goto(f"/#/history/{PAID_TWICE['id']}")
    expect(hostile.locator(".refund-line")).to_contain_text("data-evil")
    expect(hostile.locator(".timeline")).to_contain_text("data-evil")
    assert_nothing_came_alive(hostile, "detail")
    hostile.locator(".refund-part .button").last.click()
    expect(hostile.get_by_role("dialog")).to_contain_text("data-evil")
    assert_nothing_came_alive(hostile, "dialog")
    hostile.keyboard.press("Escape")
    hostile.route("**/api/v1/days/*", lambda route: route.fulfill(json={"day": "2026-01-01", "comparing": False, "report": report}))
    hostile.goto("/#/days")
    expect(hostile.locator(".differences").first).to_contain_text("data-evil")
    assert_nothing_came_alive(hostile, "days")


GUESSES = 10_000


def test_ten_thousand_guessed_tokens_open_nothing_and_keep_nobody_from_charging(page, shop):
    """With the real program: each guess is refused or told to wait, in bounded time; the counter goes on meanwhile."""
    address = urlsplit(shop.url)
    statuses, faults = [], []

    def guess(first: int) -> None:
        line = http.client.HTTPSConnection(address.hostname, address.port, context=ssl._create_unverified_context(), timeout=60)
        try:
            for number in range(first, GUESSES, 2):
                line.request("GET", "/api/v1/terminal", headers={"Authorization": f"Bearer till_lan_{number:043}"})
                answer = line.getresponse()
                answer.read()
                statuses.append(answer.status)
        except Exception as fault:
            faults.append(fault)
        finally:
            line.close()

    log = shop.state / "terminal.log"
    before, began = log.stat().st_size, time.monotonic()
    guessers = [threading.Thread(target=guess, args=(first,)) for first in range(2)]
    for one in guessers:
        one.start()
    open_charge(page, "4.00")
    shop.pay(current_charge(page)["link"])
    expect(panel(page, "succeeded")).to_contain_text("€4.00")
    for one in guessers:
        one.join()
    took = time.monotonic() - began
    print(f"\n{GUESSES} guessed tokens in {took:.0f} s: {statuses.count(401)} refused, {statuses.count(429)} told to wait")
    assert faults == [] and len(statuses) == GUESSES and set(statuses) == {401, 429}
    assert statuses.count(401) < 200 and took < 120
    assert log.stat().st_size - before < 100_000, "nor do they fill the log"
    entries = page.evaluate("() => fetch('/api/v1/audit?limit=200').then((answer) => answer.json())")["entries"]
    assert len(entries) < 150, "nor the audit log"


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

"""States that no shop reaches on order, shown to the page by stand-in events; the terminal behind it is the real one."""

import pathlib
import re
from datetime import date, timedelta

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, FakeEvents, sample_charge, small_targets
from steps import error_of, open_or_keep_keypad, panel, setup_field, within_reach


@pytest.fixture(scope="module")
def signed_in(context):
    """The story ended with signing out."""
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Password", exact=True).fill(OWNER_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation")).to_be_visible()
    page.close()
    return context


REASON = {"code": "x", "message": "What happened.", "action": "What to do next."}
EVIDENCE = {"paymentID": "pay_0001", "transactionID": "0x" + "ab" * 32, "paidAmountText": "12.50 USDC"}
#: Name of the picture, the charge, whether the terminal is busy with it, what must be read, what must be offered.
STATES = [
    ("created", {"state": "created"}, True, "Opening the charge", "Cancel charge"),
    ("silent", {"unresolved": True, "canRelease": True, "reason": REASON}, True, "What to do next.", "Go on without an answer"),
    ("cancelling", {"canCancel": False}, True, "Cancelling", None),
    ("processing", {"state": "processing", "canCancel": False, "canRelease": True}, True, "Payment in progress", "Go on without an answer"),
    ("paid", {"state": "succeeded", "evidence": EVIDENCE}, False, "Paid", "New charge"),
    ("paid-late", {"state": "succeeded", "late": True, "evidence": EVIDENCE, "reason": REASON}, False, "What to do next.", "New charge"),
    ("failed", {"state": "failed", "reason": REASON}, False, "Not paid", "Charge €12.50 again"),
    ("refused", {"state": "failed", "refused": True}, False, "Refused", "Charge €12.50 again"),
    ("expired", {"state": "expired", "reason": REASON}, False, "Time is up", "Charge €12.50 again"),
    ("cancelled", {"state": "cancelled", "reason": REASON}, False, "Cancelled", "Charge €12.50 again"),
    ("unknown", {"state": "unknown", "canCancel": False, "canRelease": True}, True, "Do not charge again", "Go on without an answer"),
    ("unknown-released", {"state": "unknown", "canCancel": False}, False, "in the background", "Next customer"),
    ("word-of-the-future", {"state": "levitating", "canCancel": False, "canRelease": True}, True, "Not known yet", "Go on without an answer"),
    ("time-over", {"secondsLeft": 0}, True, "Time is over", "Cancel charge"),
]


def screens_colours() -> dict[str, list[str]]:
    """Ground, words and quieter words of each page of the terminal's screen, as a browser writes colours; from the screen's own source."""
    source = (pathlib.Path(__file__).parents[2] / "Sources/Screen/Theme.swift").read_text()
    found = re.findall(r"static let (\w+) = Palette\(0x(\w{6}),(?: text: 0x(\w{6}),)? quiet: 0x(\w{6})\)", source)
    return {name: [f"rgb({', '.join(str(byte) for byte in bytes.fromhex(part or 'FFFFFF'))})" for part in parts] for name, *parts in found}


#: The screen's page of each state of a charge.
SCREENS_PAGE = {
    "created": "calm", "requiresAction": "calm", "processing": "processing", "succeeded": "paid", "promised": "promised",
    "failed": "failed", "refused": "refused", "expired": "expired", "cancelled": "cancelled", "unknown": "unknown", "levitating": "unknown",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_state_has_the_colours_that_it_has_on_the_screen(signed_in, theme):
    page = signed_in.new_page()
    page.emulate_media(color_scheme=theme)
    terminal = FakeEvents(page)
    page.goto("/#/charge")
    screen = screens_colours()
    for state, name in SCREENS_PAGE.items():
        how = {"promised": {"state": "processing", "promised": True}, "refused": {"state": "failed", "refused": True}}
        terminal.say(sample_charge(**how.get(state, {"state": state})))
        expect(page.locator(f".panel[data-tone={name}]")).to_be_visible()
        seen = page.locator(".panel").evaluate(
            "(panel) => [getComputedStyle(panel).backgroundColor, ...[panel, panel.querySelector('.panel-what')].map((part) => getComputedStyle(part).color)]"
        )
        # The calm one is lighter in the dark, to stand out from a page that is as dark as the screen.
        first = 1 if (theme, name) == ("dark", "calm") else 0
        assert seen[first:] == screen[name][first:], f"{state} in {theme}: {seen}, and on the screen {screen[name]}"
    page.close()


def test_every_state_reads_right_and_offers_the_way_on(signed_in, eyes):
    page = signed_in.new_page()
    terminal = FakeEvents(page)
    page.goto("/#/charge")
    terminal.say(None)
    for name, changes, held, words, offer in STATES:
        terminal.say(sample_charge())
        expect(panel(page, "requiresAction")).to_be_visible()
        terminal.say(sample_charge(**changes), held=held)
        expect(page.locator(".panel")).to_contain_text(words)
        if offer:
            expect(page.locator(".panel-actions").get_by_role("button", name=offer)).to_be_enabled()
        if changes.get("state") in ("unknown", "levitating"):
            expect(page.locator(".panel")).not_to_contain_text(re.compile("not paid|failed", re.I))
            expect(page.get_by_role("button", name=re.compile("again"))).to_have_count(0)
        if changes.get("state"):
            expect(page.locator("#announce-now")).not_to_be_empty()
        assert within_reach(page, page.locator(".panel"))
        eyes.look(page, f"state-{name}")
    page.close()


def test_going_on_without_an_answer_is_asked_and_never_called_unpaid(signed_in, eyes):
    page = signed_in.new_page()
    terminal = FakeEvents(page)
    stuck = sample_charge(state="processing", canCancel=False, canRelease=True, unresolved=True, reason=REASON)
    released = stuck | {"state": "unknown", "canRelease": False}

    def release(route):
        terminal.charge, terminal.held = released, False
        route.fulfill(json=released)

    page.route("**/api/v1/charges/*/release", release)
    page.goto("/#/charge")
    terminal.say(stuck)
    page.get_by_role("button", name="Go on without an answer").click()
    question = page.get_by_role("dialog", name="Go on without an answer?")
    expect(question).to_contain_text("Do not charge the customer again before you know")
    eyes.look(page, "charge-release-question")
    question.get_by_role("button", name="Go on").click()
    terminal.say(released, held=False)
    expect(panel(page, "unknown")).to_contain_text("The terminal keeps asking in the background")
    # The answer comes while nobody pays attention: the page asks by itself and says so.
    terminal.charge = released | {"state": "succeeded", "late": True, "evidence": EVIDENCE, "reason": REASON}
    expect(panel(page, "succeeded")).to_contain_text("Paid")
    expect(page.locator("#announce-now")).to_contain_text("Paid")
    page.close()


def test_the_countdown_is_heard_and_does_not_trust_the_browsers_clock(signed_in):
    page = signed_in.new_page()
    terminal = FakeEvents(page)
    page.clock.install(time="2031-05-05T05:05:05Z")
    page.goto("/#/charge")
    terminal.say(sample_charge(secondsLeft=62))
    expect(page.get_by_role("timer")).to_have_text("1:02 left")
    page.clock.run_for(2_500)
    expect(page.locator("#announce-calm")).to_have_text("One minute left.")
    page.clock.run_for(30_000)
    expect(page.get_by_role("timer")).to_have_text(re.compile("0:(29|30) left"))
    page.clock.run_for(60_000)
    expect(page.get_by_role("timer")).to_have_text(re.compile("Time is over"))
    expect(panel(page, "requiresAction")).to_be_visible()
    page.close()


def test_older_charges_come_at_the_end_of_the_list(signed_in):
    page = signed_in.new_page()
    FakeEvents(page)
    name = "01941f29-7c00-7000-8000-0000000000{:02}"
    many = [sample_charge(id=name.format(number), state="succeeded", reference=f"Sale {number}") for number in range(40)]

    def one_page(route):
        query = dict(pair.split("=") for pair in route.request.url.partition("?")[2].split("&"))
        start = next((at + 1 for at, charge in enumerate(many) if charge["id"] == query.get("before")), 0)
        some = many[start : start + int(query["limit"])]
        route.fulfill(json={"charges": some, "next": some[-1]["id"] if start + len(some) < len(many) else None})

    page.route("**/api/v1/charges?*", one_page)
    page.goto("/#/history")
    expect(page.locator(".list a.row")).to_have_count(25)
    # With the keyboard; whoever scrolls gets them too, see test_history.py.
    page.get_by_role("button", name="Show older charges").focus()
    expect(page.locator(".list a.row")).to_have_count(40)
    expect(page.locator(".list a.row").nth(25)).to_be_focused()
    expect(page.get_by_role("button", name="Show older charges")).to_be_hidden()
    page.close()


def test_a_payment_that_came_by_itself_stays_until_it_was_seen(signed_in, eyes):
    page = signed_in.new_page()
    terminal = FakeEvents(page)
    late = sample_charge(state="succeeded", late=True, evidence=EVIDENCE, reason=REASON)
    other = "01941f29-7c00-7000-8000-000000000002"
    terminal.notices = [
        {"id": other, "kind": "paidTwice", "code": "M3XW", "amountText": "€99.00", "at": "2026-01-01T12:00:00Z"},
        {"id": late["id"], "kind": "late", "code": "K7QA", "amountText": "€12.50", "at": "2026-01-01T11:58:00Z"},
        {"id": other[:-1] + "3", "kind": "late", "code": "P9ZT", "amountText": "€3.00", "at": "2026-01-01T11:50:00Z"},
    ]
    asked = []

    def seen(route):
        asked.append(route.request.method)
        terminal.notices = [notice for notice in terminal.notices if notice["id"] != late["id"]]
        route.fulfill(json=late)
        terminal.say(None)

    page.route("**/api/v1/charges/*/seen", seen)
    page.goto("/#/charge")
    terminal.say(None)
    notices = page.get_by_role("list", name="Payments that came by themselves").get_by_role("listitem")
    expect(notices).to_have_count(3)
    expect(notices.nth(0)).to_contain_text("Paid twice: €99.00, code M3XW")
    expect(notices.nth(1)).to_contain_text("Paid late: €12.50, code K7QA")
    expect(notices.nth(2)).to_have_text("1 more like this")
    eyes.look(page, "notices")
    terminal.say(sample_charge())  # The next customer is at the counter: it stands there still.
    expect(notices.nth(1)).to_contain_text("K7QA")
    terminal.say(None)
    expect(notices.nth(1).get_by_role("link", name="Show")).to_have_attribute("href", f"#/history/{late['id']}")
    notices.nth(1).get_by_role("button", name="Seen").click()
    expect(notices).to_have_count(2)
    expect(notices.nth(1)).to_contain_text("P9ZT")
    assert asked == ["POST"]
    page.close()


def test_the_limit_of_an_hour_is_set_beside_the_limit_of_a_charge(signed_in, eyes):
    page = signed_in.new_page()
    page.goto("/#/settings")

    def save(charge, hour):
        setup_field(page, "chargeLimitMinor").fill(charge)
        setup_field(page, "hourlyLimitMinor").fill(hour)
        page.get_by_role("button", name="Save changes").click()

    save("50", "ten")
    assert "digits only" in error_of(page, setup_field(page, "hourlyLimitMinor"))
    save("50", "49.99")
    expect(page.get_by_text("below the largest charge")).to_be_visible()
    assert "below the largest charge" in error_of(page, setup_field(page, "hourlyLimitMinor"))
    eyes.look(page, "settings-limits")
    save("50", "1000")
    expect(page.locator(".toast")).to_contain_text("Saved.")
    page.reload()
    expect(setup_field(page, "hourlyLimitMinor")).to_have_value("1000.00")
    save("", "")
    expect(page.locator(".toast")).to_contain_text("Saved.")
    page.reload()
    expect(setup_field(page, "hourlyLimitMinor")).to_have_value("")
    page.close()


def test_the_keypad_says_beforehand_when_a_charge_would_fail(signed_in, eyes):
    page = signed_in.new_page()
    terminal = FakeEvents(page)
    page.goto("/#/charge")
    page.evaluate("sessionStorage.clear()")
    terminal.say(None, gateway="unreachable")
    expect(page.get_by_text("A charge would fail at the moment")).to_be_visible()
    eyes.look(page, "keypad-gateway-unreachable")
    terminal.say(None, gateway="refused")
    expect(page.get_by_text("does not accept this terminal’s key")).to_be_visible()
    terminal.say(None, phase="starting", checking=2)
    expect(page.get_by_text("checking 2 earlier payments")).to_be_visible()
    page.keyboard.type("100")
    expect(page.get_by_role("button", name="Charge €1.00")).to_be_disabled()
    terminal.say(None)
    expect(page.get_by_role("button", name="Charge €1.00")).to_be_enabled()
    page.close()


def test_a_day_is_compared_with_the_gateway_on_request(signed_in, eyes):
    """For real: the terminal's journal of this story against the sandbox's list of it."""
    page = signed_in.new_page()
    page.goto("/#/history")
    page.get_by_role("link", name="Compare days with the gateway").click()
    expect(page.get_by_role("heading", name="Days compared")).to_be_visible()
    expect(page.get_by_text(re.compile(r"from midnight to midnight in the time zone \w+"))).to_be_visible()
    page.get_by_label("Day", exact=True).fill("2026-01-01")
    expect(page.get_by_text("has not been compared yet")).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "days-none")
    today = page.get_by_label("Day", exact=True).get_attribute("max")
    page.get_by_label("Day", exact=True).fill(today)
    page.get_by_role("button", name="Compare now").click()
    expect(page.locator(".day-result .notice-bad")).to_contain_text("the day is not over yet")
    expect(page.locator(".day-result .difference")).to_have_count(0)
    expect(page.get_by_role("button", name=f"{today}: Not complete")).to_be_visible()
    eyes.look(page, "days-not-over")
    before = str(date.fromisoformat(today) - timedelta(days=1))
    page.get_by_label("Day", exact=True).fill(before)
    page.get_by_role("button", name="Compare now").click()
    expect(page.locator(".day-result .notice-good")).to_be_visible()
    expect(page.get_by_role("button", name=f"{before}: All agree")).to_be_visible()
    eyes.look(page, "days-agree")
    page.reload()
    expect(page.get_by_role("button", name=f"{before}: All agree")).to_be_visible()
    page.close()


def sample_report(**changes) -> dict:
    """A day's report as the terminal tells it."""
    return {
        "from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z", "comparedAt": "2026-01-02T00:15:00Z", "allAgree": False,
        "complete": True, "charges": 12, "summary": {"code": "x", "message": "Two points differ.", "action": "Look at each one."},
        "differences": [], "more": 0, "notOurs": [], "moreNotOurs": 0, "booked": [],
    } | changes


def test_what_differs_is_named_and_an_incomplete_comparison_never_looks_good(signed_in, eyes):
    page = signed_in.new_page()
    FakeEvents(page)
    difference = {
        "code": "day_amount", "message": "The gateway lists another amount. <b>&", "action": "Call for help.",
        "chargeID": sample_charge()["id"], "chargeCode": "K7QA", "paymentID": "pay_" + "A1" * 30, "reference": None,
    }
    stranger = difference | {"message": "A payment this terminal did not make.", "chargeID": None, "chargeCode": None}
    answer = {"report": sample_report(differences=[difference], more=3, notOurs=[stranger], booked=[sample_charge()["id"]])}
    days = [
        {"day": "2026-01-02", "comparing": True, "comparedAt": None, "allAgree": None, "complete": None},
        {"day": "2026-01-01", "comparing": False, "comparedAt": "2026-01-02T00:15:00Z", "allAgree": False, "complete": True},
        {"day": "2025-12-31", "comparing": False, "comparedAt": "2026-01-01T00:15:00Z", "allAgree": False, "complete": False},
    ]
    page.route("**/api/v1/days", lambda route: route.fulfill(json={"today": "2026-01-02", "timeZone": "Europe/Berlin", "days": days}))
    page.route("**/api/v1/days/*", lambda route: route.fulfill(json={"day": "2026-01-01", "comparing": False} | answer))
    page.goto("/#/days")
    expect(page.get_by_role("heading", name="What does not agree")).to_be_visible()
    expect(page.get_by_text("The gateway lists another amount. <b>&")).to_be_visible()
    expect(page.get_by_text("3 more differences are not shown.")).to_be_visible()
    expect(page.get_by_role("heading", name="Not made at this terminal")).to_be_visible()
    expect(page.get_by_role("link", name="Show charge K7QA")).to_have_attribute("href", re.compile(sample_charge()["id"]))
    for state in ("2026-01-02: Comparing", "2026-01-01: Look at it", "2025-12-31: Not complete"):
        expect(page.get_by_role("button", name=state)).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "days-differ")
    answer["report"] = sample_report(complete=False, summary={"code": "x", "message": "The comparison is not complete.", "action": "It is tried again."})
    page.get_by_role("button", name="2025-12-31: Not complete").click()
    expect(page.locator(".day-result .notice-bad")).to_contain_text("The comparison is not complete.")
    expect(page.locator(".day-result .notice-good")).to_have_count(0)
    eyes.look(page, "days-incomplete")
    page.close()


def test_a_currency_that_the_gateway_does_not_take_is_explained(signed_in, eyes):
    page = signed_in.new_page()

    def choose(currency):
        page.goto("/#/settings")
        setup_field(page, "currency").select_option(currency)
        page.get_by_role("button", name="Save changes").click()
        expect(page.locator(".toast")).to_contain_text("Saved.")

    choose("JPY")
    open_or_keep_keypad(page)
    page.keyboard.type("1250")
    page.get_by_role("button", name="Charge ¥1,250").click()
    expect(panel(page, "failed")).to_contain_text("does not take payments in JPY. No payment was made, no money moved.")
    expect(panel(page, "failed")).to_contain_text("Ask the owner to choose another currency in the settings, such as EUR or USD")
    eyes.look(page, "charge-currency-refused")
    choose("EUR")
    page.close()


@pytest.mark.parametrize(
    "currency, exponent, text, minor", [("JPY", 0, "¥1,250", 1250), ("KWD", 3, "KWD 1.250", 1250), ("USD", 2, "$12.50", 1250)]
)
def test_amounts_follow_the_currency(signed_in, currency, exponent, text, minor):
    page = signed_in.new_page()
    FakeEvents(page)
    asked = []

    def other_currency(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"currency": currency, "currencyExponent": exponent, "locale": "en-US"})

    def refuse(route):
        asked.append(route.request.post_data_json)
        route.fulfill(status=422, json={"code": "above_limit", "message": "Too much at once.", "action": "Charge less."})

    page.route("**/api/v1/session", other_currency)
    page.route("**/api/v1/charges", refuse)
    page.goto("/#/charge")
    expect(page.get_by_role("group", name="Keypad")).to_be_visible()
    page.keyboard.type("1250")
    expect(page.get_by_role("status", name="Amount")).to_have_text(text)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Too much at once.")).to_be_visible()
    assert asked == [{"amountMinor": minor, "currency": currency}]
    page.close()

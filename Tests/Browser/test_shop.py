"""A shop's first day at the terminal's web page, in a real browser against a real terminal.

One story, in order: claim, set up, charge, paid, history, and everything that goes wrong on the way.
Needs a fresh terminal (see `Shop.from_environment`). `python test_shop.py` runs it and test_shop_states.py; TILL_SHOTS
names a folder for pictures.
"""

import hashlib
import pathlib
import re
import ssl
import sys
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, PHONE, small_targets
from steps import (
    answer_set_up, cancel_charge, charges, current_charge, error_of, new_charge, open_charge, open_or_keep_keypad, panel, setup_field, sign_out,
    type_amount, within_reach,
)

MERCHANT_NAME = "Café Zoë"
HOSTILE_NAME = "<b>Zoë</b> & <script>alert(1)</script>"
REFERENCE = "Table 5/7"


# The story


def test_an_unclaimed_terminal_shows_nothing_but_the_claim(page, eyes):
    page.goto("/#/history")
    expect(page.get_by_role("heading", name="Claim this terminal")).to_be_visible()
    expect(page.get_by_role("navigation")).to_have_count(0)
    assert page.evaluate("fetch('/api/v1/charges').then((answer) => answer.status)") in (401, 403)
    assert small_targets(page) == []
    eyes.look(page, "claim")


def test_a_short_password_is_refused_before_anything_is_sent(page):
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/claim") else None)
    password = page.get_by_label("Owner password")
    page.get_by_label("Claim code").fill("AAAA")
    password.fill("kite")
    expect(page.get_by_text("4 characters more")).to_be_visible()
    page.get_by_role("button", name="Claim").click()
    assert "at least 8" in error_of(page, password)
    assert sent == []
    password.fill("kite kite")
    expect(page.get_by_text("15 or more is better.", exact=False).last).to_be_visible()
    password.fill(OWNER_PASSWORD)
    expect(page.get_by_text("Good length")).to_be_visible()


def test_the_password_can_be_shown(page):
    password = page.get_by_label("Owner password")
    page.get_by_role("button", name="Show password").click()
    expect(password).to_have_attribute("type", "text")
    page.get_by_role("button", name="Hide password").click()
    expect(password).to_have_attribute("type", "password")


def test_a_wrong_claim_code_is_refused_in_words(page, shop, eyes):
    code = page.get_by_label("Claim code")
    wrong = re.sub(r"[A-Z0-9]", lambda match: "7" if match[0] != "7" else "4", shop.claim_code)
    code.fill(wrong)
    page.get_by_role("button", name="Claim").click()
    expect(page.get_by_role("alert").filter(has_text=re.compile("code", re.I))).to_be_visible()
    assert error_of(page, code)
    expect(code).to_have_value(wrong)
    expect(page.get_by_label("Owner password")).to_have_value(OWNER_PASSWORD)
    eyes.look(page, "claim-wrong-code")


def test_a_password_can_be_pasted(page, context, shop):
    """Password keepers paste; so do people who have it in another window."""
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=shop.url)
    password = page.get_by_label("Owner password")
    password.fill("")
    page.evaluate("(text) => navigator.clipboard.writeText(text)", OWNER_PASSWORD)
    password.focus()
    page.keyboard.press("Control+V")
    expect(password).to_have_value(OWNER_PASSWORD)


def test_the_fingerprint_behind_the_screens_qr_is_shown_to_compare(page, shop, eyes):
    """The QR code carries it beside the code; the page says it as browsers do."""
    pem = ssl.get_server_certificate(tuple(urlsplit(shop.url).netloc.split(":")))
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
    said = shop.on_screen("claim")
    page.goto("about:blank")
    page.goto(said["url"].replace(urlsplit(said["url"]).netloc, urlsplit(shop.url).netloc))
    page.get_by_text("Did your browser warn").click()
    expect(page.locator(".fingerprint code")).to_have_text(":".join(re.findall("..", digest)))
    expect(page.get_by_label("Claim code")).to_have_value(said["code"])
    assert "cert" not in page.url and said["code"] not in page.url
    eyes.look(page, "claim-fingerprint")


def test_the_code_behind_the_screens_qr_claims_and_leaves_the_address(page, context, shop, eyes):
    page.goto("about:blank")
    page.goto(f"/#claim={shop.claim_code}")
    expect(page.get_by_label("Claim code")).to_have_value(shop.claim_code)
    assert shop.claim_code not in page.url
    page.get_by_label("Owner password").fill(OWNER_PASSWORD)
    button = page.get_by_role("button", name="Claim")
    expect(button).to_be_enabled()
    button.click()
    expect(page.locator(".setup[data-step=language]")).to_be_visible()
    assert "till" not in page.evaluate("document.cookie"), "the session must be out of reach for scripts"
    visited = context.new_cdp_session(page).send("Page.getNavigationHistory")["entries"]
    assert not any(shop.claim_code in entry["url"] for entry in visited)


def test_the_set_up_terminal_is_ready_to_charge(page, shop, eyes):
    """Every step of it is in test_setup.py."""
    answer_set_up(page, shop, MERCHANT_NAME)
    expect(page.get_by_role("banner")).to_contain_text(MERCHANT_NAME)
    expect(page.get_by_role("button", name="Enter an amount")).to_be_disabled()
    assert within_reach(page, page.get_by_role("button", name="Enter an amount"))
    assert small_targets(page) == []
    eyes.look(page, "keypad")


def test_bad_settings_are_marked_each_at_its_field_and_nothing_typed_is_lost(page, eyes):
    page.goto("/#/settings")
    typed = {"merchantName": "", "operatorID": "op 1!", "chargeLimitMinor": "500"}
    for name, value in typed.items():
        setup_field(page, name).fill(value)
    with page.expect_response(lambda response: response.url.endswith("/settings") and response.request.method == "PUT") as answer:
        page.get_by_role("button", name="Save changes").click()
    assert answer.value.status == 422
    fields = answer.value.json()["fields"]
    assert {"merchantName", "operatorID"} <= set(fields)
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    for name, problem in fields.items():
        assert problem["message"] in error_of(page, setup_field(page, name)), name
    for name, value in typed.items():
        expect(setup_field(page, name)).to_have_value(value)
    assert page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true", "the first wrong field has the focus"
    assert small_targets(page) == []
    eyes.look(page, "settings-bad-input")


def test_a_reload_keeps_what_was_typed(page, shop):
    page.reload()
    expect(setup_field(page, "operatorID")).to_have_value("op 1!")
    setup_field(page, "operatorID").fill("operator-1")
    setup_field(page, "merchantName").fill(MERCHANT_NAME)
    setup_field(page, "chargeLimitMinor").fill("")
    page.reload()
    expect(setup_field(page, "operatorID")).to_have_value("operator-1")


def test_the_connection_can_be_tested_at_any_time(page, shop, eyes):
    setup_field(page, "gatewayKey").fill("not-the-key")
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator(".tested .notice-bad")).to_be_visible()
    setup_field(page, "gatewayKey").fill("")
    expect(page.locator(".tested .notice-bad")).to_have_count(0)
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator(".tested .notice-good")).to_be_visible()
    eyes.look(page, "settings-tested")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(".toast")).to_contain_text("Saved.")
    page.goto("/#/charge")


def test_the_keypad_composes_amounts_by_finger_and_by_keyboard(page, eyes):
    amount = page.get_by_role("status", name="Amount")
    type_amount(page, ["0", "1", "2", "5", "Double zero"])
    expect(amount).to_have_text("€125.00")
    page.get_by_role("button", name="Delete last digit").click()
    expect(amount).to_have_text("€12.50")
    page.get_by_role("button", name="Clear").click()
    expect(amount).to_have_text("€0.00")
    page.keyboard.type("99999999999")
    expect(amount).to_have_text("€999,999,999.99")
    eyes.look(page, "keypad-longest")
    page.keyboard.type("9999")
    expect(page.get_by_role("button", name="That is more than this keypad takes.")).to_be_disabled()
    page.keyboard.press("Escape")
    page.keyboard.type("12505")
    page.keyboard.press("Backspace")
    expect(page.get_by_role("button", name="Charge €12.50")).to_be_enabled()
    eyes.look(page, "keypad-amount")
    page.keyboard.press("Escape")


def test_a_customer_pays_and_the_page_says_so(page, context, shop, eyes):
    page.goto("/#/charge")
    type_amount(page, ["1", "2", "5", "0"])
    page.get_by_label("Reference").fill("Table 4")
    with page.expect_request(lambda request: request.url.endswith("/charges") and request.method == "POST") as asked:
        page.get_by_role("button", name="Charge €12.50").click()
    assert asked.value.post_data_json == {"amountMinor": 1250, "currency": "EUR", "reference": "Table 4"}
    assert re.fullmatch(r"[0-9a-f-]{36}", asked.value.headers["idempotency-key"])
    assert asked.value.headers["x-csrf-token"]
    expect(panel(page, "requiresAction")).to_be_visible()
    expect(page.get_by_role("heading", name="Waiting for the customer")).to_be_visible()
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"\d+:\d\d left"))
    charge = current_charge(page)
    expect(page.locator(".panel")).to_contain_text(charge["code"])
    eyes.look(page, "charge-waiting")

    page.reload()
    expect(panel(page, "requiresAction")).to_contain_text(charge["code"])
    other = context.new_page()
    other.goto("/")
    expect(panel(other, "requiresAction")).to_contain_text(charge["code"])

    shop.pay(charge["link"])
    for screen in (page, other):
        expect(panel(screen, "succeeded")).to_contain_text("Paid")
        expect(panel(screen, "succeeded")).to_contain_text("€12.50")
    other.close()
    expect(page.locator("#announce-now")).to_contain_text("Paid")
    eyes.look(page, "charge-paid")

    page.reload()
    expect(panel(page, "succeeded")).to_contain_text(charge["code"])


def test_the_last_charge_is_one_tap_away_with_its_evidence(page, eyes):
    new_charge(page)
    expect(page.locator(".last-strip")).to_contain_text("€12.50")
    expect(page.locator(".last-strip")).to_contain_text("Paid")
    page.locator(".last-strip").click()
    expect(panel(page, "succeeded")).to_contain_text("€12.50")
    new_charge(page)
    page.goto("/#/history")
    row = page.locator(".list a.row").first
    expect(row).to_contain_text("Paid")
    expect(row).to_contain_text("€12.50")
    expect(row).to_contain_text("Table 4")
    assert small_targets(page) == []
    eyes.look(page, "history")
    row.click()
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()
    expect(page.locator(".detail")).to_contain_text("Payment ID")
    expect(page.locator(".detail")).to_contain_text("Table 4")
    eyes.look(page, "history-charge")
    page.go_back()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.get_by_role("button", name="Not known yet").click()
    expect(page.get_by_text("No charge like that")).to_be_visible()


def test_a_charge_is_cancelled_by_keyboard_after_a_question(page, eyes):
    open_charge(page, "3.20")
    page.get_by_role("button", name="Cancel charge").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Cancel this charge?")).to_be_visible()
    eyes.look(page, "charge-cancel-question")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(panel(page, "requiresAction")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel charge")).to_be_focused()
    cancel_charge(page)
    expect(page.locator(".panel")).to_contain_text("No money moved")
    page.get_by_role("button", name="Charge €3.20 again").click()
    expect(page.get_by_role("button", name="Charge €3.20")).to_be_enabled()
    page.get_by_role("button", name="Clear").click()


@pytest.mark.parametrize("events", ["heard", "lost too"])
def test_a_lost_answer_never_makes_a_second_charge(page, events):
    """With events the page finds its charge by itself; without them it asks again with the same key."""
    count = len(charges(page))
    keys = []

    def lose_the_first_answer(route):
        if route.request.method != "POST":
            route.continue_()
            return
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()  # The terminal opens the charge; its answer is lost.
            route.abort()
        else:
            route.continue_()

    page.route("**/api/v1/charges", lose_the_first_answer)
    if events == "lost too":
        page.route("**/api/v1/events", lambda route: route.abort())
        page.reload()
    open_charge(page, "4.40")
    page.unroute_all()
    assert len(keys) == (1 if events == "heard" else 2)
    assert len(set(keys)) == 1
    assert len(charges(page)) == count + 1
    expect(page.locator(".banner")).to_be_hidden()
    cancel_charge(page)
    new_charge(page)


def test_silence_leaves_the_choice_to_the_cashier_and_the_key_the_same(page, eyes):
    count = len(charges(page))
    keys = []

    def never_arrive(route):
        keys.append(route.request.headers["idempotency-key"])
        route.abort()

    page.route("**/api/v1/charges", never_arrive)
    page.goto("/#/charge")
    type_amount(page, ["5", "Double zero"])
    page.get_by_role("button", name="Charge €5.00").click()
    expect(page.get_by_text("has not answered yet")).to_be_visible()
    eyes.look(page, "keypad-no-answer")
    page.reload()
    expect(page.get_by_text("has not answered yet")).to_be_visible()
    page.unroute("**/api/v1/charges")
    with page.expect_request(lambda request: request.url.endswith("/charges") and request.method == "POST") as asked:
        page.get_by_role("button", name="Try again").click()
    assert set(keys) == {asked.value.headers["idempotency-key"]}
    expect(panel(page, "requiresAction")).to_contain_text("€5.00")
    assert len(charges(page)) == count + 1
    cancel_charge(page)
    new_charge(page)


def test_markup_in_names_and_references_is_text(page, eyes):
    page.goto("/#/settings")
    setup_field(page, "merchantName").fill(HOSTILE_NAME)
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("banner")).to_contain_text(HOSTILE_NAME)
    open_charge(page, "1.00", REFERENCE)
    expect(page.locator(".panel")).to_contain_text(REFERENCE)
    eyes.look(page, "hostile-texts")
    cancel_charge(page)
    page.get_by_role("link", name="Details").click()
    expect(page.locator(".detail")).to_contain_text(HOSTILE_NAME)
    expect(page.locator(".detail")).to_contain_text(REFERENCE)
    assert page.locator("#page b, #page img, #page script").count() == 0
    page.goto("/#/settings")
    setup_field(page, "merchantName").fill(MERCHANT_NAME)
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("banner")).to_contain_text(MERCHANT_NAME)
    eyes.look(page, "settings")


def test_a_lost_connection_is_said_and_recovers_by_itself(page, context, eyes):
    open_or_keep_keypad(page)
    context.set_offline(True)
    expect(page.get_by_text("No connection to the terminal").first).to_be_visible()
    eyes.look(page, "connection-lost")
    context.set_offline(False)
    expect(page.locator(".banner")).to_be_hidden()
    open_charge(page, "2.00")
    cancel_charge(page)
    new_charge(page)


def test_an_expired_session_asks_for_the_password_and_comes_back(page, context, eyes):
    open_charge(page, "6.00")
    context.clear_cookies()
    # Not by the link: the page may notice by itself first, and then the link is gone.
    page.evaluate("location.hash = '#/history'")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    eyes.look(page, "login")
    page.get_by_label("Password", exact=True).fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".trouble .notice-bad")).to_be_visible()
    page.get_by_label("Password", exact=True).fill(OWNER_PASSWORD)
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.get_by_role("link", name="Charge", exact=True).click()
    expect(panel(page, "requiresAction")).to_contain_text("€6.00")
    cancel_charge(page)
    new_charge(page)


def test_a_throttled_sign_in_says_how_long_to_wait(page, eyes):
    sign_out(page)

    def too_many(route):
        route.fulfill(
            status=429, headers={"Retry-After": "3"},
            json={"code": "too_many_tries", "message": "Too many wrong tries.", "action": "Wait, then try again."},
        )

    page.route("**/api/v1/login", too_many)
    button = page.get_by_role("button", name="Sign in")
    page.get_by_label("Password", exact=True).fill("guess")
    button.click()
    expect(page.locator(".wait-line")).to_have_text(re.compile(r"Try again in 0:0\d"))
    expect(button).to_be_disabled()
    page.unroute_all()
    expect(button).to_be_enabled()
    page.get_by_label("Password", exact=True).fill(OWNER_PASSWORD)
    button.click()
    expect(page.get_by_role("navigation")).to_be_visible()


NEW_PASSWORD = "seven other words: lantern"


def sign_in(page, password):
    page.goto("/")
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation")).to_be_visible()


@pytest.fixture
def second(context, shop, watch):
    """The same owner in a second browser."""
    other = context.browser.new_context(ignore_https_errors=True, viewport=PHONE, locale="en-US", base_url=shop.url)
    watch.over(other)
    page = other.new_page()
    sign_in(page, OWNER_PASSWORD)
    yield page
    other.close()


def test_the_owner_sees_who_is_signed_in_and_ends_it(page, second, eyes):
    page.goto("/#/settings")
    page.get_by_role("link", name="Password and sign-ins").click()
    expect(page.get_by_role("heading", name="Password and sign-ins")).to_be_focused()
    rows = page.locator(".session")
    expect(rows).not_to_have_count(1)
    expect(rows.first).to_contain_text("This browser")
    assert small_targets(page) == []
    eyes.look(page, "security")
    newest = rows.nth(1)
    expect(newest).to_contain_text("Owner")
    count = rows.count()
    newest.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(count - 1)
    expect(page.get_by_role("heading", name="Everybody who is signed in")).to_be_focused()
    expect(page.locator("#announce-calm")).to_contain_text("signed out")
    second.evaluate("location.hash = '#/history'")
    expect(second.get_by_role("heading", name="Sign in")).to_be_visible()
    if count > 2:
        page.get_by_role("button", name="Sign out everywhere else").click()
        page.get_by_role("button", name="Sign out", exact=True).last.click()
    expect(rows).to_have_count(1)
    expect(page.get_by_role("button", name="Sign out everywhere else")).to_have_count(0)


def test_a_new_password_is_refused_at_its_field_and_then_taken(page, second, eyes):
    page.goto("/#/security")
    current, new = page.get_by_label("Current password", exact=True), page.get_by_label("New password", exact=True)
    change = page.get_by_role("button", name="Change password")
    change.click()
    assert error_of(page, current) and error_of(page, new)
    expect(current).to_be_focused()
    current.fill("not the password")
    new.fill("Password123")
    change.click()
    expect(new).to_be_focused()
    assert "first that anybody would try" in error_of(page, new)
    new.fill(NEW_PASSWORD)
    change.click()
    expect(current).to_be_focused()
    assert "not the password" in error_of(page, current)
    eyes.look(page, "security-wrong")
    cookie = page.context.cookies()
    current.fill(OWNER_PASSWORD)
    expect(page.get_by_label("Sign out everywhere else")).to_be_checked()
    change.click()
    expect(page.locator(".toast")).to_contain_text("Everybody else is signed out")
    expect(current).to_have_value("")
    expect(page.locator(".session")).to_have_count(1)
    assert page.context.cookies() != cookie, "the browser has a new token"
    second.evaluate("location.hash = '#/history'")
    expect(second.get_by_role("heading", name="Sign in")).to_be_visible()
    # The page goes on with its new token: a change of anything, and the terminal's events.
    open_charge(page, "1.50")
    cancel_charge(page)
    new_charge(page)


def test_who_forgot_the_password_reads_a_code_off_the_screen(page, shop, eyes):
    sign_out(page)
    page.get_by_role("link", name="Forgot the password?").click()
    expect(page.get_by_text("till reset-owner")).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "reset-command")
    # As an appliance says it, which has a stick in.
    standing = {"reset": None, "way": "stick", "waitMinutes": 15}
    page.route("**/api/v1/reset", lambda route: route.fulfill(json=standing) if route.request.method == "GET" else route.fallback())
    page.reload()
    page.goto("/#/reset")
    expect(page.get_by_text("No stick with this name is in.")).to_be_visible()
    standing["reset"] = {"state": "waiting", "minutes": 14}
    expect(page.get_by_text("in 14 minutes")).to_be_visible(timeout=15_000)
    eyes.look(page, "reset")
    standing["reset"] = {"state": "shown", "minutes": None}
    code = page.get_by_label("Reset code")
    expect(code).to_be_focused(timeout=15_000)
    code.fill("AAAA-AAAA")
    page.get_by_label("New password").fill(OWNER_PASSWORD)
    standing["reset"] = None
    # The terminal itself has no code on its screen.
    page.get_by_role("button", name="Set the new password").click()
    expect(page.get_by_text("There is no code on the terminal's screen")).to_be_visible()
    eyes.look(page, "reset-over")
    # As the screen's QR code opens it.
    page.goto("about:blank")
    page.goto("/#reset=K7QM-3XFD")
    expect(page.get_by_label("Reset code")).to_have_value("K7QM-3XFD")
    assert "K7QM" not in page.url
    expect(page.get_by_label("New password")).to_be_focused()
    page.unroute("**/api/v1/reset")
    page.goto("/")
    page.get_by_label("Password", exact=True).fill(NEW_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation")).to_be_visible()
    # A new password leads to what else has access.
    page.goto("/#/security")
    page.get_by_label("Current password", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("New password", exact=True).fill(OWNER_PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_role("heading", name="What else has access")).to_be_focused()
    eyes.look(page, "access")


def test_signing_out_leaves_nothing_behind(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/#/charge")
    page.get_by_role("navigation").get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0
    assert page.evaluate("fetch('/api/v1/charges').then((answer) => answer.status)") == 401
    page.goto("/#/history")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    # In this order: the second goes on with the shop that the first has set up.
    files = [str(here / name) for name in ("test_shop.py", "test_shop_states.py")]
    sys.exit(pytest.main([*files, "-x", "-q", "-s", "-p", "no:cacheprovider", *sys.argv[1:]]))

"""People who work here: adding them, their PINs and codes, switching at a counter, and being out at once.

One story, in order, in a real browser against a real terminal. Needs a fresh shop: `scripts/with-shop python
Tests/Browser/test_staff.py`; TILL_SHOTS names a folder for pictures.
"""

import pathlib
import re
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import DESKTOP, PHONE, WAIT_MILLISECONDS, small_targets
from steps import charges, current_charge, error_of, open_charge, panel, set_up

ADAS_PIN, ADAS_NEW_PIN, BOBS_PIN, MIAS_PIN = "4826", "60381", "5093", "739142"
HOSTILE = '<b>"Zoë"</b> متجر'


@pytest.fixture(scope="module")
def browser(context):
    return context.browser


def another(browser, shop, watch, size=PHONE, **more):
    """Another person's browser, which knows nothing of this one."""
    new = browser.new_context(
        ignore_https_errors=True, viewport=size, locale="en-US", reduced_motion="reduce", base_url=shop.url, **more
    )
    new.set_default_timeout(WAIT_MILLISECONDS)
    watch.over(new)
    return new.new_page()


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    page.set_viewport_size(DESKTOP)
    set_up(page, shop)


@pytest.fixture(scope="module")
def phone(browser, shop, watch, shop_is_set_up):
    page = another(
        browser, shop, watch, user_agent="Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36"
    )
    yield page
    page.context.close()


@pytest.fixture(scope="module")
def counter(browser, shop, watch, shop_is_set_up):
    page = another(browser, shop, watch)
    yield page
    page.context.close()


def dialog(page):
    return page.locator("dialog[open]").last


def add(page, name: str, role: str, pin: str) -> None:
    page.get_by_role("button", name="Add a person").click()
    dialog(page).get_by_label("Name").fill(name)
    dialog(page).locator("[name=role]").select_option(role)
    dialog(page).locator("[name=pin]").fill(pin)
    dialog(page).get_by_role("button", name="Add", exact=True).click()
    expect(row(page, name)).to_be_visible()


def row(page, name: str):
    return page.locator(".staff-row").filter(has=page.get_by_text(name, exact=True))


def type_pin(page, name: str, pin: str) -> None:
    page.locator(".person-button").filter(has_text=name).click()
    for digit in pin:
        page.get_by_role("group", name="Digits").get_by_role("button", name=digit, exact=True).click()
    page.get_by_role("button", name="Sign in").click()


def keypad(page):
    return page.get_by_role("group", name="Keypad")


def test_the_owner_adds_people(page, eyes):
    page.goto("/#/settings")
    page.get_by_role("link", name=re.compile("^Staff")).click()
    expect(page.get_by_text("Nobody but the owner yet.")).to_be_visible()
    eyes.look(page, "staff-nobody")
    page.get_by_role("button", name="Add a person").click()
    dialog(page).get_by_role("button", name="Add", exact=True).click()
    assert "Enter the name" in error_of(page, dialog(page).locator("[name=name]"))
    dialog(page).get_by_label("Name").fill("Owner")
    dialog(page).locator("[name=pin]").fill("1234")
    dialog(page).get_by_role("button", name="Add", exact=True).click()
    expect(dialog(page).locator("[name=name]")).to_have_attribute("aria-invalid", "true")
    dialog(page).get_by_label("Name").fill("Ada")
    dialog(page).get_by_role("button", name="Add", exact=True).click()
    expect(dialog(page).locator("[name=pin]")).to_have_attribute("aria-invalid", "true")
    assert "first that anybody would try" in error_of(page, dialog(page).locator("[name=pin]"))
    eyes.look(page, "staff-add")
    dialog(page).locator("[name=pin]").fill(ADAS_PIN)
    dialog(page).get_by_role("button", name="Add", exact=True).click()
    expect(row(page, "Ada")).to_be_visible()
    add(page, "Bob", "cashier", BOBS_PIN)
    add(page, "Mia", "manager", MIAS_PIN)
    add(page, HOSTILE, "cashier", "")
    expect(row(page, HOSTILE)).to_contain_text("no PIN")
    expect(page.locator(".changed-line").last).to_contain_text("Owner")
    assert page.locator(".staff-row b").count() == 0
    assert small_targets(page) == []
    eyes.look(page, "staff")


def test_a_cashier_signs_a_phone_in_with_a_code_and_charges(page, phone, shop, eyes):
    row(page, "Ada").get_by_role("button", name="Sign-in code").click()
    code = page.locator(".sign-in-code").inner_text()
    expect(page.get_by_role("img", name="Sign-in code of Ada")).to_be_visible()
    eyes.look(page, "staff-code")
    phone.goto(f"/#staff={code}")
    expect(phone.get_by_role("heading", name="Sign this phone in")).to_be_visible()
    assert code not in phone.url
    eyes.look(phone, "staff-scanned")
    phone.get_by_role("button", name="Sign in").click()
    expect(keypad(phone)).to_be_visible()
    page.get_by_role("button", name="Done").click()
    expect(row(page, "Ada")).to_contain_text("signed in")
    open_charge(phone, "12.50", "Table 4")
    shop.pay(current_charge(phone)["link"])
    expect(panel(phone, "succeeded")).to_be_visible()
    charge = charges(phone)[0]
    assert charge["openedBy"] == "staff:Ada"
    phone.goto(f"/#/history/{charge['id']}")
    expect(phone.locator(".timeline")).to_contain_text("Ada")
    expect(phone.get_by_role("link", name="Totals")).to_have_count(0)
    expect(phone.get_by_role("navigation").get_by_role("link", name="Settings")).to_have_count(0)
    if shop.state:
        assert code not in (shop.state / "terminal.log").read_text()


def test_a_cashier_sees_only_their_own_shifts(page, phone):
    page.goto("/#/shifts")
    page.get_by_role("button", name="Begin my shift").click()
    expect(page.locator(".shift-row")).to_have_count(2)
    expect(page.locator(".shift-who")).to_have_text(["Owner", "Ada"])
    phone.goto("/#/shifts")
    expect(phone.locator(".shift-who")).to_have_text(["Ada"])
    expect(phone.locator(".shift-mine")).to_contain_text("€12.50")
    of_owner = page.locator(".shift-row").first.get_attribute("data-shift")
    for path in (f"shifts/{of_owner}", f"shifts/{of_owner}/report.csv"):
        # By its address neither, and without a word of it.
        answer = phone.request.get(f"/api/v1/{path}")
        assert answer.status == 404 and answer.json()["code"] == "shift_not_found", path
    page.goto("/#/staff")


def test_the_code_is_used_up(browser, shop, watch, page):
    row(page, "Bob").get_by_role("button", name="Sign-in code").click()
    code = page.locator(".sign-in-code").inner_text()
    stranger = another(browser, shop, watch)
    stranger.goto("/#/code")
    stranger.get_by_label("Sign-in code").fill(code.lower())
    stranger.get_by_role("button", name="Sign in").click()
    expect(keypad(stranger)).to_be_visible()
    stranger.context.clear_cookies()
    stranger.goto("about:blank")
    stranger.goto("/#/code")
    stranger.get_by_label("Sign-in code").fill(code)
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.locator(".notice-bad")).to_contain_text("used up")
    expect(stranger.get_by_text("Bob")).to_have_count(0)
    stranger.context.close()
    page.get_by_role("button", name="Done").click()


def test_a_cashiers_own_page_and_what_it_does_not_show(phone, eyes):
    phone.goto("/#/me")
    expect(phone.get_by_role("heading", name="Ada")).to_be_visible()
    expect(phone.locator(".session").first).to_contain_text("Chrome on Android")
    expect(phone.get_by_role("link", name=re.compile("^Staff"))).to_have_count(0)
    assert small_targets(phone) == []
    eyes.look(phone, "me-cashier")
    phone.goto("/#/totals")
    expect(phone.get_by_text("Your role does not include this.").first).to_be_visible()
    phone.goto("/#/me")
    phone.locator("[name=currentPIN]").fill(ADAS_PIN)
    phone.locator("[name=newPIN]").fill("1111")
    phone.get_by_role("button", name="Change PIN").click()
    expect(phone.locator("[name=newPIN]")).to_have_attribute("aria-invalid", "true")
    phone.locator("[name=newPIN]").fill(ADAS_NEW_PIN)
    phone.get_by_role("button", name="Change PIN").click()
    expect(phone.locator(".toast").last).to_contain_text("Your new PIN is set.")


def test_a_counter_shows_the_names_and_a_stranger_does_not_see_them(page, counter, browser, shop, watch, eyes):
    counter.goto("/")
    expect(counter.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(counter.get_by_text("Ada")).to_have_count(0)
    eyes.look(counter, "sign-in-stranger")
    counter.get_by_label("Password", exact=True).fill("four unrelated words: kite")
    counter.get_by_role("button", name="Sign in").click()
    expect(keypad(counter)).to_be_visible()
    counter.goto("/#/staff")
    counter.get_by_role("button", name="Make this browser a counter").click()
    expect(counter.locator(".counters")).to_contain_text("This browser")
    counter.goto("/#/charge")
    counter.get_by_role("button", name=re.compile("^Switch person")).click()
    expect(counter.get_by_role("heading", name="Who is it?")).to_be_visible()
    expect(counter.locator(".person-button")).to_have_count(4)  # Ada, Bob, Mia and the owner; who has no PIN is not there.
    assert small_targets(counter) == []
    eyes.look(counter, "who-is-it")


def test_a_pin_is_typed_with_the_thumb_or_the_keyboard(counter, eyes):
    type_pin(counter, "Ada", "0391")
    expect(counter.locator(".notice-bad")).to_contain_text("This is not the PIN.")
    eyes.look(counter, "pin-wrong")
    counter.keyboard.press("Escape")
    counter.locator(".person-button").filter(has_text="Ada").press("Enter")
    expect(counter.get_by_label("PIN of Ada")).to_be_focused()
    eyes.look(counter, "pin")
    counter.keyboard.type(ADAS_NEW_PIN)
    counter.keyboard.press("Enter")
    expect(keypad(counter)).to_be_visible()
    eyes.look(counter, "counter-keypad")


def test_a_running_charge_goes_on_with_the_next_person(counter, shop, eyes):
    open_charge(counter, "8.40", "Table 5")
    link = current_charge(counter)["link"]
    counter.get_by_role("button", name=re.compile("^Switch person")).click()
    type_pin(counter, "Bob", BOBS_PIN)
    expect(panel(counter, "requiresAction")).to_be_visible()
    expect(counter.get_by_role("button", name=re.compile("Bob is signed in"))).to_be_visible()
    eyes.look(counter, "switched-with-charge")
    shop.pay(link)
    expect(panel(counter, "succeeded")).to_be_visible()
    assert charges(counter)[0]["openedBy"] == "staff:Ada"
    counter.get_by_role("button", name="New charge").click()


def test_a_sign_in_that_ends_in_the_middle_of_a_charge(counter, page, shop):
    open_charge(counter, "3.00", "Table 6")
    link = current_charge(counter)["link"]
    page.goto("/#/security")
    page.locator(".session").filter(has_text="Bob").get_by_role("button").first.click()
    expect(counter.get_by_role("heading", name="Who is it?")).to_be_visible()
    expect(counter.get_by_text("A running charge goes on meanwhile.")).to_be_visible()
    shop.pay(link)
    type_pin(counter, "Bob", BOBS_PIN)
    expect(panel(counter, "succeeded")).to_be_visible()
    counter.get_by_role("button", name="New charge").click()


def test_a_role_has_a_limit_of_its_own(page, counter, eyes):
    page.goto("/#/staff")
    page.get_by_label("Largest charge of a cashier").fill("5.00")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast").last).to_contain_text("Saved.")
    counter.goto("/#/charge")
    keypad(counter).get_by_role("button", name="6", exact=True).click()
    for _ in range(2):
        keypad(counter).get_by_role("button", name="0", exact=True).click()
    counter.get_by_role("button", name="Charge €6.00").click()
    expect(counter.locator(".notice-bad").first).to_contain_text("You may charge €5.00 at most.")
    eyes.look(counter, "limit-of-a-cashier")


def test_who_is_switched_off_is_out_at_once(page, counter, eyes):
    page.goto("/#/staff")
    row(page, "Bob").get_by_role("button", name="Edit").click()
    eyes.look(page, "staff-edit")
    dialog(page).get_by_role("button", name="Switch off").click()
    expect(row(page, "Bob")).to_contain_text("switched off")
    # Nothing was pressed there: the terminal ended its stream of events.
    expect(counter.get_by_role("heading", name="Who is it?")).to_be_visible()
    counter.reload()
    expect(counter.locator(".person-button")).to_have_count(3)


def test_a_manager_sees_the_settings_and_manages_cashiers(counter, eyes):
    type_pin(counter, "Mia", MIAS_PIN)
    expect(keypad(counter)).to_be_visible()
    counter.get_by_role("navigation").get_by_role("link", name="You").click()
    eyes.look(counter, "me-manager")
    counter.get_by_role("link", name=re.compile("^Settings")).click()
    expect(counter.locator("[name=merchantName]")).to_be_disabled()
    expect(counter.locator("[name=gatewayKey]")).to_have_count(0)
    expect(counter.get_by_role("button", name="Save")).to_have_count(0)
    eyes.look(counter, "settings-manager")
    counter.goto("/#/staff")
    expect(row(counter, "Ada").get_by_role("button", name="Edit")).to_be_visible()
    expect(row(counter, "Mia").get_by_role("button", name="Edit")).to_have_count(0)
    expect(counter.get_by_label("Largest charge of a cashier")).to_have_count(0)
    add(counter, "Eve", "cashier", "8204")
    row(counter, "Eve").get_by_role("button", name="Edit").click()
    expect(dialog(counter).locator(".person-more")).to_contain_text("Added by Mia")
    dialog(counter).get_by_role("button", name="Remove from the list").click()
    dialog(counter).get_by_role("button", name="Yes, remove").click()
    expect(row(counter, "Eve")).to_have_count(0)


def test_the_owner_sees_who_is_signed_in_where(page, eyes):
    page.goto("/#/security")
    expect(page.locator(".session").filter(has_text="Ada").filter(has_text="Signed in")).to_contain_text("Chrome on Android")
    expect(page.locator(".session").filter(has_text="Mia").filter(has_text="Signed in")).to_be_visible()
    eyes.look(page, "sign-ins")


def test_an_unused_counter_locks_itself(page, counter):
    page.goto("/#/staff")
    page.get_by_label("Lock an unused counter").select_option("1")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast").last).to_contain_text("Saved.")
    counter.goto("/#/charge")
    counter.get_by_role("button", name=re.compile("^Switch person")).click()
    counter.clock.install()
    type_pin(counter, "Mia", MIAS_PIN)
    expect(keypad(counter)).to_be_visible()
    counter.clock.fast_forward(61_000)
    expect(counter.get_by_role("heading", name="Who is it?")).to_be_visible()
    counter.reload()
    expect(counter.get_by_role("heading", name="Who is it?")).to_be_visible()


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

"""The counter: sums, notes and tips on the keypad, the last charge, refunds and shifts.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_counter.py`; TILL_SHOTS names a folder for pictures.
"""

import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import DESKTOP, PAID_TWICE, PHONE, small_targets
from steps import (
    cancel_charge, charges, current_charge, leave, new_charge, open_charge, open_or_keep_keypad, panel, save_well, set_up,
    type_amount, within_reach,
)


@pytest.fixture(scope="module", autouse=True)
def shop_is_open(page, shop):
    set_up(page, shop)


def amount(page):
    return page.get_by_role("status", name="Amount")


def fresh(page):
    """An empty keypad, whatever the test before left there."""
    running = page.get_by_role("button", name="Cancel charge")
    page.goto("/#/charge")
    expect(page.locator(".keypad, .panel")).to_be_visible()
    if running.is_visible():
        cancel_charge(page)
    open_or_keep_keypad(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Delete")
    note = page.get_by_label("Note for staff")
    if note.is_visible():
        note.fill("")
    expect(amount(page)).to_have_text("€0.00")


def pay(page, shop):
    shop.pay(current_charge(page)["link"])
    expect(panel(page, "succeeded")).to_be_visible()


def asked(page, button: str) -> dict:
    with page.expect_request(lambda request: request.url.endswith("/charges") and request.method == "POST") as request:
        page.get_by_role("button", name=button).click()
    return request.value.post_data_json


def test_a_sum_is_keyed_in_with_one_hand(page, eyes):
    fresh(page)
    type_amount(page, ["1", "2", "5", "0", "Add another amount", "3", "Double zero", "Add another amount"])
    type_amount(page, ["3", "Times: so many of the amount that follows", "4", "5", "0"])
    expect(amount(page)).to_have_text("€29.00")
    lines = page.locator(".tape-line")
    expect(lines).to_have_count(3)
    expect(lines.last).to_contain_text("3 × €4.50")
    expect(lines.last).to_contain_text("€13.50")
    assert within_reach(page, page.get_by_role("button", name="Charge €29.00"))
    assert small_targets(page) == []
    eyes.look(page, "counter-sum")
    page.get_by_role("button", name="Remove €3.00").click()
    expect(amount(page)).to_have_text("€26.00")
    back = page.get_by_role("button", name="Delete last digit")
    for _ in range(4):
        back.click()
    expect(amount(page)).to_have_text("€12.53")  # The three pieces are three cents again.
    for _ in range(3):
        back.click()
    expect(amount(page)).to_have_text("€1.25")  # And the entry before comes back to be changed.
    page.get_by_role("button", name="Clear").click()


def test_a_sum_is_typed_on_a_keyboard(page):
    fresh(page)
    page.keyboard.type("12,5+3.+2*1,10")
    expect(amount(page)).to_have_text("€17.70")
    page.keyboard.press("Escape")
    expect(amount(page)).to_have_text("€15.50")
    page.keyboard.press("-")
    expect(amount(page)).to_have_text("€12.50")
    page.reload()
    expect(amount(page)).to_have_text("€12.50")  # What was typed outlives a reload.
    page.keyboard.press("Enter")
    expect(panel(page, "requiresAction")).to_contain_text("€12.50")
    cancel_charge(page)
    new_charge(page)
    expect(amount(page)).to_have_text("€0.00")


def test_what_cannot_be_is_said_while_it_is_typed(page):
    fresh(page)
    page.keyboard.type("99999999999+1")
    expect(page.locator(".waiting").get_by_text("That is more than this keypad takes.")).to_be_visible()
    expect(page.get_by_role("button", name="That is more than this keypad takes.")).to_be_disabled()
    page.keyboard.press("Delete")
    page.keyboard.type("1,5055")
    expect(page.locator(".waiting").get_by_text("This currency has no more decimals.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(amount(page)).to_have_text("1,5055")  # What cannot be read is not charged.
    page.keyboard.press("Delete")
    page.keyboard.type("1000*")
    expect(page.locator(".waiting").get_by_text("Before × stands a number of pieces")).to_be_visible()
    page.keyboard.press("Delete")
    page.goto("/#/settings")
    page.locator(".settings-form [name=chargeLimitMinor]").fill("50")
    save_well(page)
    page.goto("/#/charge")
    expect(amount(page)).to_have_text("€0.00")
    page.keyboard.type("4000+1001")
    expect(page.get_by_role("button", name="One charge may be €50.00 at most")).to_be_disabled()
    page.keyboard.press("Delete")


def test_a_note_is_for_staff_alone(page, shop, eyes):
    fresh(page)
    type_amount(page, ["5", "Double zero"])
    page.get_by_text("Add a note").click()
    page.get_by_label("Note for staff").fill("Blue jacket, back at noon")
    eyes.look(page, "counter-note")
    assert asked(page, "Charge €5.00")["note"] == "Blue jacket, back at noon"
    expect(panel(page, "requiresAction")).to_be_visible()
    link = current_charge(page)["link"]
    pay(page, shop)
    assert "jacket" not in link and "jacket" not in page.locator(".panel").inner_text()
    page.goto("/#/history")
    page.get_by_label("Search").fill("jacket")
    expect(page.locator(".list a.row")).to_have_count(1)
    page.locator(".list a.row").click()
    expect(page.locator(".detail")).to_contain_text("Blue jacket, back at noon")
    receipt = page.evaluate("(id) => fetch(`/api/v1/charges/${id}/receipt?format=text`).then((answer) => answer.text())", charges(page)[0]["id"])
    assert "PAID" in receipt and "jacket" not in receipt
    assert "jacket" in page.evaluate("() => fetch('/api/v1/export.csv').then((answer) => answer.text())")


def test_staff_add_tips_only_once_the_owner_says_so(page, shop, eyes):
    fresh(page)
    page.keyboard.type("1250")
    expect(page.locator(".tip-row")).to_be_hidden()
    page.keyboard.press("Delete")
    page.goto("/#/counter")
    page.get_by_label("Buttons, in percent").fill("5, 60")
    page.get_by_label("Tips on the keypad").select_option("allowed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("A button offers more than the largest tip.")).to_be_visible()
    page.get_by_label("Buttons, in percent").fill("5, 10")
    page.get_by_label("Largest tip").fill("20")
    expect(page.get_by_label("Rests from")).to_be_hidden()
    page.get_by_label("Screen while nobody pays").select_option("dim")
    page.get_by_label("Rests from").fill("25:00")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("This is no time of day.")).to_be_visible()
    page.get_by_label("Rests from").fill("23:30")
    # A shop of the tests makes no sound: the page says so, and why trying it is not heard.
    silent = page.get_by_text("The terminal’s configuration file says that it makes no sound.")
    expect(silent).to_be_visible()
    page.get_by_label("Loudness, in percent").fill("101")
    page.get_by_role("button", name="Try it: paid").click()
    expect(page.get_by_text("This is no loudness.")).to_be_visible()
    page.get_by_label("Loudness, in percent").fill("35")
    page.get_by_role("button", name="Try it: paid").click()
    expect(page.get_by_text("This is no loudness.")).to_be_hidden()
    expect(silent).to_be_visible()
    page.route("**/api/v1/counter/sound", lambda route: route.fulfill(json={"heard": True}))
    page.get_by_role("button", name="Try it: paid").click()
    expect(page.get_by_text("The terminal has played it.")).to_be_visible()
    page.unroute("**/api/v1/counter/sound")
    page.get_by_label("Sound when a payment ends").select_option("false")
    assert small_targets(page) == []
    eyes.look(page, "counter-settings")
    save_well(page)
    fresh(page)
    type_amount(page, ["1", "2", "5", "0"])
    page.get_by_role("button", name="5 %").click()
    expect(page.get_by_role("button", name="Charge €13.13")).to_be_enabled()  # 62.5 cents are 63.
    assert within_reach(page, page.get_by_role("button", name="Charge €13.13"))
    assert small_targets(page) == []
    eyes.look(page, "counter-tip")
    page.get_by_role("button", name="Other", exact=True).click()
    page.get_by_role("dialog").get_by_label("Tip").fill("2,51")
    page.get_by_role("button", name="Add the tip").click()
    expect(page.get_by_text("The tip may be €2.50 at most.").last).to_be_visible()
    eyes.look(page, "counter-tip-other")
    page.get_by_role("dialog").get_by_label("Tip").fill("1,50")
    page.keyboard.press("Enter")
    assert asked(page, "Charge €14.00") == {"amountMinor": 1400, "currency": "EUR", "tipMinor": 150}
    expect(panel(page, "requiresAction")).to_contain_text("€14.00")
    pay(page, shop)
    page.get_by_role("link", name="Details").click()
    expect(page.locator(".detail")).to_contain_text("€1.50")
    page.goto("/#/totals")
    expect(page.locator(".figure").nth(1)).to_contain_text("€1.50")


def test_the_charge_stays_within_reach_of_the_thumb_whatever_else_is_open(page, eyes):
    fresh(page)
    page.keyboard.type("12.50+3.+1,10")
    page.get_by_role("button", name="5 %").click()
    charge = page.get_by_role("button", name="Charge €17.43")
    assert within_reach(page, charge)
    eyes.look(page, "counter-sum-and-tip", sizes=("phone",))
    page.keyboard.press("Delete")
    page.keyboard.type("1250")
    page.get_by_role("button", name="5 %").click()
    page.get_by_text("Add a note").click()
    assert within_reach(page, page.get_by_role("button", name="Charge €13.13"))
    assert small_targets(page) == []
    page.get_by_text("Add a note").click()


def test_a_tip_that_must_be_answered_is_answered_before_the_charge(page):
    page.goto("/#/counter")
    page.get_by_label("Tips on the keypad").select_option("ask")
    save_well(page)
    fresh(page)
    type_amount(page, ["2", "Double zero"])
    expect(page.get_by_role("button", name="Choose a tip first")).to_be_disabled()
    page.get_by_role("button", name="No tip").click()
    assert asked(page, "Charge €2.00") == {"amountMinor": 200, "currency": "EUR", "tipMinor": 0}
    expect(panel(page, "requiresAction")).to_be_visible()
    cancel_charge(page)
    page.goto("/#/counter")
    page.get_by_label("Tips on the keypad").select_option("none")
    save_well(page)


def test_the_last_charge_is_answered_for_on_every_page(page, context, shop, eyes):
    """Also one that another browser began, in each of its states."""
    fresh(page)
    other = context.new_page()
    other.set_viewport_size(PHONE)
    other.goto("/#/totals")
    last = other.locator(".last-strip")
    expect(last).to_contain_text("Cancelled")
    open_charge(page, "8.00")
    expect(last).to_contain_text("Waiting")
    expect(last).to_contain_text("€8.00")
    for place in ("settings", "counter", "shifts", "history"):
        other.goto(f"/#/{place}")
        expect(other.locator(".last-strip")).to_contain_text("€8.00")
    last.click()
    expect(panel(other, "requiresAction")).to_contain_text("€8.00")
    other.go_back()
    expect(other.get_by_role("heading", name="History")).to_be_visible()
    other.reload()
    pay(page, shop)
    expect(last).to_contain_text("Paid")
    eyes.look(other, "counter-last")
    last.click()
    expect(panel(other, "succeeded")).to_contain_text("€8.00")
    other.reload()
    expect(panel(other, "succeeded")).to_contain_text("€8.00")
    other.close()
    page.reload()
    expect(panel(page, "succeeded")).to_contain_text("€8.00")
    new_charge(page)


@pytest.mark.parametrize("hours", [-9, 9])
def test_a_browser_whose_clock_is_hours_off_tells_the_truth(context, page, shop, hours):
    fresh(page)
    wrong = context.new_page()
    wrong.set_viewport_size(PHONE)
    wrong.add_init_script(f"""
      const RealDate = Date;
      const off = {hours} * 3600000;
      Date = class extends RealDate {{
        constructor(...parts) {{ if (parts.length) super(...parts); else super(RealDate.now() + off); }}
        static now() {{ return RealDate.now() + off; }}
      }};
    """)
    open_charge(wrong, "6.00")
    expect(wrong.get_by_role("timer")).to_have_text(re.compile(r"[45]:\d\d left"))
    wrong.reload()
    expect(panel(wrong, "requiresAction")).to_contain_text("€6.00")
    cancel_charge(wrong)
    wrong.goto("/#/history")
    expect(wrong.locator(".day h2").first).to_have_text("Today")
    wrong.close()


def test_a_lost_connection_is_said_and_the_last_charge_comes_right(page, context, shop):
    fresh(page)
    other = context.new_page()
    other.set_viewport_size(PHONE)
    other.goto("/#/history")
    open_charge(page, "9.00")
    expect(other.locator(".last-strip")).to_contain_text("€9.00")
    other.route("**/api/v1/**", lambda route: route.abort())
    other.evaluate("dispatchEvent(new Event('offline'))")
    expect(other.locator(".banner").first).not_to_be_empty()
    pay(page, shop)
    other.unroute_all()
    other.evaluate("dispatchEvent(new Event('online'))")
    expect(other.locator(".last-strip")).to_contain_text("Paid")
    other.close()
    new_charge(page)


def test_a_refund_says_what_it_does_and_stands_everywhere(page, shop, eyes):
    fresh(page)
    open_charge(page, "20.00", "Table 9")
    pay(page, shop)
    page.get_by_role("link", name="Details").click()
    page.get_by_role("button", name="Write down a refund").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This sends no money.")
    eyes.look(page, "counter-refund-question")
    dialog.get_by_label("Amount").fill("21")
    page.get_by_role("button", name="Write it down").click()
    expect(dialog.get_by_text("Enter an amount up to €20.00.")).to_be_visible()
    dialog.get_by_label("Amount").fill("5")
    page.get_by_role("button", name="Write it down").click()
    expect(dialog.get_by_text("Say why the money goes back.")).to_be_visible()
    dialog.get_by_label("Reason").fill("One plate was cold")
    page.get_by_role("button", name="Write it down").click()
    expect(page.locator(".refund-line")).to_contain_text("€5.00 · One plate was cold")
    expect(page.locator(".refund-line")).to_contain_text("Written down here only")
    assert small_targets(page) == []
    eyes.look(page, "counter-refund-part")
    page.get_by_role("button", name="Write down a refund of €15.00").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("And the rest")
    page.get_by_role("button", name="Write it down").click()
    expect(page.locator(".refund-line").last).to_contain_text("Marked at the gateway")
    expect(page.locator(".detail")).to_contain_text("staff marked the payment as refunded")
    expect(page.get_by_role("button", name="Write down a refund")).to_have_count(0)
    eyes.look(page, "counter-refunded")
    charge = charges(page)[0]
    assert charge["refundedMinor"] == 2000 and charge["givenBack"]
    receipt = page.evaluate("(id) => fetch(`/api/v1/charges/${id}/receipt?format=text`).then((answer) => answer.text())", charge["id"])
    assert "REFUNDED" in receipt and "cold" not in receipt
    page.goto("/#/totals")
    expect(page.locator(".figure").nth(2)).to_contain_text("€20.00")


def test_a_shift_is_counted_closed_and_taken_along(page, shop, eyes):
    page.goto("/#/shifts")
    mine = page.locator(".shift-mine")
    expect(mine).to_contain_text("Open since")
    expect(mine).to_contain_text("Of it tips")
    expect(mine).to_contain_text("€1.50")
    assert small_targets(page) == []
    eyes.look(page, "counter-shift")
    mine.get_by_role("button", name="Close the shift").click()
    eyes.look(page, "counter-shift-question")
    page.get_by_role("button", name="Close it").click()
    report = page.locator(".shift-report")
    expect(report).to_contain_text("As it was closed")
    expect(mine).to_contain_text("You have no open shift.")
    eyes.look(page, "counter-shift-closed")
    href = report.get_by_role("link", name="Download as CSV").get_attribute("href")
    text = page.evaluate("(path) => fetch(path).then((answer) => answer.text())", href)
    assert text.startswith("shift,person,") and ",closing,EUR,succeeded,scan," in text
    expect(page.locator(".shift-row")).to_have_count(1)
    page.get_by_role("button", name="Begin my shift").click()
    expect(mine).to_contain_text("Open since")
    expect(page.locator(".shift-row")).to_have_count(2)
    page.locator(".shift-row").last.click()
    expect(report).to_contain_text("Shift 1")


def test_a_printed_shift_is_its_report_and_nothing_else(page, tmp_path):
    """Read by Poppler's `pdftotext`, as any viewer would."""
    page.goto("/#/shifts")
    page.locator(".shift-row").last.click()
    report = page.locator(".shift-report")
    expect(report).to_contain_text("Shift 1")
    page.evaluate("window.print = () => { window.printed = true; }")
    report.get_by_role("button", name="Print").click()
    assert page.evaluate("window.printed") is True
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size(DESKTOP)
    try:
        for part in (".topbar", ".nav", ".strip-place", ".shift-mine", ".shift-list", ".shift-buttons", ".back-link"):
            assert not any(element.is_visible() for element in page.locator(part).all()), part
        assert report.evaluate("(element) => getComputedStyle(document.body).colorScheme") == "light", "dark paper costs ink"
        file = tmp_path / "shift.pdf"
        file.write_bytes(page.pdf(prefer_css_page_size=True))
    finally:
        page.emulate_media(media="screen", color_scheme="light")
        page.set_viewport_size(PHONE)
    words = subprocess.run(["pdftotext", "-layout", file, "-"], check=True, capture_output=True, text=True).stdout
    for fact in ("Shift 1", "Owner", "As it was closed", "Of it tips", "€1.50", "Refunds", "€20.00"):
        assert fact in words, f"{fact} in {words}"
    for button in ("Download", "Print", "History", "Begin my shift"):
        assert button not in words, button
    assert words.count("\f") == 1, "one sheet"


@pytest.mark.parametrize("place", ["history", "detail", "totals"])
def test_a_printed_page_is_what_it_shows_and_nothing_else(page, eyes, tmp_path, place):
    """Dark and as wide as a desktop before: paper is light, and has nothing to press."""
    sold = next(charge for charge in charges(page) if charge["amountMinor"] == 2000)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(DESKTOP)
    try:
        page.goto(f"/#/history/{sold['id']}" if place == "detail" else f"/#/{place}")
        expect(page.locator({"history": ".list a.row", "detail": ".timeline", "totals": ".figure"}[place]).first).to_be_visible()
        page.wait_for_load_state("networkidle")
        page.emulate_media(media="print", color_scheme="dark")
        for part in (".nav", ".topbar .gateway", ".look-button", ".history-filters *", ".filters", ".strip-place", "button", ".button"):
            assert not any(element.is_visible() for element in page.locator(part).all()), part
        ground, ink = page.locator("body").evaluate("(body) => [getComputedStyle(document.documentElement).colorScheme, getComputedStyle(body).color]")
        assert (ground, ink) == ("light", "rgb(0, 0, 0)"), "dark paper costs ink"
        if place == "history":
            row = page.locator(".list a.row").first
            expect(row).to_be_visible()
            first = {"state": row.locator(".row-state").inner_text(), "amount": row.locator(".row-amount").inner_text()}
        file = tmp_path / "page.pdf"
        file.write_bytes(page.pdf(prefer_css_page_size=True, format="A4"))
    finally:
        page.emulate_media(media="screen", color_scheme="light")
        page.set_viewport_size(PHONE)
    words = subprocess.run(["pdftotext", "-layout", file, "-"], check=True, capture_output=True, text=True).stdout
    if eyes.folder:
        subprocess.run(["pdftoppm", "-png", "-r", "60", file, eyes.folder / f"print-{place}"], check=True)
    facts = {
        "history": ("€20.00", "Table 9", "€8.00", "Cancelled"), "totals": ("€20.00", "€1.50"),
        "detail": ("€20.00", "Table 9", "One plate was cold", "And the rest", "Marked at the gateway", sold["code"]),
    }[place]
    for fact in facts:
        assert fact in words, f"{fact} in {words}"
    if place == "history":
        # Right below the title and its day, before the second row.
        lines = [line.strip() for line in words.splitlines() if line.strip()]
        assert any(first["amount"] in line or first["state"] in line for line in lines[:6]), lines
    for control in ("Settings", "Search", "Reference, note, code", "More filters", "Write down a refund", "Download", "Sign out"):
        assert control not in words, control
    assert words.count("\f") <= {"history": 2, "detail": 2, "totals": 2}[place], f"{words.count(chr(12))} sheets"


def test_a_second_payment_goes_back_by_a_button_of_its_own(page):
    asked = []

    def take(route):
        asked.append(route.request.post_data_json)
        route.fulfill(json=PAID_TWICE)

    page.route(f"**/api/v1/charges/{PAID_TWICE['id']}", lambda route: route.fulfill(json=PAID_TWICE))
    page.route(f"**/api/v1/charges/{PAID_TWICE['id']}/refund", take)
    page.goto(f"/#/history/{PAID_TWICE['id']}")
    second = page.get_by_role("button", name="Write down the refund of the second payment (€12.50)")
    expect(second).to_be_visible()
    expect(page.get_by_role("button", name="Write down a refund of €12.50")).to_be_visible()
    second.click()
    page.get_by_role("dialog").get_by_label("Reason").fill("Paid twice")
    with page.expect_request("**/refund"):
        page.get_by_role("button", name="Write it down").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert asked == [{"attempt": 2, "amountMinor": 1250, "reason": "Paid twice"}]
    leave(page)


def test_the_history_is_narrowed_to_who_charged(page):
    page.goto("/#/history")
    page.get_by_text("More filters").click()
    who = page.get_by_label("Charged by")
    names = who.locator("option").all_inner_texts()
    assert names[0] == "Anybody" and len(names) == 2
    rows = page.locator(".list a.row")
    everybody = rows.count()
    with page.expect_response(lambda answer: "by=staff" in answer.url):
        who.select_option(index=1)
    expect(rows).to_have_count(everybody)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

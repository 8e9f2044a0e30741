"""Payments from phones held near, at the terminal's web page: their settings, and giving a payment back.

One story, in order, in a real browser against a real terminal with an acquirer beside it and no Bluetooth. Needs a fresh
shop: `TILL_SHOP_TAPS=1 scripts/with-shop python Tests/Browser/test_phones.py`; TILL_SHOTS names a folder for pictures.
"""

import pathlib
import re
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, DESKTOP, PHONE, FakeEvents, sample_charge, small_targets
from steps import current_charge, error_of, new_charge, open_charge, panel, save_well, set_up

#: Every field that can be asked for, but those of a chosen way only.
ALWAYS = ["mode", "nearThreshold", "shortCodeAboveMinor", "tipMode", "offlineAllowed", "acquirerURL", "acquirerLogin", "acquirerPassword", "terminalID", "walletProjectID"]
TIPS = ["tipMaximumPercent", "tipPresets"]
OFFLINE = ["offlineFloorMinor", "offlineTotalMinor", "offlineHours"]
UUIDS = ["serviceUUID", "writeUUID", "statusUUID", "readUUID"]


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    if not shop.acquirer:
        raise SystemExit("phones: no acquirer. Run it with TILL_SHOP_TAPS=1 scripts/with-shop.")
    set_up(page, shop)


def keep_picture(eyes, part, name: str) -> None:
    """Of what is too far down for a picture of the window."""
    if eyes.folder:
        part.screenshot(path=eyes.folder / f"{name}.png", animations="disabled")


def stored(page) -> dict:
    return page.evaluate("() => fetch('/api/v1/taps').then((answer) => answer.json())")


def open_phones(page) -> None:
    """The page as it is after a fresh start, with nothing typed."""
    page.goto("about:blank")
    page.goto("/#/phones")
    expect(field(page, "enabled")).to_be_visible()


def field(page, name: str):
    return page.locator(f'.settings-form [name="{name}"]')


def fill(page, **values: str) -> None:
    for name, value in values.items():
        field(page, name).fill(value)


def save(page) -> None:
    page.get_by_role("button", name="Save").click()


def shown(page, names: list[str]) -> list[str]:
    return [name for name in names if field(page, name).is_visible()]


# Settings


def test_the_settings_lead_to_phones_nearby_and_back(page, eyes):
    page.goto("/#/settings")
    page.get_by_role("link", name="Phones nearby").click()
    expect(page.get_by_role("heading", name="Phones nearby")).to_be_visible()
    expect(page).to_have_title(re.compile("Phones nearby"))
    expect(field(page, "enabled")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


def test_switched_off_nothing_else_is_asked(page, eyes):
    open_phones(page)
    expect(field(page, "enabled")).not_to_be_checked()
    assert shown(page, [*ALWAYS, *TIPS, *OFFLINE, "password", *UUIDS]) == []
    expect(page.locator(".phones-status")).to_be_empty()
    assert small_targets(page) == []
    eyes.look(page, "phones-off")
    save_well(page)
    assert stored(page)["enabled"] is False and stored(page)["version"] == 1


def test_switched_on_only_what_the_chosen_way_needs_is_asked(page, eyes):
    field(page, "enabled").check()
    assert shown(page, [*ALWAYS, *TIPS, *OFFLINE, "password"]) == ALWAYS
    thresholds = [f"{mode}Threshold" for mode in ("tap", "near", "open", "tagged")]
    for mode in ("tap", "open", "tagged", "near"):
        field(page, "mode").select_option(mode)
        assert shown(page, thresholds) == [f"{mode}Threshold"]
    field(page, "tipMode").select_option("ask")
    assert shown(page, TIPS) == TIPS
    field(page, "offlineAllowed").check()
    assert shown(page, OFFLINE) == OFFLINE
    page.get_by_text("For installers").click()
    assert shown(page, UUIDS) == UUIDS
    assert small_targets(page) == []
    eyes.look(page, "phones-everything")


def test_every_wrong_field_is_said_beside_it_and_nothing_is_saved(page, eyes):
    page.get_by_text("For installers").click()
    assert shown(page, UUIDS) == []
    wrong = {
        "acquirerURL": "ftp://nowhere", "acquirerLogin": "", "acquirerPassword": "", "terminalID": "my till!", "nearThreshold": "5",
        "tipMaximumPercent": "200", "tipPresets": "five", "offlineHours": "0", "serviceUUID": "none",
        "writeUUID": "7d2b", "statusUUID": "none", "readUUID": "7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9",
        "offlineFloorMinor": "50", "offlineTotalMinor": "20", "walletProjectID": "not a project",
    }
    page.get_by_text("For installers").click()
    fill(page, **wrong, password=OWNER_PASSWORD)
    page.get_by_text("For installers").click()
    before = stored(page)
    with page.expect_response(lambda response: response.url.endswith("/taps") and response.request.method == "PUT") as answer:
        save(page)
    assert answer.value.status == 422
    problems = answer.value.json()["fields"]
    assert set(problems) == set(wrong) - {"offlineFloorMinor"}
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    for name, problem in problems.items():
        expect(field(page, name)).to_be_visible()
        assert problem["message"] in error_of(page, field(page, name)), name
    for name, value in wrong.items():
        expect(field(page, name)).to_have_value(value)
    assert page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true", "the first wrong field has the focus"
    assert stored(page) == before
    assert small_targets(page) == []
    eyes.look(page, "phones-bad-input")


def test_numbers_that_are_none_are_said_before_anything_is_sent(page, eyes):
    open_phones(page)
    field(page, "enabled").check()
    field(page, "tipMode").select_option("allowed")
    field(page, "offlineAllowed").check()
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
    fill(page, nearThreshold="close", tipMaximumPercent="12.5", offlineHours="", offlineFloorMinor="a lot", shortCodeAboveMinor="-3")
    save(page)
    for name in ("nearThreshold", "tipMaximumPercent", "offlineHours"):
        assert "whole number" in error_of(page, field(page, name)), name
    for name in ("offlineFloorMinor", "shortCodeAboveMinor"):
        assert "digits only" in error_of(page, field(page, name)), name
    assert page.evaluate("document.activeElement.name") == "nearThreshold"
    assert sent == []
    eyes.look(page, "phones-no-numbers")
    # What is not asked for any more is not in the way.
    field(page, "enabled").uncheck()
    save_well(page)
    assert stored(page)["enabled"] is False


def test_saved_the_page_says_why_phones_cannot_pay_and_that_charges_go_on(page, shop, eyes):
    """The acquirer takes this terminal; Bluetooth is what is missing here. The page learns it by itself."""
    open_phones(page)
    field(page, "enabled").check()
    fill(
        page, acquirerURL=shop.acquirer["url"], acquirerLogin=shop.acquirer["login"], acquirerPassword=shop.acquirer["password"],
        terminalID="till-1", nearThreshold="−60", password=OWNER_PASSWORD,
    )
    save_well(page)
    said = page.locator(".phones-status .notice-bad")
    expect(said).to_contain_text("Bluetooth cannot be used")
    expect(said).to_contain_text("Charges go on by QR code")
    assert "/" not in said.inner_text(), "a path of the machine is no word for staff"
    expect(said).to_be_in_viewport()
    now = stored(page)
    assert now["light"]["state"] == "hindered" and now["acquirerPasswordSet"] is True and now["nearThreshold"] == -60
    assert shop.acquirer["password"] not in str(now)
    expect(field(page, "acquirerPassword")).to_have_value("")
    expect(page.get_by_text("A password is stored for this address.")).to_be_visible()
    eyes.look(page, "phones-hindered")


def test_a_project_for_wallets_is_kept_and_can_be_taken_away(page, eyes):
    open_phones(page)
    expect(page.get_by_text("a customer whose phone has no internet can pay from a wallet")).to_be_visible()
    for project in ("0123456789abcdef0123456789abcdef", ""):
        fill(page, walletProjectID=project)
        save_well(page)
        assert stored(page)["walletProjectID"] == project
        expect(field(page, "walletProjectID")).to_have_value(project)


def test_the_times_are_set_in_seconds_within_their_bounds_and_hold_at_once(page, eyes):
    open_phones(page)
    page.get_by_text("For installers").click()
    connect = field(page, "times.connect")
    expect(connect).to_have_value("5")
    expect(page.locator(f"#{connect.get_attribute('aria-describedby')}")).to_have_text("1 to 30; 5 is usual.")
    keep_picture(eyes, page.locator(".phone-times"), "phones-times")
    assert small_targets(page) == []
    fill(page, **{"times.connect": "0.5", "times.hello": "soon"})
    page.get_by_text("For installers").click()
    before = stored(page)
    save(page)
    # Opened again, for what is wrong stands there.
    expect(connect).to_be_focused()
    assert error_of(page, connect) == "Write seconds between 1 and 30."
    assert error_of(page, field(page, "times.hello")) == "Write seconds between 0.5 and 10."
    assert stored(page) == before, "nothing was sent"
    fill(page, **{"times.connect": "7,5", "times.hello": ""})
    assert error_of(page, connect) == ""
    save_well(page)
    times = stored(page)["times"]
    assert times["connect"]["milliseconds"] == 7500 and times["hello"]["milliseconds"] == 2000
    page.get_by_text("For installers").click()
    expect(connect).to_have_value("7.5")
    page.get_by_role("button", name="Set the usual times").click()
    expect(connect).to_have_value("5")
    save_well(page)
    assert stored(page)["times"] == before["times"]


def test_each_characteristic_is_the_installers_or_follows_from_the_service(page, eyes):
    open_phones(page)
    # None that follows from the service would.
    own = {name: f"6b1d7a5{9 - 2 * place}-93c4-4e0f-b8d7-15f2a6c09e31" for place, name in enumerate(UUIDS)}
    usual = stored(page)["serviceUUID"]
    for values in (own, {"writeUUID": "", "readUUID": ""}, {"serviceUUID": usual, "statusUUID": ""}):
        page.get_by_text("For installers").click()
        fill(page, **values)
        save_well(page)
        now = stored(page)
        assert {name: now[name] for name in values} == values
    assert [now[name] for name in UUIDS] == [usual, "", "", ""]


def test_in_tagged_mode_the_terminals_code_and_its_address_for_a_sticker_are_there(page, eyes):
    open_phones(page)
    tag = page.get_by_role("group", name="The terminal’s own code")
    expect(tag).to_be_hidden()
    assert stored(page)["tagURI"] is None
    field(page, "mode").select_option("tagged")
    expect(tag).to_contain_text("Save first")
    save_well(page)
    now = stored(page)
    assert re.fullmatch(r"bpp:1\?t=[\w-]{22}&k=[\w-]{22}&n=\S+", now["tagURI"])
    expect(tag.locator("dd")).to_have_text(now["tagURI"])
    expect(tag).to_contain_text("NFC tag")
    code = tag.get_by_role("img", name="The terminal’s own code")
    expect(code).to_be_visible()
    assert code.bounding_box()["width"] >= 4 * (len(now["tagCode"]) + 8), "modules of four pixels and more"
    drawn = code.evaluate("(image) => image.querySelector('.qr-ink').getAttribute('d').split('M').length - 1")
    assert drawn == "".join(now["tagCode"]).count("1")
    assert small_targets(page) == []
    eyes.look(page, "phones-tag")
    keep_picture(eyes, tag, "phones-tag-card")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    # A new code makes stickers void, so it asks first; whoever says no keeps the old one.
    make = tag.get_by_role("button", name="Make a new code")
    make.click()
    expect(page.get_by_role("dialog")).to_contain_text("no longer work")
    eyes.look(page, "phones-tag-renew")
    page.get_by_role("dialog").get_by_role("button", name="Keep this one").click()
    assert stored(page)["tagURI"] == now["tagURI"] and stored(page)["version"] == now["version"]
    make.click()
    page.get_by_role("dialog").get_by_role("button", name="Make a new code").click()
    expect(page.locator(".toast").last).to_contain_text("The old one is void.")
    renewed = stored(page)
    assert renewed["tagURI"] != now["tagURI"] and renewed["mode"] == now["mode"] and renewed["enabled"]
    expect(tag.locator("dd")).to_have_text(renewed["tagURI"])
    tag.get_by_role("button", name="Copy Address").click()
    assert page.evaluate("() => navigator.clipboard.readText()") == renewed["tagURI"]
    page.context.clear_permissions()
    field(page, "mode").select_option("near")
    expect(tag).to_be_hidden()
    save_well(page)
    assert stored(page)["tagURI"] is None


# Measuring


def open_measuring(page):
    page.get_by_text("Measure it with a phone").click()
    return page.locator(".measure")


def test_without_bluetooth_nothing_is_measured_and_the_page_says_why(page, eyes):
    open_phones(page)
    before = stored(page)
    measure = open_measuring(page)
    expect(measure.get_by_role("button", name="Use")).to_be_hidden()
    measure.get_by_role("button", name="Measure where it should be accepted").click()
    expect(measure.locator(".notice-bad")).to_contain_text("Bluetooth cannot be used")
    assert "/" not in measure.locator(".notice-bad").inner_text(), "a path of the machine is no word for staff"
    expect(measure.get_by_role("button", name="Measure where it should be accepted")).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "phones-measure-no-radio")
    keep_picture(eyes, measure, "phones-measure-no-radio-card")
    assert stored(page) == before


IDLE = {"mode": None, "measuring": None, "signal": None, "samples": 0, "samplesNeeded": 50, "phones": 0, "inside": None, "outside": None, "threshold": None, "problem": None}


def test_a_measurement_is_watched_live_and_put_into_force(context, eyes):
    """The phone is played by stand-in answers: there is no radio here."""
    page = context.new_page()
    now = {"state": dict(IDLE)}
    asked = []
    settings = {}

    def answer(route):
        request = route.request
        if request.method != "GET":
            asked.append((request.method, request.post_data_json))
        if request.method == "POST":
            now["state"] = IDLE | {"mode": "near", "measuring": request.post_data_json["place"], "signal": -47, "samples": 12, "phones": 1}
        if request.method == "DELETE":
            now["state"] = dict(IDLE)
        if request.method == "PUT":
            now["state"] = dict(IDLE)
            kept = {"near": {"threshold": -52, "by": "owner", "at": "2026-01-01T12:00:00Z", "inside": None, "outside": None}}
            route.fulfill(json=settings | {"nearThreshold": -52, "version": settings["version"] + 1, "calibrations": kept})
            return
        route.fulfill(json=now["state"])

    page.route("**/api/v1/taps/calibration", answer)
    open_phones(page)
    settings |= stored(page)
    measure = open_measuring(page)
    accepted = measure.get_by_role("button", name="Measure where it should be accepted")
    accepted.click()
    expect(measure).to_contain_text("Hold the phone where it should be accepted.")
    expect(measure).to_contain_text("-47 dBm")
    expect(measure).to_contain_text("Heard 12 of 50 times.")
    stop = measure.get_by_role("button", name="Stop measuring")
    expect(stop).to_be_focused()
    assert small_targets(page) == []
    eyes.look(page, "phones-measuring")
    keep_picture(eyes, measure, "phones-measuring-card")
    now["state"] |= {"signal": -61, "samples": 31, "phones": 2}
    expect(measure).to_contain_text("-61 dBm")
    expect(measure).to_contain_text("2 phones are heard. Close the payment app on all but one.")
    stop.click()
    expect(accepted).to_be_focused()
    expect(stop).to_be_hidden()
    measure.get_by_role("button", name="Measure where it should not").click()
    expect(measure).to_contain_text("Hold the phone where it should not be accepted.")
    reading = {"median": -47, "weakest": -49, "strongest": -45}
    now["state"] = IDLE | {"mode": "near", "inside": reading, "outside": {"median": -60, "weakest": -66, "strongest": -57}, "threshold": -52}
    use = measure.get_by_role("button", name="Use -52 dBm from now on")
    expect(use).to_be_visible()
    expect(measure).to_contain_text("-49 to -45 dBm, mostly -47")
    # For another way it says nothing.
    field(page, "mode").select_option("open")
    expect(use).to_be_hidden()
    field(page, "mode").select_option("near")
    assert small_targets(page) == []
    eyes.look(page, "phones-measured")
    keep_picture(eyes, measure, "phones-measured-card")
    use.click()
    expect(field(page, "nearThreshold")).to_have_value("-52")
    expect(page.locator(".toast")).to_contain_text("Saved. Phones weaker than -52 dBm are not asked.")
    expect(page.get_by_text("Measured by owner,")).to_be_visible()
    assert asked == [("POST", {"place": "inside", "mode": "near"}), ("DELETE", {}), ("POST", {"place": "outside", "mode": "near"}), ("PUT", {})]
    page.close()


def test_charges_by_qr_code_go_on(page, shop):
    open_charge(page, "3.10")
    # The link comes from the gateway, a moment after the charge.
    expect(panel(page, "requiresAction")).to_be_visible()
    charge = current_charge(page)
    light = stored(page)["light"]
    assert light["state"] == "hindered" and "message bus" in light["message"], light
    shop.pay(charge["link"])
    expect(panel(page, "succeeded")).to_contain_text("€3.10")
    new_charge(page)


def test_another_acquirer_needs_the_owners_password_and_its_own(page, shop, eyes):
    open_phones(page)
    expect(field(page, "password")).to_be_hidden()
    expect(field(page, "acquirerURL")).to_have_value(shop.acquirer["url"])
    before = stored(page)
    fill(page, acquirerURL="https://acquirer.example")
    expect(field(page, "password")).to_be_visible()
    save(page)
    expect(page.locator(".trouble .notice-bad")).to_be_visible()
    assert error_of(page, field(page, "password"))
    eyes.look(page, "phones-password-needed")
    fill(page, password=f"not {OWNER_PASSWORD}")
    expect(page.locator(".trouble .notice-bad")).to_have_count(0)
    save(page)
    expect(field(page, "password")).to_have_attribute("aria-invalid", "true")
    assert stored(page) == before
    # Not to be given away: the stored password belongs to the other address.
    fill(page, password=OWNER_PASSWORD)
    save(page)
    expect(field(page, "acquirerPassword")).to_have_attribute("aria-invalid", "true")
    assert stored(page) == before
    fill(page, acquirerURL=shop.acquirer["url"])
    expect(field(page, "password")).to_be_hidden()


def test_offline_limits_are_kept_as_written(page, eyes):
    open_phones(page)
    field(page, "offlineAllowed").check()
    fill(page, offlineFloorMinor="30", offlineTotalMinor="29.99", offlineHours="12")
    save(page)
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    assert "below that of one payment" in error_of(page, field(page, "offlineTotalMinor"))
    fill(page, offlineTotalMinor="150.50")
    save_well(page)
    now = stored(page)
    assert (now["offlineAllowed"], now["offlineFloorMinor"], now["offlineTotalMinor"], now["offlineHours"]) == (True, 3000, 15050, 12)
    page.reload()
    expect(field(page, "offlineTotalMinor")).to_have_value("150.50")
    expect(field(page, "offlineFloorMinor")).to_have_value("30.00")


def test_what_someone_else_saved_meanwhile_is_not_overwritten(page, context):
    other = context.new_page()
    for each in (page, other):
        open_phones(each)
    fill(other, offlineHours="11")
    save_well(other)
    other.close()
    fill(page, offlineHours="10")
    save(page)
    expect(page.locator(".trouble .notice-bad")).to_be_visible()
    assert stored(page)["offlineHours"] == 11


def test_switched_off_again_the_rest_is_kept(page):
    open_phones(page)
    field(page, "enabled").uncheck()
    save_well(page)
    expect(page.locator(".phones-status")).to_be_empty()
    now = stored(page)
    assert now["light"]["state"] == "off" and now["terminalID"] == "till-1" and now["acquirerPasswordSet"] is True


# A payment by phone in the history, shown to the page by stand-in answers


def show_charge(context, **changes):
    page = context.new_page()
    terminal = FakeEvents(page)
    terminal.charge, terminal.held = sample_charge(promised=False, givenBack=False, canGiveBack=False, canCancel=False) | changes, False
    page.goto(f"/#/history/{terminal.charge['id']}")
    expect(page.locator(".detail .detail-amount")).to_have_text("€12.50")
    return page, terminal


def test_a_payment_taken_offline_is_neither_paid_nor_failed(context, eyes):
    page, _ = show_charge(context, state="processing", promised=True)
    expect(page.get_by_role("heading", name="Accepted offline")).to_be_visible()
    expect(page.locator(".detail")).to_contain_text("has promised the money")
    expect(page.locator(".detail").get_by_role("button", name="Give")).to_have_count(0)
    eyes.look(page, "history-promised")
    page.close()


@pytest.mark.parametrize("authority", ["acquirer", "gateway"])
def test_a_payment_names_who_has_confirmed_it(context, eyes, authority):
    """Also a wallet that was reached over Bluetooth is paid at the gateway."""
    page, _ = show_charge(context, state="succeeded", canGiveBack=authority == "acquirer", confirmedBy=authority, evidence={"paymentID": "pay_1"})
    expect(page.locator(".detail-reason")).to_have_text(f"The {authority} has confirmed the payment.")
    expect(page.locator(".detail .facts").filter(has_text="Confirmed by")).to_contain_text(f"The {authority}")
    eyes.look(page, f"history-confirmed-{authority}")
    page.close()


def test_a_payment_by_phone_is_given_back_after_a_question(context, eyes):
    page, terminal = show_charge(context, state="succeeded", canGiveBack=True)
    asked = []

    def answer(route):
        asked.append(route.request.method)
        if len(asked) == 1:
            reason = {"code": "take_back_unclear", "message": "The acquirer did not answer.", "action": "Try again."}
            route.fulfill(status=409, json=reason)
            return
        terminal.charge = terminal.charge | {"givenBack": True, "canGiveBack": False}
        route.fulfill(json=terminal.charge)

    page.route("**/take-back", answer)
    button = page.get_by_role("button", name="Give €12.50 back")
    expect(button).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "history-give-back")
    button.click()
    expect(page.get_by_role("dialog")).to_contain_text("Give €12.50 back?")
    eyes.look(page, "history-give-back-question")
    page.get_by_role("button", name="Leave it paid").click()
    assert asked == []
    button.click()
    page.get_by_role("button", name="Give it back").click()
    expect(page.locator(".give-back .notice-bad")).to_contain_text("did not answer")
    button.click()
    page.get_by_role("button", name="Give it back").click()
    expect(page.get_by_role("heading", name="Refunded")).to_be_visible()
    expect(button).to_have_count(0)
    assert asked == ["POST", "POST"]
    page.set_viewport_size(DESKTOP)
    expect(page.locator(".list a.row")).to_contain_text("Refunded")
    page.set_viewport_size(PHONE)
    eyes.look(page, "history-given-back")
    page.close()


def test_a_charge_paid_by_qr_code_offers_no_giving_back(page):
    """For real: the terminal says what it can do, and refuses what it cannot."""
    page.set_viewport_size(PHONE)
    page.goto("/#/history")
    page.locator(".list a.row").first.click()
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Give"))).to_have_count(0)
    expect(page.locator(".detail-reason")).to_have_text("The gateway has confirmed the payment.")


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

"""Erasing everything from the page, with a charge under way, and what stands there afterwards. It ends its terminal, and starts it
again as whoever watches over the program does.

Needs a fresh shop of its own: `scripts/with-shop python Tests/Browser/test_wipe.py`; TILL_SHOTS names a folder for pictures.
"""

import pathlib
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, small_targets, until
from steps import current_charge, open_charge, panel, set_up


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


@pytest.fixture(scope="module")
def again(shop):
    """Starts the terminal anew under its address; ends it with the tests."""
    started = []

    def start() -> None:
        config = shop.state / "again.yaml"
        config.write_text((shop.state / "till.yaml").read_text().replace("  port: 0", f"  port: {urlsplit(shop.url).port}"))
        program = pathlib.Path(shop.wallet_command[0]).with_name("till")
        shop.announced.write_text("")
        with open(shop.state / "terminal.log", "a") as log:
            started.append(subprocess.Popen([program, "run", "--config", config, "--announce", shop.announced], stderr=log))

    yield start
    for program in started:
        program.terminate()
        program.wait(timeout=60)


def erase(page):
    return page.locator("form", has=page.locator("[name=word]"))


def press(page) -> None:
    erase(page).get_by_role("button", name="Erase everything").click()
    page.get_by_role("dialog").get_by_role("button", name="Erase everything").click()


def claim_code(shop) -> str:
    return until(lambda: [said["code"] for said in shop.shown() if said["event"] == "claim"], "a claim code on the screen")[0]


def kept_of(shop) -> bytes:
    """Every byte in the terminal's own folder."""
    return b"".join(path.read_bytes() for path in (shop.state / "terminal").rglob("*") if path.is_file())


def test_nothing_is_erased_without_the_name_the_password_and_a_yes(page, shop):
    page.goto("/#/backup")
    expect(erase(page).get_by_text("Type: Café Zoë")).to_be_visible()
    erase(page).locator("[name=word]").fill("Café Zoë")
    erase(page).locator("[name=password]").fill("not the password")
    erase(page).get_by_role("button", name="Erase everything").click()
    page.get_by_role("dialog").get_by_role("button").first.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    press(page)
    expect(erase(page).locator("[name=password]")).to_have_attribute("aria-invalid", "true")
    assert page.evaluate("() => fetch('/api/v1/settings').then((answer) => answer.status)") == 200


def test_an_open_payment_holds_it_back_and_the_page_says_so(page, shop, eyes):
    open_charge(page, "12.50")
    page.goto("/#/backup")
    erase(page).locator("[name=word]").fill("café zoë")
    erase(page).locator("[name=password]").fill(OWNER_PASSWORD)
    expect(erase(page).locator("[name=evenWithOpenPayments]")).to_be_hidden()
    press(page)
    expect(erase(page).locator(".notice-bad")).to_be_visible()
    expect(erase(page).locator("[name=evenWithOpenPayments]")).to_be_visible()
    assert current_charge(page)["state"] == "requiresAction"
    tried = page.evaluate("() => fetch('/api/v1/audit?what=wipe').then((answer) => answer.json())")["entries"]
    assert [(entry["result"], entry["who"]) for entry in tried] == [("refused", "staff:owner")]
    assert small_targets(page) == []
    eyes.look(page, "wipe-open-payment")


def test_erased_it_begins_anew_and_the_page_finds_it_by_itself(page, context, shop, eyes, again):
    before = kept_of(shop)
    assert shop.merchant_id.encode() in before
    other = context.new_page()
    other.goto("/#/history")
    expect(other.get_by_role("heading", name="History")).to_be_visible()
    cookies = context.cookies()
    erase(page).locator("[name=evenWithOpenPayments]").check()
    erase(page).locator("[name=password]").fill(OWNER_PASSWORD)
    press(page)
    expect(page.locator("main.entrance h1")).to_be_visible()
    expect(page.get_by_text("Zoë")).to_have_count(0)
    assert "__Host-till" not in {cookie["name"] for cookie in context.cookies()}
    eyes.look(page, "wipe-erased")
    # The program has ended by then: nothing is left, until it is started again.
    until(lambda: not list((shop.state / "terminal").iterdir()), "the terminal's folder to be empty")
    again()
    for tab in (page, other):
        expect(tab.get_by_role("heading", name="Claim this terminal")).to_be_visible()
        assert tab.evaluate("sessionStorage.length") == 0
    expect(other.get_by_text("€12.50")).to_have_count(0)
    after = kept_of(shop)
    for secret in (shop.merchant_id, shop.gateway_key, "Zoë", "12.50"):
        assert secret.encode() not in after, secret
    # A session of before is none.
    context.add_cookies(cookies)
    assert page.evaluate("() => fetch('/api/v1/settings').then((answer) => answer.status)") in (401, 403)
    other.close()


def test_the_next_owner_sets_it_up_as_a_new_one(page, shop):
    code = claim_code(shop)
    assert code != shop.claim_code
    page.goto("about:blank")
    page.goto(f"/#claim={code}")
    page.get_by_label("Owner password").fill("four other words: stone")
    page.get_by_role("button", name="Claim").click()
    expect(page.locator(".setup[data-step=language]")).to_be_visible()
    assert page.evaluate("() => fetch('/api/v1/setup').then((answer) => answer.json())")["begun"] is False
    assert panel(page, "requiresAction").count() == 0


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-x", "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

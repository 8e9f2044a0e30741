"""Wallets that connect to the terminal, at its web page: their settings, the relay's light, and which code the screen shows.

One story, in order, in a real browser against a real terminal with a relay beside it. Needs a fresh shop:
`scripts/with-shop python Tests/Browser/test_wallets.py`; TILL_SHOTS names a folder for pictures.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest
from playwright.sync_api import expect

from shopfloor import small_targets, until
from steps import cancel_charge, current_charge, error_of, new_charge, open_charge, panel, save_well, set_up

PROJECT = "0123456789abcdef0123456789abcdef"
FIELDS = ["projectID", "oneCode"]
INSTALLERS = ["relayURL", "chains"]


@pytest.fixture(scope="module")
def relay(shop):
    """A relay that ends with the tests."""
    process = subprocess.Popen(
        [shop.wallet_command[0], "relay", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    yield json.loads(process.stdout.readline())["url"]
    process.terminate()
    process.wait(timeout=20)


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


def stored(page) -> dict:
    return page.evaluate("() => fetch('/api/v1/connect').then((answer) => answer.json())")


def field(page, name: str):
    return page.locator(f".settings-form [name={name}]")


def shown(page, names: list[str]) -> list[str]:
    return [name for name in names if field(page, name).is_visible()]


def save(page) -> None:
    page.get_by_role("button", name="Save").click()


def keep_screen(shop, eyes, name: str) -> None:
    """The terminal's own screen beside the page's pictures."""
    folder = getattr(eyes, "folder", None)
    if folder and shop.state:
        time.sleep(1)  # For its drawing: only a picture to look at, of which nothing is asserted.
        shutil.copy(shop.state / "screen.png", pathlib.Path(folder) / f"{name}.png")


def code_on_screen(shop, pattern: str) -> str:
    """The code's text, once it is of this kind."""
    def look():
        return [said["link"] for said in shop.shown()[-1:] if re.match(pattern, said.get("link") or "")]

    return until(look, f"a code of {pattern} on the screen")[0]


def test_the_settings_lead_to_wallets_and_back(page, eyes):
    page.goto("/#/settings")
    page.get_by_role("link", name="Wallets").click()
    expect(page.get_by_role("heading", name="Wallets", exact=True)).to_be_visible()
    expect(page).to_have_title(re.compile("Wallets"))
    expect(field(page, "enabled")).not_to_be_checked()
    assert shown(page, [*FIELDS, *INSTALLERS]) == []
    assert small_targets(page) == []
    eyes.look(page, "wallets-off")
    page.get_by_role("main").get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


def test_every_wrong_field_is_said_beside_it_and_nothing_is_saved(page, eyes):
    page.goto("/#/connect")
    field(page, "enabled").check()
    assert shown(page, [*FIELDS, *INSTALLERS]) == FIELDS
    page.get_by_text("For installers").click()
    field(page, "projectID").fill("my project")
    field(page, "relayURL").fill("https://relay.example")
    field(page, "chains").fill("everywhere")
    page.get_by_text("For installers").click()
    save(page)
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    for name in ("projectID", "relayURL", "chains"):
        expect(field(page, name)).to_be_visible()
        assert error_of(page, field(page, name)) != "", name
    eyes.look(page, "wallets-wrong")
    assert stored(page)["enabled"] is False


def test_what_is_saved_holds_at_once_and_the_relays_light_is_shown(page, shop, relay, eyes):
    field(page, "projectID").fill(PROJECT)
    field(page, "relayURL").fill(relay)
    field(page, "chains").fill("eip155:8453, eip155:1")
    save_well(page)
    expect(page.locator(".phones-status")).to_contain_text("Wallets can connect.")
    assert stored(page)["light"]["state"] == "ready"
    eyes.look(page, "wallets-ready")
    keep_screen(shop, eyes, "screen-idle-with-wallets")


def test_one_code_serves_both_kinds_of_wallets_and_is_payable_by_link(page, shop, eyes):
    open_charge(page)
    code = code_on_screen(shop, r"wc:[0-9a-f]{64}@2\?.*&pay=")
    keep_screen(shop, eyes, "screen-one-code")
    assert current_charge(page)["connect"]["canTurnCode"] is False
    shop.pay(code)
    expect(panel(page, "succeeded")).to_be_visible()
    new_charge(page)


def pair(shop, relay: str, code: str, *habits: str) -> subprocess.Popen:
    """A customer's wallet that scans the code; ends when its session does."""
    wallet = subprocess.Popen(
        [shop.wallet_command[0], "wallet", "connect", "--relay", relay, *habits, "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    wallet.stdin.write(code)
    wallet.stdin.close()
    return wallet


def test_a_wallet_connects_is_named_and_pays(page, shop, relay, eyes):
    open_charge(page, "7.00")
    wallet = pair(shop, relay, code_on_screen(shop, r"wc:"), "--slow-sign", "8")
    expect(page.locator(".panel-what")).to_contain_text("is asking its owner")
    keep_screen(shop, eyes, "screen-wallet-asked")
    eyes.look(page, "wallets-asked")
    expect(panel(page, "succeeded")).to_be_visible()
    said = wallet.stdout.read()
    assert wallet.wait(timeout=30) == 0, said
    assert page.evaluate("() => fetch('/api/v1/connect').then((answer) => answer.json())")["counts"]["signatures"] == 1
    new_charge(page)


def test_a_customer_who_says_no_is_told_and_the_next_code_is_another(page, shop, relay, eyes):
    open_charge(page, "8.00")
    first = code_on_screen(shop, r"wc:")
    wallet = pair(shop, relay, first, "--reject")
    expect(page.locator(".panel-what")).to_contain_text("declined")
    eyes.look(page, "wallets-declined")
    assert wallet.wait(timeout=30) == 3
    assert code_on_screen(shop, r"wc:") != first
    keep_screen(shop, eyes, "screen-wallet-declined")
    cancel_charge(page)
    new_charge(page)


def forget(page, answer: str) -> None:
    page.goto("/#/connect")
    page.get_by_role("button", name="Forget all wallets").click()
    dialog = page.get_by_role("dialog", name="Forget all wallets?")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name=answer).click()
    expect(dialog).to_be_hidden()


def test_all_wallets_are_forgotten_only_after_a_question_and_never_under_a_charge(page, shop, relay, eyes):
    open_charge(page, "9.00")
    code_on_screen(shop, r"wc:")
    forget(page, "Forget them")
    expect(page.get_by_text("A charge can still be paid by a wallet")).to_be_visible()
    eyes.look(page, "wallets-in-use")
    page.goto("/#/")
    cancel_charge(page)
    new_charge(page)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/forget") else None)
    forget(page, "Keep them")
    assert asked == []
    forget(page, "Forget them")
    expect(page.get_by_text("Forgotten. New wallets can connect as before.")).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "wallets-forgotten")
    expect(page.locator(".phones-status")).to_contain_text("Wallets can connect.")
    open_charge(page, "9.50")
    wallet = pair(shop, relay, code_on_screen(shop, r"wc:"))
    expect(panel(page, "succeeded")).to_be_visible()
    said = wallet.stdout.read()
    assert wallet.wait(timeout=30) == 0, said
    new_charge(page)


def test_with_two_codes_staff_turn_the_screen(page, shop, eyes):
    page.goto("/#/connect")
    field(page, "oneCode").uncheck()
    save_well(page)
    open_charge(page, "3.50")
    code_on_screen(shop, r"https://pay\.walletconnect\.com/")
    turn = page.get_by_role("button", name="Show the code for wallets that connect")
    expect(turn).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "wallets-charge")
    turn.click()
    code = code_on_screen(shop, r"wc:[0-9a-f]{64}@2\?")
    assert "pay=" not in code
    keep_screen(shop, eyes, "screen-pairing")
    page.get_by_role("button", name="Show the payment link again").click()
    code_on_screen(shop, r"https://pay\.walletconnect\.com/")
    cancel_charge(page)
    new_charge(page)


def test_a_relay_that_is_gone_is_said_on_the_page_and_payment_links_go_on(page, shop, eyes):
    page.goto("about:blank")
    page.goto("/#/connect")
    page.get_by_text("For installers").click()
    field(page, "relayURL").fill("ws://127.0.0.1:9")
    save_well(page)
    expect(page.locator(".phones-status .notice-bad")).to_be_visible()
    expect(page.locator(".phones-status")).to_contain_text("Wallets cannot connect")
    eyes.look(page, "wallets-hindered")
    open_charge(page)
    shop.pay(code_on_screen(shop, r"https://pay\.walletconnect\.com/"))
    expect(panel(page, "succeeded")).to_be_visible()
    new_charge(page)


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

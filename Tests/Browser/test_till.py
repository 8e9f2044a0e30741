"""What staff meet of the shop's own till: the token that the owner makes for it, and its messages on the screen.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_till.py`; TILL_SHOTS names a folder for pictures.
"""

import json
import os
import pathlib
import shutil
import ssl
import sys
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

from shopfloor import small_targets
from steps import cancel_charge, open_charge, set_up


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


@pytest.fixture(scope="module")
def till(page, shop, shop_is_set_up):
    """The till, with the token that the owner makes on the page."""
    page.goto("/#/tokens")
    page.locator("[name=name]").fill("Counter 1")
    page.locator("[name=screen]").check()
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator(".token-text")).to_contain_text("till_lan_")
    token = page.locator(".token-text").inner_text().strip()

    def ask(method: str, path: str, body: dict | None = None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{shop.url}/api/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())

    return ask


def keep_screen(shop, name: str) -> None:
    """The terminal's own screen, beside the pictures of the page."""
    if folder := os.environ.get("TILL_SHOTS"):
        shutil.copy(shop.state / "screen.png", pathlib.Path(folder) / f"{name}.png")


def test_the_page_says_what_each_token_may_do(page, eyes, till):
    page.goto("/#/tokens")
    page.reload()
    expect(page.get_by_text("Charge · See how the terminal stands · Use the screen")).to_be_visible()
    assert till("GET", "/terminal")[1]["ready"] is True
    assert small_targets(page) == []
    eyes.look(page, "till-tokens")


def test_staff_give_the_customers_answer(page, shop, eyes, till):
    page.goto("/#/charge")
    status, asked = till("POST", "/screen", {"kind": "choose", "title": "Which size?", "options": ["Small", "Large"], "seconds": 300})
    assert status == 201
    line = page.locator(".till-message")
    expect(line).to_contain_text("The till asks the customer: “Which size?”")
    assert small_targets(page) == []
    eyes.look(page, "till-message")
    keep_screen(shop, "screen-message-choose")
    line.get_by_role("button", name="Large").click()
    expect(line).to_have_count(0)
    said = till("GET", f"/screen/{asked['id']}")[1]
    assert (said["state"], said["answerText"]) == ("answered", "Large")


def test_a_charge_takes_the_screen_and_the_message_comes_back(page, shop, till):
    shown = till("POST", "/screen", {"kind": "qr", "title": "Our menu", "content": "https://cafe.example/menu", "seconds": 300})[1]
    assert shown["visible"] is True
    expect(page.locator(".till-message")).to_contain_text("The till’s message is on the screen: “Our menu”")
    keep_screen(shop, "screen-message-code")
    open_charge(page, "12.50")
    assert till("GET", f"/screen/{shown['id']}")[1]["visible"] is False
    cancel_charge(page)
    page.get_by_role("button", name="Take it off").click()
    expect(page.locator(".till-message")).to_have_count(0)
    assert till("GET", f"/screen/{shown['id']}")[1]["state"] == "withdrawn"


def test_a_revoked_till_does_nothing(page, till):
    page.goto("/#/tokens")
    page.reload()
    page.get_by_role("button", name="Revoke Counter 1").click()
    # One slip silences nobody.
    page.get_by_role("button", name="Keep the token").click()
    assert till("GET", "/terminal")[0] == 200
    page.get_by_role("button", name="Revoke Counter 1").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_text("There are no tokens.")).to_be_visible()
    assert till("GET", "/terminal")[0] == 401


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

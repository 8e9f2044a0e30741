"""One sale from a new terminal to the history, in a real browser: claim, set up, charge, paid. `make test` plays it for every change.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_story.py`.
"""

import sys

import pytest
from playwright.sync_api import expect

from shopfloor import until
from steps import charges, current_charge, open_charge, open_or_keep_keypad, panel, set_up


def test_a_claimed_terminal_is_set_up_from_a_phone(page, shop, watch):
    set_up(page, shop)
    watch.check()


def test_the_code_on_the_screen_is_paid_by_a_wallet_and_the_page_says_so(page, shop, watch):
    open_charge(page, "12.50", "Table 5")
    link = until(lambda: shop.on_screen("charge").get("link"), "the code on the screen")
    assert link == current_charge(page)["link"]
    shop.pay(link)
    expect(panel(page, "succeeded")).to_contain_text("€12.50")
    assert shop.on_screen("charge")["state"] == "succeeded"
    watch.check()


def test_the_history_has_it_once_as_paid(page, watch):
    page.goto("/#/history")
    expect(page.get_by_text("Table 5")).to_be_visible()
    assert [(charge["state"], charge["amountMinor"]) for charge in charges(page)] == [("succeeded", 1250)]
    watch.check()


def test_a_cancelled_charge_moves_no_money(page, watch):
    open_or_keep_keypad(page)
    open_charge(page, "3.00")
    page.get_by_role("button", name="Cancel charge").click()
    page.get_by_role("button", name="Yes, cancel").click()
    expect(panel(page, "cancelled")).to_be_visible()
    assert sorted(charge["state"] for charge in charges(page)) == ["cancelled", "succeeded"]
    watch.check()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-x", "-q", "-s", "-p", "no:cacheprovider", *sys.argv[1:]]))

"""Lists, searches, totals and files of charges.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_history.py`; TILL_SHOTS names a folder for pictures.
"""

import csv
import io
import json
import pathlib
import re
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import FakeEvents, sample_charge, small_targets
from steps import cancel_charge, charges, current_charge, new_charge, open_charge, panel, set_up

EVIL = '+1-2, A1'  # A formula to a spreadsheet, and a comma.


@pytest.fixture(scope="module", autouse=True)
def shop_has_sold(page, shop):
    set_up(page, shop)
    open_charge(page, "12.50", "Table 7")
    shop.pay(current_charge(page)["link"])
    expect(panel(page, "succeeded")).to_be_visible()
    new_charge(page)
    for amount, reference in (("3.00", EVIL), ("47.11", "")):
        open_charge(page, amount, reference)
        cancel_charge(page)
        new_charge(page)


def rows(page):
    return page.locator(".list a.row")


def get(page, path: str) -> str:
    return page.evaluate("(path) => fetch(path).then((answer) => answer.text())", path)


def test_the_history_is_narrowed_by_what_is_typed(page, eyes):
    page.goto("/#/history")
    expect(rows(page)).to_have_count(3)
    eyes.look(page, "history-filters")
    for text, count in (("tab", 1), ("TABLE 7", 1), ("12.50", 1), ("12,5", 1), ("pay_", 3), ("nothing", 0)):
        page.get_by_label("Search").fill(text)
        expect(rows(page)).to_have_count(count)
    expect(page.get_by_text("No charge like that.")).to_be_visible()
    page.get_by_label("Search").fill("")
    expect(rows(page)).to_have_count(3)
    page.get_by_text("More filters").click()
    page.get_by_label("Least amount").fill("3.01")
    page.get_by_label("Largest amount").fill("50")
    expect(rows(page)).to_have_count(2)
    page.get_by_label("Largest amount").fill("much")
    expect(page.get_by_text("This is not an amount.")).to_be_visible()
    page.get_by_label("Largest amount").fill("20")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Way to pay").select_option("connect")
    expect(rows(page)).to_have_count(0)
    assert small_targets(page) == []
    eyes.look(page, "history-narrowed")
    page.get_by_role("button", name="Clear filters").click()
    expect(rows(page)).to_have_count(3)


def test_a_charge_tells_what_happened_to_it(page, eyes):
    page.goto("/#/history")
    page.get_by_role("link", name=re.compile("12.50")).first.click()
    timeline = page.locator(".timeline li")
    expect(timeline.first).to_contain_text("The charge was opened for €12.50.")
    expect(timeline.last).to_contain_text("The gateway says: paid.")
    expect(timeline.last).to_contain_text("Gateway")
    eyes.look(page, "history-timeline")


def test_totals_say_what_was_paid(page, eyes):
    page.goto("/#/history")
    page.get_by_role("link", name="Totals", exact=True).click()
    expect(page.get_by_role("heading", name="Totals", exact=True)).to_be_visible()
    figures = page.locator(".figure")
    expect(figures.first).to_contain_text("€12.50")
    expect(figures.first).to_contain_text("1 payment")
    expect(page.get_by_role("img", name=re.compile("€12.50 in all"))).to_be_visible()
    page.get_by_text("Each day or month").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert small_targets(page) == []
    eyes.look(page, "totals")
    page.get_by_role("button", name="Months").click()
    expect(figures.first).to_contain_text("€12.50")
    page.get_by_label("From").fill("2001-01-01")
    expect(page.locator(".field-error").first).to_contain_text("at most 36 months")


def test_totals_of_a_busy_month_look_well(context, eyes):
    page = context.new_page()
    FakeEvents(page)
    def total(minor, refunded):
        text = lambda value: f"€{value / 100:.2f}"
        return {
            "currency": "EUR", "exponent": 2, "paid": minor // 900, "totalMinor": minor, "totalText": text(minor), "tipMinor": minor // 20,
            "tipText": text(minor // 20), "surplusMinor": 0, "surplusText": "€0.00", "refunds": 1 if refunded else 0,
            "refundedMinor": refunded, "refundedText": text(refunded), "netMinor": minor - refunded,
            "netText": text(minor - refunded), "states": {"succeeded": minor // 900, "unknown": 1 if refunded else 0},
            "rails": {"scan": {"charges": minor // 1800, "minor": minor // 2, "text": text(minor // 2)},
                      "tap": {"charges": minor // 3000, "minor": minor // 3, "text": text(minor // 3)}},
        }
    days = [f"2026-10-{day:02}" for day in range(1, 32)]
    periods = [
        {"first": day, "last": day, "totals": [] if index % 7 == 6 else [total(40_000 + (index * 7919) % 60_000, 1250 if index == 4 else 0)]}
        for index, day in enumerate(days)
    ]
    page.route("**/api/v1/totals?*", lambda route: route.fulfill(json={"by": "day", "timeZone": "Europe/Berlin", "periods": periods}))
    page.goto("/#/totals")
    expect(page.locator("rect.bar").first).to_be_attached()
    expect(page.locator(".totals svg.bars rect")).to_have_count(31)
    eyes.look(page, "totals-month")
    page.close()


def test_everything_comes_as_a_file(page):
    answer = page.evaluate("() => fetch('/api/v1/export.csv').then(async (answer) => [answer.headers.get('content-disposition'), answer.headers.get('content-type'), await answer.text()])")
    assert re.fullmatch(r'attachment; filename="till-charges-\d{4}-\d\d-\d\d\.csv"', answer[0])
    assert answer[1].startswith("text/csv")
    assert answer[2].endswith("\r\n")
    lines = list(csv.DictReader(io.StringIO(answer[2], newline="")))
    assert [line["total"] for line in lines] == ["12.50", "3.00", "47.11"]
    assert lines[0]["state"] == "succeeded" and lines[0]["payment_id"] and lines[0]["rail"] == "scan"
    assert lines[1]["reference"] == "'" + EVIL
    everything = json.loads(get(page, "/api/v1/export.json"))["charges"]
    assert [charge["totalMinor"] for charge in everything] == [1250, 300, 4711]
    assert everything[1]["reference"] == EVIL
    paid = json.loads(get(page, "/api/v1/export.json?state=succeeded"))["charges"]
    assert [charge["id"] for charge in paid] == [everything[0]["id"]]
    assert json.loads(get(page, "/api/v1/export.json?state=unknown")) == {"charges": [], "refunds": []}


def test_pages_go_back_and_forth_and_leave_nothing_out(page):
    ids = [charge["id"] for charge in charges(page)]
    assert len(ids) == 3
    first = json.loads(get(page, "/api/v1/charges?limit=2"))
    assert [charge["id"] for charge in first["charges"]] == ids[:2] and first["next"] == ids[1]
    rest = json.loads(get(page, f"/api/v1/charges?limit=2&before={first['next']}"))
    assert [charge["id"] for charge in rest["charges"]] == ids[2:] and rest["next"] is None
    newer = json.loads(get(page, f"/api/v1/charges?after={ids[2]}&state=cancelled"))
    assert [charge["id"] for charge in newer["charges"]] == [id for id in ids[:2]]


def test_the_list_goes_on_by_itself_when_it_is_scrolled(context):
    page = context.new_page()
    FakeEvents(page)
    name = "01941f29-7c00-7000-8000-0000000000{:02}"
    many = [sample_charge(id=name.format(number), state="succeeded") for number in range(60)]
    asked = []

    def one_page(route):
        query = dict(pair.split("=") for pair in route.request.url.partition("?")[2].split("&"))
        asked.append(query.get("before"))
        start = next((at + 1 for at, charge in enumerate(many) if charge["id"] == query.get("before")), 0)
        some = many[start : start + int(query["limit"])]
        route.fulfill(json={"charges": some, "next": some[-1]["id"] if start + len(some) < len(many) else None})

    page.route("**/api/v1/charges?*", one_page)
    page.goto("/#/history")
    expect(rows(page)).to_have_count(25)
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(rows(page)).to_have_count(50)
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(rows(page)).to_have_count(60)
    page.close()


def test_an_answer_that_found_nothing_yet_is_followed_by_the_next(context):
    page = context.new_page()
    FakeEvents(page)
    found = sample_charge(id="01941f29-7c00-7000-8000-000000000007", state="failed")
    answers = [{"charges": [], "next": f"01941f29-7c00-7000-8000-00000000010{number}"} for number in range(3)]
    asked = []

    def partly(route):
        if "q=" not in route.request.url:
            return route.fulfill(json={"charges": [], "next": None})
        asked.append(route.request.url)
        route.fulfill(json=answers[len(asked) - 1] if len(asked) <= 3 else {"charges": [found], "next": None})

    page.route("**/api/v1/charges?*", partly)
    page.goto("/#/history")
    page.get_by_label("Search").fill("far back")
    expect(rows(page)).to_have_count(1)
    assert len(asked) == 4
    page.close()


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

"""A shop's till as an integrator would write it, against a real terminal, a real gateway of the sandbox and a paying wallet."""

import json
import threading
import time

import pytest

from sandbox import ROOT, Gateway
from terminal import Terminal
from till_client import Refused, Till

CONTRACT = json.loads((ROOT / "Public/api/v1/openapi.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def gateway():
    running = Gateway("--settle-after", "0")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def terminal(gateway):
    running = Terminal(gateway)
    yield running
    running.stop()


def a_till(terminal: Terminal, name: str, *scopes: str) -> Till:
    token = terminal.token(name, *(scopes or ("charges", "state", "screen")))
    return Till(terminal.url, token, terminal.fingerprint, CONTRACT)


@pytest.fixture(scope="module")
def till(terminal):
    return a_till(terminal, "Counter 1")


def pay(gateway, charge):
    assert gateway.pay(charge["link"]).returncode == 0


def test_another_machine_is_not_taken_for_the_terminal(terminal):
    with pytest.raises(ConnectionError, match="another fingerprint"):
        Till(terminal.url, "till_lan_x", "00" * 32, CONTRACT).connect()


def test_a_sale_from_ready_to_receipt(till, gateway):
    assert till.call("terminal")["ready"] is True
    charge = till.until(till.charge(1250, "A 7"), "requiresAction")
    assert charge["amountText"] == "€12.50" and charge["reference"] == "A 7"
    busy = till.call("terminal")
    assert (busy["ready"], busy["reason"]["code"], busy["charge"]["id"]) == (False, "busy", charge["id"])
    paying = threading.Thread(target=pay, args=(gateway, charge))
    paying.start()
    paid = till.until(charge, "succeeded")
    paying.join()
    assert paid["confirmedBy"] == "gateway" and paid["evidence"]["paymentID"] and paid["totalMinor"] == 1250
    assert [entry["who"] for entry in paid["timeline"]][0] == "till:Counter 1"
    assert till.call("diagnosis")["payments"] == {"open": 0, "unknown": 0, "promised": 0, "unsentOffline": 0, "unseen": 0}


def test_a_customer_who_goes_away_is_not_charged(till):
    charge = till.until(till.charge(300), "requiresAction")
    assert till.cancel(charge)["state"] == "cancelled"
    assert till.cancel(charge)["state"] == "cancelled"
    assert till.until(till.charge(301), "requiresAction")["amountMinor"] == 301
    till.cancel(till.call("currentCharge"))


def test_a_lost_answer_is_found_and_nothing_is_charged_twice(till):
    """The connection is cut when the request has gone and before anything comes back."""
    assert till.recover("sale-lost") is None
    connection = till.connect()
    till.send(connection, "openCharge", {}, {}, {"amountMinor": 777}, {"Idempotency-Key": "sale-lost"})
    connection.close()
    for _ in range(1200):
        if found := till.recover("sale-lost"):
            break
        time.sleep(0.05)  # What was sent may still be on its way.
    again = till.charge(777, key="sale-lost")
    assert again["id"] == found["id"] and found["amountMinor"] == 777
    listed = till.call("listCharges", query={"min": 777, "max": 777})["charges"]
    assert [charge["id"] for charge in listed] == [found["id"]]
    with pytest.raises(Refused) as refused:
        till.charge(778, key="sale-lost")
    assert refused.value.code == "idempotency_conflict"
    till.cancel(found)


def test_an_answer_lost_with_the_terminal_itself_is_found_when_it_is_back(terminal, gateway):
    """The power goes after the request: what the journal had is there, and the key makes no second charge of it."""
    till = a_till(terminal, "Counter 2")
    opened = till.charge(888, key="sale-power")
    terminal.kill()
    terminal.start()
    till = Till(terminal.url, till.token, terminal.fingerprint, CONTRACT)
    for _ in range(600):
        if till.call("terminal")["reason"] is None or till.call("terminal")["reason"]["code"] != "checking_payments":
            break
        time.sleep(0.1)
    assert till.recover("sale-power")["id"] == opened["id"] == till.charge(888, key="sale-power")["id"]
    till.cancel(opened)


def test_events_tell_each_change_and_go_on_after_a_break(terminal, gateway):
    till = a_till(terminal, "Counter 3")
    events = till.events()
    first = next(events)
    assert first.name == "resync"
    charge = till.until(till.charge(425, "events"), "requiresAction")
    seen = [next(events)]
    while seen[-1].data["state"] != "requiresAction":
        seen.append(next(events))
    assert {event.data["id"] for event in seen} == {charge["id"]} and seen[0].data["state"] == "created"
    events.close()
    pay(gateway, charge)
    till.until(charge, "succeeded")
    missed = next(till.events(after=seen[-1].id))
    assert missed.name == "charge" and missed.data["id"] == charge["id"]
    assert next(till.events(after="0-1")).name == "resync"


def test_a_question_on_the_screen_is_answered(terminal):
    till = a_till(terminal, "Counter 4", "screen")
    shown = till.call("showMessage", body={"kind": "choose", "title": "Which size?", "options": ["Small", "Large"]})
    assert shown["state"] == "up"
    threading.Timer(0.3, lambda: terminal.page("PUT", f"/screen/{shown['id']}", {"answer": 1})).start()
    answered = till.call("message", names={"id": shown["id"]}, query={"wait": 30})
    assert (answered["state"], answered["answerText"]) == ("answered", "Large")
    link = till.call("showMessage", body={"kind": "qr", "title": "Our menu", "content": "https://cafe.example/menu"})
    assert till.call("takeMessage", names={"id": link["id"]})["state"] == "withdrawn"
    with pytest.raises(Refused) as refused:
        till.call("listCharges")
    assert refused.value.code == "scope_missing"


def test_a_revoked_token_ends_what_it_has_open(terminal):
    till = a_till(terminal, "Counter 5")
    charge = till.until(till.charge(100), "requiresAction")
    outcome = []

    def wait():
        try:
            outcome.append(till.call("charge", names={"id": charge["id"]}, query={"wait": 60}))
        except Refused as refused:
            outcome.append(refused.code)

    waiting = threading.Thread(target=wait)
    waiting.start()
    events = till.events()
    assert next(events).name == "resync"
    listed = terminal.page("GET", "/tokens")[1]["tokens"]
    name = next(token["id"] for token in listed if token["name"] == "Counter 5")
    began = time.monotonic()
    assert terminal.page("DELETE", f"/tokens/{name}")[0] == 200
    assert list(events) == []
    waiting.join(20)
    assert outcome == ["token_needed"] and time.monotonic() - began < 20
    terminal.page("POST", f"/charges/{charge['id']}/cancel")

"""The scenarios that are shipped do what they say, and one that cannot be meant is explained."""

import subprocess
import time

import pytest
import requests

from sandbox import ACCOUNTS, API_KEY, AS_MERCHANT, MERCHANT, PROGRAM, ROOT, WITH_APP, Gateway

SCENARIOS = ROOT / "config/scenarios"


@pytest.fixture
def living():
    started = []

    def start(name, *options):
        started.append(Gateway("--scenario", str(SCENARIOS / f"{name}.yaml"), "--settle-after", "0", *options))
        return started[-1]

    yield start
    for gateway in started:
        gateway.stop()


def test_every_shipped_scenario_is_tested_here():
    text = open(__file__, encoding="utf-8").read()
    assert [path.stem for path in SCENARIOS.glob("*.yaml") if f'living("{path.stem}"' not in text] == []


def test_a_create_that_took_effect_says_500_and_its_key_finds_the_payment(living):
    gateway = living("lost-create")
    assert [gateway.create().status_code for _ in range(2)] == [201, 201]
    keyed = {**AS_MERCHANT, "Idempotency-Key": "k"}
    assert gateway.create(headers=keyed).status_code == 500
    assert gateway.create(headers=keyed).status_code == 201
    payments = gateway.call("GET", "/control/payments", {"Authorization": "Bearer control"}).json()["payments"]
    assert len(payments) == 3


def test_the_status_is_silent_from_the_second_question_on(living):
    gateway = living("silent-status")
    path = f"{gateway.url}/v1/payments/{gateway.new_payment()}/status"
    assert requests.get(path, headers=AS_MERCHANT, timeout=5).ok
    for _ in range(2):
        with pytest.raises(requests.ReadTimeout):
            requests.get(path, headers=AS_MERCHANT, timeout=0.3)


@pytest.mark.parametrize("cents, status, code", [
    ("1337", "failed", "declined_user"), ("1338", "failed", None), ("1339", "expired", None),
    ("1340", "processing", None), ("1341", "succeeded", None),
])
def test_an_amount_decides_how_its_payment_ends(living, cents, status, code):
    gateway = living("declined")
    payment = gateway.new_payment(value=cents)
    option = gateway.options(payment).json()["options"]
    assert option
    # The wallet would wait for the end of the payment that has none.
    pay = [PROGRAM, "wallet", "pay", "--gateway", gateway.url, "--timeout", "1", payment]
    subprocess.run(pay, capture_output=True, timeout=30)
    answer = gateway.call("GET", f"/v1/payments/{payment}/status", AS_MERCHANT).json()
    assert (answer["status"], answer.get("failureCode")) == (status, code)


def test_a_bad_day_has_everything_in_it(living):
    gateway = living("bad-day")
    began = time.monotonic()
    payment = gateway.new_payment()
    assert time.monotonic() - began >= 0.3
    path = f"/v1/payments/{payment}/status"
    answers = [gateway.call("GET", path, AS_MERCHANT) for _ in range(10)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429, 200, 200, 200, 200, 200, 200]
    with pytest.raises(requests.JSONDecodeError):
        answers[6].json()
    assert [answers[index].json()["status"] for index in (8, 9)] == ["under_review", "under_review"]


def test_a_wallet_meets_a_stale_quote_and_a_sanctioned_account(living):
    gateway = living("wallet-trouble")
    payment = gateway.new_payment()
    stale = gateway.call("POST", f"/v1/gateway/payment/{payment}/confirm", WITH_APP, {"optionId": "x", "results": []})
    assert (stale.status_code, stale.json()["code"]) == (409, "quote_expired")
    path = f"/v1/gateway/payment/{payment}/options"
    sanctioned = ["eip155:8453:0x000000000000000000000000000000000000dEaD"]
    assert gateway.call("POST", path, WITH_APP, {"accounts": sanctioned}).json()["code"] == "sanctioned_user"
    assert gateway.call("POST", path, WITH_APP, {"accounts": ACCOUNTS}).ok


@pytest.mark.parametrize("text, words", [
    ("faults: [{endpoint: create, effect: explode}]", "fault 1: 'explode' is no effect"),
    ("faults: [{endpoint: create, effect: drop, tmies: 1}]", "fault 1: 'tmies' is nothing that a fault has"),
    ("faluts: []", "a scenario has a list of 'faults'"), ("faults: []\nname: x", "'name' is nothing that a scenario has"),
    ("faults: [", "this is not YAML"),
])
def test_a_scenario_that_cannot_be_meant_is_explained(tmp_path, text, words):
    file = tmp_path / "scenario.yaml"
    file.write_text(text, encoding="utf-8")
    command = [PROGRAM, "gateway", "--merchant", MERCHANT, "--api-key", API_KEY, "--scenario", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stdout) == (64, "")
    assert words in ended.stderr

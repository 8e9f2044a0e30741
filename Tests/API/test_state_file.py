"""What the gateway answered, it knows after it was killed: the real process, a real file, SIGKILL at any point."""

import concurrent.futures
import random
import subprocess
import threading

import pytest
import requests

from sandbox import API_KEY, AS_MERCHANT, MERCHANT, PROGRAM, WITH_APP, Gateway


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def start(state, *options):
    return Gateway("--state", str(state), "--settle-after", "0", *options)


def kill(gateway):
    gateway.process.kill()
    gateway.process.wait(10)
    gateway.process.stdout.close()
    gateway.session.close()


def everything(gateway):
    headers = {"Authorization": "Bearer control"}
    return [gateway.call("GET", f"/control/{word}", headers).json() for word in ("payments", "ledger")]


def test_a_killed_gateway_comes_back_as_it_was(state):
    first = start(state, "--collect-data")
    keyed = {**AS_MERCHANT, "Idempotency-Key": "k1"}
    made = first.create(headers=keyed).json()
    form = first.new_payment()
    first.control("collect", {"paymentId": form})
    option = first.options(form).json()["options"][0]["id"]
    first.control("collect", {"paymentId": made["paymentId"]})
    assert first.pay(made["paymentId"]).returncode == 0
    assert first.call("POST", "/v1/refunds", AS_MERCHANT, {"paymentId": made["paymentId"]}).ok
    before = everything(first)
    kill(first)
    second = start(state, "--collect-data")
    try:
        assert everything(second) == before
        assert second.create(headers=keyed).json() == made
        assert second.create("99", headers=keyed).status_code == 409
        assert second.call("POST", "/v1/refunds", AS_MERCHANT, {"paymentId": made["paymentId"]}).status_code == 409
        fetched = second.call("POST", f"/v1/gateway/payment/{form}/fetch", WITH_APP, {"optionId": option, "data": ""})
        assert fetched.ok, fetched.text
    finally:
        second.stop()


@pytest.mark.parametrize("round_", range(5))
def test_what_was_answered_before_the_kill_is_there_after_it(state, round_):
    """Eight clients create and cancel without a pause; the kill comes whenever it comes."""
    gateway = start(state)
    target = random.Random(round_).randint(60, 400)
    made_one = threading.Semaphore(0)

    def work(client):
        known = {}
        session = requests.Session()
        try:
            for number in range(10_000):
                headers = {**AS_MERCHANT, "Idempotency-Key": f"{client}-{number}"}
                body = {"referenceId": "A", "amount": {"unit": "iso4217/USD", "value": str(100 + number)}}
                made = session.post(gateway.url + "/v1/payments", json=body, headers=headers, timeout=10).json()["paymentId"]
                known[made] = "requires_action"
                made_one.release()
                if number % 3 == 0:
                    known[made] = None  # Asked, and not yet answered.
                    path = f"{gateway.url}/v1/payments/{made}/cancel"
                    assert session.post(path, json={}, headers=AS_MERCHANT, timeout=10).ok
                    known[made] = "cancelled"
        except requests.RequestException:
            return known

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        clients = [pool.submit(work, client) for client in range(8)]
        # By what was done and not by the clock: a busy machine does less in the same time.
        arrived = all(made_one.acquire(timeout=30) for _ in range(target))
        kill(gateway)
        known = {name: word for client in clients for name, word in client.result().items()}
    again = start(state)
    try:
        payments = {each["paymentId"]: each["status"] for each in everything(again)[0]["payments"]}
    finally:
        again.stop()
    assert arrived and len(known) >= target
    wrong = {name: (word, payments.get(name)) for name, word in known.items() if word and payments.get(name) != word}
    assert not wrong
    assert all(name in payments for name in known)
    # Each client had at most one question open, so at most that many payments are news.
    assert len(payments) <= len(known) + 8


def refused(state):
    command = [PROGRAM, "gateway", "--merchant", MERCHANT, "--api-key", API_KEY, "--state", str(state)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_an_unfinished_last_line_is_dropped_and_said(state, capfd):
    gateway = start(state)
    payment = gateway.new_payment()
    kill(gateway)
    whole = state.read_bytes()
    state.write_bytes(whole + whole.splitlines()[-1][:40])
    again = start(state)
    try:
        assert [each["paymentId"] for each in everything(again)[0]["payments"]] == [payment]
        assert "an unfinished last line was dropped" in capfd.readouterr().err
    finally:
        again.stop()
    assert state.read_bytes() == whole


def test_a_damaged_file_is_refused_by_the_number_of_its_line(state):
    gateway = start(state)
    gateway.new_payment()
    kill(gateway)
    whole = state.read_bytes()
    lines = whole.splitlines(keepends=True)
    state.write_bytes(lines[0] + lines[1].replace(b'"at"', b'"as"') )
    ended = refused(state)
    assert (ended.returncode, ended.stdout) == (66, "")
    assert "line 2 is damaged" in ended.stderr
    assert state.read_bytes() != whole  # It is left as it was found.


def test_two_gateways_do_not_share_a_file(state):
    gateway = start(state)
    try:
        ended = refused(state)
        assert ended.returncode == 66
        assert "in use by another gateway" in ended.stderr
    finally:
        gateway.stop()

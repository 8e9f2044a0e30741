"""The list of deviations is true: each entry is needed, each happens, and a limit is refused in its form everywhere."""

import pytest

from deviations import DEVIATIONS, RATE_LIMITED
from published import FILE, document, operations
from sandbox import AS_MERCHANT, OWNER, WITH_APP, Gateway

NOWHERE = "/v1/merchants/mrch_api/settlements/crypto/none"
WALLET = "/v1/gateway/payment/{id}"


@pytest.mark.skipif(document() is None, reason=f"NOT TESTED: there is no published OpenAPI file at {FILE}")
@pytest.mark.parametrize("known", DEVIATIONS, ids=lambda known: f"{known.method} {known.path} {known.status} {known.code}")
def test_the_published_file_does_not_allow_what_the_list_excuses(known):
    found = [operation for method, path, operation in operations(document()) if (method, path) == (known.method, known.path)]
    assert len(found) == 1
    assert str(known.status) not in found[0]["responses"]
    assert known.reason


def provoked(gateway, payments):
    """One answer for each entry of the list."""
    stranger = {**AS_MERCHANT, "Merchant-Id": "mrch_nobody"}
    yield "POST", "/v1/payments", gateway.create(headers=stranger)
    yield "GET", "/v1/merchants/payments", gateway.call("GET", "/v1/merchants/payments", stranger)
    for value in ("100", "200"):
        answer = gateway.create(value, headers={**AS_MERCHANT, "Idempotency-Key": "twice"})
    yield "POST", "/v1/payments", answer
    payment = gateway.new_payment()

    def wallet(word, body, payment=payment):
        return "POST", f"{WALLET}/{word}", gateway.call("POST", f"/v1/gateway/payment/{payment}/{word}", WITH_APP, body)

    yield wallet("options", {"accounts": ["eip155:8453:0x1"]})
    account = f"eip155:8453:{OWNER}"
    gateway.control("faults", {"endpoint": "options", "effect": "refuse=sanctioned_user", "account": account, "times": 1})
    yield wallet("options", {"accounts": [account]})
    option = {"optionId": gateway.options(payment).json()["options"][0]["id"], "results": []}
    yield wallet("fetch", {**option, "data": ""}, payments["expired"])
    yield wallet("confirm", option, payments["expired"])
    for word in ("fetch", "confirm"):
        gateway.control("faults", {"endpoint": word, "effect": "refuse=quote_expired", "times": 1})
        yield wallet(word, {**option, "data": ""})
    erc3009 = next(each for each in gateway.options(payment).json()["options"] if each["actions"][0]["type"] == "build")
    result = {"type": "walletRpc", "data": ["0x" + "11" * 65]}
    yield wallet("confirm", {"optionId": erc3009["id"], "results": [result]})
    for method in ("PUT", "DELETE"):
        for headers in ({}, {"Api-Key": "wrong"}):
            yield method, NOWHERE, gateway.call(method, NOWHERE, headers, {})


def test_each_deviation_happens(gateway, payments):
    seen = {
        (method, path.replace("mrch_api", "{merchantId}").replace("none", "{id}"), answer.status_code, answer.json()["code"])
        for method, path, answer in provoked(gateway, payments)
    }
    assert seen == {(known.method, known.path, known.status, known.code) for known in DEVIATIONS}


def test_a_limit_is_refused_with_the_seconds_to_wait():
    limited = Gateway("--rate-limit", "1/60")
    try:
        assert limited.create().status_code == 201
        refused = limited.create()
        assert (refused.status_code, refused.json()["code"]) == (RATE_LIMITED.status, RATE_LIMITED.code)
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
    finally:
        limited.stop()

"""What reaches the gateway over a real connection: addresses as wallets and list readers write them, and refusals."""

import http.client
import urllib.parse

import pytest

from sandbox import AS_MERCHANT, WITH_APP


def raw(gateway, method, target, headers):
    """The target goes out as it is written: most clients tidy it up."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(gateway.url).netloc, timeout=10)
    connection.request(method, target, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_a_filter_may_be_repeated(gateway, payments):
    words = ["succeeded", "cancelled"]
    answer = gateway.call("GET", "/v1/merchants/payments", AS_MERCHANT, status=words, limit=200).json()
    assert {item["status"] for item in answer["data"]} == set(words)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_whole_link_names_its_payment(gateway, payments, times):
    link = "https://pay.walletconnect.com/?pid=" + payments["succeeded"]
    for _ in range(times):
        link = urllib.parse.quote(link, safe="")
    status, body = raw(gateway, "GET", f"/v1/gateway/payment/{link}/status", WITH_APP)
    assert (status, '"status":"succeeded"' in body) == (200, True)


def test_what_is_not_http_is_refused_in_the_words_of_the_api(gateway):
    status, body = raw(gateway, "GET", "/v1/payments?x=<y>", AS_MERCHANT)
    assert status == 400
    assert body == '{"code":"params_validation","message":"Validation error: the request is not acceptable HTTP"}'


@pytest.mark.parametrize("method", ["QUERY", "FOO", "TRACE"])
def test_an_unknown_method_is_refused_in_the_words_of_the_api(gateway, method):
    status, body = raw(gateway, method, "/v1/payments", AS_MERCHANT)
    assert status == (405 if method == "TRACE" else 501)
    assert body == '{"code":"params_validation","message":"Validation error: the request is not acceptable HTTP"}'

"""The sandbox gateway against the API's published OpenAPI file: requests made up from the file, answers held against it."""

import zlib

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from deviations import deviation
from published import FILE, document, narrowed
from sandbox import ACCOUNTS, AS_MERCHANT, WITH_APP, WITH_KEY

if document() is None:
    pytest.skip(f"NOT TESTED: the gateway's API. There is no published OpenAPI file at {FILE}", allow_module_level=True)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# The same examples in each run: a red test stays red until it is mended.
BOUNDED = {"derandomize": True, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
PHASES = [Phase.explicit, Phase.generate]

schema = schemathesis.openapi.from_dict(narrowed(document(), ACCOUNTS))
# Methods that a path does not have are in the file for no path: there is nothing to hold the answers against.
schema.config.phases.coverage.unexpected_methods = set()


def code_of(response):
    try:
        return response.json().get("code")
    except (ValueError, AttributeError):
        return None


def is_wallets(path):
    return path.startswith("/v1/gateway/")


def check(case, response):
    """Lets pass what the file describes, and what the list of deviations gives a reason for."""
    path = case.operation.path
    if deviation(case.method, path, response.status_code, code_of(response)) is not None:
        assert response.headers["content-type"] == ["application/json"]
        assert set(response.json()) == {"code", "message"}
        return
    case.validate_response(response, checks=CHECKS)


def dress(case, headers):
    """Gives the request headers that let it in, in the place of those that were made up."""
    for name in ("Api-Key", "App-Id", "Client-Id", "Merchant-Id", "WCP-Version", "X-Api-Key"):
        case.headers.pop(name, None)
    case.headers.update(headers)
    # A question may be held as long as it asks, up to 25 seconds: not by every one of hundreds.
    if isinstance(case.query, dict) and isinstance(case.query.get("maxPollMs"), int) and case.query["maxPollMs"] > 100:
        case.query["maxPollMs"] = 100


@schema.parametrize()
@settings(max_examples=25, phases=PHASES, **BOUNDED)
@pytest.mark.parametrize("wallet", [WITH_KEY, WITH_APP], ids=["api-key", "app-id"])
def test_a_request_that_is_let_in_gets_a_documented_answer(case, wallet, gateway, payments):
    dress(case, wallet if is_wallets(case.operation.path) else AS_MERCHANT)
    known = list(payments.values())
    # Three of four requests are about a payment that exists. Chosen by what was made up, so that a failure repeats.
    pick = zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode())
    if case.path_parameters and "id" in case.path_parameters and pick % 4 and "settlements" not in case.operation.path:
        case.path_parameters["id"] = known[pick % len(known)]
    if isinstance(case.body, dict) and "paymentId" in case.body and pick % 4:
        case.body["paymentId"] = known[pick % len(known)]
    check(case, case.call(base_url=gateway.url, session=gateway.session))


@schema.parametrize()
@settings(max_examples=15, phases=PHASES, **BOUNDED)
def test_a_request_with_any_headers_gets_a_documented_answer(case, gateway):
    check(case, case.call(base_url=gateway.url, session=gateway.session))

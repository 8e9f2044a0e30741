"""Requests in a row, each made from the answer before it: created, looked at, offered, fetched, cancelled, refunded."""

import collections

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from published import FILE, document, linked, narrowed
from sandbox import ACCOUNTS, AS_MERCHANT, WITH_APP, WITH_KEY
from test_gateway_api import check, dress, is_wallets

if document() is None:
    pytest.skip(f"NOT TESTED: sequences of calls. There is no published OpenAPI file at {FILE}", allow_module_level=True)

MUST_SUCCEED = [
    "POST /v1/payments", "GET /v1/payments/{id}", "GET /v1/payments/{id}/status", "POST /v1/payments/{id}/cancel",
    "GET /v1/gateway/payment/{id}", "GET /v1/gateway/payment/{id}/status", "POST /v1/gateway/payment/{id}/options",
    "POST /v1/gateway/payment/{id}/fetch", "POST /v1/gateway/payment/{id}/cancel",
]


@pytest.mark.parametrize("wallet", [WITH_KEY, WITH_APP], ids=["api-key", "app-id"])
def test_what_an_answer_leads_to_is_documented_too(wallet, gateway):
    chosen = linked(narrowed(document(), ACCOUNTS))
    paths = {name.split(" ")[1] for name in MUST_SUCCEED} | {"/v1/refunds", "/v1/gateway/payment/{id}/confirm"}
    chosen["paths"] = {path: chosen["paths"][path] for path in chosen["paths"] if path in paths}
    del chosen["paths"]["/v1/payments"]["get"]
    schema = schemathesis.openapi.from_dict(chosen)
    # The links above and no guessed ones: what they would find depends on what earlier runs left in the lists.
    schema.config.phases.stateful.inference.algorithms = []
    answers = collections.Counter()

    class Sequence(schema.as_state_machine()):
        def before_call(self, case):
            dress(case, wallet if is_wallets(case.operation.path) else AS_MERCHANT)
            # A key that an earlier sequence used would make this one another: the test could not be repeated.
            case.headers.pop("Idempotency-Key", None)

        def get_call_kwargs(self, case):
            return {"base_url": gateway.url, "session": gateway.session}

        def validate_response(self, response, case, **_):
            answers[f"{case.method} {case.operation.path}", response.status_code // 100] += 1
            check(case, response)

    Sequence.run(
        settings=settings(
            max_examples=30, stateful_step_count=12, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    # A run in which every sequence ended at its first step would prove nothing.
    missing = [name for name in MUST_SUCCEED if not answers[name, 2]]
    assert not missing, f"never answered well: {missing}; {dict(answers)}"

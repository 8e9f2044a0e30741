"""The sandbox acquirer against its own OpenAPI file, and against a terminal and a phone that share no code with it."""

import hashlib
import json
import subprocess
import zlib

import pytest
import requests
import schemathesis
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from acquirer import CUSTOMER, SHOP, Acquirer, Phone, Terminal, encode, jwk, opened, payload, unb64
from sandbox import PROGRAM, ROOT

FILE = ROOT / "config/openapi/acquirer.json"
SCENARIOS = ROOT / "config/scenarios/acquirer"
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


@schemathesis.serializer("application/cbor")
def cbor(context, value):
    """Bytes as they are, made up or real."""
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else getattr(value, "data", b"")


schema = schemathesis.openapi.from_dict(json.loads(FILE.read_text(encoding="utf-8")))
schema.config.phases.coverage.unexpected_methods = set()


class Shop:
    """A terminal, a phone, and something of everything that can be asked about."""

    def __init__(self):
        self.acquirer = Acquirer("--settle-after", "0")
        self.terminal, self.phone = Terminal(self.acquirer), Phone(self.acquirer)
        self.bodies, self.names = {}, []
        for tip in (0, 100):
            request = self.terminal.request()
            bundle = self.terminal.bundle(request, self.phone.accept(request, tip), self.phone.passes()[0])
            self.acquirer.call("POST", "/executions", data=bundle)
            self.bodies.setdefault("/executions", []).append(bundle)
            self.names.append(self.name(request))
        announced = self.terminal.request()
        self.bodies["/payments/{paymentId}"] = [encode([self.terminal.certificate, announced])]
        self.announced = self.name(announced)
        bundles = [self.terminal.bundle(*self.agreed()) for _ in range(3)]
        self.bodies["/sync"] = [b"\x81" + bundles[0], b"\x82" + bundles[1] + bundles[2]]
        self.holds = [self.phone.hold(1_000, "first").json()["preAuthorisationId"]]

    def agreed(self):
        request = self.terminal.request()
        return request, self.phone.accept(request), self.phone.passes()[0]

    @staticmethod
    def name(request):
        digits = payload(request)[1].hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def headers(self, operation):
        schemes = [name for entry in operation.definition.raw.get("security", []) for name in entry]
        if "partnerKey" in schemes:
            return {"Api-Key": "partner"}
        if "merchantSession" in schemes:
            return self.terminal.session
        return self.phone.session if schemes else {}


@pytest.fixture(scope="module")
def shop():
    running = Shop()
    yield running
    running.acquirer.stop()


def send(case, shop):
    case.validate_response(
        case.call(base_url=shop.acquirer.url, session=shop.acquirer.session), checks=CHECKS
    )


@schema.parametrize()
@settings(max_examples=40, phases=PHASES, **BOUNDED)
def test_a_request_that_is_let_in_gets_a_documented_answer(case, shop):
    for name in ("Authorization", "Api-Key"):
        case.headers.pop(name, None)
    case.headers.update(shop.headers(case.operation))
    path, pick = case.operation.path, zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode())
    if path == "/logout":
        case.headers.update(shop.acquirer.log_in(SHOP))  # The shop goes on.
    # Three of four requests are about something that exists. Chosen by what was made up, so that a failure repeats.
    if pick % 4:
        if "paymentId" in (case.path_parameters or {}):
            case.path_parameters["paymentId"] = (
                shop.announced if case.method == "PUT" else shop.names[pick % len(shop.names)]
            )
        if "preAuthorisationId" in (case.path_parameters or {}):
            case.path_parameters["preAuthorisationId"] = shop.holds[0]
        if case.operation.definition.raw.get("requestBody", {}).get("content", {}).get("application/cbor"):
            known = shop.bodies[path]
            case.body = known[pick % len(known)]
        if isinstance(case.body, dict):
            fill(case.body, shop, pick)
    send(case, shop)


def fill(body, shop, pick):
    """Makes of a made-up body one that reaches further than the first check."""
    key = ec.derive_private_key(pick + 1, ec.SECP256R1())
    known = {
        "deviceKey": jwk(key), "jwk": jwk(key), "instrumentId": "card-customer-demo", "currency": "EUR",
        "exponent": 2, "userIdentifier": SHOP["identifier"], **[SHOP, CUSTOMER][pick % 2],
    }
    body.update({name: value for name, value in known.items() if name in body})
    if "amount" in body:
        body["amount"] = pick % 1_000 + 1
    if "proof" in body:
        body.update(shop.terminal.order)


@schema.parametrize()
@settings(max_examples=15, phases=PHASES, **BOUNDED)
def test_a_request_with_any_headers_gets_a_documented_answer(case, shop):
    send(case, shop)


def test_the_file_names_every_route_and_every_fault_endpoint(shop):
    operations = {operation["operationId"] for item in schema.raw_schema["paths"].values() for operation in item.values()}
    usage = subprocess.run([PROGRAM, "acquirer", "--help"], capture_output=True, text=True, timeout=30).stdout
    endpoints = " ".join(usage.split("ENDPOINT")[2].split("EFFECT")[0].split()).split(", or *")[0].split(", ")
    assert len(endpoints) == len(operations), (endpoints, operations)


# MARK: foreign terminal and phone


def test_a_foreign_terminal_and_phone_are_paid_and_can_check_the_receipt(shop):
    before = shop.acquirer.balances()
    request = shop.terminal.request(2550)
    bundle = shop.terminal.bundle(request, shop.phone.accept(request, 255), shop.phone.passes()[0])
    answers = [shop.acquirer.call("POST", "/executions", data=bundle) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    receipt = shop.acquirer.check(answers[0].content, "BPP1-RCT")
    assert (receipt[2], receipt[5], receipt[6], receipt[7]) == (3, 2550, 255, 2805)
    account = ("merchant/merchant-demo", "EUR")
    assert shop.acquirer.balances()[account] - before[account] == 2805
    record = shop.acquirer.call("GET", f"/payments/{shop.name(request)}", shop.phone.session).json()
    assert (record["status"], record["total"], unb64(record["receipt"])) == ("COMPLETED", 2805, answers[0].content)


def test_a_foreign_phone_spends_a_voucher_without_anybody_online(shop):
    phone = Phone(shop.acquirer)
    pass_ = unb64(phone.hold(5_000, "voucher").json()["pass"])
    assert shop.acquirer.check(pass_, "BPP1-PASS")[6] == 5_000
    request = shop.terminal.request(1_000)
    spend = {12: payload(pass_)[1], 13: 1, 14: 1_000, 15: hashlib.sha256(pass_).digest()}
    accept = phone.accept(request, spend=spend)
    bundle = shop.terminal.bundle(request, accept, pass_, mode=2)
    told = shop.acquirer.call("POST", "/sync", data=b"\x81" + encode(accept)).json()["answers"][0]
    assert told["verdict"] == "WAITING"
    answers = [shop.acquirer.call("POST", "/sync", data=b"\x81" + bundle).json()["answers"][0] for _ in range(2)]
    assert [answer["verdict"] for answer in answers] == ["SETTLED", "DUPLICATE"]
    assert shop.acquirer.check(unb64(answers[0]["receipt"]), "BPP1-RCT")[2] == 3


def test_a_foreign_library_opens_the_token_of_a_delegated_login(shop):
    key = ec.generate_private_key(ec.SECP256R1())
    body = {"userIdentifier": CUSTOMER["identifier"], "jwk": jwk(key)}
    answer = shop.acquirer.call("POST", "/delegated/tokens", {"Api-Key": "partner"}, body)
    token = opened(answer.json()["jwe"], key)
    session = shop.acquirer.call("POST", "/login/delegated", body={"initToken": token})
    assert session.json()["accountId"] == "customer-demo"
    assert shop.acquirer.call("POST", "/login/delegated", body={"initToken": token}).status_code == 403


# MARK: SIGKILL


@pytest.mark.parametrize("round_", range(3))
def test_what_was_answered_before_the_kill_is_there_after_it(tmp_path, round_):
    first = Acquirer("--state", str(tmp_path / "state"))
    terminal, phone = Terminal(first), Phone(first)
    bundles, receipts = [], []
    for _ in range(5 + round_):
        request = terminal.request()
        bundles.append(terminal.bundle(request, phone.accept(request), phone.passes()[0]))
        receipts.append(first.call("POST", "/executions", data=bundles[-1]).content)
    voided = first.call("POST", f"/payments/{Shop.name(request)}/void", terminal.session, {}).json()
    books = first.control("GET", "books")
    first.kill()
    second = Acquirer("--state", str(tmp_path / "state"))
    try:
        assert second.control("GET", "books") == books
        answers = [second.call("POST", "/executions", data=bundle).content for bundle in bundles]
        assert answers[:-1] == receipts[:-1]
        assert answers[-1] == unb64(voided["receipt"])
        assert second.call("GET", "/payments", terminal.session).ok
        assert second.control("GET", "books") == books
    finally:
        second.stop()


# MARK: scenarios


@pytest.fixture
def living():
    started = []

    def start(name):
        started.append(Acquirer("--scenario", str(SCENARIOS / f"{name}.yaml")))
        return started[-1]

    yield start
    for acquirer in started:
        acquirer.stop()


def test_every_shipped_scenario_is_tested_here():
    text = open(__file__, encoding="utf-8").read()
    assert [path.stem for path in SCENARIOS.iterdir() if f'living("{path.stem}")' not in text] == []


def test_a_lost_answer_is_found_by_sending_the_same_bundle_again(living):
    acquirer = living("lost-answers")
    terminal, phone = Terminal(acquirer), Phone(acquirer)
    request = terminal.request()
    bundle = terminal.bundle(request, phone.accept(request), phone.passes()[0])
    with pytest.raises(requests.ReadTimeout):
        acquirer.call("POST", "/executions", data=bundle, timeout=0.5)
    assert acquirer.call("POST", "/executions", data=bundle).status_code == 500
    cut = acquirer.call("POST", "/executions", data=bundle).content
    whole = acquirer.call("POST", "/executions", data=bundle).content
    assert whole.startswith(cut) and len(cut) < len(whole)
    assert acquirer.check(whole, "BPP1-RCT")[2] == 3
    assert acquirer.balances()[("merchant/merchant-demo", "EUR")] == 1250


@pytest.mark.parametrize("cents, status, decline", [(1337, 4, 51), (1338, 4, 103), (1339, 3, None)])
def test_an_amount_decides_how_its_payment_ends(living, cents, status, decline):
    acquirer = living("declines")
    terminal, phone = Terminal(acquirer), Phone(acquirer)
    request = terminal.request(cents)
    bundle = terminal.bundle(request, phone.accept(request), phone.passes()[0])
    receipt = acquirer.check(acquirer.call("POST", "/executions", data=bundle).content, "BPP1-RCT")
    assert (receipt[2], receipt.get(15)) == (status, decline)
    stuck = terminal.request(1340)
    bundle = terminal.bundle(stuck, phone.accept(stuck), phone.passes()[0])
    assert acquirer.call("POST", "/executions", data=bundle).json()["status"] == "IN_PROGRESS"
    acquirer.control("POST", "settle")
    assert acquirer.check(acquirer.call("POST", "/executions", data=bundle).content, "BPP1-RCT")[2] == 3


def test_an_impostors_answers_do_not_hold(living):
    acquirer = living("impostor")
    terminal, phone = Terminal(acquirer), Phone(acquirer)
    request = terminal.request()
    bundle = terminal.bundle(request, phone.accept(request), phone.passes()[0])
    other = acquirer.call("POST", "/executions", data=bundle).content
    assert acquirer.check(other, "BPP1-RCT")[1] != payload(request)[1]
    with pytest.raises(KeyError):
        acquirer.check(acquirer.call("POST", "/executions", data=bundle).content, "BPP1-RCT")
    assert acquirer.check(acquirer.call("POST", "/executions", data=bundle).content, "BPP1-RCT")[1] == payload(request)[1]

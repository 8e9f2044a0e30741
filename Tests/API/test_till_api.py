"""The terminal's API for tills against its own OpenAPI file: requests made up from the file, answers held against it."""

import itertools
import json
import zlib

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sandbox import ROOT, Gateway
from terminal import Terminal

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")

CONTRACT = ROOT / "Public/api/v1/openapi.json"
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
#: Each may ask ten times a second: so many together are never told to slow down.
TOKENS = 12
#: What was answered as it was asked.
DONE = set()


def schema(mode):
    # A stream of events has no end that could be waited for: the client's tests read it.
    made = schemathesis.openapi.from_dict(json.loads(CONTRACT.read_text(encoding="utf-8"))).exclude(path="/events")
    made.config.generation.update(modes=[mode])
    # Methods that a path does not have are in the file for no path: there is nothing to hold the answers against.
    made.config.phases.coverage.unexpected_methods = set()
    return made


good, bad = schema(GenerationMode.POSITIVE), schema(GenerationMode.NEGATIVE)


class Shop:
    """A terminal with a charge in each state that is easily had, and tokens to ask with."""

    def __init__(self):
        self.gateway = Gateway("--settle-after", "0")
        self.terminal = Terminal(self.gateway)
        self.tokens = itertools.cycle([self.terminal.token(f"till {n}", "charges", "state", "screen") for n in range(TOKENS)])
        self.session = requests.Session()
        # Its certificate is its own; the client of the other tests knows it by its fingerprint.
        self.session.verify, self.session.trust_env = False, False
        self.base = f"{self.terminal.url}/api/v1"
        paid = self.open("paid")
        assert self.gateway.pay(self.until(paid["id"], "requiresAction")["link"]).returncode == 0
        self.until(paid["id"], "succeeded")
        self.taken_back = self.open("taken back")["id"]
        self.free()
        self.charges = [paid["id"], self.taken_back]
        self.numbers = itertools.count()
        self.keyed = (f"Bearer {next(self.tokens)}", "known")
        self.session.post(f"{self.base}/charges", json={"amountMinor": 1}, headers={"Authorization": self.keyed[0], "Idempotency-Key": "known"}, timeout=90)
        self.free()
        self.messages = [self.question()]

    def question(self):
        """A message that is on the screen."""
        up = self.ask("GET", "/screen")
        if up.status_code == 200:
            self.ask("DELETE", f"/screen/{up.json()['id']}")
        shown = self.ask("POST", "/screen", json={"kind": "choose", "title": "Which?", "options": list("abcdef")})
        assert shown.status_code == 201, shown.text
        return shown.json()["id"]

    def ask(self, method, path, **how):
        headers = {"Authorization": f"Bearer {next(self.tokens)}"} | how.pop("headers", {})
        return self.session.request(method, self.base + path, headers=headers, timeout=90, **how)

    def open(self, key):
        answer = self.ask("POST", "/charges", json={"amountMinor": 1250}, headers={"Idempotency-Key": key.replace(" ", "-")})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def until(self, charge, *states):
        said = self.ask("GET", f"/charges/{charge}").json()
        for _ in range(20):
            if said["state"] in states:
                return said
            said = self.ask("GET", f"/charges/{charge}", params={"wait": 30, "since": said["state"]}).json()
        raise AssertionError(said)

    def free(self):
        """Ends what holds the terminal."""
        answer = self.ask("GET", "/charges/current")
        if answer.status_code == 200 and answer.json()["holdsTerminal"]:
            charge = answer.json()["id"]
            self.ask("POST", f"/charges/{charge}/cancel")
            self.until(charge, "cancelled", "succeeded", "failed", "expired")

    def stop(self):
        self.session.close()
        self.terminal.stop()
        self.gateway.stop()


@pytest.fixture(scope="module")
def shop():
    running = Shop()
    yield running
    running.stop()


def call(case, shop, token=None):
    """Sends what was made up, with a good token and never for long."""
    headers = {"Authorization": f"Bearer {next(shop.tokens)}" if token is None else token}
    if case.headers:
        case.headers.pop("Authorization", None)
    if isinstance(case.query, dict) and str(case.query.get("wait", "")).isdigit():
        case.query["wait"] = min(int(case.query["wait"]), 1)
    return case.call(base_url=shop.base, session=shop.session, headers=headers if token != "" else None, verify=False, timeout=90)


@good.parametrize()
@settings(max_examples=25, phases=PHASES, **BOUNDED)
def test_a_request_that_the_file_allows_gets_a_documented_answer(case, shop):
    # Chosen by what was made up, so that a failure repeats: three of four are about what exists.
    pick = zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode())
    if case.path_parameters and pick % 4:
        known = shop.messages if case.operation.path.startswith("/screen") else shop.charges
        case.path_parameters["id"] = known[pick % len(known)]
    token = None
    match case.operation.label:
        case "POST /charges":
            shop.free()
        case "POST /charges/{id}/cancel" if pick % 2:
            shop.free()
            case.path_parameters["id"] = shop.open(f"cancel-{next(shop.numbers)}")["id"]
        case "PUT /screen/{id}" | "DELETE /screen/{id}" if pick % 2:
            case.path_parameters["id"] = shop.question()
        case "GET /charges/lookup" if pick % 2:
            token, case.query["key"] = shop.keyed
    answer = call(case, shop, token)
    assert answer.status_code not in (400, 415, 429), answer.text
    case.validate_response(answer, checks=CHECKS)
    if answer.status_code < 300:
        DONE.add(case.operation.label)


def test_each_of_them_was_done_and_not_only_refused(shop):
    wanted = {f"{method.upper()} {path}" for path, item in json.loads(CONTRACT.read_text(encoding="utf-8"))["paths"].items() for method in item}
    # Let go can be what nobody answers for, and a gateway of the sandbox does.
    assert wanted - DONE == {"GET /events", "POST /charges/{id}/release"}


@bad.parametrize()
@settings(max_examples=25, phases=PHASES, **BOUNDED)
def test_a_request_that_the_file_forbids_gets_a_documented_answer(case, shop):
    case.validate_response(call(case, shop), checks=CHECKS)


@good.parametrize()
@settings(max_examples=2, phases=PHASES, **BOUNDED)
@pytest.mark.parametrize("token", ["", "Bearer", "Bearer till_lan_guess", "Basic dGlsbDp0aWxs"])
def test_nothing_but_the_file_is_answered_without_a_good_token(case, token, shop):
    answer = call(case, shop, token)
    if case.operation.path == "/openapi.json":
        assert answer.status_code == 200
    else:
        # Without any it is taken for a page's, whose form is looked at first.
        assert answer.status_code in (401, 429) or token == "" and answer.status_code in (403, 422), answer.text
    case.validate_response(answer, checks=CHECKS)


def test_the_terminal_serves_the_very_file(shop):
    answer = shop.session.get(f"{shop.base}/openapi.json", timeout=30)
    assert answer.content == CONTRACT.read_bytes() and answer.headers["Content-Type"] == "application/json"


def test_every_answer_that_refuses_has_its_code_in_the_file(shop):
    """Each promise in words: what a till meets in a bad hour."""
    shop.free()
    charge = shop.open("a-bad-hour")["id"]
    for method, path, how, expected in [
        ("POST", "/charges", {"json": {"amountMinor": 1}}, (400, "idempotency_key_missing")),
        ("POST", "/charges", {"json": {"amountMinor": 1}, "headers": {"Idempotency-Key": "x"}}, (409, "busy")),
        ("POST", "/charges", {"json": {"amountMinor": 9}, "headers": {"Idempotency-Key": "a-bad-hour"}}, (409, "busy")),
        ("POST", f"/charges/{shop.charges[0]}/cancel", {}, (409, "already_paid")),
        ("POST", f"/charges/{shop.taken_back}/cancel", {}, (409, "already_ended")),
        ("GET", "/charges/lookup?key=never", {}, (404, "charge_not_found")),
        ("GET", "/charges?limit=0", {}, (422, "invalid_query")),
        ("PUT", "/settings", {"json": {}}, (403, "not_for_tokens")),
        ("POST", "/screen", {"json": {"kind": "qr", "title": "x", "content": "https://pay.wct.me/1"}}, (422, "code_not_allowed")),
    ]:
        answer = shop.ask(method, path, **how)
        said = (answer.status_code, answer.json()["code"])
        assert said == expected or (expected[1] == "busy" and said[1] == "idempotency_conflict"), (path, answer.text)
        assert said[1] in CONTRACT.read_text(encoding="utf-8")
        assert answer.json()["message"] and answer.json()["action"]
    shop.ask("POST", f"/charges/{charge}/cancel")
    shop.until(charge, "cancelled")

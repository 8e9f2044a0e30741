"""The CDDL of BPP/1 against the published bytes: they fit, each with the rule of its name, and what is changed in a type does not."""

import json
import pathlib

import cbor2
import pytest
from cddl_verifier import Validator, schema_diagnostics

root = pathlib.Path(__file__).resolve().parent.parent.parent
CDDL = (root / "docs/ble-payment-profile.cddl").read_text(encoding="utf-8")
VECTORS = json.loads((root / "Tests/TapProtocolTests/Vectors/bpp1.json").read_text(encoding="utf-8"))
PAYMENT = bytes.fromhex(VECTORS["paymentID"].replace("-", ""))


def vector(name: str) -> bytes:
    return bytes.fromhex(VECTORS[name])


SCHEMA = Validator(CDDL)


def fits(rule: str, encoded: bytes) -> bool:
    return SCHEMA.validate(encoded, root_type=rule).valid


OBJECTS = {
    "cert": "certificate", "request": "request", "accept": "accept", "accept.offline": "accept", "claim": "claim",
    "receipt": "receipt", "pass.online": "pass", "pass.voucher": "pass",
}

REQUEST, CLAIM, ACCEPT, PASS, RECEIPT = (vector(name) for name in ("request", "claim", "accept", "pass.online", "receipt"))
OPTION = {1: "opt-1", 2: "13500000", 3: "USDC", 4: 6, 5: "Base", 6: "eip155:8453:0x35E6Cb35647076539F8C4D14F51e03841BcD1f0e", 7: 5}
MESSAGES = {
    "request-message": [1, 1, {1: PAYMENT, 2: REQUEST}],
    "claim-message": [2, 1, {0: 2, 1: PAYMENT, 2: CLAIM}],
    "hold": [3, 1, {1: PAYMENT}],
    "reopen": [4, 1, {1: PAYMENT, 2: 2}],
    "other-paid": [5, 1, {1: PAYMENT}],
    "cancel-pos": [6, 1, {1: PAYMENT, 2: 3}],
    "options": [7, 1, {0: 2, 1: PAYMENT, 2: [OPTION], 3: 1_764_000_000}],
    "sign": [8, 1, {0: 3, 1: PAYMENT, 2: "opt-1", 3: 0, 4: 1, 5: "eip155:8453", 6: "eth_signTypedData_v4", 7: "[]"}],
    "received": [33, 1, {1: PAYMENT, 2: 1, 3: 3, 4: 1_764_000_000, 5: True}],
    "accept-message": [34, 2, {1: ACCEPT, 2: PASS}],
    "cancel-pay": [35, 2, {1: PAYMENT, 2: 4}],
    "keepalive": [36, 2, {1: PAYMENT, 2: 2}],
    "accounts": [37, 2, {1: PAYMENT, 2: [OPTION[6]]}],
    "choose": [38, 3, {1: PAYMENT, 2: "opt-1"}],
    "signatures": [39, 4, {0: 4, 1: PAYMENT, 2: "opt-1", 3: ["0x" + "ab" * 65]}],
    "ack": [64, 3, {0: 2, 1: PAYMENT}],
    "error": [65, 3, {0: 2, 2: 0x25, 3: "no receipt"}],
    "ping": [66, 3, {1: bytes(8)}],
    "pong": [67, 3, {1: bytes(8)}],
    "result": [68, 4, {1: PAYMENT, 2: 3, 3: RECEIPT}],
    "bye": [69, 5, {2: 0}],
}


def test_the_file_is_cddl():
    assert schema_diagnostics(CDDL) == ()


@pytest.mark.parametrize("name", OBJECTS)
def test_each_published_object_fits_its_rule_and_no_other(name):
    assert fits(OBJECTS[name], vector(name))
    for other in set(OBJECTS.values()) - {OBJECTS[name]}:
        assert not fits(other, vector(name)), other


def test_the_published_handshake_and_message_fit():
    assert fits("handshake-payload", vector("noise.m2.payload"))
    assert fits("received", vector("msg.RECEIVED.plain"))


def test_the_bundle_fits():
    parts = [vector(name) for name in ("cert", "request", "pass.online", "accept", "claim")]
    assert fits("bundle", cbor2.dumps(parts))
    assert not fits("bundle", cbor2.dumps(parts[:4]))
    # Nested arrays are no byte strings.
    assert not fits("bundle", cbor2.dumps([cbor2.loads(part) for part in parts]))


def test_there_is_an_example_of_each_message():
    rules = [line.split(" = [")[0] for line in CDDL.splitlines() if " = [" in line and line.split(" = [")[1][:1].isdigit()]
    assert sorted(rules) == sorted(MESSAGES)


@pytest.mark.parametrize("name", MESSAGES)
def test_each_message_fits_its_rule_and_what_is_changed_in_it_does_not(name):
    kind, number, body = MESSAGES[name]
    assert fits(name, cbor2.dumps([kind, number, body])) and fits("message", cbor2.dumps([kind, number, body]))
    # Keys of later versions are skipped, and others refused.
    assert fits(name, cbor2.dumps([kind, number, body | {128: "later"}]))
    assert not fits(name, cbor2.dumps([kind, number, body | {127: "unknown"}]))
    assert not fits(name, cbor2.dumps([kind, 0, body]))
    for key, value in body.items():
        if key == 0 and kind not in (2, 7, 8, 39, 64):
            continue
        assert not fits(name, cbor2.dumps([kind, number, body | {key: None}])), key
        wrong = "text" if not isinstance(value, str) else b"bytes"
        assert not fits(name, cbor2.dumps([kind, number, body | {key: wrong}])), key

"""A sandbox acquirer of the tests' own, with a terminal and a phone made of foreign libraries: they share no line with ours."""

import base64
import hashlib
import json
import os
import subprocess
import time

import cbor2
import requests
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sandbox import PROGRAM

CONTROL = {"Authorization": "Bearer control"}
SHOP = {"identifier": "shop@example.com", "password": "shop-password"}
CUSTOMER = {"identifier": "customer@example.com", "password": "customer-password"}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(item):
    return cbor2.dumps(item, canonical=True)


def jwk(key):
    numbers = key.public_key().public_numbers()
    return {"kty": "EC", "crv": "P-256", "x": b64(numbers.x.to_bytes(32, "big")), "y": b64(numbers.y.to_bytes(32, "big"))}


def signed(payload, context, algorithm, key_id, sign):
    """A COSE_Sign1. Source: RFC 9052, section 4.4; BPP/1, rule E4."""
    protected = encode({1: algorithm, 4: key_id})
    body = encode(payload)
    signature = sign(encode(["Signature1", protected, context.encode(), body]))
    return encode([protected, {}, body, signature])


def payload(envelope):
    return cbor2.loads(cbor2.loads(envelope)[2])


def verify(envelope, context, public_key):
    protected, _, body, signature = cbor2.loads(envelope)
    public_key.verify(signature, encode(["Signature1", protected, context.encode(), body]))


class Acquirer:
    """The program itself on a port of its own, for as long as the tests run."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "acquirer", "--control-token", "control", "--partner-key", "partner", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.session = requests.Session()

    def call(self, method, path, headers=None, body=None, data=None, timeout=30):
        return self.session.request(method, self.url + path, headers=headers, json=body, data=data, timeout=timeout)

    def control(self, method, word, body=None):
        answer = self.call(method, f"/control/{word}", CONTROL, body)
        assert answer.ok, answer.text
        return answer.json()

    def log_in(self, who):
        answer = self.call("POST", "/login", body=who)
        assert answer.ok, answer.text
        return {"Authorization": f"Bearer {answer.json()['session']}"}

    def balances(self):
        return {(line["account"], line["currency"]): line["amount"] for line in self.control("GET", "books")["balances"]}

    def trusted(self):
        keys = self.call("GET", "/keys").json()["keys"]
        return {unb64(key["kid"]): ed25519.Ed25519PublicKey.from_public_bytes(unb64(key["publicKey"])) for key in keys}

    def check(self, envelope, context):
        """What an object of the acquirer's says, once its signature holds."""
        protected = cbor2.loads(cbor2.loads(envelope)[0])
        verify(envelope, context, self.trusted()[protected[4]])
        return payload(envelope)

    def stop(self):
        self.session.close()
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()

    def kill(self):
        self.session.close()
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


class Terminal:
    def __init__(self, acquirer, name="till-py"):
        self.key = ed25519.Ed25519PrivateKey.generate()
        public = self.key.public_key().public_bytes_raw()
        self.session = acquirer.log_in(SHOP)
        static, now = os.urandom(32), int(time.time())
        proof = self.key.sign(encode(["BPP1-ENROL", name, static, public, now]))
        self.order = {"x25519": b64(static), "ed25519": b64(public), "at": now, "proof": b64(proof)}
        answer = acquirer.call("POST", f"/terminals/{name}/cert", self.session, self.order)
        assert answer.ok, answer.text
        self.certificate = unb64(answer.json()["cert"])
        self.about = acquirer.check(self.certificate, "BPP1-CERT")
        self.key_id = hashlib.sha256(public).digest()[:8]

    def sign(self, body, context):
        return signed(body, context, -8, self.key_id, self.key.sign)

    def request(self, amount=1250, currency="EUR"):
        now = int(time.time() * 1000)
        name = bytearray(now.to_bytes(6, "big") + os.urandom(10))
        name[6], name[8] = name[6] & 0x0F | 0x70, name[8] & 0x3F | 0x80
        return self.sign(
            {
                1: bytes(name), 2: self.about[3], 3: "operator-1", 4: self.about[4], 5: amount, 6: currency, 7: 2, 8: now,
                9: now + 120_000, 10: {1: 1, 2: 500, 3: [500, 1000]}, 12: self.about[2], 13: 3,
                14: hashlib.sha256(self.certificate).digest(),
            },
            "BPP1-REQ",
        )

    def bundle(self, request, accept, pass_, attempt=1, mode=1):
        claim = self.sign(
            {
                1: payload(request)[1], 2: hashlib.sha256(accept).digest(), 3: int(time.time() * 1000), 4: attempt,
                5: mode,
            },
            "BPP1-CLM",
        )
        return encode([self.certificate, request, pass_, accept, claim])


class Phone:
    def __init__(self, acquirer):
        self.acquirer = acquirer
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.session = acquirer.log_in(CUSTOMER)
        numbers = self.key.public_key().public_numbers()
        point = b"\x04" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")
        self.key_id = hashlib.sha256(point).digest()[:8]

    def passes(self, count=1):
        answer = self.acquirer.call("POST", "/passes", self.session, {"deviceKey": jwk(self.key), "count": count})
        assert answer.ok, answer.text
        return [unb64(text) for text in answer.json()["passes"]]

    def hold(self, amount=10_000, key="hold"):
        order = {
            "instrumentId": "card-customer-demo", "amount": amount, "currency": "EUR", "exponent": 2,
            "deviceKey": jwk(self.key),
        }
        return self.acquirer.call("POST", "/pre-authorisations", {**self.session, "Idempotency-Key": key}, order)

    def sign(self, message):
        first, second = utils.decode_dss_signature(self.key.sign(message, ec.ECDSA(hashes.SHA256())))
        return first.to_bytes(32, "big") + second.to_bytes(32, "big")

    def accept(self, request, tip=0, spend=None):
        asked = payload(request)
        body = {
            1: asked[1], 2: hashlib.sha256(request).digest(), 3: asked[5], 4: tip, 5: asked[5] + tip, 6: asked[6],
            7: "card-customer-demo", 8: int(time.time() * 1000), 9: 1, 10: 3 if spend else 1, 11: os.urandom(16),
            **(spend or {}),
        }
        return signed(body, "BPP1-ACC", -7, self.key_id, self.sign)


def opened(jwe, key):
    """What a JWE says: ECDH-ES, A256GCM. Source: RFC 7516, section 5.2; RFC 7518, section 4.6."""
    header, encrypted_key, nonce, content, tag = jwe.split(".")
    assert encrypted_key == ""
    fields = json.loads(unb64(header))
    assert (fields["alg"], fields["enc"]) == ("ECDH-ES", "A256GCM")
    numbers = [int.from_bytes(unb64(fields["epk"][name]), "big") for name in "xy"]
    sender = ec.EllipticCurvePublicNumbers(*numbers, ec.SECP256R1()).public_key()
    shared = key.exchange(ec.ECDH(), sender)

    def number(value):
        return value.to_bytes(4, "big")

    derived = hashlib.sha256(
        number(1) + shared + number(7) + b"A256GCM" + number(0) + number(0) + number(256)
    ).digest()
    return AESGCM(derived).decrypt(unb64(nonce), unb64(content) + unb64(tag), header.encode()).decode()

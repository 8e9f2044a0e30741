"""The terminal's side of BPP/1 (docs/ble-payment-profile.md), as much of it as one payment needs: framing, handshake, signed
objects, messages, the checks of an accept and of a receipt, and a journal. For measuring only: nothing is read back.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import sqlite3
import time
import urllib.parse
import uuid

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils, x25519
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256

SERVICE = "7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9"
WRITE, STATUS, READ = (SERVICE.replace("7d2b0001", f"7d2b000{number}") for number in (2, 3, 4))

CLAIM, RECEIVED, ACCEPT, ACK, RESULT = 2, 33, 34, 64, 68
COMPLETED = 3


def encoded(item):
    return cbor2.dumps(item, canonical=True)


def sha256(data):
    return hashlib.sha256(data).digest()


def milliseconds():
    return time.time_ns() // 1_000_000


# Framing, section 6.


class Fragmenter:
    def __init__(self, size):
        self.size, self.sequence = size, 0

    def fragments(self, message):
        first, rest = True, message
        while rest:
            head = self.sequence | (0x80 if first else 0)
            self.sequence = (self.sequence + 1) & 0x3F
            prefix = len(message).to_bytes(2, "big") if first else b""
            taken = self.size - 1 - len(prefix)
            part, rest, first = rest[:taken], rest[taken:], False
            yield bytes([head | (0 if rest else 0x40)]) + prefix + part


class Reassembler:
    def __init__(self):
        self.sequence, self.message, self.length = 0, b"", 0

    def add(self, fragment):
        """The whole message with its last fragment, None before."""
        head = fragment[0]
        if head & 0x3F != self.sequence:
            raise ConnectionError("a fragment is missing")
        self.sequence = (self.sequence + 1) & 0x3F
        if head & 0x80:
            self.length, self.message = int.from_bytes(fragment[1:3], "big"), fragment[3:]
            if self.length == 0:
                raise ConnectionError(f"the phone ends the link with code {fragment[3]}")
        else:
            self.message += fragment[1:]
        if not head & 0x40:
            return None
        if len(self.message) != self.length:
            raise ConnectionError("a message of another length")
        return bytes(self.message)


# Session security, section 7: Noise_NX_25519_ChaChaPoly_SHA256, with the terminal as responder.


class Cipher:
    def __init__(self, key):
        self.cipher, self.count = ChaCha20Poly1305(key), 0

    def nonce(self):
        self.count += 1
        return bytes(4) + (self.count - 1).to_bytes(8, "little")

    def seal(self, plain, associated=b""):
        return self.cipher.encrypt(self.nonce(), plain, associated)

    def open(self, message, associated=b""):
        return self.cipher.decrypt(self.nonce(), message, associated)


class Handshake:
    """Answers a phone's first message and opens the channel."""

    def __init__(self, first_message):
        self.phone = first_message[:32]
        self.hash = self.chain = b"Noise_NX_25519_ChaChaPoly_SHA256"
        for part in (b"BPP/1" + uuid.UUID(SERVICE).bytes + bytes(16), self.phone, first_message[32:]):
            self.mix(part)

    def mix(self, data):
        self.hash = sha256(self.hash + data)

    def derive(self, material):
        secret = hmac.digest(self.chain, material, "sha256")
        first = hmac.digest(secret, b"\1", "sha256")
        return first, hmac.digest(secret, first + b"\2", "sha256")

    def mix_key(self, material):
        self.chain, key = self.derive(material)
        self.cipher = Cipher(key)

    def seal(self, plain):
        sealed = self.cipher.seal(plain, self.hash)
        self.mix(sealed)
        return sealed

    def answer(self, static, payload):
        """The answer, and the ciphers of both directions: from the phone, to the phone."""
        ephemeral = x25519.X25519PrivateKey.generate()
        phone = x25519.X25519PublicKey.from_public_bytes(self.phone)
        public = ephemeral.public_key().public_bytes_raw()
        self.mix(public)
        self.mix_key(ephemeral.exchange(phone))
        sealed = self.seal(static.public_key().public_bytes_raw())
        self.mix_key(static.exchange(phone))
        message = public + sealed + self.seal(payload)
        return message, *map(Cipher, self.derive(b""))


# Signed objects, sections 8 and 9.


def to_be_signed(protected, context, payload):
    return encoded(["Signature1", protected, context, payload])


def signed(payload, context, key):
    public = key.public_key().public_bytes_raw()
    protected, payload = encoded({1: -8, 4: sha256(public)[:8]}), encoded(payload)
    return encoded([protected, {}, payload, key.sign(to_be_signed(protected, context, payload))])


def opened(data, context, key):
    """What a signed object holds. Raises where `key` has not signed it."""
    protected, _, payload, signature = cbor2.loads(data)
    message = to_be_signed(protected, context, payload)
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, message)
    else:
        r, s = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:]))
        key.verify(utils.encode_dss_signature(r, s), message, ec.ECDSA(SHA256()))
    return cbor2.loads(payload)


def device_key(cose):
    x, y = (int.from_bytes(cose[name], "big") for name in (-2, -3))
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


class Refused(Exception):
    """The phone's accept or the acquirer's receipt does not fit."""


class Payment:
    """One payment's objects and the checks on what comes back."""

    def __init__(self, shop, amount):
        certificate = shop.certificate
        now = milliseconds()
        self.shop, self.amount = shop, amount
        random = bytearray(os.urandom(10))
        random[0], random[2] = random[0] & 0x0F | 0x70, random[2] & 0x3F | 0x80
        self.id = now.to_bytes(6, "big") + bytes(random)
        self.currency = certificate[10][0]
        self.request = signed(
            {
                1: self.id, 2: certificate[3], 3: "op-rig", 4: certificate[4], 5: amount, 6: self.currency, 7: 2,
                8: now, 9: now + 120_000, 10: {1: 0, 2: 0, 3: []}, 12: certificate[2], 13: 1,
                14: sha256(shop.signed_certificate),
            },
            b"BPP1-REQ",
            shop.signing,
        )  # fmt: skip

    def offer(self):
        return encoded({1: self.shop.signed_certificate, 2: self.request, 3: milliseconds() // 1000})

    def take(self, accept, passed):
        """The terminal's checks of an accept. One of a phone without network counts: this terminal has one."""
        passing = opened(passed, b"BPP1-PASS", self.shop.trusted)
        said = opened(accept, b"BPP1-ACC", device_key(passing[3]))
        now = milliseconds()
        if not (
            passing[9] - 600 <= now // 1000 <= passing[10] + 600
            and said[1] == self.id
            and said[2] == sha256(self.request)
            and (said[3], said[4], said[5], said[6]) == (self.amount, 0, self.amount, self.currency)
            and said[9] == 1
        ):
            raise Refused("the accept is of another payment")
        self.accept, self.passed = accept, passed

    def claim(self):
        body = {1: self.id, 2: sha256(self.accept), 3: milliseconds(), 4: 1, 5: 1}
        self.claimed = signed(body, b"BPP1-CLM", self.shop.signing)
        return self.claimed

    def executed(self):
        """The acquirer's receipt."""
        parts = [self.shop.signed_certificate, self.request, self.passed, self.accept, self.claimed]
        receipt = self.shop.call("POST", "/executions", encoded(parts), "application/cbor")
        said = opened(receipt, b"BPP1-RCT", self.shop.trusted)
        about = (self.id, COMPLETED, sha256(self.request), sha256(self.accept))
        money = (self.amount, 0, self.amount, self.currency, 2, self.shop.certificate[3])
        if tuple(said[key] for key in (1, 2, 3, 4)) != about or tuple(said[key] for key in range(5, 11)) != money:
            raise Refused("the receipt is of another payment")
        return receipt


class Journal:
    """What happened, each record on the disk before this returns: as Till's journal, SQLite with a write-ahead log that is
    written through."""

    def __init__(self, path):
        self.database = sqlite3.connect(path, isolation_level=None)
        for setting in ("journal_mode = WAL", "synchronous = FULL"):
            self.database.execute(f"PRAGMA {setting}")
        self.database.execute("CREATE TABLE IF NOT EXISTS tap (payment BLOB, kind TEXT, body BLOB, at INTEGER)")

    def keep(self, payment, kind, *objects):
        self.database.execute(
            "INSERT INTO tap VALUES (?, ?, ?, ?)", (payment.id, kind, encoded(list(objects)), milliseconds())
        )


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Shop:
    """A terminal that is enrolled at the acquirer, with one connection to it that stays open."""

    def __init__(self, acquirer, login, password, terminal):
        address = urllib.parse.urlsplit(acquirer)
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        self.session = None
        self.static, self.signing = x25519.X25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()
        answer = self.json("POST", "/login", {"identifier": login, "password": password})
        self.session = answer["session"]
        key = next(key for key in self.json("GET", "/keys")["keys"] if key["current"])
        self.trusted = ed25519.Ed25519PublicKey.from_public_bytes(from_base64url(key["publicKey"]))
        static, signing = (key.public_key().public_bytes_raw() for key in (self.static, self.signing))
        at = milliseconds() // 1000
        proof = self.signing.sign(encoded(["BPP1-ENROL", terminal, static, signing, at]))
        answer = self.json(
            "POST",
            f"/terminals/{terminal}/cert",
            {"x25519": base64url(static), "ed25519": base64url(signing), "at": at, "proof": base64url(proof)},
        )
        self.signed_certificate = from_base64url(answer["cert"])
        self.certificate = opened(self.signed_certificate, b"BPP1-CERT", self.trusted)

    def call(self, method, path, body=None, kind="application/json"):
        headers = {"Content-Type": kind} if body else {}
        if self.session:
            headers["Authorization"] = f"Bearer {self.session}"
        try:
            answer, data = self.answer(method, path, body, headers)
        except (ConnectionError, http.client.RemoteDisconnected):
            # It rested too long and was closed; the next request opens another. Everything here may be said twice.
            self.connection.close()
            answer, data = self.answer(method, path, body, headers)
        if answer.status != 200:
            raise Refused(f"{method} {path}: {answer.status} {data[:200]!r}")
        return data

    def answer(self, *request):
        self.connection.request(*request)
        answer = self.connection.getresponse()
        return answer, answer.read()

    def json(self, method, path, body=None):
        return json.loads(self.call(method, path, json.dumps(body) if body else None))

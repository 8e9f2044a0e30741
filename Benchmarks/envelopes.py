#!/usr/bin/env python3
"""Seals and opens WalletConnect envelopes: as pyWalletConnect does, whose cipher is OpenSSL's, and in Python alone.

Usage: envelopes.py COUNT. Prints two lines of rates. Source of the cipher: RFC 8439.
"""
import base64
import os
import sys
import time

BYTES = 2048
MASK = 0xFFFFFFFF


def _quarter(x, a, b, c, d):
    x[a] = (x[a] + x[b]) & MASK
    v = x[d] ^ x[a]
    x[d] = (v << 16 | v >> 16) & MASK
    x[c] = (x[c] + x[d]) & MASK
    v = x[b] ^ x[c]
    x[b] = (v << 12 | v >> 20) & MASK
    x[a] = (x[a] + x[b]) & MASK
    v = x[d] ^ x[a]
    x[d] = (v << 8 | v >> 24) & MASK
    x[c] = (x[c] + x[d]) & MASK
    v = x[b] ^ x[c]
    x[b] = (v << 7 | v >> 25) & MASK


def _words(data):
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def _block(key, counter, nonce):
    start = _words(b"expand 32-byte k") + key + [counter] + nonce
    x = list(start)
    for _ in range(10):
        _quarter(x, 0, 4, 8, 12)
        _quarter(x, 1, 5, 9, 13)
        _quarter(x, 2, 6, 10, 14)
        _quarter(x, 3, 7, 11, 15)
        _quarter(x, 0, 5, 10, 15)
        _quarter(x, 1, 6, 11, 12)
        _quarter(x, 2, 7, 8, 13)
        _quarter(x, 3, 4, 9, 14)
    return b"".join(((one + two) & MASK).to_bytes(4, "little") for one, two in zip(x, start))


def _cipher(key, nonce, data):
    stream = b"".join(_block(key, 1 + i, nonce) for i in range(-(-len(data) // 64)))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def _tag(key, nonce, sealed):
    secret = _block(key, 0, nonce)[:32]
    r = int.from_bytes(secret[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    data = sealed + b"\0" * (-len(sealed) % 16) + (0).to_bytes(8, "little") + len(sealed).to_bytes(8, "little")
    total = 0
    for i in range(0, len(data), 16):
        total = (total + int.from_bytes(data[i : i + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(secret[16:], "little")) % 2**128).to_bytes(16, "little")


class PurePython:
    """The envelope of type 0 with nothing but the language."""

    def __init__(self, key):
        self.key = _words(key)

    def encrypt_payload(self, message):
        nonce = os.urandom(12)
        sealed = _cipher(self.key, _words(nonce), message.encode())
        return base64.b64encode(b"\0" + nonce + sealed + _tag(self.key, _words(nonce), sealed)).decode()

    def decrypt_payload(self, text):
        data = base64.b64decode(text)
        nonce, sealed = _words(data[1:13]), data[13:-16]
        assert _tag(self.key, nonce, sealed) == data[-16:], "not authentic"
        return _cipher(self.key, nonce, sealed).decode()


def measure(name, envelope, count):
    message = '{"' + "x" * (BYTES - 4) + '"}'
    start = time.perf_counter()
    texts = [envelope.encrypt_payload(message) for _ in range(count)]
    middle = time.perf_counter()
    assert all(envelope.decrypt_payload(text) == message for text in texts)
    end = time.perf_counter()
    print(f"{name}: sealed {count / (middle - start):.0f}/s, opened {count / (end - middle):.0f}/s", flush=True)


def main(count):
    key = bytes.fromhex("5a" * 32)
    # Each opens what the other sealed, or they would be two different things.
    from pywalletconnect.enc_tunnel import EncryptedEnvelope

    class Padded(EncryptedEnvelope):
        def encrypt_payload(self, message):
            text = super().encrypt_payload(message)
            return text + "=" * (-len(text) % 4)

    assert PurePython(key).decrypt_payload(Padded(key).encrypt_payload('{"a":1}')) == '{"a":1}'
    assert Padded(key).decrypt_payload(PurePython(key).encrypt_payload('{"a":1}')) == '{"a":1}'
    measure("pyWalletConnect", Padded(key), count)
    measure("pure Python", PurePython(key), max(20, count // 500))


main(int(sys.argv[1]) if len(sys.argv) > 1 else 20000)

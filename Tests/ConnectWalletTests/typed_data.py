"""Signs EIP-712 typed data. Shares no code with the project: keccak, the encoding and the curve are written out here."""

import hashlib
import hmac
import json

# --- Keccak-256, as in the Keccak team's reference


def _rotate(value, count):
    count %= 64
    return ((value << count) | (value >> (64 - count))) & (2**64 - 1) if count else value


def _permute(state):
    lfsr = 1
    for _ in range(24):
        columns = [state[x][0] ^ state[x][1] ^ state[x][2] ^ state[x][3] ^ state[x][4] for x in range(5)]
        for x in range(5):
            mixed = columns[(x + 4) % 5] ^ _rotate(columns[(x + 1) % 5], 1)
            for y in range(5):
                state[x][y] ^= mixed
        x, y, current = 1, 0, state[1][0]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, state[x][y] = state[x][y], _rotate(current, (step + 1) * (step + 2) // 2)
        for y in range(5):
            row = [state[x][y] for x in range(5)]
            for x in range(5):
                state[x][y] = row[x] ^ (~row[(x + 1) % 5] & (2**64 - 1) & row[(x + 2) % 5])
        for power in range(7):
            lfsr = ((lfsr << 1) ^ ((lfsr >> 7) * 0x71)) % 256
            if lfsr & 2:
                state[0][0] ^= 1 << ((1 << power) - 1)


def keccak(data):
    state = [[0] * 5 for _ in range(5)]
    padded = bytearray(data) + b"\x01"
    padded += b"\x00" * (-len(padded) % 136)
    padded[-1] |= 0x80
    for start in range(0, len(padded), 136):
        for lane in range(17):
            part = padded[start + lane * 8 : start + lane * 8 + 8]
            state[lane % 5][lane // 5] ^= int.from_bytes(part, "little")
        _permute(state)
    return b"".join(state[lane % 5][lane // 5].to_bytes(8, "little") for lane in range(4))


# --- EIP-712


def _encode_type(types, name):
    found, waiting = set(), [name]
    while waiting:
        current = waiting.pop().split("[")[0]
        if current in types and current not in found:
            found.add(current)
            waiting += [field["type"] for field in types[current]]
    ordered = [name] + sorted(found - {name})
    return "".join(f"{one}({','.join(f['type'] + ' ' + f['name'] for f in types[one])})" for one in ordered)


def _number(value):
    return value if isinstance(value, int) else int(value, 16 if value.lower().startswith("0x") else 10)


def _encode_value(types, kind, value):
    if kind.endswith("]"):
        inner = kind[: kind.rindex("[")]
        return keccak(b"".join(_encode_value(types, inner, one) for one in value))
    if kind in types:
        return hash_struct(types, kind, value)
    if kind == "string":
        return keccak(value.encode())
    if kind == "bytes":
        return keccak(bytes.fromhex(value[2:]))
    if kind.startswith("bytes"):
        return bytes.fromhex(value[2:]).ljust(32, b"\x00")
    if kind == "bool":
        return int(value).to_bytes(32, "big")
    return (_number(value) % 2**256).to_bytes(32, "big")


def hash_struct(types, name, value):
    encoded = keccak(_encode_type(types, name).encode())
    for field in types[name]:
        encoded += _encode_value(types, field["type"], value[field["name"]])
    return keccak(encoded)


def digest(document):
    data = json.loads(document) if isinstance(document, str) else document
    types = data["types"]
    domain = hash_struct(types, "EIP712Domain", data["domain"])
    return keccak(b"\x19\x01" + domain + hash_struct(types, data["primaryType"], data["message"]))


# --- secp256k1, SEC 2; nonces as in RFC 6979

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)


def _add(one, two):
    if one is None or two is None:
        return one or two
    if one[0] == two[0]:
        if (one[1] + two[1]) % P == 0:
            return None
        slope = 3 * one[0] * one[0] * pow(2 * one[1], -1, P)
    else:
        slope = (two[1] - one[1]) * pow(two[0] - one[0], -1, P)
    x = (slope * slope - one[0] - two[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def _times(number, point=G):
    result = None
    while number:
        if number & 1:
            result = _add(result, point)
        point = _add(point, point)
        number >>= 1
    return result


def address(key):
    x, y = _times(key)
    digits = keccak(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:].hex()
    check = keccak(digits.encode()).hex()
    return "0x" + "".join(d.upper() if int(check[i], 16) > 7 else d for i, d in enumerate(digits))


def _nonce(key, hashed):
    secret = key.to_bytes(32, "big") + (int.from_bytes(hashed, "big") % N).to_bytes(32, "big")
    value, mac = b"\x01" * 32, b"\x00" * 32
    for mark in (b"\x00", b"\x01"):
        mac = hmac.digest(mac, value + mark + secret, hashlib.sha256)
        value = hmac.digest(mac, value, hashlib.sha256)
    while True:
        value = hmac.digest(mac, value, hashlib.sha256)
        if 0 < (number := int.from_bytes(value, "big")) < N:
            return number
        mac = hmac.digest(mac, value + b"\x00", hashlib.sha256)
        value = hmac.digest(mac, value, hashlib.sha256)


def sign(key, hashed):
    nonce = _nonce(key, hashed)
    x, y = _times(nonce)
    r = x % N
    s = pow(nonce, -1, N) * (int.from_bytes(hashed, "big") + r * key) % N
    recovery = y & 1
    if s > N // 2:
        s, recovery = N - s, recovery ^ 1
    return "0x" + r.to_bytes(32, "big").hex() + s.to_bytes(32, "big").hex() + bytes([27 + recovery]).hex()

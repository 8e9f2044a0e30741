"""A till's client, written from the terminal's OpenAPI file and nothing else, with Python's own library.

It is also an example: copy what you need. It knows the terminal by the fingerprint of its certificate, gives each sale a key,
and after a lost answer asks what became of it instead of charging again.
"""

import hashlib
import http.client
import json
import ssl
import urllib.parse
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

#: An authority's word. "unknown" is none: wait, ask staff, and never charge again meanwhile.
ENDED = ("succeeded", "failed", "expired", "cancelled")


class Refused(Exception):
    """The terminal did not do it, and says why."""

    def __init__(self, status: int, said: dict, retry_after: int | None):
        super().__init__(f"{status} {said['code']}: {said['message']} {said['action']}")
        self.status, self.code, self.said, self.retry_after = status, said["code"], said, retry_after


@dataclass(frozen=True)
class Event:
    name: str
    id: str | None
    data: dict


class Till:
    def __init__(self, url: str, token: str, fingerprint: str, contract: dict):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.base = parts.hostname, parts.port or 443, "/api/v1"
        self.token, self.fingerprint = token, bytes.fromhex(fingerprint.replace(":", "").replace(" ", ""))
        self.operations = {
            operation["operationId"]: (method.upper(), path)
            for path, item in contract["paths"].items()
            for method, operation in item.items()
        }

    def connect(self, timeout: float = 90) -> http.client.HTTPSConnection:
        """The certificate is the terminal's own: what it is known by is its fingerprint, which its screen shows."""
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(self.host, self.port, context=tls, timeout=timeout)
        connection.connect()
        if hashlib.sha256(connection.sock.getpeercert(binary_form=True)).digest() != self.fingerprint:
            connection.close()
            raise ConnectionError("this is not the terminal: its certificate has another fingerprint")
        return connection

    def send(self, connection, operation: str, names: dict, query: dict, body, headers: dict) -> None:
        method, path = self.operations[operation]
        target = self.base + path.format(**{name: urllib.parse.quote(value, safe="") for name, value in names.items()})
        if query:
            target += "?" + urllib.parse.urlencode(query)
        headers = {"Authorization": f"Bearer {self.token}"} | headers
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, target, None if body is None else json.dumps(body), headers)

    def call(self, operation: str, *, names: dict = {}, query: dict = {}, body=None, headers: dict = {}) -> dict | None:
        connection = self.connect()
        try:
            self.send(connection, operation, names, query, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status == 204:
            return None
        said = json.loads(data)
        if answer.status >= 400:
            raise Refused(answer.status, said, int(answer.headers["Retry-After"] or 0) or None)
        return said

    # What a till does.

    def charge(self, cents: int, reference: str | None = None, key: str | None = None) -> dict:
        """A charge; the same key gives the same charge, however often it is asked for."""
        key, body = key or str(uuid.uuid4()), {"amountMinor": cents}
        if reference:
            body["reference"] = reference
        try:
            return self.call("openCharge", body=body, headers={"Idempotency-Key": key})
        except (OSError, http.client.HTTPException):
            return self.recover(key) or self.call("openCharge", body=body, headers={"Idempotency-Key": key})

    def recover(self, key: str) -> dict | None:
        """What the key has charged; None where it has charged nothing."""
        try:
            return self.call("lookUpCharge", query={"key": key})
        except Refused as refused:
            if refused.code == "charge_not_found":
                return None
            raise

    def until(self, charge: dict, *states: str) -> dict:
        """The charge once it is in one of these states. The terminal holds each question until something changes."""
        while charge["state"] not in states:
            charge = self.call("charge", names={"id": charge["id"]}, query={"wait": 30, "since": charge["state"]})
        return charge

    def cancel(self, charge: dict) -> dict:
        """Asks for it back and says how it ended: a payment that was faster counts."""
        try:
            self.call("cancelCharge", names={"id": charge["id"]})
        except Refused as refused:
            if refused.code not in ("already_paid", "already_ended"):
                raise
        return self.until(self.call("charge", names={"id": charge["id"]}), *ENDED)

    def events(self, after: str | None = None) -> Iterator[Event]:
        """Each change of each charge. Go on after a break with the last event's id."""
        connection = self.connect()
        try:
            self.send(connection, "events", {}, {}, None, {"Last-Event-ID": after} if after else {})
            answer = connection.getresponse()
            if answer.status != 200:
                raise Refused(answer.status, json.loads(answer.read()), None)
            name, data, id = "message", [], None
            while line := answer.readline():
                field, _, value = line.decode().rstrip("\n").partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "data":
                    data.append(value)
                elif field == "id":
                    id = value
                elif line == b"\n" and data:
                    yield Event(name, id, json.loads("\n".join(data)))
                    name, data = "message", []
        finally:
            connection.close()

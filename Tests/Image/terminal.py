"""The terminal as a browser on the shop's network has it: its own number, its own certificate, the page's own API."""

import base64
import hashlib
import http.client
import json
import ssl
import time
import uuid


#: Where the terminal is for itself: the number that QEMU's network gives its guest.
GUEST = "10.0.2.15:8443"

#: Seconds for an answer. Emulated on a busy host a machine is slow; nothing is lost by waiting.
PATIENCE = 300


class Refusal(Exception):
    """An answer that is not 2xx."""


class Terminal:
    def __init__(self, port):
        self.port, self.cookie, self.csrf = port, "", ""

    def _connection(self, timeout):
        # Its certificate is its own; what it is, is compared with the code on the screen.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=timeout)

    def fingerprint(self):
        line = self._connection(PATIENCE)
        try:
            line.connect()
            return base64.urlsafe_b64encode(hashlib.sha256(line.sock.getpeercert(binary_form=True)).digest()).decode().rstrip("=")
        finally:
            line.close()

    def ask(self, method, path, body=None, key=None, token=None, timeout=PATIENCE):
        headers = {"Host": GUEST, "Origin": f"https://{GUEST}", "Cookie": self.cookie}
        if self.csrf:
            headers["X-CSRF-Token"] = self.csrf
        if token:
            headers = {"Host": GUEST, "Authorization": f"Bearer {token}"}
        if key:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        line = self._connection(timeout)
        try:
            line.request(method, path, body, headers)
            answer = line.getresponse()
            text = answer.read().decode()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    self.cookie = value.split(";")[0]
        finally:
            line.close()
        if not 200 <= answer.status < 300:
            raise Refusal(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text) if text[:1] in "{[" else text

    def answers(self):
        try:
            return self.ask("GET", "/healthz", timeout=20)["status"] == "ok"
        except (OSError, http.client.HTTPException, Refusal, ValueError, KeyError):
            return False

    def claim(self, code, password):
        self.csrf = self.ask("POST", "/api/v1/claim", {"code": code, "password": password})["csrfToken"]
        self.password = password

    def log_in(self, password):
        self.csrf = self.ask("POST", "/api/v1/login", {"password": password})["csrfToken"]
        self.password = password

    def set_up(self, **more):
        settings = {
            "operatorID": "op-image", "merchantID": "mrch_image", "merchantName": "Café Morgenrot",
            "gatewayURL": "https://gateway.invalid", "gatewayKey": "wcp_" + "0" * 16, "currency": "USD", "locale": "en-US",
        }  # fmt: skip
        self.ask("PUT", "/api/v1/settings", settings | more)

    def update(self, bundle, password):
        """Sends a bundle as the page does, and has it installed; the version that was found in it."""
        with open(bundle, "rb") as file:
            size = file.seek(0, 2)
            piece = self.ask("POST", "/api/v1/update", {"bytes": size})["pieceBytes"]
            for place in range(0, size, piece):
                file.seek(place)
                self.ask("PUT", "/api/v1/update", {"at": place, "piece": base64.b64encode(file.read(piece)).decode()})
        offered = self.ask("POST", "/api/v1/update/check", {})["offered"]["version"]
        self.ask("POST", "/api/v1/update/install", {"password": password})
        return offered

    def makes_token(self):
        """One that reads what the terminal measures."""
        # An emulated machine may have been claimed more than ten minutes ago.
        self.csrf = self.ask("POST", "/api/v1/proof", {"password": self.password})["csrfToken"]
        return self.ask("POST", "/api/v1/tokens", {"name": "test", "scopes": ["metrics"]})["token"]

    def measure(self, name, token):
        """What the terminal says of itself to whoever watches over it; None where it does not say this."""
        text = self.ask("GET", "/metrics", token=token)
        return next((float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " ")), None)

    def charge(self, amount):
        """Opened. For some seconds after a start the terminal looks at earlier payments first, and says so."""
        end = time.monotonic() + 60
        while True:
            try:
                return self.ask("POST", "/api/v1/charges", {"amount": amount}, key=str(uuid.uuid4()))["id"]
            except Refusal as refusal:
                if "checking_payments" not in str(refusal) or time.monotonic() > end:
                    raise
            time.sleep(0.5)

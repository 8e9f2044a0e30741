"""A terminal of the tests' own with the sandbox's gateway behind it: claimed, set up, and with tokens for programs."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.parse

from sandbox import API_KEY, MERCHANT, PROGRAMS, ROOT, Gateway

PASSWORD = "four unrelated words: kite"


class Terminal:
    """The program itself on a port of its own, for as long as the tests run."""

    def __init__(self, gateway: Gateway, before: list[str] = []):
        """`before`: the words of a command that runs the program, such as one that limits its memory."""
        self.gateway, self.before = gateway, before
        self.state = pathlib.Path(tempfile.mkdtemp(prefix="till-api."))
        self.process = None
        self.cookie = self.csrf = None
        self.config = self.state / "till.yaml"
        self.config.write_text(
            f"""state: {self.state / "terminal"}
web: {{address: 127.0.0.1, port: 0, names: [localhost], pages: {ROOT / "Public"}}}
screen: {{sink: png, path: {self.state / "screen.png"}, width: 800, height: 480}}
gateway: {{allowLoopbackHTTP: true}}
sound: {{device: none}}
log: {{level: info}}
"""
        )
        self.start()
        invitation = self.event("claim")
        #: Of its certificate, from the code on its screen. It outlives a restart.
        coded = urllib.parse.parse_qs(urllib.parse.urlsplit(invitation["url"]).fragment)["cert"][0]
        self.fingerprint = base64.urlsafe_b64decode(coded + "=").hex()
        status, said = self.page("POST", "/claim", {"code": invitation["code"], "password": PASSWORD})
        assert status == 201, said
        self.csrf = self.page("GET", "/session")[1]["csrfToken"]
        facts = {"merchantName": "Café Zoë", "operatorID": "operator-1", "merchantID": MERCHANT, "currency": "EUR"}
        status, said = self.page("PUT", "/settings", facts | {"gatewayURL": gateway.url, "gatewayKey": API_KEY})
        assert status == 200, said

    def start(self):
        self.said = self.state / "said.json"
        with contextlib.suppress(FileNotFoundError):
            self.said.unlink()
        with (self.state / "log").open("ab") as log:
            command = [*self.before, PROGRAMS / "till", "run", "--config", self.config, "--announce", self.said]
            self.process = subprocess.Popen(command, stderr=log)
        self.url = self.event("listening")["url"]

    def event(self, name: str) -> dict:
        """The newest of that name that the program announced."""
        for _ in range(1200):
            lines = self.said.read_text().splitlines() if self.said.exists() else []
            if found := [said for line in lines if (said := json.loads(line))["event"] == name]:
                return found[-1]
            assert self.process.poll() is None, (self.state / "log").read_text()[-4000:]
            time.sleep(0.05)
        raise AssertionError(f"the terminal said nothing of {name}")

    def page(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        """Asks as the terminal's own page does."""
        host = urllib.parse.urlsplit(self.url).netloc
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, context=tls, timeout=60)
        headers = {"Host": host, "Origin": self.url, "Content-Type": "application/json"}
        if self.cookie:
            headers |= {"Cookie": self.cookie, "X-CSRF-Token": self.csrf or ""}
        connection.request(method, f"/api/v1{path}", json.dumps(body or {}), headers)
        answer = connection.getresponse()
        if cookie := answer.headers["Set-Cookie"]:
            self.cookie = cookie.partition(";")[0]
        said = json.loads(answer.read() or b"{}")
        connection.close()
        return answer.status, said

    def token(self, name: str, *scopes: str) -> str:
        body = {"name": name, "scopes": list(scopes)}
        status, said = self.page("POST", "/tokens", body)
        if said.get("code") == "proof_needed":  # Ten minutes after the sign-in.
            self.csrf = self.page("POST", "/proof", {"password": PASSWORD})[1]["csrfToken"]
            status, said = self.page("POST", "/tokens", body)
        assert status == 201, said
        return said["token"]

    def kill(self):
        """As when the power goes."""
        self.process.kill()
        self.process.wait(30)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        if os.environ.get("TILL_KEEP_STATE") is None:
            shutil.rmtree(self.state, ignore_errors=True)

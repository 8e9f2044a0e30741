"""What is outside the appliance when a shop sells: a gateway and an acquirer with certificates of their own, a customer with a wallet
or a phone, and an owner with a browser."""

import contextlib
import json
import os
import pathlib
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import urllib.request

from playwright.sync_api import expect, sync_playwright

from terminal import GUEST

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests/Browser"))
from shopfloor import CHROMIUM, DESKTOP, Shop  # noqa: E402
from steps import set_up  # noqa: E402, F401

#: Where QEMU's network has its host, for the guest.
HOST = "10.0.2.2"
SANDBOX = ROOT / ".build/release/till-sandbox"
MERCHANT, KEY = "mrch_image", "wcp_" + os.urandom(12).hex()


class Front(socketserver.ThreadingTCPServer):
    """TLS in front of a server that has none."""

    daemon_threads = True

    def __init__(self, certificate, key, port):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.behind = port
        super().__init__(("127.0.0.1", 0), None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        # Whoever goes away in the middle is gone.
        with contextlib.suppress(OSError), self.context.wrap_socket(request, server_side=True) as caller:
            with socket.create_connection(("127.0.0.1", self.behind)) as server:
                back = threading.Thread(target=self.carry, args=(server, caller), daemon=True)
                back.start()
                self.carry(caller, server)
                back.join()

    @staticmethod
    def carry(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class Sandbox:
    """One of the sandbox's servers on the host, as the guest reaches it: behind TLS with a certificate of the test's own."""

    def __init__(self, folder, name, *arguments):
        folder = pathlib.Path(folder)
        self.certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        self.control_token = os.urandom(12).hex()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
             "-subj", f"/CN=Test {name}", "-addext", f"subjectAltName=IP:{HOST}", "-keyout", str(key), "-out",
             str(self.certificate)],
            check=True, capture_output=True,
        )  # fmt: skip
        self.log = open(folder / f"{name}.log", "ab")
        self.process = subprocess.Popen(
            [str(SANDBOX), name, "--port", "0", "--control-token", self.control_token, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )  # fmt: skip
        try:
            self.url = json.loads(self.process.stdout.readline())["url"]
            self.front = Front(self.certificate, key, int(self.url.rsplit(":", 1)[1]))
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        self.seen_by_guest = f"https://{HOST}:{self.front.server_address[1]}"

    def control(self, word):
        """What it says of itself to whoever tries it."""
        asked = urllib.request.Request(f"{self.url}/control/{word}", headers={"Authorization": f"Bearer {self.control_token}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)

    def close(self):
        self.front.shutdown()
        self.front.server_close()
        self.process.terminate()
        self.process.wait()
        self.log.close()


def configuration(*servers, shop=""):
    """The terminal's own file, with these servers' certificates believed, and perhaps a shop prepared."""
    text = (ROOT / "config/till.yaml").read_text()
    lines = "".join(f"\n    {line}" for server in servers for line in server.certificate.read_text().splitlines())
    for old, new in {"allowLoopbackHTTP: false": "allowLoopbackHTTP: true", 'certificates: ""': f"certificates: |{lines}"}.items():
        assert old in text
        text = text.replace(old, new, 1)
    return text + shop


class Gateway(Sandbox):
    def __init__(self, folder, *arguments):
        super().__init__(folder, "gateway", "--merchant", MERCHANT, "--api-key", KEY, "--settle-after", "1", *arguments)

    def prepared(self):
        """What an operator writes into the file of each terminal of a shop."""
        facts = {
            "operatorID": "op-image", "merchantID": MERCHANT, "merchantName": "Café Morgenrot", "gatewayURL": self.seen_by_guest,
            "gatewayKey": KEY, "currency": "USD", "locale": "en-US",
        }  # fmt: skip
        return "\nshop:\n" + "".join(f"  {name}: {value}\n" for name, value in facts.items())

    def wallet(self, link):
        """A customer's wallet that pays; ends with 0 once it has paid."""
        return subprocess.Popen(
            [str(SANDBOX), "wallet", "pay", "--gateway", self.url, link], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def paid(self, link):
        """The customer's wallet pays: whether it could, and what it said."""
        with self.wallet(link) as wallet:
            said = wallet.communicate(timeout=120)[0]
        return wallet.returncode == 0, said[-300:]

    def books(self):
        """How each payment stands in its books, by the payment's name."""
        return {payment["paymentId"]: payment["status"] for payment in self.control("payments")["payments"]}

    def shop(self, claim_code):
        return Shop(
            url=f"https://{GUEST}", claim_code=claim_code, gateway_url=self.seen_by_guest, gateway_key=KEY, merchant_id=MERCHANT,
            wallet_command=[],
        )  # fmt: skip


class Acquirer(Sandbox):
    LOGIN, PASSWORD = "shop@example.com", "shop-password"

    def __init__(self, folder):
        super().__init__(folder, "acquirer", "--merchant-login", f"{self.LOGIN}:{self.PASSWORD}")

    def settings(self):
        """What an owner types to switch tap to pay on."""
        return {
            "enabled": True, "mode": "near", "acquirerURL": self.seen_by_guest, "acquirerLogin": self.LOGIN,
            "acquirerPassword": self.PASSWORD, "terminalID": "till-image",
        }  # fmt: skip

    def phone(self, bus, log, seconds):
        """A customer's phone, on the air until it has paid once."""
        return subprocess.Popen(
            [str(SANDBOX), "wallet", "tap", "--bus", bus, "--acquirer", self.url, "--once", "--timeout", str(seconds)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip

    def books(self):
        """What it booked: status and total of each payment."""
        return [(payment["status"], payment["total"]) for payment in self.control("payments")["payments"]]


@contextlib.contextmanager
def browser(port, seconds):
    """A page in a browser that has the terminal where people in its network have it."""
    expect.set_options(timeout=seconds * 1000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", f"--host-resolver-rules=MAP {GUEST} 127.0.0.1:{port}"]
        )
        context = chromium.new_context(
            ignore_https_errors=True, viewport=DESKTOP, locale="en-US", reduced_motion="reduce", base_url=f"https://{GUEST}"
        )
        context.set_default_timeout(seconds * 1000)
        try:
            yield context.new_page()
        finally:
            chromium.close()


def newest_payment(page):
    """What the history's first row says."""
    page.goto("/#/history")
    row = page.locator(".list a.row").first
    expect(row).to_be_visible()
    return " ".join(row.inner_text().split())

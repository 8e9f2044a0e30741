#!/usr/bin/env python3
"""Measures the terminal's page as a phone meets it, and what many pages at once cost a charge. Prints its figures as JSON.

Run by table.py inside `scripts/with-shop`: a fresh terminal and a sandbox gateway on this machine. The phone is headless
Chromium with a processor slowed down four times and a network of the stated latency and rate; the page is always loaded
from nothing. Networks slow the answer to each request, not the handshakes: Chromium's emulation does no more.
"""
import http.client
import json
import os
import pathlib
import select
import socket
import ssl
import statistics
import sys
import time
import uuid
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("TILL_CHROMIUM", "/usr/bin/chromium")
PASSWORD = "four unrelated words: kite"
#: Milliseconds until an answer begins, and kilobits a second down and up.
NETWORKS = {"shop": (40, 10_000, 5_000), "slow": (150, 1_600, 750)}
LOADS, CLIENTS, ADDRESSES = 9, 200, 10
#: A 99th percentile is taken from at least so many.
SAMPLES = 1000

shop = json.loads(pathlib.Path(os.environ["TILL_SHOP_FILE"]).read_text())
host = urlsplit(shop["url"]).netloc
tls = ssl.create_default_context()
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE  # Loopback; the certificate is the terminal's own.


def slow(values):
    """The 99th percentile."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


class Till:
    """The terminal's API over one connection that stays open, as a till program holds it."""

    def __init__(self):
        self.connection = http.client.HTTPSConnection(host, context=tls, timeout=30)
        self.cookie = self.csrf = ""

    def call(self, method, path, body=None):
        headers = {"Origin": shop["url"], "Cookie": self.cookie, "X-CSRF-Token": self.csrf, "Idempotency-Key": str(uuid.uuid4())}
        if method != "GET":
            headers["Content-Type"] = "application/json"
        content = json.dumps(body or {}) if method != "GET" else None
        try:
            self.connection.request(method, f"/api/v1{path}", content, headers)
            answer = self.connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            # The terminal ends connections that rest; the same key makes no second charge.
            self.connection.close()
            self.connection.request(method, f"/api/v1{path}", content, headers)
            answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            sys.exit(f"{method} {path}: {answer.status} {text.decode()}")
        if cookie := answer.getheader("Set-Cookie"):
            self.cookie = cookie.split(";")[0]
        said = json.loads(text) if text else None
        if isinstance(said, dict) and said.get("csrfToken"):
            self.csrf = said["csrfToken"]
        return said

    def set_up(self):
        self.call("POST", "/claim", {"code": shop["claimCode"], "password": PASSWORD})
        self.call("PUT", "/settings", {
            "operatorID": "op-bench", "merchantID": shop["merchantID"], "merchantName": "Café Morgenrot", "currency": "EUR",
            "gatewayURL": shop["gatewayURL"], "gatewayKey": shop["gatewayKey"],
        })

    def until_free(self):
        while (charge := self.call("GET", "/charges/current")) and charge["holdsTerminal"]:
            time.sleep(0.005)

    def create(self):
        """Opens a charge and ends it; milliseconds until the terminal's answer to the opening."""
        self.until_free()
        began = time.perf_counter()
        charge = self.call("POST", "/charges", {"amountMinor": 100, "currency": "EUR"})
        took = (time.perf_counter() - began) * 1000
        while self.call("GET", f"/charges/{charge['id']}")["state"] == "created":
            time.sleep(0.005)
        self.call("POST", f"/charges/{charge['id']}/cancel")
        return took


SEE_KEYPAD = """
  new MutationObserver((_, observer) => {
    if (window.tillReady || !document.querySelector(".keys button:not(:disabled)")) return;
    observer.disconnect();
    requestAnimationFrame(() => { window.tillReady = performance.now(); });
  }).observe(document, { childList: true, subtree: true });
"""

# When the terminal made an event, by its own clock, and when the page shows what it says: both on this machine.
SEE_EVENTS = """
  window.tillDelays = [];
  const made = new Map();
  const Plain = EventSource;
  window.EventSource = class extends Plain {
    constructor(...facts) {
      super(...facts);
      super.addEventListener("terminal", (event) => {
        const { at, charge } = JSON.parse(event.data);
        if (charge && !made.has(charge.code + charge.state)) made.set(charge.code + charge.state, Date.parse(at));
      });
    }
  };
  new MutationObserver(() => {
    const panel = document.querySelector(".panel[data-state]");
    const code = panel?.querySelector(".panel-code dd")?.textContent;
    const at = made.get(code + panel?.dataset.state);
    if (!at) return;
    made.set(code + panel.dataset.state, 0);
    window.tillDelays.push(performance.timeOrigin + performance.now() - at);
  }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-state"] });
"""


def load(context, network, figures):
    """From nothing to a keypad that takes an amount."""
    latency, down, up = NETWORKS[network]
    times, sizes, counts = [], [], []
    for _ in range(LOADS):
        page = context.new_page()
        page.add_init_script(SEE_KEYPAD)
        cdp = context.new_cdp_session(page)
        received = []
        cdp.on("Network.loadingFinished", lambda event, received=received: received.append(event["encodedDataLength"]))
        for command, facts in (
            ("Network.enable", {}), ("Network.clearBrowserCache", {}), ("Network.setCacheDisabled", {"cacheDisabled": True}),
            ("Network.emulateNetworkConditions", {"offline": False, "latency": latency, "downloadThroughput": down * 125, "uploadThroughput": up * 125}),
            ("Emulation.setCPUThrottlingRate", {"rate": 4}),
        ):
            cdp.send(command, facts)
        page.goto("/", wait_until="commit")
        page.locator(".keys button").first.wait_for()
        while not (ready := page.evaluate("window.tillReady")):
            page.wait_for_timeout(10)
        times.append(ready)
        page.wait_for_timeout(200)
        sizes.append(sum(received))
        counts.append(len(received))
        page.close()
    figures[f"{network}Milliseconds"] = statistics.median(times)
    figures["kilobytes"] = max(sizes) / 1000
    figures["requests"] = max(counts)


def events(context, till, figures):
    page = context.new_page()
    page.add_init_script(SEE_EVENTS)
    page.goto("/#/charge")
    page.locator(".keys, .panel").first.wait_for()
    # At the pace of hasty people, then as fast as one program can: the browser's own work queues up behind it.
    for name, charges, pause in (("event", 120, 150), ("burst", 60, 0)):
        page.evaluate("window.tillDelays = []")
        while page.evaluate("window.tillDelays.length") < SAMPLES:
            for _ in range(charges):
                till.create()
                page.wait_for_timeout(pause)
            page.wait_for_timeout(500)
        delays = page.evaluate("window.tillDelays")
        figures[f"{name}Count"], figures[f"{name}Middle"], figures[f"{name}Slow"] = len(delays), statistics.median(delays), slow(delays)
    page.close()


class Storage:
    """The same storage without the terminal: what one small write costs that is on the disk when it returns."""

    SIZE, PLACES = 8192, 512

    def __init__(self):
        self.file = os.open(pathlib.Path(os.environ["TILL_SHOP_FILE"]).with_name("storage.bench"), os.O_RDWR | os.O_CREAT, 0o600)
        os.write(self.file, bytes(self.SIZE * self.PLACES))
        os.fsync(self.file)
        self.times = []

    def write(self):
        began = time.perf_counter()
        os.pwrite(self.file, os.urandom(self.SIZE), len(self.times) % self.PLACES * self.SIZE)
        os.fdatasync(self.file)
        self.times.append((time.perf_counter() - began) * 1000)


def listeners(till):
    """So many pages that listen, from several addresses: one alone is not allowed so many."""
    name, port = host.split(":")
    opened = []
    for number in range(CLIENTS):
        plain = socket.create_connection((name, int(port)), timeout=10, source_address=(f"127.0.0.{2 + number % ADDRESSES}", 0))
        client = tls.wrap_socket(plain, server_hostname=name)
        client.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nCookie: {till.cookie}\r\n\r\n".encode())
        head = client.recv(4096)
        if b" 200 " not in head.split(b"\r\n")[0]:
            sys.exit(f"listener {number}: {head[:200]}")
        client.setblocking(False)
        opened.append(client)
    return opened


def drain(clients, sizes):
    """Reads whatever there is, so that nobody falls behind."""
    while ready := select.select(clients, [], [], 0)[0]:
        for client in ready:
            try:
                sizes[client] = sizes.get(client, 0) + len(client.recv(65536))
            except ssl.SSLWantReadError:
                pass


def main():
    figures = {"clients": CLIENTS}
    till = Till()
    till.set_up()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(ignore_https_errors=True, viewport={"width": 390, "height": 844}, locale="en-US", base_url=shop["url"])
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.locator(".keys").wait_for()
        page.close()
        for network in NETWORKS:
            load(context, network, figures)
        events(context, till, figures)
        browser.close()
    storage = Storage()
    alone, beside = [], []
    for _ in range(SAMPLES):
        alone.append(till.create())
        storage.write()
    clients, sizes = listeners(till), {}
    for _ in range(SAMPLES):
        beside.append(till.create())
        storage.write()
        drain(clients, sizes)
    time.sleep(0.5)
    drain(clients, sizes)
    figures["heard"] = sum(1 for client in clients if sizes.get(client, 0) > 0)
    for client in clients:
        client.close()
    for name, values in (("create", alone), ("createBeside", beside), ("storage", storage.times)):
        figures[f"{name}Middle"], figures[f"{name}Slow"] = statistics.median(values), slow(values)
    print(json.dumps(figures))


main()

"""Plays owner, cashier and customer against the real programs, and prints each stage with its time.

Uses the standard library only, and the same HTTP API as the page.
"""

import http.cookiejar
import json
import os
import shutil
import ssl
import subprocess
import sys
import time
import urllib.request
import uuid

with open(os.environ["TILL_SHOP_FILE"], encoding="utf-8") as file:
    shop = json.load(file)

# The terminal's certificate is its own; its fingerprint is on the screen. Loopback, so it is not checked here.
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
opener = urllib.request.build_opener(
    urllib.request.HTTPSHandler(context=context),
    urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
)
csrf = None
started = time.monotonic()
last = started


def call(method, path, body=None, **headers):
    request = urllib.request.Request(shop["url"] + path, method=method)
    request.add_header("Origin", shop["url"])
    if csrf:
        request.add_header("X-CSRF-Token", csrf)
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with opener.open(request, data, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")


def stage(name):
    global last
    now = time.monotonic()
    print(f"  {now - started:7.3f} s  {(now - last) * 1000:8.1f} ms  {name}")
    last = now


def wait_for(charge, *states):
    """Reads the terminal's event stream until the charge is in one of the states."""
    request = urllib.request.Request(shop["url"] + "/api/v1/events")
    request.add_header("Origin", shop["url"])
    with opener.open(request, timeout=60) as events:
        for line in events:
            if not line.startswith(b"data: {"):
                continue
            shown = json.loads(line[6:]).get("charge")
            if shown and shown["id"] == charge["id"] and shown["state"] in states:
                if shown["state"] == "requiresAction" and not shown["onScreen"]:
                    continue  # Not before the screen has read its own code back.
                return shown
    sys.exit("The terminal's event stream ended.")


print("\n  since start    this step  stage")
call("GET", "/api/v1/session")
stage("terminal answers")
session = call("POST", "/api/v1/claim", {"code": shop["claimCode"], "password": "correct horse battery"})
csrf = session["csrfToken"]
stage("claimed with the code on the screen")
settings = {
    "operatorID": "op-demo", "merchantID": shop["merchantID"], "merchantName": "Café Morgenrot",
    "gatewayURL": shop["gatewayURL"], "gatewayKey": shop["gatewayKey"], "currency": "USD", "locale": "en-US",
}
test = call("POST", "/api/v1/settings/test-connection", settings)
if not test["ok"]:
    sys.exit(f"The gateway cannot be used: {test}")
call("PUT", "/api/v1/settings", settings)
stage("set up and tested the connection")
charge = call("POST", "/api/v1/charges", {"amount": "12.50"}, Idempotency_Key=str(uuid.uuid4()))
stage(f"charged {charge['amountText']}, code {charge['code']}")
charge = wait_for(charge, "requiresAction")
stage("QR code on the screen: " + charge["link"])
os.makedirs("artefacts", exist_ok=True)
shutil.copyfile(shop["screen"], "artefacts/demo-charge.png")
last = time.monotonic()
wallet = subprocess.run(shop["walletCommand"] + ["--json", charge["link"]], capture_output=True, text=True, timeout=60)
if wallet.returncode != 0:
    sys.exit(f"The wallet did not pay: {wallet.stdout}{wallet.stderr}")
stage("wallet signed, confirmed and saw it settle")
charge = wait_for(charge, "succeeded")
succeeded = time.time_ns()
stage(f"terminal says paid: {charge['evidence']['transactionID']}")
# The picture may be older than the word: page and screen get it at the same moment.
while os.stat(shop["screen"]).st_mtime_ns < succeeded and time.time_ns() - succeeded < 500_000_000:
    time.sleep(0.01)
shutil.copyfile(shop["screen"], "artefacts/demo-paid.png")
history = call("GET", "/api/v1/charges?limit=1")["charges"]
assert history[0]["id"] == charge["id"] and history[0]["state"] == "succeeded", history
stage("found in the history")
print("\n  Screens: artefacts/demo-charge.png, artefacts/demo-paid.png\n")

"""A sandbox gateway of the tests' own, and payments of every kind in it."""

import json
import os
import pathlib
import subprocess

import requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("TILL_BIN", ROOT / ".build/debug"))
PROGRAM = PROGRAMS / "till-sandbox"
EXAMPLE_WALLET = PROGRAMS / "till-example-wallet"
MERCHANT, API_KEY, CONTROL = "mrch_api", "wcp_api", "control"
PREVIEW = "2026-02-19.preview"

# The two ways in which a wallet may show itself, and the merchant's one.
AS_MERCHANT = {"Api-Key": API_KEY, "Merchant-Id": MERCHANT, "WCP-Version": PREVIEW}
WITH_KEY = {"Api-Key": API_KEY, "WCP-Version": PREVIEW}
WITH_APP = {"App-Id": "api-test", "Client-Id": "api-test-1", "WCP-Version": PREVIEW}

# Any address will do: the faucet knows everyone.
OWNER = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"
ACCOUNTS = [f"eip155:{chain}:{OWNER}" for chain in (1, 56, 8453)]
PRIVATE_KEY = "0" * 63 + "1"  # Of OWNER.


class Gateway:
    """The program itself on a port of its own, for as long as the tests run."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "gateway", "--merchant", MERCHANT, "--api-key", API_KEY, "--control-token", CONTROL, *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.session = requests.Session()

    def call(self, method, path, headers, body=None, **parameters):
        return self.session.request(
            method, self.url + path, headers=headers, json=body, params=parameters or None, timeout=30
        )

    def control(self, word, body):
        answer = self.call("POST", f"/control/{word}", {"Authorization": f"Bearer {CONTROL}"}, body)
        assert answer.ok, answer.text
        return answer.json()

    def create(self, value="1250", currency="USD", headers=AS_MERCHANT, **members):
        body = {"referenceId": "API 1", "amount": {"unit": f"iso4217/{currency}", "value": value}, **members}
        return self.call("POST", "/v1/payments", headers, body)

    def new_payment(self, **members):
        return self.create(**members).json()["paymentId"]

    def options(self, payment, headers=WITH_APP):
        return self.call("POST", f"/v1/gateway/payment/{payment}/options", headers, {"accounts": ACCOUNTS})

    def pay(self, payment):
        """Pays as a customer does. The wallet's exit code is not 0 where the payment was ordered to fail."""
        return subprocess.run(
            [PROGRAM, "wallet", "pay", "--gateway", self.url, "--key", PRIVATE_KEY, "--json", payment],
            capture_output=True,
            text=True,
            timeout=60,
        )

    def one_of_each(self):
        """Payments in every state that a payment can be in, by its word."""
        made = {"requires_action": self.new_payment()}
        for word, path in [("cancelled", "/v1/payments/{}/cancel"), ("cancelled by wallet", "/v1/gateway/payment/{}/cancel")]:
            made[word] = self.new_payment()
            self.call("POST", path.format(made[word]), WITH_APP if "wallet" in word else AS_MERCHANT, {})
        made["expired"] = self.new_payment()
        self.control("expire", {"paymentId": made["expired"]})
        for word in ("succeeded", "refunded"):
            made[word] = self.new_payment()
            assert self.pay(made[word]).returncode == 0
        self.call("POST", "/v1/refunds", AS_MERCHANT, {"paymentId": made["refunded"]})
        for word in ("failed", "declined_user"):
            self.control("faults", {"endpoint": "create", "effect": f"outcome={word}", "times": 1})
            made[word] = self.new_payment()
            self.pay(made[word])
        return made

    def stop(self):
        self.session.close()
        self.process.terminate()
        self.process.wait(10)

"""The customer's form in a real browser, inside a wallet's iframe: filled in, told to the wallet, and the payment goes on."""

import base64
import json
import subprocess
import threading

import pytest
from playwright.sync_api import expect, sync_playwright

from sandbox import EXAMPLE_WALLET, WITH_APP, Gateway

# A wallet that opens the form as web wallets do, and keeps what it is told.
WALLET = """<!doctype html><title>Wallet</title><iframe title="form" width="480" height="700"></iframe>
<script>window.told = []; addEventListener("message", (event) => told.push(event.data));</script>"""
PREFILL = {"fullName": "Ada Ångström >?~", "dob": "1990-01-31", "pobCountry": "SE", "pobAddress": "<b>Lund</b>"}


@pytest.fixture(scope="module")
def gateway():
    asking = Gateway("--collect-data", "--settle-after", "0")
    yield asking
    asking.stop()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page(browser):
    page = browser.new_page()
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(("http://127.0.0.1", "about:", "data:")) else page.faults.append(request.url))
    page.on("console", lambda message: page.faults.append(message.text) if "Content Security" in message.text else None)
    yield page
    assert page.faults == []
    page.close()


def form_url(gateway, payment):
    return gateway.options(payment).json()["options"][0]["collectData"]["url"]


def open_form(page, url):
    page.set_content(WALLET)
    page.evaluate("(url) => { document.querySelector('iframe').src = url; }", url)
    return page.frame_locator("iframe")


def told(page):
    return [json.loads(text) for text in page.evaluate("told")]


def fetched(gateway, payment):
    option = gateway.options(payment).json()["options"][0]["id"]
    return gateway.call("POST", f"/v1/gateway/payment/{payment}/fetch", WITH_APP, {"optionId": option, "data": ""}).status_code


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "plus left as it is"])
def test_a_prefilled_form_is_sent_and_the_payment_goes_on(gateway, page, escaped):
    payment = gateway.new_payment()
    assert fetched(gateway, payment) == 400
    text = base64.b64encode(json.dumps(PREFILL, ensure_ascii=False).encode()).decode()
    assert "+" in text
    prefill = text.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D") if escaped else text
    form = open_form(page, form_url(gateway, payment) + "&prefill=" + prefill + "&theme=dark")
    expect(form.get_by_label("Full name")).to_have_value(PREFILL["fullName"])
    expect(form.get_by_label("Date of birth")).to_have_value("1990-01-31")
    expect(form.get_by_label("Which")).to_have_value("pob")
    expect(form.get_by_label("Address")).to_have_value("<b>Lund</b>")
    form.get_by_label("I accept").check()
    form.get_by_role("button", name="Continue").click()
    expect(form.get_by_role("status")).to_have_text("Thank you. Go back to your wallet.")
    assert told(page) == [{"type": "IC_COMPLETE", "success": True}]
    assert fetched(gateway, payment) == 200
    assert gateway.pay(payment).returncode == 0


def test_what_is_missing_is_said_at_its_field(gateway, page):
    payment = gateway.new_payment()
    form = open_form(page, form_url(gateway, payment))
    form.get_by_role("button", name="Continue").click()
    for field, text in [("fullName", "Enter your full name."), ("country", "Enter two letters, for example CH."),
                        ("tosConfirmed", "Accept the terms to go on.")]:
        expect(form.locator(f"#{field}-error")).to_have_text(text)
        expect(form.locator(f"#{field}")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_label("Full name")).to_be_focused()
    assert told(page) == []
    assert fetched(gateway, payment) == 400


def test_a_payment_that_is_over_is_an_error_for_the_wallet(gateway, page):
    payment = gateway.new_payment()
    url = form_url(gateway, payment)
    gateway.control("expire", {"paymentId": payment})
    form = open_form(page, url)
    expect(form.get_by_role("status")).to_have_text("This payment cannot be paid any more.")
    assert [message["type"] for message in told(page)] == ["IC_ERROR"]


def test_the_bridges_of_phones_are_told_too(gateway, page):
    payment = gateway.new_payment()
    url = form_url(gateway, payment)
    gateway.control("collect", {"paymentId": payment})
    page.add_init_script("""
        window.told = [];
        const to = (name) => (text) => told.push([name, JSON.parse(text).type]);
        window.AndroidWallet = { onDataCollectionComplete: to("android") };
        window.ReactNativeWebView = { postMessage: to("react native") };
        window.webkit = { messageHandlers: { payDataCollectionComplete: { postMessage: to("ios") } } };
    """)
    page.goto(url)
    assert sorted(page.evaluate("told")) == [["android", "IC_COMPLETE"], ["ios", "IC_COMPLETE"], ["react native", "IC_COMPLETE"]]


@pytest.mark.parametrize("messages", [[], ["--form-objects"]], ids=["texts", "objects"])
def test_a_wallets_web_view_hears_the_form_and_the_wallet_pays(browser, messages):
    """The example wallet with this browser as its web view: the library's bridge is in the page, and nothing else is."""
    production = "https://pay.walletconnect.com"
    gateway = Gateway("--collect-data", "--settle-after", "0", "--form-base", production + "/", *messages)
    payment = gateway.new_payment()
    wallet = subprocess.Popen(
        [EXAMPLE_WALLET, payment, gateway.url, "--accept-terms", "--browser"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )
    patience = threading.Timer(60, wallet.kill)  # A wallet that hears nothing would be waited for without an end.
    patience.start()
    page = browser.new_page()
    try:
        said = [wallet.stdout.readline()]
        while said[-1] and not said[-1].startswith("{"):
            said.append(wallet.stdout.readline())
        order = json.loads(said.pop())
        assert order["open"].startswith(production + "/collect/?pid=" + payment)
        heard, cut_off = [], ["the first try"]

        def forward(text):
            heard.append(text)
            wallet.stdin.write(" ".join(text.splitlines()) + "\n")

        def as_production(route):
            if route.request.method == "POST" and cut_off:
                cut_off.pop()
                return route.abort()
            return route.fulfill(response=route.fetch(url=gateway.url + route.request.url.removeprefix(production)))

        page.expose_function("tillBridge", forward)
        page.add_init_script(order["script"])
        page.route(production + "/**", as_production)
        page.goto(order["open"])
        expect(page.get_by_label("Full name")).to_have_value("Jane Example")
        expect(page.get_by_label("Date of birth")).to_have_value("1990-01-15")
        expect(page.get_by_label("Which")).to_have_value("pob")
        expect(page.get_by_label("Address")).to_have_value("Lund")
        page.get_by_label("Country").fill("CH")
        page.get_by_label("Address").fill("Bern")
        page.get_by_label("I accept").check()
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("status")).to_have_text("The details could not be sent. Try again.")
        assert wallet.stdout.readline() == "The form reports a problem; it can be tried again.\n"
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("status")).to_have_text("Thank you. Go back to your wallet.")
        rest = wallet.stdout.read()
        assert wallet.wait(30) == 0 and "Paid: 0x" in rest, rest
        assert [json.loads(text)["type"] for text in heard] == ["IC_ERROR", "IC_COMPLETE"]
    finally:
        patience.cancel()
        page.close()
        wallet.kill()
        wallet.wait()
        gateway.stop()

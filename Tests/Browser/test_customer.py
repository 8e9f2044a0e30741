"""The customer's own page, on a customer's phone: a real browser without a session, against a real terminal and gateway.

One story, in order. Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_customer.py`; TILL_SHOTS names a folder
for pictures.
"""

import pathlib
import re
import sys
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, PHONE, WAIT_MILLISECONDS, small_targets, until
from steps import cancel_charge, error_of, new_charge, open_charge, panel, save_well, set_up


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


@pytest.fixture(scope="module")
def stranger(context, watch):
    """A customer's phone: another browser profile, which has never been here."""
    phone = context.browser.new_context(
        ignore_https_errors=True, viewport=PHONE, device_scale_factor=2, is_mobile=True, has_touch=True, locale="en-US",
        reduced_motion="reduce",
    )
    phone.set_default_timeout(WAIT_MILLISECONDS)
    watch.over(phone)
    yield phone
    phone.close()


def field(page, name: str):
    return page.locator(f".settings-form [name={name}]")


def stored(page) -> dict:
    return page.evaluate("() => fetch('/api/v1/customers').then((answer) => answer.json())")


def charge_on_screen(shop, ready: bool = True) -> dict:
    """The charge as the screen shows it, once its code can be read there."""
    def look():
        said = shop.on_screen("charge")
        return said if said.get("state") == "requiresAction" and (said.get("readable") or not ready) else None

    return until(look, "a charge on the screen")


#: Eight pixels square, red.
ICON = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGM4oKCAFTEMLQkAKj9AAXjm1WMAAAAASUVORK5CYII="
)


#: The page of the charge that was paid.
PAID: dict[str, str] = {}


def heading(phone):
    return phone.get_by_role("heading", level=1)


def test_the_owner_switches_the_page_on(page, eyes):
    page.goto("/#/settings")
    page.get_by_role("link", name="Customers’ own page").click()
    expect(page.get_by_role("heading", name="Customers’ own page")).to_be_visible()
    expect(field(page, "enabled")).not_to_be_checked()
    expect(field(page, "onScreen")).to_be_hidden()
    eyes.look(page, "customers-off")
    field(page, "enabled").check()
    field(page, "onScreen").check()
    expect(page.get_by_text("These came with the terminal")).to_be_visible()
    assert [box.input_value() for box in page.locator(".wallet-row [name=name]").all()][:2] == ["MetaMask", "Trust Wallet"]
    assert small_targets(page) == []
    # Where customers are led is asked for with the owner's password.
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("One field needs another look.")).to_be_visible()
    assert "needs the password" in error_of(page, field(page, "password"))
    field(page, "password").fill(OWNER_PASSWORD)
    eyes.look(page, "customers-settings")
    save_well(page)
    expect(field(page, "password")).to_be_hidden()
    now = stored(page)
    assert now["enabled"] and now["onScreen"] and now["suppliedWallets"], "what was not touched stays the supplied list"


def test_a_wrong_wallet_is_said_at_its_field(page, eyes):
    page.get_by_role("button", name="Add a wallet").click()
    row = page.locator(".wallet-row").last
    row.locator("[name=name]").fill("Mine")
    row.locator("[name=native]").fill("javascript:alert(1)")
    field(page, "password").fill(OWNER_PASSWORD)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("One field needs another look.")).to_be_visible()
    assert "does not open an app" in error_of(page, row.locator("[name=native]"))
    eyes.look(page, "customers-bad-wallet")
    row.locator("[name=native]").fill("mine://")
    row.locator("[name=paymentLinks]").check()
    save_well(page)
    wallets = stored(page)["wallets"]
    assert wallets[-1] == {"name": "Mine", "native": "mine://", "universal": "", "paymentLinks": True, "icon": ""}
    page.get_by_role("button", name="Use the list that came with the terminal").click()
    expect(page.get_by_text("is back once you save")).to_be_visible()
    expect(page.locator(".wallet-row").first).to_be_hidden()
    field(page, "password").fill(OWNER_PASSWORD)
    save_well(page)
    expect(page.locator(".wallet-row")).to_have_count(len(wallets) - 1)


def test_a_picture_is_shown_and_can_be_taken_away(page, eyes):
    """Pictures come with a program's request; the page shows them and names the wallet of one that cannot be used."""
    said = page.evaluate(
        """async ([password, icon]) => {
          const { csrfToken } = await (await fetch("/api/v1/session")).json();
          const put = async (icon) => {
            const wallets = [{ name: "Pictured", native: "pictured://", paymentLinks: true, icon }];
            const answer = await fetch("/api/v1/customers", {
              method: "PUT", headers: { "Content-Type": "application/json", "X-CSRF-Token": csrfToken },
              body: JSON.stringify({ password, wallets }),
            });
            return [answer.status, await answer.json()];
          };
          return [await put("data:image/svg+xml;base64,PHN2Zy8+"), await put(icon)];
        }""",
        [OWNER_PASSWORD, ICON],
    )
    assert said[0][0] == 422 and "“Pictured”" in said[0][1]["fields"]["wallets.0.icon"]["message"]
    assert said[1][0] == 200, said[1]
    page.goto("about:blank")
    page.goto("/#/customers")
    picture = page.locator(".wallet-picture img")
    expect(picture).to_be_visible()
    assert picture.evaluate("(image) => image.complete && image.naturalWidth") == 8
    assert small_targets(page) == []
    eyes.look(page, "customers-picture")
    page.get_by_role("button", name="Remove the picture").click()
    expect(picture).to_be_hidden()
    field(page, "password").fill(OWNER_PASSWORD)
    save_well(page)
    assert stored(page)["wallets"][0]["icon"] == ""
    page.get_by_role("button", name="Use the list that came with the terminal").click()
    field(page, "password").fill(OWNER_PASSWORD)
    save_well(page)
    assert stored(page)["suppliedWallets"]


def test_the_screen_leads_the_camera_to_the_page(page, shop):
    open_charge(page, "12.50", reference="Table 4711")
    said = charge_on_screen(shop)
    assert re.fullmatch(re.escape(shop.url) + r"/pay/[\w-]{48}", said["page"]), said


def test_a_strangers_phone_sees_the_charge_and_its_wallets(shop, stranger, eyes):
    said = charge_on_screen(shop)
    phone = stranger.new_page()
    weights = []
    phone.on("response", lambda answer: weights.append(len(answer.body())) if answer.status == 200 else None)
    phone.goto(said["page"])
    expect(heading(phone)).to_have_text("Pay with your wallet")
    expect(phone.locator(".merchant")).to_have_text("Café Zoë")
    expect(phone.locator(".amount")).to_have_text("€12.50")
    expect(phone.locator(".code")).to_contain_text(said["code"])
    metamask = phone.get_by_role("link", name="Open MetaMask")
    assert metamask.get_attribute("href") == f"metamask://wc?uri={quote(said['link'], safe='-._~')}"
    assert (metamask.get_attribute("target"), metamask.get_attribute("rel")) == ("_self", "noopener noreferrer")
    # Without a pairing a wallet that takes no payment links could do nothing.
    expect(phone.get_by_role("link", name="Trust")).to_have_count(0)
    assert phone.get_by_role("link", name="Another wallet").get_attribute("href") == said["link"]
    assert "4711" not in phone.content() and stranger.cookies() == []
    assert phone.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert sum(weights) < 40_000, weights
    assert small_targets(phone) == []
    eyes.look(phone, "customer-waiting")
    phone.get_by_text("Pay with another device").click()
    expect(phone.get_by_role("img", name="QR code of this payment")).to_be_visible()
    eyes.look(phone, "customer-second-device")
    phone.close()


def test_a_tap_follows_its_link_and_nothing_comes_first(shop, stranger):
    """What iOS asks for: the tap's own default action opens the link, with no script that waits before it."""
    phone = stranger.new_page()
    phone.goto(charge_on_screen(shop)["page"])
    expect(heading(phone)).to_have_text("Pay with your wallet")
    phone.evaluate("""() => {
      window.seen = [];
      addEventListener("click", (event) => {
        const anchor = event.target.closest("a");
        seen.push([event.defaultPrevented, event.isTrusted, anchor.protocol, navigator.userActivation.isActive]);
        event.preventDefault();  // There is no wallet on this machine.
      });
    }""")
    phone.get_by_role("link", name="Open MetaMask").tap()
    assert phone.evaluate("seen") == [[False, True, "metamask:", True]]
    # Neither did the page's own refreshing take the button from under the finger.
    button = phone.get_by_role("link", name="Open MetaMask").element_handle()
    with phone.expect_response(lambda answer: "/pay/" in answer.url):
        pass
    with phone.expect_response(lambda answer: "/pay/" in answer.url):
        pass
    assert button.evaluate("(anchor) => anchor.isConnected")
    phone.close()


def test_the_phone_follows_the_payment_by_itself(page, shop, stranger, eyes):
    said = charge_on_screen(shop)
    phone = stranger.new_page()
    phone.goto(said["page"])
    expect(phone.locator("#left")).to_be_visible()
    before = phone.locator("#left").inner_text()
    expect(phone.locator("#left")).not_to_have_text(before)
    PAID["page"] = said["page"]
    shop.pay(said["link"])
    expect(heading(phone)).to_have_text("Paid")
    expect(phone.locator("#heard")).to_have_text("Paid")
    expect(phone.get_by_role("link")).to_have_count(0)
    assert said["link"] not in phone.content()
    eyes.look(phone, "customer-paid")
    expect(panel(page, "succeeded")).to_contain_text("€12.50")
    # It has ended: asked slowly now, for money can go back.
    asked = []
    phone.on("request", lambda request: asked.append(request.url))
    phone.wait_for_timeout(3_000)
    assert asked == []
    with phone.expect_response(lambda answer: "/pay/" in answer.url, timeout=25_000) as answer:
        pass
    assert answer.value.status == 304, "what has not changed is not sent again"
    phone.close()


def test_what_comes_after_the_end_reaches_the_phone_and_the_end_of_the_page_is_said(page, shop, context, eyes):
    """A late payment in the terminal's words, put before the page's own script; then the link is void."""
    # Its end is a 404, which the watch takes for a fault.
    unwatched = context.browser.new_context(ignore_https_errors=True, viewport=PHONE)
    phone = unwatched.new_page()
    phone.goto(PAID["page"])
    expect(heading(phone)).to_have_text("Paid")
    html = phone.evaluate("() => fetch(location.pathname).then((answer) => answer.text())")
    cancelled = html.replace("<h1>Paid</h1>", "<h1>Cancelled</h1>").replace('data-again="15"', 'data-again="1"')
    cancelled = re.sub(r'data-version="[^"]*"', 'data-version="cancelled"', cancelled)
    quick = html.replace('data-again="15"', 'data-again="1"')
    answers = [cancelled, cancelled, quick, quick, None]

    def answer(route):
        text = answers.pop(0) if len(answers) > 1 else answers[0]
        if text is None:
            route.fulfill(status=404, content_type="text/html", body=html.replace("<h1>Paid</h1>", "<h1>This page is over</h1>"))
        else:
            route.fulfill(status=200, content_type="text/html", body=text)

    phone.route("**/pay/*", answer)
    phone.reload()
    expect(heading(phone)).to_have_text("Cancelled")
    expect(heading(phone)).to_have_text("Paid")
    expect(phone.locator("#heard")).to_have_text("Paid")
    # The link's life is over: the result stays, and nothing is asked any more.
    expect(phone.get_by_text("This page has ended.")).to_be_visible()
    expect(heading(phone)).to_have_text("Paid")
    eyes.look(phone, "customer-ended")
    asked = []
    phone.on("request", lambda request: asked.append(request.url))
    phone.wait_for_timeout(2_500)
    assert asked == []
    unwatched.close()


def test_a_cancelled_charge_says_so_on_the_phone(page, shop, stranger, eyes):
    new_charge(page)
    open_charge(page, "3.10")
    phone = stranger.new_page()
    phone.goto(charge_on_screen(shop)["page"])
    expect(heading(phone)).to_have_text("Pay with your wallet")
    cancel_charge(page)
    expect(heading(phone)).to_have_text("Cancelled")
    expect(phone.locator("main")).to_contain_text("Ask staff to start again.")
    eyes.look(phone, "customer-cancelled")
    phone.close()


def test_the_page_works_without_scripts(page, shop, context, eyes):
    new_charge(page)
    open_charge(page, "7.00")
    said = charge_on_screen(shop)
    plain = context.browser.new_context(ignore_https_errors=True, viewport=PHONE, java_script_enabled=False)
    phone = plain.new_page()
    phone.goto(said["page"])
    expect(phone.get_by_role("link", name="Open MetaMask")).to_have_attribute("href", re.compile("^metamask://wc"))
    expect(phone.locator(".time")).to_contain_text("Time left")
    shop.pay(said["link"])
    # The page reloads itself every five seconds.
    expect(heading(phone)).to_have_text("Paid")
    plain.close()
    expect(panel(page, "succeeded")).to_contain_text("€7.00")


def test_a_lost_connection_is_said_and_ends_by_itself(page, shop, stranger, eyes):
    new_charge(page)
    open_charge(page, "8.00")
    phone = stranger.new_page()
    phone.goto(charge_on_screen(shop)["page"])
    expect(heading(phone)).to_have_text("Pay with your wallet")
    lost = phone.locator("#lost")
    expect(lost).to_be_hidden()
    stranger.set_offline(True)
    expect(lost).to_be_visible()
    eyes.look(phone, "customer-lost")
    stranger.set_offline(False)
    expect(lost).to_be_hidden()
    phone.close()


def test_a_page_that_is_over_shows_nothing_of_the_shop(page, shop, context, eyes):
    """Switched off, every address is void at once, also for who looks at it."""
    address = charge_on_screen(shop)["page"]
    plain = context.browser.new_context(ignore_https_errors=True, viewport=PHONE)
    phone = plain.new_page()
    phone.goto(address)
    expect(heading(phone)).to_have_text("Pay with your wallet")
    page.goto("about:blank")
    page.goto("/#/customers")
    field(page, "enabled").uncheck()
    save_well(page)
    expect(heading(phone)).to_have_text("This page is over")
    assert "8.00" not in phone.content() and "Zoë" not in phone.content()
    eyes.look(phone, "customer-over")
    answers = []
    for address in (address, f"{shop.url}/pay/{'A' * 48}"):
        answer = phone.goto(address)
        answers.append((answer.status, answer.body()))
    assert answers[0][0] == 404 and answers[0] == answers[1], "what is over looks like what never was"
    plain.close()
    # And the screen has the payment itself again.
    assert "page" not in charge_on_screen(shop)


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

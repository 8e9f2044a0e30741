"""Every page in other languages: Arabic from right to left, German for its length; at a phone's and a desktop's size, light
and dark, with axe-core, without scrolling sideways and without a word left in English.

One story, in order. Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_words.py`; TILL_SHOTS names a folder for
pictures.
"""

import pathlib
import re
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, PHONE, WAIT_MILLISECONDS, FakeEvents, sample_charge, until
from steps import cancel_charge, charges, current_charge, new_charge, open_charge, panel, save_well, set_up, setup_field
from test_shop_states import STATES

LANGUAGES = {"ar": "rtl", "de": "ltr", "es": "ltr", "fr": "ltr"}
#: Those that are looked at everywhere, and at which sizes.
LOOKED_AT = {"ar": ("phone", "desktop"), "de": ("phone",)}
#: Addresses of pages that need no charge.
PLACES = [
    "charge", "history", "totals", "shifts", "days", "settings", "staff", "counter", "security", "tokens", "webhooks", "outbox", "phones", "connect",
    "customers", "receipts", "health", "logs", "audit", "backup", "updates", "network", "setup",
]

#: Words of this page's own catalogue and the English one; then what of the English one is still to be read.
LEFT_IN_ENGLISH = """async (tag) => {
  const flat = (tree, path, found) => {
    for (const [name, value] of Object.entries(tree)) {
      if (typeof value === "object") flat(value, `${path}${name}.`, found);
      else if (typeof value === "string") found.set(`${path}${name}`, value);
    }
    return found;
  };
  const words = async (name) => flat((await import(`/app/words/${name}.js`)).default, "", new Map());
  const [english, own] = [await words("en"), await words(tag)];
  const wrong = new Set();
  for (const [key, text] of english) if (/[a-z]{3}/.test(text) && own.get(key) !== text && !text.includes("{")) wrong.add(text);
  for (const text of own.values()) wrong.delete(text);
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    if (wrong.has(text) && walker.currentNode.parentElement.checkVisibility()) seen.push(text);
  }
  for (const element of document.querySelectorAll("[aria-label]")) {
    if (wrong.has(element.getAttribute("aria-label"))) seen.push(element.getAttribute("aria-label"));
  }
  return seen;
}"""


def is_spoken(page, tag: str) -> None:
    assert page.evaluate("document.documentElement.lang") == tag
    assert page.evaluate("document.documentElement.dir") == LANGUAGES[tag]
    assert page.evaluate(LEFT_IN_ENGLISH, tag) == []
    # A key without words is shown as the key.
    assert re.findall(r"\b(?:[a-z]+\.){1,3}[a-z][A-Za-z]+\b(?![\w/:])", page.locator("h1, h2, button, label").all_inner_texts().__str__()) == []


def open_all(page) -> None:
    page.evaluate("for (const part of document.querySelectorAll('main details')) part.open = true")


@pytest.fixture
def abroad(context, watch):
    """Browsers of people who read something else; the session of the owner comes along once there is one."""
    opened = []

    def open_browser(tag: str, state=None):
        browser = context.browser.new_context(
            ignore_https_errors=True, viewport=PHONE, locale=tag, reduced_motion="reduce", base_url=watch.origin, storage_state=state,
        )
        browser.set_default_timeout(WAIT_MILLISECONDS)
        watch.over(browser)
        opened.append(browser)
        return browser

    yield open_browser
    for browser in opened:
        browser.close()


@pytest.mark.parametrize("tag", LOOKED_AT)
def test_the_way_in_speaks_the_browsers_language(abroad, shop, eyes, tag):
    page = abroad(tag).new_page()
    page.goto(f"/#claim={shop.claim_code}")
    expect(page.locator("h1")).to_be_visible()
    is_spoken(page, tag)
    assert page.locator(".code-input").evaluate("(field) => getComputedStyle(field).direction") == "ltr"
    eyes.look(page, f"words-{tag}-claim", LOOKED_AT[tag])
    # A refusal of the terminal's own, by its code.
    page.locator("[name=code]").fill("WRONGCODE")
    page.locator("[name=password]").fill(OWNER_PASSWORD)
    page.locator("form .primary").click()
    expect(page.locator(".field-error:visible")).to_be_visible()
    assert not re.search(r"not the code", page.locator("body").inner_text())


def test_a_language_can_be_chosen_and_stays_in_this_browser(abroad):
    page = abroad("de").new_page()
    page.goto("/")
    expect(page.get_by_role("heading", name="Terminal übernehmen")).to_be_visible()
    page.get_by_label("Passwort des Inhabers").fill("typed before")
    page.get_by_role("button", name="Sprache und Schrift").click()
    page.get_by_label("Sprache", exact=True).select_option("es")
    page.get_by_label("Schriftgröße").select_option("largest")
    page.get_by_role("button", name="Fertig").click()
    expect(page.get_by_role("heading", name="Activar este terminal")).to_be_visible()
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") == 22
    page.reload()
    expect(page.get_by_role("heading", name="Activar este terminal")).to_be_visible()
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") == 22
    # Escape changes nothing.
    page.get_by_role("button", name="Idioma y tamaño del texto").click()
    page.get_by_label("Idioma", exact=True).select_option("en")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Activar este terminal")).to_be_visible()
    page.get_by_role("button", name="Idioma y tamaño del texto").click()
    page.get_by_label("Idioma", exact=True).select_option("")
    page.get_by_role("button", name="Listo").click()
    expect(page.get_by_role("heading", name="Terminal übernehmen")).to_be_visible()


def test_only_one_language_is_loaded(abroad):
    asked = []
    page = abroad("fr").new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/")
    expect(page.get_by_role("heading", name="Activer ce terminal")).to_be_visible()
    assert [url.rsplit("/", 1)[1] for url in asked if "/words/" in url] == ["fr.js"]


def test_the_shop_is_set_up(page, shop):
    set_up(page, shop)


@pytest.mark.parametrize("tag", ["en", "ar"])
def test_the_first_load_is_small(abroad, context, tag):
    page = abroad(tag, context.storage_state()).new_page()
    page.goto("/")
    expect(page.locator(".keys")).to_be_visible()
    sent = page.evaluate(
        """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
          .reduce((sum, { transferSize }) => sum + transferSize, 0)"""
    )
    assert 20_000 < sent < 150_000, sent


@pytest.mark.parametrize("tag", LOOKED_AT)
def test_every_page_is_whole_in_its_language(abroad, context, eyes, tag):
    page = abroad(tag, context.storage_state()).new_page()
    for place in PLACES:
        # From view to view without loading anew: until the next one is there, there is no heading.
        page.goto(f"/#/{place}")
        expect(page.locator("h1").first).to_be_attached()
        page.wait_for_timeout(250)
        # What is closed is looked at too.
        open_all(page)
        is_spoken(page, tag)
        if place == "health":
            said = page.locator(".health-check p").all_inner_texts()
            assert len(said) > 10 and not any(re.search(r"\b(The|This|Start|Check)\b", text) for text in said), said
        eyes.look(page, f"words-{tag}-{place}", LOOKED_AT[tag])
    page.close()


@pytest.mark.parametrize("tag", LOOKED_AT)
def test_pages_with_everything_switched_on_are_whole(abroad, context, eyes, tag):
    """Switches show fields that are hidden before."""
    page = abroad(tag, context.storage_state()).new_page()
    for place in ["phones", "connect", "customers"]:
        page.goto("about:blank")
        page.goto(f"/#/{place}")
        box = page.locator("[name=enabled]")
        expect(box).to_be_visible()
        if not box.is_checked():
            box.check()
        for name in ["offlineAllowed", "onScreen"]:
            more = page.locator(f"[name={name}]")
            if more.count() and more.is_visible() and not more.is_checked():
                more.check()
        is_spoken(page, tag)
        eyes.look(page, f"words-{tag}-{place}-on", LOOKED_AT[tag])
    page.close()


@pytest.mark.parametrize("tag", LOOKED_AT)
def test_every_state_of_a_charge_is_said(abroad, context, eyes, tag):
    page = abroad(tag, context.storage_state()).new_page()
    terminal = FakeEvents(page)
    page.goto("/#/charge")
    terminal.say(None)
    for name, changes, held, _words, _offer in STATES:
        changes = {key: value for key, value in changes.items() if key != "reason"}
        terminal.say(sample_charge())
        expect(page.locator(".panel[data-state=requiresAction]")).to_be_visible()
        terminal.say(sample_charge(**changes), held=held)
        page.wait_for_timeout(100)
        is_spoken(page, tag)
        amount = page.locator(".panel-amount")
        assert amount.evaluate("(text) => getComputedStyle(text).direction") == "ltr"
        eyes.look(page, f"words-{tag}-state-{name}", LOOKED_AT[tag])
    page.close()


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ({"code": "paid_twice", "message": "The customer paid more than once.", "action": "Give back."}, "mehr als einmal bezahlt"),
        ({"code": "not_known_yet", "message": "Nobody could say.", "action": "x", "values": {"case": "acquirer"}}, "beim Acquirer"),
        ({"code": "failed_balance", "message": "The payment was declined.", "action": "x"}, "Zahlung wurde abgelehnt"),
        # What this page does not know stays as the terminal said it.
        ({"code": "not_known_yet", "message": "Nobody could say.", "action": "Look there.", "values": {"case": "future"}}, "Nobody could say. / Look there."),
        ({"code": "unrecognised_status", "message": "A word without its value.", "action": "x"}, "A word without its value."),
        ({"code": "from_the_future", "message": "Something new.", "action": "x"}, "Something new."),
    ],
)
def test_the_terminals_reasons_are_said_by_their_codes(abroad, context, reason, said):
    page = abroad("de", context.storage_state()).new_page()
    charge = sample_charge(state="failed", reason=reason)
    page.route("**/api/v1/charges/*-*", lambda route: route.fulfill(json=charge))
    page.goto(f"/#/history/{charge['id']}")
    for sentence in said.split(" / "):
        expect(page.locator(".detail")).to_contain_text(sentence)
    page.close()


def test_history_and_a_charge_are_whole_with_real_charges(abroad, context, page, shop, eyes):
    open_charge(page, "12.50", reference="Table 4")
    shop.pay(current_charge(page)["link"])
    expect(panel(page, "succeeded")).to_be_visible()
    new_charge(page)
    open_charge(page, "7.00")
    cancel_charge(page)
    new_charge(page)
    for tag, sizes in LOOKED_AT.items():
        other = abroad(tag, context.storage_state()).new_page()
        other.goto("/#/history")
        expect(other.locator(".row").first).to_be_visible()
        is_spoken(other, tag)
        eyes.look(other, f"words-{tag}-history-filled", sizes)
        for charge in charges(page)[:2]:
            other.goto(f"/#/history/{charge['id']}")
            expect(other.locator(".detail-head")).to_be_visible()
            is_spoken(other, tag)
            told = other.locator(".timeline li > p:first-child").all_inner_texts()
            assert len(told) > 3 and not any(re.search(r"\bThe\b", text) for text in told), told
            if tag == "de":
                assert told[0].startswith("Der Vorgang wurde über") and told[2] == "Das Terminal bat das Gateway um die Zahlung."
            eyes.look(other, f"words-{tag}-detail-{charge['state']}", sizes)
        other.goto("/#/totals")
        expect(other.locator(".figure").first).to_be_visible()
        is_spoken(other, tag)
        eyes.look(other, f"words-{tag}-totals-filled", sizes)
        other.close()


@pytest.mark.parametrize("tag", LANGUAGES)
def test_no_page_scrolls_sideways_with_very_large_text(abroad, context, tag):
    page = abroad(tag, context.storage_state()).new_page()
    page.add_init_script("try { localStorage.setItem('till.size', 'largest'); } catch { /* A page without an address. */ }")
    for place in PLACES:
        page.goto(f"/#/{place}")
        expect(page.locator("h1").first).to_be_attached()
        page.wait_for_timeout(150)
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{place} in {tag} is {wider} px wider than the phone"
    page.close()


def test_words_that_come_together_do_not_hide_each_other(context):
    page = context.new_page()
    page.goto("/#/settings")
    expect(setup_field(page, "merchantName")).to_be_visible()
    page.evaluate(
        """async () => {
          const { toast } = await import("/app/form.js");
          for (const words of ["Saved. The terminal uses the new settings at once.", "The terminal did not answer.", "Third"]) toast(words);
        }"""
    )
    boxes = [element.bounding_box() for element in page.locator(".toast").all()]
    assert len(boxes) == 3
    for above, below in zip(boxes, boxes[1:]):
        assert above["y"] + above["height"] <= below["y"]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    head, way = page.locator("h1").bounding_box(), page.locator(".nav").bounding_box()
    assert head["y"] + head["height"] <= boxes[0]["y"], "the page's head can be read"
    assert boxes[-1]["y"] + boxes[-1]["height"] <= way["y"], "and so can the way around"
    page.close()


def test_screen_receipts_and_customers_page_speak_their_language(abroad, context, page, shop, eyes):
    """The receipt the shop's, the customer's page the customer's."""
    page.goto("about:blank")
    page.goto("/#/settings")
    setup_field(page, "language").select_option("ar")
    save_well(page)
    done = next(charge for charge in charges(page) if charge["state"] == "succeeded")
    receipt = context.new_page()
    receipt.goto(f"/api/v1/charges/{done['id']}/receipt?format=html")
    expect(receipt.locator(".stamp")).to_have_text("مدفوع")
    assert receipt.evaluate("document.documentElement.dir") == "rtl"
    if eyes.folder:
        receipt.screenshot(path=eyes.folder / "words-ar-receipt.png")
    receipt.close()

    said = page.evaluate(
        """async (password) => {
          const { csrfToken } = await (await fetch("/api/v1/session")).json();
          const answer = await fetch("/api/v1/customers", {
            method: "PUT", headers: { "Content-Type": "application/json", "X-CSRF-Token": csrfToken },
            body: JSON.stringify({ password, enabled: true, onScreen: true }),
          });
          return [answer.status, await answer.text()];
        }""",
        OWNER_PASSWORD,
    )
    assert said[0] == 200, said
    open_charge(page, "12.50")
    address = until(lambda: shop.on_screen("charge").get("page"), "the customer's page on the screen")
    for tag, words in {"ar": "ادفع بمحفظتك", "de": "Mit Ihrer Wallet bezahlen", "fr": "Payez avec votre portefeuille", "it": "ادفع بمحفظتك"}.items():
        phone = abroad(tag).new_page()
        phone.goto(address)
        # Who reads none of the page's languages gets the shop's.
        expect(phone.get_by_role("heading", level=1)).to_have_text(words)
        if tag in LOOKED_AT:
            assert phone.evaluate("document.documentElement.dir") == LANGUAGES[tag]
            phone.locator("summary").click()
            eyes.look(phone, f"words-{tag}-pay")
        phone.close()
    cancel_charge(page)
    new_charge(page)


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

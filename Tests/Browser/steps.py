"""What staff do on the page, as steps that more than one test takes."""

from playwright.sync_api import Page, expect

from shopfloor import OWNER_PASSWORD, Shop


def set_up(page: Page, shop: Shop) -> None:
    """From the terminal's claim code to a shop that can charge euros."""
    page.goto(f"/#claim={shop.claim_code}")
    page.get_by_label("Owner password").fill(OWNER_PASSWORD)
    page.get_by_role("button", name="Claim").click()
    answer_set_up(page, shop)


def answer_set_up(page: Page, shop: Shop, merchant_name: str = "Café Zoë") -> None:
    """From the set-up's first question to the keypad, with nothing that can be left for later."""
    for step, facts in {
        "language": {}, "country": {}, "ids": {"operatorID": "operator-1", "merchantID": shop.merchant_id},
        "shop": {"merchantName": merchant_name}, "gateway": {"gatewayURL": shop.gateway_url, "gatewayKey": shop.gateway_key},
    }.items():
        expect(page.locator(f".setup[data-step={step}]")).to_be_visible()
        if step == "country":
            page.locator(".setup [name=currency]").select_option("EUR")
            page.locator(".setup [name=locale]").select_option("en-US")
        for name, value in facts.items():
            page.locator(f".setup [name={name}]").fill(value)
        page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Finish later").click()
    expect(page.get_by_role("group", name="Keypad")).to_be_visible()


def save_well(page: Page) -> None:
    """Saves, and waits until the page shows what is stored now."""
    # Its own answer: the words of the save before may still stand there.
    with page.expect_response(lambda answer: answer.request.method == "PUT") as answer:
        page.get_by_role("button", name="Save").click()
    assert answer.value.ok
    expect(page.locator(".toast").last).to_contain_text("Saved.")
    expect(page.locator(".trouble .notice-bad")).to_have_count(0)


def leave(page: Page) -> None:
    """Ends what the test made up. The page goes first: what it still asks for would reach the terminal, which knows none of it."""
    page.goto("about:blank")
    page.unroute_all()


def panel(page: Page, state: str):
    return page.locator(f".panel[data-state={state}]")


def type_amount(page: Page, keys: list[str]) -> None:
    for key in keys:
        page.get_by_role("group", name="Keypad").get_by_role("button", name=key, exact=True).click()


def open_charge(page: Page, amount: str = "12.50", reference: str = "") -> None:
    """From wherever the page is to a charge that waits for the customer."""
    page.goto("/#/charge")
    clear = page.get_by_role("button", name="Clear")
    expect(page.get_by_role("group", name="Keypad")).to_be_visible()
    if clear.is_visible():
        clear.click()
    type_amount(page, list(amount.replace(".", "")))
    page.get_by_label("Reference").fill(reference)
    page.get_by_role("button", name=f"Charge €{amount}").click()
    expect(panel(page, "requiresAction")).to_be_visible()


def cancel_charge(page: Page) -> None:
    page.get_by_role("button", name="Cancel charge").click()
    page.get_by_role("button", name="Yes, cancel").click()
    expect(panel(page, "cancelled")).to_be_visible()


def new_charge(page: Page) -> None:
    page.get_by_role("button", name="New charge").click()
    expect(page.get_by_role("group", name="Keypad")).to_be_visible()


def current_charge(page: Page) -> dict:
    return page.evaluate("() => fetch('/api/v1/charges/current').then((answer) => answer.json())")


def charges(page: Page) -> list[dict]:
    return page.evaluate("() => fetch('/api/v1/charges?limit=50').then((answer) => answer.json())")["charges"]


def error_of(page: Page, field) -> str:
    """What a screen reader says is wrong with the field; empty where nothing is."""
    if field.get_attribute("aria-invalid") != "true":
        return ""
    ids = (field.get_attribute("aria-describedby") or "").split()
    return page.locator(f"#{ids[0]}").inner_text()


def setup_field(page: Page, name: str):
    return page.locator(f".settings-form [name={name}]")


def open_or_keep_keypad(page: Page) -> None:
    page.goto("/#/charge")
    again = page.get_by_role("button", name="New charge")
    expect(page.get_by_role("group", name="Keypad").or_(again)).to_be_visible()
    if again.is_visible():
        again.click()
    expect(page.get_by_role("group", name="Keypad")).to_be_visible()


def sign_out(page: Page) -> None:
    page.goto("/#/settings")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def within_reach(page: Page, block) -> bool:
    """True where the block fills the phone's height above the navigation, no less and no more."""
    box, navigation = block.bounding_box(), page.get_by_role("navigation").bounding_box()
    bottom = box["y"] + box["height"]
    return navigation["y"] - 40 <= bottom <= navigation["y"]

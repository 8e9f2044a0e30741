"""How the terminal is, its log, its audit log and the file for support, in a real browser."""

import csv
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tarfile

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, small_targets
from steps import cancel_charge, open_charge, set_up

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


def download(page, link) -> bytes:
    with page.expect_download() as taken:
        link.click()
    return pathlib.Path(taken.value.path()).read_bytes()


def test_the_owner_sees_how_each_part_stands(page, eyes):
    open_charge(page, "3.50", reference="Frau Meier")
    cancel_charge(page)
    page.goto("/#/settings")
    page.get_by_role("link", name="Health").click()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    checks = page.locator(".health-check")
    expect(checks.filter(has_text="Gateway")).to_contain_text("The gateway answers.")
    expect(checks.filter(has_text="Record of payments")).to_contain_text("takes entries")
    for part in ("Storage", "Clock", "Certificate"):
        expect(checks.filter(has=page.get_by_text(part, exact=True)).first).to_be_visible()
    page.get_by_text("Versions", exact=True).click()
    expect(page.get_by_text("SQLite")).to_be_visible()
    expect(page.get_by_text("libmicrohttpd")).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "health")


def test_a_terminal_that_is_no_appliance_leaves_the_network_to_its_owner(page, eyes):
    page.goto("/#/settings")
    page.get_by_role("link", name="Network").click()
    expect(page.get_by_role("heading", name="Network", exact=True)).to_be_visible()
    expect(page.get_by_text("who looks after its network")).to_be_visible()
    expect(page.get_by_role("button", name="Look again")).to_have_count(0)
    assert page.request.put("/api/v1/network/connection", data={"name": "x"}).status == 403, "not without the page's own header"
    eyes.look(page, "network-absent")


#: What an appliance answers; the rig sees the real one. The second name is a stranger's.
def around(code: str, name: str, bars: int, **facts) -> dict:
    return {"id": code, "name": name, "security": "passphrase", "bars": bars, "strengthDBm": -50, "known": False, "joined": False, "supported": True, **facts}


SHOP, STRANGER, CAFE = "53686f70-passphrase", "3c62-passphrase", "43616665-open"
NETWORK = {
    "state": "ready", "link": "none", "scanning": False, "addresses": [], "pages": ["https://till-abcd.local:8443", "https://192.168.1.7:8443"], "attempt": None,
    "known": [], "chargeOpen": False, "networks": [
        around(SHOP, "Shop", 4), around(STRANGER, "<b onclick=alert(1)>\ufffd", 2), around(CAFE, "Café مقهى", 3, security="open"),
        around("4f-enterprise", "Office", 0, security="enterprise", supported=False),
    ],
}


def test_a_network_is_chosen_and_what_became_of_it_is_said(page, eyes):
    """The terminal's answers are made up here: what the page makes of each of them is real."""
    now = json.loads(json.dumps(NETWORK))
    asked = []

    def answer(route):
        request = route.request
        asked.append((request.method, request.url.rsplit("/api/v1/", 1)[1], request.post_data_json if request.method == "PUT" else None))
        if request.method == "PUT":
            now["attempt"] = {"name": "Shop", "stage": "joining", "reason": None}
        if now.get("silent"):
            return route.abort()
        return route.fulfill(json=now, status=202 if request.method == "PUT" else 200)

    page.route("**/api/v1/network**", answer)
    page.reload()
    rows = page.locator(".network-row")
    expect(rows).to_have_count(4)
    # A stranger's name is text, and nothing else.
    expect(rows.nth(1)).to_contain_text("<b onclick=alert(1)>")
    assert page.locator(".network-row b").count() == 0
    expect(rows.nth(3)).to_contain_text("cannot be joined")
    expect(rows.nth(2)).to_contain_text("anybody near can read along")
    assert ("POST", "network/scan", None) in asked
    assert small_targets(page) == []
    eyes.look(page, "network")
    # By keyboard alone: what is too short is said before anything is sent.
    page.get_by_role("button", name="Join Shop").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("this page may have to be opened anew there")
    expect(dialog.locator("[name=passphrase]")).to_be_focused()
    page.keyboard.type("short")
    page.keyboard.press("Enter")
    expect(dialog.locator("[name=passphrase]")).to_have_attribute("aria-invalid", "true")
    eyes.look(page, "network-passphrase")
    dialog.locator("[name=passphrase]").fill("tram bell eighteen")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    status = page.locator(".network-standing")
    expect(status).to_contain_text("Joining Shop")
    assert ("PUT", "network/connection", {"network": SHOP, "passphrase": "tram bell eighteen"}) in asked
    assert status.get_attribute("role") == "status"
    # The list may change under the keyboard, which stays where it is.
    page.get_by_role("button", name="Join Shop").focus()
    now["networks"][0]["bars"] = 3
    expect(rows.first).to_contain_text("good signal")
    expect(page.get_by_role("button", name="Join Shop")).to_be_focused()
    wrong = {"code": "wifi_passphrase_wrong", "message": "The network did not take this passphrase.", "action": "Type it again."}
    now["attempt"] = {"name": "Shop", "stage": "failed", "reason": wrong}
    expect(status).to_contain_text("Not joined: Shop")
    expect(status).to_contain_text("did not take this passphrase")
    eyes.look(page, "network-wrong")
    # The terminal leaves for the other network: this page does not reach it, and says where it may be.
    now["attempt"] = {"name": "Shop", "stage": "joining", "reason": None}
    expect(status).to_contain_text("Joining Shop")
    now["silent"] = True
    expect(status).to_contain_text("The terminal is changing to Shop")
    expect(status.get_by_role("link", name="https://till-abcd.local:8443")).to_be_visible()
    now.update(silent=False, link="joined", network={"id": SHOP, "name": "Shop", "security": "passphrase"}, addresses=["192.168.7.20"],
               attempt={"name": "Shop", "stage": "joined", "reason": None}, known=[{"id": SHOP, "name": "Shop", "security": "passphrase", "hidden": False, "heard": True}])
    now["networks"][0].update(joined=True, known=True)
    expect(status).to_contain_text("In the Wi-Fi network Shop")
    expect(status).to_contain_text("192.168.7.20")
    assert small_targets(page) == []
    eyes.look(page, "network-joined")
    now["chargeOpen"] = True
    expect(status).to_contain_text("A charge is running")
    page.get_by_role("button", name="Forget Shop").click()
    expect(dialog).to_contain_text("does not reach the terminal then")
    dialog.get_by_role("button", name="Forget", exact=True).click()
    expect(page.locator(".toast").last).to_contain_text("Shop is forgotten.")
    assert ("DELETE", f"network/known/{SHOP}", None) in asked
    page.get_by_text("A network that does not say its name").click()
    hidden = page.locator(".network-hidden")
    hidden.get_by_role("button", name="Join").click()
    expect(hidden.locator("[name=name]")).to_have_attribute("aria-invalid", "true")
    hidden.locator("[name=name]").fill("Back room")
    hidden.locator("[name=passphrase]").fill("tram bell seventeen")
    hidden.get_by_role("button", name="Join").click()
    expect(hidden.locator("[name=passphrase]")).to_have_value("")
    assert ("PUT", "network/connection", {"name": "Back room", "passphrase": "tram bell seventeen"}) in asked
    now.clear()
    now.update(state="unavailable", reason={"code": "wifi_no_adapter", "message": "There is no radio.", "action": "Use a cable."})
    expect(page.get_by_text("There is no radio.")).to_be_visible()
    page.goto("about:blank")
    page.unroute("**/api/v1/network**")


def test_the_file_for_support_holds_no_secret_and_no_name(page, shop):
    page.goto("/#/health")
    data = download(page, page.get_by_role("link", name="Download the file"))
    archive = tarfile.open(fileobj=io.BytesIO(data))
    files = {pathlib.PurePath(member.name).name: archive.extractfile(member).read() for member in archive.getmembers()}
    for line in files.pop("SHA256SUMS").decode().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256(files[name]).hexdigest() == digest
    text = b"\n".join(files.values()).decode()
    for secret in (OWNER_PASSWORD, shop.gateway_key, shop.claim_code, shop.claim_code.replace("-", ""), "Meier"):
        assert secret not in text, secret
    assert json.loads(files["charges.json"])[0]["amountMinor"] == 350
    assert shop.merchant_id in text and json.loads(files["health.json"])["checks"]


def test_the_log_is_newest_first_and_can_be_searched(page, eyes):
    page.goto("/#/health")
    page.get_by_role("link", name="Log", exact=False).filter(has_text="What the program wrote").click()
    lines = page.locator(".log-line")
    expect(lines.first).to_be_visible()
    expect(page.get_by_text("Times are those of the time zone")).to_be_visible()
    page.get_by_label("Search").fill("the page is at")
    expect(lines).to_have_count(1)
    expect(lines).to_contain_text("the page is at https://")
    assert small_targets(page) == []
    eyes.look(page, "logs")
    page.get_by_label("Search").fill("no such words anywhere")
    expect(page.get_by_text("No line like that.")).to_be_visible()


def test_the_audit_log_is_found_checked_and_taken_along(page, eyes, tmp_path):
    page.goto("/#/settings")
    page.get_by_role("link", name="Audit log").click()
    lines = page.locator(".log-line")
    expect(lines.filter(has_text="Downloaded the file for support")).to_have_count(1)
    expect(lines.filter(has_text="Claim")).to_have_count(1)
    page.get_by_text("More filters").click()
    page.get_by_label("What", exact=True).fill("charge")
    expect(lines.filter(has_text="Claim")).to_have_count(0)
    expect(lines.filter(has_text="Cancelled a charge")).to_have_count(1)
    eyes.look(page, "audit-filtered")
    page.get_by_label("What", exact=True).fill("")
    page.get_by_label("Who", exact=True).select_option("stranger")
    expect(page.get_by_text("No entry like that.").or_(lines.first)).to_be_visible()
    page.get_by_label("Who", exact=True).select_option("")
    page.get_by_role("button", name="Check all entries").click()
    expect(page.get_by_text("and all are right")).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "audit")
    for form in ("CSV", "JSON"):
        data = download(page, page.get_by_role("link", name=f"Download as {form}"))
        path = tmp_path / f"log.{form.lower()}"
        path.write_bytes(data)
        checked = subprocess.run([ROOT / "scripts/verify-audit-export", path], capture_output=True, text=True)
        assert checked.returncode == 0 and checked.stdout.startswith("intact: "), checked
    rows = list(csv.DictReader(io.StringIO((tmp_path / "log.csv").read_bytes().decode("utf-8-sig"), newline="")))
    assert rows[0]["what"] == "claim" and rows[-1]["what"] == "audit.export"


def test_settings_move_as_a_file_and_show_first_what_would_change(page, shop, eyes, tmp_path):
    page.goto("/#/settings")
    page.get_by_role("link", name="Backup and erasing").click()
    out = page.locator("form", has=page.get_by_text("Take settings along"))
    out.locator("[name=passphrase]").fill("four unrelated words: barn")
    out.locator("[name=password]").fill(OWNER_PASSWORD)
    data = download(page, out.get_by_role("button", name="Download the file"))
    file = json.loads(data)
    assert shop.gateway_key not in data.decode() and file["secrets"]["cipher"] == "AES-256-GCM"
    file["parts"]["settings"]["merchantName"] = "Café Yves"
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(file))

    into = page.locator("form", has=page.get_by_text("Bring settings in"))
    into.locator("[name=file]").set_input_files(path)
    into.locator("[name=passphrase]").fill("four unrelated words: wrong")
    into.get_by_role("button", name="Show what would change").click()
    expect(into.locator("[name=passphrase]")).to_have_attribute("aria-invalid", "true")
    into.locator("[name=passphrase]").fill("four unrelated words: barn")
    into.get_by_role("button", name="Show what would change").click()
    expect(into.locator(".backup-changes")).to_contain_text("Café Yves")
    assert small_targets(page) == []
    eyes.look(page, "backup")
    into.locator("[name=password]").fill(OWNER_PASSWORD)
    into.get_by_role("button", name="Bring it in").click()
    expect(into.get_by_text("The settings are in force.")).to_be_visible()
    page.goto("/#/charge")
    page.goto("/#/settings")
    expect(page.locator("[name=merchantName]")).to_have_value("Café Yves")


def test_everything_is_erased_and_the_terminal_says_what_it_needs_first(page, eyes):
    page.goto("/#/backup")
    erase = page.locator("form", has=page.get_by_text("To confirm, type the name below"))
    expect(erase.get_by_text("Type: Café Yves")).to_be_visible()
    erase.locator("[name=word]").fill("Café Zoë")
    erase.locator("[name=password]").fill(OWNER_PASSWORD)
    erase.get_by_role("button", name="Erase everything").click()
    page.get_by_role("dialog").get_by_role("button", name="Erase everything").click()
    expect(erase.locator("[name=word]")).to_have_attribute("aria-invalid", "true")
    eyes.look(page, "wipe")


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

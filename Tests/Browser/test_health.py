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
    expect(lines.filter(has_text="Took the file for support")).to_have_count(1)
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
    rows = list(csv.DictReader(io.StringIO((tmp_path / "log.csv").read_bytes().decode(), newline="")))
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

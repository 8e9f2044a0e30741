"""A terminal's whole memory as one sealed file, and a terminal that takes it back, in a real browser."""

import base64
import pathlib
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from shopfloor import OWNER_PASSWORD, small_targets
from steps import cancel_charge, open_charge, set_up

PASSPHRASE = "four unrelated words: barn"


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


@pytest.fixture(scope="module")
def backup(page, tmp_path_factory) -> pathlib.Path:
    open_charge(page, "3.50", reference="Frau Meier")
    cancel_charge(page)
    page.goto("/#/settings")
    page.get_by_role("link", name="Backup and erasing").click()
    form = page.locator("form", has=page.get_by_text("Back everything up"))
    form.locator("[name=passphrase]").fill(PASSPHRASE)
    form.locator("[name=password]").fill(OWNER_PASSWORD)
    with page.expect_download() as taken:
        form.get_by_role("button", name="Download the backup").click()
    expect(form.get_by_text("Try it out before you need it.")).to_be_visible()
    path = tmp_path_factory.mktemp("backup") / taken.value.suggested_filename
    taken.value.save_as(path)
    return path


def restore_form(page):
    return page.locator("form", has=page.get_by_text("Restore a backup"))


def test_the_backup_is_sealed_and_a_foreign_program_opens_it(page, shop, eyes, backup, tmp_path):
    data = backup.read_bytes()
    assert re.fullmatch(r"till-backup-\d{4}-\d\d-\d\d\.age", backup.name)
    assert data.startswith(b"age-encryption.org/v1\n-> scrypt ")
    for canary in (b"SQLite", b"Meier", shop.gateway_key.encode(), shop.merchant_id.encode()):
        assert canary not in data
    # `age` reads a passphrase from a terminal only; `script` is one.
    command = f"age -d -o {tmp_path}/backup.tar {backup} && tar -C {tmp_path} -xf {tmp_path}/backup.tar"
    subprocess.run(["script", "-qec", command, "/dev/null"], input=PASSPHRASE + "\n", text=True, check=True, capture_output=True)
    assert b"Meier" in (tmp_path / "journal.sqlite").read_bytes()
    assert shop.gateway_key.encode() not in (tmp_path / "journal.sqlite").read_bytes()
    assert small_targets(page) == []
    eyes.look(page, "whole-backup")


def test_a_file_is_checked_whole_before_anything_changes(page, eyes, backup, tmp_path):
    form = restore_form(page)
    cut = tmp_path / "cut.age"
    cut.write_bytes(backup.read_bytes()[:-1])
    form.locator("[name=file]").set_input_files(cut)
    form.locator("[name=passphrase]").fill(PASSPHRASE)
    form.get_by_role("button", name="Check the backup").click()
    expect(form.locator("[name=file]")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_text("changed or is not whole")).to_be_visible()
    eyes.look(page, "backup-damaged")

    form.locator("[name=file]").set_input_files(backup)
    form.locator("[name=passphrase]").fill("four unrelated words: door")
    form.get_by_role("button", name="Check the backup").click()
    expect(form.locator("[name=passphrase]")).to_have_attribute("aria-invalid", "true")

    form.locator("[name=passphrase]").fill(PASSPHRASE)
    form.get_by_role("button", name="Check the backup").click()
    expect(form.get_by_text("The backup is whole.")).to_be_visible()
    expect(form.locator(".facts")).to_contain_text("Entries on this terminal, which go")
    expect(form.get_by_role("button", name="Restore, and start again")).to_be_visible()
    assert small_targets(page) == []
    eyes.look(page, "backup-found")


def test_nothing_is_restored_without_the_owners_password(page, eyes):
    form = restore_form(page)
    form.locator("[name=password]").fill("not the password")
    form.get_by_role("button", name="Restore, and start again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Restore this backup?")
    eyes.look(page, "backup-sure")
    dialog.get_by_role("button", name="Keep what is here").click()
    expect(form.locator("[name=password]")).not_to_have_attribute("aria-invalid", "true")
    form.get_by_role("button", name="Restore, and start again").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(form.locator("[name=password]")).to_have_attribute("aria-invalid", "true")


def test_a_backup_goes_onto_a_stick_and_is_offered_from_it(page, eyes):
    """The terminal's answers are made up here, for no stick is plugged in: what the page makes of each of them is real."""
    now = {"available": True, "sticks": [], "files": [], "phase": "idle", "percent": 0, "problem": None, "written": None}
    asked = []

    def stick(route):
        if route.request.method == "POST":
            asked.append(route.request.post_data_json)
            if not asked[-1]["password"]:
                reason = {"code": "password_needed", "message": "It needs the password.", "action": "Enter it."}
                return route.fulfill(status=422, json={**reason, "fields": {"password": reason}})
            now.update(phase="writing", percent=40)
            return route.fulfill(status=202, json=now)
        return route.fulfill(json=now)

    def check(route):
        asked.append(route.request.post_data_json)
        found = {"madeAt": "2026-11-24T09:30:00Z", "madeBy": "0.9.0", "merchantName": "Kiosk", "entries": 12, "openPayments": 0, "lostSecrets": []}
        return route.fulfill(json={"found": found, "entriesHere": 3})

    page.route("**/api/v1/backup/stick", stick)
    page.route("**/api/v1/restore/check", check)
    page.reload()
    form = page.locator("form", has=page.get_by_text("Back everything up"))
    expect(form.get_by_text("give the stick the name TILL-BACKUP")).to_be_visible()
    now["sticks"] = [{"name": "sdb1", "freeBytes": 8_000_000_000, "readOnly": False}]
    write = form.get_by_role("button", name="Write the backup onto the stick")
    form.locator("[name=passphrase]").fill(PASSPHRASE)
    write.click()
    expect(form.locator("[name=password]")).to_have_attribute("aria-invalid", "true")
    assert small_targets(page) == []
    form.locator("[name=password]").fill(OWNER_PASSWORD)
    write.click()
    expect(form.get_by_role("progressbar")).to_have_attribute("value", "40")
    expect(form.get_by_text("Leave the stick in.")).to_be_visible()
    expect(write).to_be_hidden()
    assert asked[-1] == {"stick": "sdb1", "passphrase": PASSPHRASE, "password": OWNER_PASSWORD}
    eyes.look(page, "backup-stick-writing")
    now.update(phase="idle", problem={"code": "stick_gone", "message": "The stick was pulled out.", "action": "Plug it in again."})
    expect(form.get_by_text("Plug it in again.")).to_be_visible()
    name = "till-backup-2026-11-24.age"
    now.update(problem=None, written={"file": name, "stick": "sdb1", "bytes": 99}, files=[{"place": f"sdb1/{name}", "name": name, "bytes": 99}])
    expect(form.get_by_text("You can pull it out.")).to_be_visible()
    expect(form.get_by_text(name)).to_be_visible()
    eyes.look(page, "backup-stick-written")

    form = restore_form(page)
    form.locator("[name=passphrase]").fill(PASSPHRASE)
    form.get_by_role("button", name=f"From the stick: {name}").click()
    expect(form.get_by_text("The backup is whole.")).to_be_visible()
    assert asked[-1] == {"stick": f"sdb1/{name}", "passphrase": PASSPHRASE}
    assert small_targets(page) == []
    eyes.look(page, "backup-stick-found")
    page.unroute("**/api/v1/backup/stick")
    page.unroute("**/api/v1/restore/check")


def test_a_terminal_that_is_no_appliance_says_that_it_is_updated_elsewhere(page, eyes):
    page.goto("/#/settings")
    page.get_by_role("link", name="Updates").click()
    expect(page.get_by_text("This terminal is not updated here.")).to_be_visible()
    expect(page.get_by_role("button", name="Look at the file")).to_have_count(0)
    assert page.request.post("/api/v1/update", data={"bytes": 5}).status == 403, "not without the page's own header"
    eyes.look(page, "updates-absent")


#: What an appliance answers; the image's own test sees the real one.
APPLIANCE = {
    "available": True, "version": "0.9.0-20261101000000", "slot": "A", "good": True, "sticks": [{"name": "till-0.10.raucb", "bytes": 98_000_000}],
    "totalBytes": None, "receivedBytes": 0, "pieceBytes": 4, "offered": None, "phase": "idle", "percent": 0, "problem": None, "chargeOpen": False, "last": None,
}


def test_an_update_is_followed_from_the_file_to_what_became_of_it(page, eyes):
    """The terminal's answers are made up here: what the page makes of each of them is real."""
    now = dict(APPLIANCE)
    sent = bytearray()

    def answer(route):
        request = route.request
        if request.method == "POST" and request.url.endswith("/update"):
            now.update(totalBytes=request.post_data_json["bytes"], receivedBytes=0)
        elif request.method == "PUT":
            assert request.post_data_json["at"] == len(sent)
            sent.extend(base64.b64decode(request.post_data_json["piece"]))
            now["receivedBytes"] = len(sent)
        elif request.url.endswith("/check"):
            now["offered"] = {"version": "0.10.0-20261120000000", "stick": request.post_data_json.get("stick")}
        elif request.url.endswith("/install"):
            if not request.post_data_json["password"]:
                reason = {"code": "password_needed", "message": "It needs the password.", "action": "Enter it."}
                return route.fulfill(status=422, json={**reason, "fields": {"password": reason}})
            now.update(phase="installing", percent=40)
        return route.fulfill(json=now)

    page.route("**/api/v1/update**", answer)
    page.reload()
    expect(page.get_by_role("button", name="On the stick: till-0.10.raucb")).to_be_visible()
    page.get_by_role("button", name="Look at the file").click()
    expect(page.get_by_text("Choose the update’s file.")).to_be_visible()
    page.locator("[name=file]").set_input_files({"name": "till.raucb", "mimeType": "application/octet-stream", "buffer": b"a whole bundle"})
    page.get_by_role("button", name="Look at the file").click()
    expect(page.get_by_text("Version 0.10.0-20261120000000 can be installed")).to_be_visible()
    assert bytes(sent) == b"a whole bundle"
    assert small_targets(page) == []
    eyes.look(page, "updates-found")
    for password in ("", OWNER_PASSWORD):
        page.locator("[name=password]").fill(password)
        page.get_by_role("button", name="Install, and start again").click()
        page.get_by_role("dialog").get_by_role("button", name="Install", exact=True).click()
        if not password:
            expect(page.locator("[name=password]")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "40")
    expect(page.get_by_text("Do not switch the terminal off.")).to_be_visible()
    eyes.look(page, "updates-installing")
    now.update(phase="restarting")
    expect(page.get_by_text("The terminal starts anew", exact=True)).to_be_visible()
    last = {"version": "0.10.0-20261120000000", "from": APPLIANCE["version"], "at": "2026-11-22T10:00:00.000Z"}
    for result, words in (("tried", "is being tried"), ("rolledBack", "did not work"), ("good", "Updated to 0.10.0")):
        now.update(APPLIANCE, last={**last, "result": result})
        expect(page.get_by_text(words)).to_be_visible()
    now.update(last=None, problem={"code": "update_refused", "message": "It was not installed: no space.", "action": "Try once more."})
    expect(page.get_by_text("It was not installed: no space.")).to_be_visible()
    page.unroute("**/api/v1/update**")


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

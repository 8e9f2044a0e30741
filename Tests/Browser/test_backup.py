"""A terminal's whole memory as one sealed file, and a terminal that takes it back, in a real browser."""

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


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))

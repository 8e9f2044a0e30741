"""Which parts of the tests are played, and what counts as green."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from testing import build, changes, parts, play, report  # noqa: E402


@pytest.fixture(scope="module")
def everything():
    return parts.load()


@pytest.fixture(scope="module")
def graph():
    return changes.read_graph()


def names(chosen):
    return {part.name for part in chosen}


def test_every_folder_and_file_of_tests_is_a_part(everything):
    assert names(everything) == set(parts.on_disk())


def test_the_document_shows_the_table_of_parts(everything):
    assert report.table(everything) in (ROOT / "docs/testing.md").read_text()


def test_a_part_that_is_not_listed_is_an_error(tmp_path):
    (tmp_path / "Tests/MoneyTests").mkdir(parents=True)
    (tmp_path / "Tests/parts.toml").write_text('[[part]]\nname = "Other"\nkind = "swift"\nproves = "x"\n')
    with pytest.raises(parts.Mistake, match="Money lies in Tests"):
        parts.load(tmp_path)


def test_a_misspelt_name_is_an_error_that_lists_the_names():
    done = subprocess.run([ROOT / "scripts/test"], env=os.environ | {"ONLY": "Payments,Jurnal"}, capture_output=True, text=True)
    assert done.returncode == 64 and done.stdout == ""
    assert "no part ‘Jurnal’" in done.stderr and "Journal" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_group_names_all_of_its_parts(everything):
    assert names(parts.named(everything, "rig")) == {name for name in names(everything) if name.startswith("rig-")}
    assert names(parts.named(everything, "Payments, browser-shop")) == {"Payments", "browser-shop"}


def test_nothing_to_play_is_an_error(everything):
    with pytest.raises(parts.Mistake):
        parts.named(everything, " , ")


@pytest.mark.parametrize(("file", "seen", "unseen"), [
    ("Sources/Payments/Charge.swift", {"Payments", "Terminal", "Console", "Program", "browser-shop", "rig-tap"}, {"Improv", "DBus"}),
    ("Sources/DBus/Message.swift", {"DBus", "Bluetooth", "WiFi", "rig-tap"}, {"Payments", "Ethereum", "WebServer"}),
    ("Tests/JournalTests/NewTests.swift", {"Journal"}, {"Payments", "Console", "browser-shop"}),
    ("Public/app/views/receipts.js", {"browser-receipts", "browser-words"}, {"browser-staff", "Payments", "rig-tap"}),
    ("Public/app/shell.js", {"browser-receipts", "browser-staff"}, {"Payments", "rig-tap"}),
    ("Tests/Rig/scenarios/tap.sh", {"rig-tap"}, {"rig-tap-three", "Payments"}),
    ("Tests/Rig/lib.sh", {"rig-tap", "rig-charge"}, {"browser-shop"}),
    ("Tests/API/test_relay.py", {"api-relay"}, {"api-wire"}),
    ("Package.swift", {"Payments", "browser-shop", "rig-tap", "image-scripts"}, set()),
    ("a-file-that-nobody-knows", {"Payments", "browser-shop", "rig-tap"}, set()),
])
def test_a_change_plays_what_can_see_it(everything, graph, file, seen, unseen):
    chosen = names(changes.seeing(everything, [file], graph))
    assert seen <= chosen and not unseen & chosen


@pytest.mark.parametrize(("names", "programs"), [
    ("Payments,page-modules", set()),
    ("api-relay", {"till-sandbox", "till-example-wallet"}),
    ("browser-story,api-till-api", {"till", "till-sandbox"}),
    ("rig-gatt", {"till", "till-sandbox", "till-radio-check"}),
])
def test_only_the_programs_that_a_part_starts_are_built(everything, names, programs):
    chosen = parts.named(everything, names)
    assert {program for part in chosen for program in build.programs(part)} == programs


def test_documents_that_no_part_reads_play_nothing(everything, graph):
    assert changes.seeing(everything, ["CONTRIBUTING.md", "docs/staff.md"], graph) == []


SWIFT_GREEN = "✔ Test a() passed after 0.1 seconds.\n✔ Test run with 7 tests in 2 suites passed after 1.0 seconds.\n"
SWIFT_RED = "✘ Test a() failed after 0.1 seconds with 2 issues.\n✘ Test run with 7 tests in 2 suites failed after 1.0 seconds with 2 issues.\n"


@pytest.mark.parametrize(("kind", "text", "code", "counts"), [
    ("swift", SWIFT_GREEN, 0, (7, 0)),
    ("swift", SWIFT_RED, 1, (6, 1)),
    # It fell over before its closing line, or after it.
    ("swift", "✔ Test a() passed after 0.1 seconds.\n", 139, (0, 1)),
    ("swift", SWIFT_GREEN, 139, (7, 1)),
    ("swift", "✔ Test run with 0 tests in 0 suites passed after 0.001 seconds.\n", 0, (0, 1)),
    ("pytest", "1 failed, 28 passed in 61.02s\n", 1, (28, 1)),
    ("pytest", "3 passed, 1 error in 2.00s\n", 1, (3, 1)),
    ("pytest", "2 skipped in 0.10s\n", 0, (0, 1)),
    ("browser", "", 1, (0, 1)),
])
def test_only_a_run_that_played_something_to_its_end_is_green(kind, text, code, counts):
    assert play.count(kind, text, code) == counts


def test_the_rig_counts_each_scenario_and_names_what_failed(everything, monkeypatch):
    chosen = parts.named(everything, "rig-tap,rig-charge,rig-drm")
    text = "tap\n  ok 1 A\n  FAILED the phone is paid: it was not\ncharge\n  ok 1 B\n\nscenario  passed  failed  seconds\n" \
        "tap          3       1     12.5\ncharge       9       0      4.0\n12 passed, 1 failed\n"
    results = {result.part.name: result for result in play.rig_results(chosen, text, 1)}
    assert (results["rig-tap"].passed, results["rig-tap"].failed, results["rig-tap"].seconds) == (3, 1, 12.5)
    assert "the phone is paid" in " ".join(results["rig-tap"].failures)
    assert results["rig-charge"].is_green
    # It is in no table: it has not been played.
    assert not results["rig-drm"].is_green


def test_a_rig_that_cannot_run_says_so_and_fails_where_it_has_to_run(everything, monkeypatch):
    chosen = parts.named(everything, "rig-tap")
    monkeypatch.delenv("TILL_MUST_RIG", raising=False)
    result, = play.rig_results(chosen, "Rig skipped: mmdebstrap is missing.\n", 77)
    assert result.is_green and result.skipped == ["Rig skipped: mmdebstrap is missing."]
    monkeypatch.setenv("TILL_MUST_RIG", "1")
    result, = play.rig_results(chosen, "Rig skipped: mmdebstrap is missing.\n", 77)
    assert not result.is_green

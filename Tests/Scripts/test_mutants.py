"""Planted faults: their list is kept up with the code, and what counts as seen."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from testing import faults, mutants, parts  # noqa: E402
from testing.faults import Fault  # noqa: E402

#: Stands for the bundle of tests: red where a fault of this name is active.
BUNDLE = """\
#!/bin/sh
case "$TILL_FAULT" in
*hangs*) exec sleep 600 ;;
*slow*) echo '✘ Test "It is paid once" recorded an issue at Money.swift:1:1: wrong' && exec sleep 600 ;;
*crashes*) echo "Fatal error: Index out of range" && exit 132 ;;
*survives*|"$SOUND") echo "✔ Test run with 7 tests in 2 suites passed after 1.0 seconds." ;;
*) echo '✘ Test "It is paid once" failed after 0.1 seconds with 2 issues.'
   echo "✘ Test limits(amount:) with 3 test cases failed after 0.1 seconds with 1 issue."
   echo "✘ Test run with 7 tests in 2 suites failed after 1.0 seconds with 3 issues." && exit 1 ;;
esac
"""
PART = parts.Part("Payments", "swift", "Amounts")


def fault(name="a-fault", file="Sources/Payments/Money.swift", original="sum <= most", planted="true", **more):
    return Fault(name, file, original, planted, "It costs money.", "Payments", **more)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    bundle = tmp_path / "tree/.build/debug/tillPackageTests.xctest"
    bundle.parent.mkdir(parents=True)
    bundle.write_text(BUNDLE)
    bundle.chmod(0o755)
    monkeypatch.setenv("SOUND", "")
    bench = mutants.Bench(2, tmp_path / "tree", tmp_path)
    yield bench
    bench.close()


def test_each_fault_has_its_place_in_the_sources_and_the_tests():
    faults.check(faults.load(), parts.load())


def test_each_fault_says_in_a_sentence_what_it_costs():
    assert [fault.name for fault in faults.load() if not re.fullmatch(r"[A-Z0-9a-z][^.]*(\.\w[^.]*)*\.", fault.costs)] == []


@pytest.mark.parametrize(("text", "count"), [("let isLess = sum < most", 0), ("sum <= most || sum <= most", 2)])
def test_an_original_that_does_not_stand_there_once_is_named_in_one_sentence(text, count):
    with pytest.raises(parts.Mistake, match=f"a-fault.* stands {count} times in Sources/Payments/Money.swift") as raised:
        faults.planted(text, [fault()])
    assert len(str(raised.value).splitlines()) == 1


def test_faults_that_overlap_or_change_nothing_are_named():
    with pytest.raises(parts.Mistake, match="b-fault.* overlaps"):
        faults.planted("guard sum <= most else", [fault(), fault("b-fault", original="most else")])
    with pytest.raises(parts.Mistake, match="changes nothing"):
        faults.planted("sum <= most", [fault(planted="sum <= most")])


def test_an_expression_is_replaced_while_its_fault_is_active():
    assert faults.planted("guard sum <= most, ok else {", [fault()]) == 'guard (isPlanted("a-fault") ? (true) : (sum <= most)), ok else {'


def test_more_than_an_expression_says_itself_where_its_fault_is_active():
    free = fault(original="count += 1", planted="if !isPlanted { count += 1 }")
    assert faults.planted("count += 1\n", [free]) == 'if !isPlanted("a-fault") { count += 1 }\n'


def test_several_faults_have_their_places_in_one_file():
    text = faults.planted("a < b, c < d", [fault("c-fault", original="c < d"), fault(original="a < b")])
    assert text == '(isPlanted("a-fault") ? (true) : (a < b)), (isPlanted("c-fault") ? (true) : (c < d))'


def test_what_is_not_compiled_is_replaced_in_its_file_while_it_is_played(tmp_path):
    (tmp_path / "money.js").write_text("return sum <= most;")
    page = fault(file="money.js")
    assert mutants.with_fault(tmp_path, page, (tmp_path / "money.js").read_text) == "return true;"
    with pytest.raises(ZeroDivisionError):
        mutants.with_fault(tmp_path, page, lambda: 1 / 0)
    assert (tmp_path / "money.js").read_text() == "return sum <= most;"


@pytest.mark.parametrize(("fields", "words"), [
    ({"part": "Paymens"}, "the part Paymens, which does not exist"),
    ({"suites": ("MoneyTest",)}, "the suite MoneyTest, which Payments does not have"),
    ({"file": "Sources/Payments/Gold.swift"}, "Gold.swift, which does not exist"),
])
def test_what_the_list_names_has_to_exist(fields, words):
    entry = {"name": "a-fault", "file": "Sources/Payments/Money.swift", "original": "a", "planted": "b", "costs": "Money.", "part": "Payments"}
    with pytest.raises(parts.Mistake, match=words):
        faults.check([Fault(**entry | fields)], parts.load())


@pytest.mark.parametrize(("text", "words"), [
    ('[[fault]]\nname = "a-fault"\nfile = "x"\n', "a field too many or too few"),
    ('[[fault]]\nname = "A fault"\nfile = "x"\noriginal = "a"\nplanted = "b"\ncosts = "c"\npart = "d"\n', "is no name"),
    ('[[fault]]\nname = "a-fault"\nfile = "x"\noriginal = "a"\nplanted = "b"\ncosts = "c"\npart = "d"\n' * 2, "stands there twice"),
])
def test_an_entry_that_is_not_complete_is_an_error(tmp_path, text, words):
    (tmp_path / faults.LIST).parent.mkdir(parents=True)
    (tmp_path / faults.LIST).write_text(text)
    with pytest.raises(parts.Mistake, match=words):
        faults.load(tmp_path)


def test_only_names_faults_by_words_of_their_names():
    some = [fault("voucher-is-taken-twice"), fault("refund-is-too-large"), fault("expired-voucher")]
    assert [found.name for found in faults.named(some, "voucher")] == ["voucher-is-taken-twice", "expired-voucher"]
    assert faults.named(some, " ") == some
    with pytest.raises(parts.Mistake, match="no fault ‘vaucher’. There are: voucher-is-taken-twice"):
        faults.named(some, "refund,vaucher")


def test_a_copy_is_the_project_with_the_faults_and_keeps_what_has_not_changed(tmp_path):
    root, tree = tmp_path / "till", tmp_path / "tree"
    (root / "Sources/Payments").mkdir(parents=True)
    (root / "Sources/Payments/Money.swift").write_text("let isAllowed = sum <= most\n")
    (root / "Sources/Payments/Old.swift").write_text("let old = 1\n")
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("run")
    (root / ".gitignore").write_text("/Package.resolved\n/.build/\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    mutants.fill(tree, [fault()], root)
    assert 'isPlanted("a-fault")' in (tree / "Sources/Payments/Money.swift").read_text()
    assert "TILL_FAULT" in (tree / "Sources/Payments/Planted.swift").read_text()
    assert (tree / "run").stat().st_mode & 0o111 and (tree / "link").readlink() == pathlib.Path("run")

    times = {path: path.stat().st_mtime_ns for path in tree.rglob("*.swift")}
    (root / "Sources/Payments/Old.swift").unlink()
    (root / "Sources/Payments/New.swift").write_text("let new = 1\n")
    (tree / "Package.resolved").write_text("{}")
    (tree / ".build").mkdir()
    (tree / ".build/kept").write_text("")
    mutants.fill(tree, [fault()], root)
    assert not (tree / "Sources/Payments/Old.swift").exists() and (tree / "Sources/Payments/New.swift").exists()
    assert (tree / "Package.resolved").exists() and (tree / ".build/kept").exists()
    for name in ("Money", "Planted"):
        path = tree / f"Sources/Payments/{name}.swift"
        assert path.stat().st_mtime_ns == times[path]


def test_a_copy_has_the_packages_that_were_fetched_and_gets_them_anew_where_others_are_named(tmp_path):
    root, tree = tmp_path / "till", tmp_path / "tree"
    for name in ("scripts", ".build/checkouts/log", ".build/repositories"):
        (root / name).mkdir(parents=True)
    (root / "scripts/prepare-build").write_text("#!/bin/sh\ncat Package.swift >.build/fetched-for\n")
    (root / "scripts/prepare-build").chmod(0o755)
    for name in ("Package.swift", "Package.resolved", ".build/workspace-state.json", ".build/checkouts/log/Log.swift"):
        (root / name).write_text("1")
    mutants.lend_packages(tree, root)
    (root / ".build/checkouts/log/Log.swift").unlink()
    (root / ".build/checkouts/log/Log.swift").write_text("2")
    mutants.lend_packages(tree, root)
    assert (tree / ".build/checkouts/log/Log.swift").read_text() == "1"
    (root / "Package.swift").write_text("2")
    mutants.lend_packages(tree, root)
    assert (tree / ".build/checkouts/log/Log.swift").read_text() == "2" and (tree / ".build/fetched-for").read_text() == "2"


def test_a_fault_is_seen_where_a_test_fails_or_the_run_falls_over_or_does_not_end(bench, monkeypatch):
    bench.sound(PART, ())
    found = bench.judge(fault("paid-twice"), PART)
    assert found.is_seen and found.by == "It is paid once and 1 more"
    found = bench.judge(fault("it-crashes"), PART)
    assert found.is_seen and found.by == "Fatal error: Index out of range"
    assert not bench.judge(fault("it-survives"), PART).is_seen
    # Nothing waits for the rest of a run that has failed.
    found = bench.judge(fault("slow-to-end"), PART)
    assert found.is_seen and found.by == "It is paid once"
    monkeypatch.setattr(mutants, "PATIENCE", (0, 1))
    found = bench.judge(fault("it-hangs"), PART)
    assert found.is_seen and found.by == "did not end within 1 s"


def test_parts_that_are_red_without_a_fault_make_the_run_invalid(bench, monkeypatch):
    monkeypatch.setenv("SOUND", "never")
    with pytest.raises(mutants.Invalid, match="Payments fails without a fault .It is paid once and 1 more.: mend that first") as raised:
        mutants.run(bench, [fault()], {"Payments": PART}, lambda _: None)
    assert len(str(raised.value).splitlines()) == 1


def test_each_fault_is_played_by_itself_and_the_survivors_are_named_with_their_cost(bench):
    said = []
    verdicts = mutants.run(bench, [fault("paid-twice"), fault("it-survives"), fault("it-crashes")], {"Payments": PART}, said.append)
    assert {verdict.fault.name: verdict.is_seen for verdict in verdicts} == {"paid-twice": True, "it-survives": False, "it-crashes": True}
    assert said == verdicts
    text, code = mutants.closing(verdicts)
    assert text.splitlines()[1:] == ["    it-survives (Sources/Payments/Money.swift; Payments): It costs money.", "2 of 3 seen (66 %)"] and code == 1


@pytest.mark.parametrize(("seen", "of", "code"), [(58, 60, 0), (57, 60, 1), (60, 60, 0), (1, 1, 0), (29, 30, 0), (28, 30, 1)])
def test_the_tests_have_to_see_58_of_60(seen, of, code):
    verdicts = [mutants.Verdict(fault(), number < seen, "", 0) for number in range(of)]
    assert mutants.closing(verdicts)[1] == code


@pytest.mark.parametrize(("kind", "text", "by"), [
    ("swift", "✘ Test twice() recorded an issue at A.swift:1:1: x\n✘ Test twice() failed after 0.1 seconds with 1 issue.\n", "twice"),
    ("pytest", "FAILED Tests/Page/test_modules.py::test_page[money: takes 12,5] - Failed: no\n1 failed in 1.0s\n", "money: takes 12,5"),
])
def test_the_table_names_the_test_that_saw_a_fault(kind, text, by):
    assert mutants.witness(kind, text, 1) == by


def test_the_suites_of_a_part_are_played_together_unless_a_fault_needs_all():
    assert mutants.together([fault(suites=("B", "A")), fault(suites=("A",))]) == ("A", "B")
    assert mutants.together([fault(suites=("A",)), fault()]) == ()

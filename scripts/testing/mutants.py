"""Plants faults in a copy of the project, plays for each the tests that must see it, and counts those that they see."""

import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable

from . import faults as planting
from .faults import Fault
from .parts import ROOT, Part
from .play import Stage, count

FOLDER = ROOT / ".build/mutants"
TREE = FOLDER / "tree"
#: The share of faults that the tests have to see.
GOAL = (58, 60)
#: A part that takes so many times as long as without a fault has hung; in no less than the seconds behind it.
PATIENCE = (5, 180)
#: A fault is seen by the first test that fails; the others need not be waited for.
FIRST_FAILURE = re.compile(r"^(✘ Test (?!run with).*(failed after|recorded an issue)|FAILED )", re.MULTILINE)


class Invalid(Exception):
    """One sentence on why the run says nothing about the tests."""


# The copy

def fill(tree: pathlib.Path, faults: list[Fault], root=ROOT):
    """Makes the tree what the project is, with every Swift fault in it. Files that are as they should be keep their time."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    wanted = {name for name in listed if name and os.path.lexists(root / name)}
    swift = [fault for fault in faults if fault.is_swift]
    generated = {f"Sources/{fault.module}/Planted.swift" for fault in swift}
    for folder, folders, files in os.walk(tree):
        if pathlib.Path(folder) == tree and ".build" in folders:
            folders.remove(".build")
        for file in files:
            path = pathlib.Path(folder, file)
            if str(path.relative_to(tree)) not in wanted | generated | {"Package.resolved"}:
                path.unlink()
    for name in sorted(wanted):
        source, copy = root / name, tree / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            if not copy.is_symlink() or copy.readlink() != source.readlink():
                copy.unlink(missing_ok=True)
                copy.symlink_to(source.readlink())
            continue
        own = [fault for fault in swift if fault.file == name]
        write(copy, planting.planted(source.read_text(), own).encode() if own else source.read_bytes())
        if copy.stat().st_mode != source.stat().st_mode:
            copy.chmod(source.stat().st_mode)
    for name in generated:
        write(tree / name, planting.SWIFT.encode())


def write(path: pathlib.Path, content: bytes):
    if not path.is_file() or path.read_bytes() != content:
        path.write_bytes(content)


def lend_packages(tree: pathlib.Path, root=ROOT):
    """Gives the tree the packages that the project has fetched already."""
    subprocess.run(["scripts/prepare-build", "debug"], cwd=root, check=True)
    lent, fetched = tree / ".build", root / ".build"
    if (lent / "fetched-for").exists() and (lent / "fetched-for").read_bytes() == (fetched / "fetched-for").read_bytes():
        return
    lent.mkdir(parents=True, exist_ok=True)
    for name in ("checkouts", "repositories"):
        # Further names of the same files: they are never written to, and keep the time that the build knows.
        subprocess.run(["rm", "-rf", lent / name], check=True)
        subprocess.run(["cp", "-al", fetched / name, lent / name], check=True)
    write(tree / "Package.resolved", (root / "Package.resolved").read_bytes())
    for name in ("workspace-state.json", "fetched-for"):
        (lent / name).unlink(missing_ok=True)
        shutil.copy(fetched / name, lent / name)


def build(tree: pathlib.Path, parts: list[Part]) -> bool:
    """One build with all faults, and with the flags of every other test build."""
    if not (names := sorted(part.name for part in parts if part.kind == "swift")):
        return True
    environment = {key: value for key, value in os.environ.items() if key != "TILL_DEBUGGER"} | {"TILL_TESTS": ",".join(names)}
    return subprocess.run(["scripts/compile", "debug", "tillPackageTests"], cwd=tree, env=environment).returncode == 0


# The tests

@dataclasses.dataclass
class Verdict:
    fault: Fault
    is_seen: bool
    #: The first test that failed and how many more, or how the run fell over.
    by: str
    seconds: float


class Bench(Stage):
    """Plays parts of the copy with a fault or without one."""

    def __init__(self, lanes: int, tree: pathlib.Path = TREE, logs: pathlib.Path = FOLDER):
        super().__init__(lanes, tree)
        self.logs = logs
        #: Seconds that each part, or those of its suites that faults need, takes without a fault.
        self.usual: dict[str, float] = {}

    def sound(self, part: Part, suites: tuple[str, ...]):
        """Plays what the faults are played against, without one of them.

        Raises Invalid where it is not green.
        """
        code, text, seconds = self.played(part, suites, part.name, "", None, {})
        if count(part.kind, text, code)[1]:
            said = witness(part.kind, text, code)
            raise Invalid(f"{part.name} fails without a fault ({said}): mend that first; all that it said is in .build/mutants/{part.name}.log.")
        self.usual[part.name] = seconds

    def judge(self, fault: Fault, part: Part, more: dict[str, str] | None = None) -> Verdict:
        """Plays a part with a fault. It is seen where a test fails, the run falls over, or does not end."""
        limit = max(PATIENCE[0] * self.usual[part.name], PATIENCE[1])
        suites = fault.suites if part.name == fault.part else ()
        code, text, seconds = self.played(part, suites, fault.name, fault.name, limit, more or {})
        passed, failed = count(part.kind, text, code)
        return Verdict(fault, failed > 0, witness(part.kind, text, code) if failed else f"{passed} tests passed", seconds)

    def played(self, part, suites, name, fault, limit, more: dict[str, str]) -> tuple[int, str, float]:
        began, log = time.monotonic(), self.logs / f"{'-'.join([name, *more.values()])}.log"
        command, environment = self.command([part], suites)
        if part.kind == "pytest":
            command.insert(-1, "--exitfirst")  # pytest names what failed at the end of its run.
        code = self.run(command, log, environment | more | {"TILL_FAULT": fault}, limit, FIRST_FAILURE if fault else None)
        if self.is_over:
            raise Invalid("The run was ended before its end.")
        return code, log.read_text(errors="replace"), time.monotonic() - began


def witness(kind: str, text: str, code: int) -> str:
    """What saw a fault: the test that failed first, others that had failed by then, or how the run ended without saying so."""
    if kind == "swift":
        found = re.findall(r"^✘ Test (?!run with)\"?(.+?)\"? (?:with \d+ test cases? )?(?:failed after|recorded an issue)", text, re.MULTILINE)
    else:
        found = re.findall(r"^FAILED \S*?::(?:test_page\[)?(.+?)\]?(?: - .*)?$", text, re.MULTILINE)
    names = list(dict.fromkeys(re.sub(r"\(.*", "", name) if kind == "swift" else name for name in found))
    if hung := re.search(r"did not end within \d+ s", text):
        names.append(hung[0])
    if not names:
        fatal = re.search(r"Fatal error.*", text)
        return fatal[0][:100] if fatal else f"ended with {code}"
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def with_fault(tree: pathlib.Path, fault: Fault, work):
    """Does something while a fault that is not compiled in stands in its file."""
    path = tree / fault.file
    text = path.read_text()
    path.write_text(planting.planted(text, [fault]))
    try:
        return work()
    finally:
        path.write_text(text)


def side_by_side(jobs: list[tuple[Part, Callable[[], None]]], lanes: int):
    """Does each part's job in their order, so many at a time, and those of parts that are played alone at the end.

    The first exception ends the rest and is raised.
    """
    one_by_one = [(part, job) for part, job in jobs if part.alone]
    waiting, raised, lock = [job for part, job in jobs if not part.alone], [], threading.Lock()

    def work():
        while True:
            with lock:
                if not waiting or raised:
                    return
                job = waiting.pop(0)
            try:
                job()
            except BaseException as error:
                raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
    for _, job in one_by_one:
        job()


def together(faults: list[Fault]) -> tuple[str, ...]:
    """All suites of a part that its faults are played against; none where one of them is played against all."""
    return () if any(not fault.suites for fault in faults) else tuple(sorted({suite for fault in faults for suite in fault.suites}))


def run(bench: Bench, faults: list[Fault], parts: dict[str, Part], said) -> list[Verdict]:
    """First each part without a fault, then each fault; the longest first.

    Raises Invalid where a part is not green without a fault.
    """
    names = list(dict.fromkeys(fault.part for fault in faults))
    names.sort(key=lambda name: -parts[name].seconds)
    suites = {name: together([fault for fault in faults if fault.part == name]) for name in names}
    side_by_side([(parts[name], functools.partial(bench.sound, parts[name], suites[name])) for name in names], bench.lanes)
    verdicts, lock = [], threading.Lock()

    def judge(fault: Fault):
        def work():
            return bench.judge(fault, parts[fault.part])

        verdict = work() if fault.is_swift else with_fault(bench.root, fault, work)
        with lock:
            verdicts.append(verdict)
            said(verdict)

    def in_turn(some: list[Fault]):
        for fault in some:
            judge(fault)

    # A fault that stands in its file is there for everybody who reads it: such are played one after the other.
    written = [fault for fault in faults if not fault.is_swift]
    compiled = sorted((fault for fault in faults if fault.is_swift), key=lambda fault: -bench.usual[fault.part])
    jobs = [(parts[some[0].part], functools.partial(in_turn, some)) for some in [written, *([fault] for fault in compiled)] if some]
    side_by_side(jobs, bench.lanes)
    return verdicts


# Samples of the fault matrix

#: The part that plays a sample.
SAMPLED = "Agreement"


def sample(bench: Bench, faults: list[Fault], part: Part, count: int, said: Callable[[str], None]) -> list[str]:
    """Plays so many samples with each fault, and says how many of them find it. Ends the run where one is red without a fault."""
    bench.sound(part, ())
    found = {fault.name: 0 for fault in faults}
    lock = threading.Lock()

    def play(fault: Fault, seed: int):
        verdict = bench.judge(fault, part, {"TILL_SEED": f"sample-{seed}"})
        with lock:
            found[fault.name] += verdict.is_seen
            said(f"{'✔' if verdict.is_seen else '✘'} {fault.name:<52} sample-{seed:<3} {verdict.seconds:6.1f} s  {verdict.by}")

    jobs = [(part, functools.partial(play, fault, seed)) for seed in range(1, count + 1) for fault in faults]
    side_by_side(jobs, bench.lanes)
    return [f"    {name:<52} {found[name]} of {count}" for name in found]


# The report

def line(verdict: Verdict) -> str:
    fault = verdict.fault
    return f"{'✔' if verdict.is_seen else '✘'} {fault.name:<52} {fault.part:<16} {verdict.seconds:6.1f} s  {verdict.by}"


def closing(verdicts: list[Verdict]) -> tuple[str, int]:
    """What survived and what it would cost, the share of faults that were seen, and the code to end with."""
    survivors = [verdict.fault for verdict in verdicts if not verdict.is_seen]
    lines = ["What no test saw:"] if survivors else []
    lines += [f"    {fault.name} ({fault.file}; {fault.part}): {fault.costs}" for fault in survivors]
    seen, total = len(verdicts) - len(survivors), len(verdicts)
    lines.append(f"{seen} of {total} seen ({100 * seen // total} %)")
    return "\n".join(lines), 0 if seen * GOAL[1] >= total * GOAL[0] else 1

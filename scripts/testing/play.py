"""Plays parts side by side, each in a group of processes of its own, and counts by the runners' own closing lines."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from .parts import ROOT, Part

LOGS = ROOT / ".build/tests"
BUNDLE = ".build/debug/tillPackageTests.xctest"
PYTHON = ROOT / ".build/python/bin/python"
#: What somebody said to this runner is not said to what it plays.
OWN_SETTINGS = {"TILL_BUILT", "ONLY", "CHANGED", "LANES", "SEED", "MAKEFLAGS", "MAKELEVEL"}
#: Seconds after which a part has hung: the slowest takes a third of it. The rig ends its machine by a limit of its own.
LIMIT = 1800


@dataclasses.dataclass
class Result:
    part: Part
    passed: int = 0
    failed: int = 0
    seconds: float = 0
    #: Lines that say what failed, for the end.
    failures: list[str] = dataclasses.field(default_factory=list)
    #: Lines that say what was skipped and why.
    skipped: list[str] = dataclasses.field(default_factory=list)
    #: This machine cannot play it, and need not.
    cannot_run: bool = False

    @property
    def is_green(self) -> bool:
        return self.failed == 0 and (self.passed > 0 or self.cannot_run)


def count_swift(text: str) -> tuple[int, int]:
    """Tests passed and failed, by Swift Testing's closing line; without one, the run fell over and is one failure more."""
    closing = re.findall(r"Test run with (\d+) tests?.* (passed|failed) after", text)
    failed = len(re.findall(r"^✘ Test (?!run with).* failed after", text, re.MULTILINE))
    if not closing:
        return 0, failed + 1
    if closing[-1][1] == "failed":
        failed = max(failed, 1)
    return max(int(closing[-1][0]) - failed, 0), failed


def count_pytest(text: str) -> tuple[int, int]:
    closing = re.findall(r"^.*\d+ (?:passed|failed|skipped|errors?).* in [\d.]+s.*$", text, re.MULTILINE)
    if not closing:
        return 0, 1
    number = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|error)", closing[-1])}
    return number.get("passed", 0), number.get("failed", 0) + number.get("error", 0)


def count(kind: str, text: str, code: int) -> tuple[int, int]:
    passed, failed = count_swift(text) if kind == "swift" else count_pytest(text)
    # A run that ended badly after a good closing line has failed all the same, and one that played nothing proves nothing.
    return passed, failed or (1 if code or not passed else 0)


def failures(text: str) -> list[str]:
    lines = re.findall(r"^(?:✘ (?:Test|Suite) .*(?:failed|recorded).*|↳ .*|(?:FAILED|ERROR) .*|  FAILED .*|.*Fatal error.*)$", text, re.MULTILINE)
    return [line[:300] for line in lines if not re.match(r"↳ (Testing Library|Target Platform)", line)]


def skips(text: str) -> list[str]:
    return [line[:200] for line in re.findall(r"^(?:➜ Test .* skipped.*|SKIPPED .*|Rig skipped: .*|The scenario .* is left out: .*)$", text, re.MULTILINE)]


class Stage:
    """Where parts are played: a temporary folder of their own, and the processes that have been started."""

    def __init__(self, lanes: int, root: pathlib.Path = ROOT):
        self.lanes = lanes
        #: The project's folder, or that of a copy which is built.
        self.root = root
        self.temporary = pathlib.Path(tempfile.mkdtemp(prefix="till-tests-"))
        # A database's server is nobody's root, and has to walk through it.
        self.temporary.chmod(0o711)
        self.running: set[subprocess.Popen] = set()
        self.lock = threading.Lock()
        self.is_over = False
        LOGS.mkdir(parents=True, exist_ok=True)

    def close(self):
        with self.lock:
            self.is_over = True
            running = list(self.running)
        for process in running:
            kill(process)
        shutil.rmtree(self.temporary, ignore_errors=True)

    def run(self, command, log: pathlib.Path, environment: dict, limit: int | None = LIMIT, enough: re.Pattern | None = None) -> int:
        """Runs a command to its end, to the limit or to a line that is enough; what it says goes into the log. Its group ends with it."""
        with log.open("w") as file:
            with self.lock:
                if self.is_over:
                    return 130
                inherited = {name: value for name, value in os.environ.items() if name not in OWN_SETTINGS}
                process = subprocess.Popen(
                    command, cwd=self.root, env=inherited | environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self.running.add(process)
            try:
                return wait(process, limit, log, enough) if enough else process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                file.write(f"\n✘ Test run did not end within {limit} s\n")
                return 1
            finally:
                kill(process)
                with self.lock:
                    self.running.discard(process)

    def command(self, parts: list[Part], suites: tuple[str, ...] = ()) -> tuple[list[str], dict]:
        """What plays a part, or some suites of it, or the rig's scenarios; and its environment."""
        part = parts[0]
        environment = {"NO_COLOR": "1", "TMPDIR": str(self.temporary), "TILL_TEST_PYTHON": str(PYTHON)}
        match part.kind:
            case "swift":
                of_suites = rf"({'|'.join(suites)})/" if suites else ""
                command = [str(self.root / BUNDLE), "--testing-library", "swift-testing", "--filter", rf"^{part.target}\.{of_suites}"]
                command += ["--experimental-maximum-parallelization-width", str(part.width)]
            case "pytest":
                of_suites = ["-k", " or ".join(suites)] if suites else []
                command = [str(PYTHON), "-m", "pytest", "-q", "-rsfE", "-p", "no:cacheprovider", *of_suites, str(part.file)]
            case "browser":
                command = ["scripts/with-shop", str(PYTHON), str(part.file)]
                environment |= {"TILL_SHOTS": str(ROOT / "artefacts/browser"), "TILL_SHOP_TAPS": "1" if part.needs_acquirer else ""}
            case "rig":
                command = ["scripts/rig", *(scenario.file.stem for scenario in parts)]
                environment |= {"TILL_BUILT": "1"}
        return command, environment

    def play(self, parts: list[Part]) -> list[Result]:
        """Plays one part, or the rig's scenarios in one start of their machine."""
        part, began = parts[0], time.monotonic()
        log = LOGS / f"{'rig' if part.kind == 'rig' else part.name}.log"
        command, environment = self.command(parts)
        code = self.run(command, log, environment, None if part.kind == "rig" else LIMIT)
        text = log.read_text(errors="replace")
        if part.kind == "rig":
            return rig_results(parts, text, code)
        passed, failed = count(part.kind, text, code)
        return [Result(part, passed, failed, time.monotonic() - began, reasons(part.name, text, code) if failed else [], skips(text))]


def rig_results(parts: list[Part], text: str, code: int) -> list[Result]:
    """A result for each scenario, by the table at the end of what the rig says."""
    rows = {name: (int(passed), int(failed), float(seconds)) for name, passed, failed, seconds
            in re.findall(r"^(\S+) +(\d+) +(\d+) +([\d.]+)$", text, re.MULTILINE)}
    # Skipped with its reason. A machine whose word counts must not be green without it.
    cannot_run = code == 77 and not os.environ.get("TILL_MUST_RIG")
    missing = (0, 0 if cannot_run else 1, 0.0)
    results = []
    for part in parts:
        passed, failed, seconds = rows.get(part.file.stem, missing)
        own = re.search(rf"^{re.escape(part.file.stem)}$(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
        said = reasons("rig", own[1] if own else text, code) if failed else []
        results.append(Result(part, passed, failed, seconds, said, cannot_run=cannot_run))
    if code == 77:
        results[0].skipped += skips(text)
    return results


def reasons(log: str, text: str, code: int) -> list[str]:
    last = " / ".join(text.splitlines()[-3:])[:300]
    return failures(text) or [f"ended with {code}; its last words: {last}; all of it: .build/tests/{log}.log"]


def wait(process: subprocess.Popen, limit: int, log: pathlib.Path, enough: re.Pattern) -> int:
    """Waits for a process's end and returns its code; 1 as soon as its log has a line that is enough. Raises TimeoutExpired."""
    end = time.monotonic() + limit
    while True:
        try:
            return process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            if enough.search(log.read_text(errors="replace")):
                return 1
            if time.monotonic() > end:
                raise


def kill(process: subprocess.Popen):
    """Ends a process and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def play_all(stage: Stage, parts: list[Part], said) -> list[Result]:
    """Plays the longest first, as many side by side as there are lanes, and those that share a resource with all others at the end."""
    waiting = [[part] for part in parts if part.kind != "rig" and not part.alone]
    if rig := [part for part in parts if part.kind == "rig"]:
        waiting.append(rig)
    waiting.sort(key=lambda group: -sum(part.seconds for part in group))
    results, lock = [], threading.Lock()

    def work():
        while True:
            with lock:
                if not waiting or stage.is_over:
                    return
                group = waiting.pop(0)
            came = stage.play(group)
            with lock:
                results.extend(came)
                for result in came:
                    said(result)

    threads = [threading.Thread(target=work) for _ in range(stage.lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for part in parts:
        if part.alone and not stage.is_over:
            results += stage.play([part])
            said(results[-1])
    return results


def once_more(stage: Stage, results: list[Result], said) -> list[str]:
    """Plays up to three parts that failed once more, by themselves; says so, and puts the second result in place of the first."""
    failed = [result for result in results if not result.is_green]
    lines = []
    if len(failed) > 3 or stage.is_over:
        return lines
    for result in failed:
        again, = stage.play([result.part])
        said(again)
        if again.is_green:
            lines += [f"failed once: {result.part.name}: {words}" for words in result.failures]
            results[results.index(result)] = again
    return lines

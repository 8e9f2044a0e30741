"""`make run` as people and other programs meet it: in a terminal window, and with its output in a pipe.

Most of it is played with stand-ins for the programs, which come up when the test says so. The last one has the real programs.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("TILL_BIN", ROOT / ".build/debug"))
PATIENCE = 60
COLUMNS, ROWS = 120, 50
CODE, PAGE = "KLMN-PQRS", "https://localhost:41234"
CLAIM = {"code": CODE, "event": "claim", "url": PAGE + "/#/claim"}

#: The beginning of each stand-in: a signal is noted, and ends it with the status that the test wants.
BEGINNING = f"""#!{sys.executable}
import os, pathlib, signal, subprocess, sys, threading
told = pathlib.Path(os.environ["TOLD"])
def told_of(name, otherwise=None):
    return (told / name).read_text() if (told / name).exists() else otherwise
def note():
    with (told / "stopped").open("a") as file:
        print(pathlib.Path(sys.argv[0]).name, file=file)
ends = {{signal.SIGINT, signal.SIGTERM}}
signal.pthread_sigmask(signal.SIG_BLOCK, ends)
def stop():
    signal.sigwait(ends)
    note()
    # An orderly end takes a moment, and a second signal would cut it off.
    if signal.sigtimedwait(ends, float(told_of("takes", "0"))):
        note()
    os._exit(int(told_of("status", "0")))
threading.Thread(target=stop, daemon=True).start()
"""
TILL = f"""
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if told_of("dies"):
    print(told_of("dies"), file=sys.stderr)
    sys.exit(int(told_of("status")))
(told / "till").touch()
if (told / "gate").exists():
    (told / "gate").read_text()
with open(options["--announce"], "w") as announced:
    announced.write({json.dumps(CLAIM)!r} + "\\n")
if sys.stdout.isatty():
    print("{PAGE} {CODE}", flush=True)
signal.pause()
"""
SANDBOX = """
if told_of("no gateway"):
    print(told_of("no gateway"), file=sys.stderr)
    sys.exit(1)
print('{"ready":true,"url":"http://127.0.0.1:9"}', flush=True)
(told / "gateway").write_text(str(os.getpid()))
signal.pause()
"""
SWIFT = """
if sys.argv[1] == "build":
    print("[1/9] Compiling", flush=True)
    if told_of("does not build"):
        sys.exit("error: it does not build")
    if not told_of("builds"):
        def as_usual():
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
        compiler = subprocess.Popen(["sleep", "600"], preexec_fn=as_usual)
        (told / "building").touch()
        compiler.wait()
"""


def until(look, what):
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        time.sleep(0.01)
    return found


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Checkout:
    """The scripts in a folder of their own, with stand-ins for what they build."""

    def __init__(self, root):
        self.root, self.told, self.temporary = root / "till", root / "told", root / "tmp"
        self.told.mkdir()
        self.temporary.mkdir()
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        for name in ("Public", "config", "Package.swift"):
            (self.root / name).symlink_to(ROOT / name)
        program(self.root / ".build/debug/till", BEGINNING + TILL)
        program(self.root / ".build/debug/till-sandbox", BEGINNING + SANDBOX)
        program(root / "bin/swift", BEGINNING + SWIFT)
        #: A mark in the environment of every process that was started here.
        self.mark = uuid.uuid4().hex
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TILL_")},
            "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(self.temporary), "TOLD": str(self.told),
            "TILL_TEST_MARK": self.mark, "TILL_BUILT": "1",
        }  # fmt: skip

    def tell(self, name, text="1"):
        (self.told / name).write_text(text)

    def stopped(self):
        file = self.told / "stopped"
        return sorted(file.read_text().split()) if file.exists() else []

    def processes(self):
        """The processes that were started here: number, name, and time computed."""
        found = []
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"TILL_TEST_MARK={self.mark}".encode() in (place / "environ").read_bytes():
                    name, rest = (place / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                    found.append((int(place.name), name, rest.split()[11:13]))
            except OSError:
                pass  # It has ended meanwhile.
        return sorted(found)

    def is_at_rest(self):
        """Whether every process waits. A wrong yes makes no test green that should not be."""
        before = self.processes()
        time.sleep(0.3)
        return before == self.processes()

    def left(self):
        """Processes and temporary files that should be gone."""
        return [name for _, name, _ in self.processes()], [path.name for path in self.temporary.iterdir()]


class Run:
    """A script while it runs, with its output."""

    def __init__(self, checkout, window, script="run", beside=False, enough=None, **environment):
        #: Nobody reads the output after these words.
        self.enough = enough
        command = [checkout.root / "scripts" / script]
        if beside:
            # A program of somebody else's in the same group of processes.
            command = ["sh", "-c", 'env -u TILL_TEST_MARK sleep 600 >/dev/null 2>&1 & echo $! >"$TOLD/beside"; exec "$0"', *command]
        self.checkout, self.window = checkout, window
        self.said, self.complained = b"", b""
        if window:
            self.out, inner = pty.openpty()
            fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", *window, 0, 0))
        else:
            self.out, inner = os.pipe()
        errors, inner_errors = os.pipe()
        self.process = subprocess.Popen(
            command, stdin=inner if window else subprocess.DEVNULL, stdout=inner,
            stderr=inner_errors, env=checkout.environment | environment, start_new_session=True,
            # Who reads a window has it for ctrl-C, too.
            preexec_fn=(lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0)) if window else None,
        )  # fmt: skip
        os.close(inner)
        os.close(inner_errors)
        self.readers = [
            threading.Thread(target=self.read, args=(self.out, "said"), daemon=True),
            threading.Thread(target=self.read, args=(errors, "complained"), daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def read(self, source, name):
        try:
            while not (name == "said" and self.enough and self.enough in self.text) and (data := os.read(source, 65536)):
                setattr(self, name, getattr(self, name) + data)
        except OSError:
            pass  # A window that nobody writes into any more.
        if source != self.out or not self.window:
            os.close(source)

    def says(self, *words):
        def look():
            assert self.process.poll() is None or all(word in self.text for word in words), self.text + self.errors
            return all(word in self.text for word in words)

        until(look, f"{words} in {self.text}")

    @property
    def text(self):
        return self.said.decode(errors="replace")

    @property
    def errors(self):
        return self.complained.decode(errors="replace")

    def ctrl_c(self):
        if self.window:
            os.write(self.out, b"\x03")
        else:
            # As a terminal does where the output goes elsewhere: everybody hears it.
            os.killpg(self.process.pid, signal.SIGINT)

    def ends(self):
        status = self.process.wait(PATIENCE)
        # Before anything else: a process that still runs now was not waited for.
        self.left = self.checkout.left()
        beside = self.checkout.told / "beside"
        if beside.exists():
            os.kill(int(beside.read_text()), signal.SIGKILL)
        for reader in self.readers:
            reader.join(PATIENCE)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for number, _, _ in self.checkout.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()


NOTHING = ([], [])
WINDOW = (ROWS, COLUMNS)
both_ways = pytest.mark.parametrize("window", [WINDOW, None], ids=["window", "pipe"])


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@both_ways
@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
def test_the_address_and_the_code_arrive(checkout, window, late):
    if late:
        os.mkfifo(checkout.told / "gate")
    with Run(checkout, window) as run:
        if late:
            until((checkout.told / "till").exists, "the terminal's start")
            until(checkout.is_at_rest, "a script that waits")
            assert CODE not in run.text
            (checkout.told / "gate").write_text("open")
        run.says(CODE, PAGE)
        assert ('"event"' in run.text) is not bool(window), "a screen where it can be drawn, and lines elsewhere"
        run.ctrl_c()
        assert run.ends() == 0
        assert run.left == NOTHING


@both_ways
@pytest.mark.parametrize("how", ["ctrl-C", "SIGTERM", "SIGTERM twice", "SIGHUP", "SIGHUP twice"])
def test_whoever_ends_it_ends_all_that_it_started_and_nothing_else(checkout, window, how):
    checkout.tell("takes", "1")
    with Run(checkout, window, beside=not window) as run:
        run.says(CODE)
        if how == "ctrl-C":
            run.ctrl_c()
        else:
            run.process.send_signal(getattr(signal, how.split()[0]))
        if how.endswith("twice"):
            # As from `timeout`, which tells the program and then its group.
            until(checkout.stopped, "a program that heard it")
            run.process.terminate()
        status = run.ends()
        assert run.left == NOTHING
        assert checkout.stopped() == ["till", "till-sandbox"], "once each, and nobody was cut off"
        if how.startswith("SIGHUP"):
            assert status != 0
        else:
            assert (status, run.errors) == (0, "")
            assert "The shop is closed." in run.text


@both_ways
def test_it_ends_as_the_terminal_does(checkout, window):
    checkout.tell("status", "75")
    with Run(checkout, window) as run:
        run.says(CODE)
        run.process.terminate()
        assert run.ends() == 75
        assert run.left == NOTHING


@both_ways
def test_a_terminal_that_ends_by_itself_is_noticed_and_what_it_said_is_shown(checkout, window):
    checkout.tell("dies", "the page cannot be served")
    checkout.tell("status", "7")
    with Run(checkout, window) as run:
        assert run.ends() == 7
        assert "the page cannot be served" in run.errors
        assert "The shop is closed." in run.text
        assert run.left == NOTHING


@both_ways
def test_a_terminal_that_is_killed_leaves_a_window_that_can_be_used(checkout, window):
    with Run(checkout, window) as run:
        run.says(CODE)
        [number] = [number for number, name, _ in checkout.processes() if name == "till"]
        os.kill(number, signal.SIGKILL)
        assert run.ends() == 137
        assert run.left == NOTHING
        if window:
            assert "\x1b[?25h\x1b[?1049l" in run.text, "the cursor and the first page are back"


@both_ways
def test_a_gateway_that_ends_is_noticed(checkout, window):
    with Run(checkout, window) as run:
        run.says(CODE)
        os.kill(int((checkout.told / "gateway").read_text()), signal.SIGKILL)
        assert run.ends() == 1
        assert "gateway has ended" in run.errors
        assert run.left == NOTHING


@both_ways
def test_a_gateway_that_does_not_start_is_noticed_and_what_it_said_is_shown(checkout, window):
    checkout.tell("no gateway", "no port is free")
    with Run(checkout, window) as run:
        assert run.ends() == 1
        assert "no port is free" in run.errors
        assert run.left == NOTHING


def test_a_reader_that_goes_away_keeps_nothing_from_being_tidied(checkout):
    with Run(checkout, None, enough=CODE) as run:
        run.readers[0].join(PATIENCE)
        run.process.terminate()
        run.ends()
        assert run.left == NOTHING


def test_a_window_whose_size_nobody_knows_gets_lines(checkout):
    """As in a container."""
    with Run(checkout, (0, 0)) as run:
        run.says('"event": "claim"', CODE)
        run.ctrl_c()
        assert run.ends() == 0


@both_ways
@pytest.mark.parametrize("how", ["ctrl-C", "SIGTERM"])
def test_whoever_ends_it_while_it_builds_ends_the_build(checkout, window, how):
    with Run(checkout, window, TILL_BUILT="") as run:
        until((checkout.told / "building").exists, "the build")
        run.ctrl_c() if how == "ctrl-C" else run.process.terminate()
        assert run.ends() != 0
        assert run.left == NOTHING
        assert "Merchant ID" not in run.text


@both_ways
def test_a_build_shows_what_it_does_or_where_that_stands(checkout, window):
    checkout.tell("builds")
    with Run(checkout, window, TILL_BUILT="") as run:
        run.says("Building", CODE)
        run.ctrl_c()
        assert run.ends() == 0
        if window:
            assert "Compiling" in run.text
        else:
            log = re.search(r"(\S+\.log)", run.text.split("…")[0])[1]
            assert "Compiling" in (checkout.root / log).read_text()


@both_ways
def test_a_build_that_fails_says_why(checkout, window):
    checkout.tell("does not build")
    with Run(checkout, window, TILL_BUILT="") as run:
        assert run.ends() == 1
        assert run.errors.count("it does not build") == 1
        assert run.left == NOTHING


def test_paying_at_a_shop_that_is_closed_says_so(checkout):
    with Run(checkout, None) as run:
        run.says(CODE)
        run.ctrl_c()
        run.ends()
    done = subprocess.run([checkout.root / "artefacts/pay"], capture_output=True, text=True, env=checkout.environment)
    assert done.returncode != 0
    assert "closed" in done.stderr and "make run" in done.stderr and done.stderr.count("\n") == 1


def test_the_command_of_a_shop_hears_that_the_terminal_ended(checkout):
    checkout.tell("dies", "the page cannot be served")
    checkout.tell("status", "7")
    with Run(checkout, None, script="with-shop") as run:
        assert run.ends() == 1
        assert "the page cannot be served" in run.errors and "No such file" not in run.errors
        assert run.left == NOTHING


def seen(said):
    """The characters that a window shows. Source: ECMA-48, CUP; the rest of what the terminal sends changes colours."""
    grid, row, column = {}, 1, 1
    for place, _, character in re.findall(r"\x1b\[(\d+;\d+)H|(\x1b\[[?\d;]*[A-Za-z])|(.)", said, re.S):
        if place:
            row, column = map(int, place.split(";"))
        elif character == "\n":
            row += 1
        elif character == "\r":
            column = 1
        elif character:
            grid[row, column] = character
            column += 1
    return ["".join(grid.get((row, column), " ") for column in range(1, COLUMNS + 1)) for row in range(1, ROWS + 1)]


@both_ways
def test_the_real_programs_show_the_address_and_the_code(checkout, window):
    for name in ("till", "till-sandbox"):
        assert (PROGRAMS / name).exists(), f"build first: there is no {PROGRAMS / name}"
    shutil.rmtree(checkout.root / ".build/debug")
    (checkout.root / ".build/debug").symlink_to(PROGRAMS)
    with Run(checkout, window) as run:

        def claim():
            assert run.process.poll() is None, run.errors
            lines = [line for file in checkout.temporary.glob("till.*/terminal.json") for line in file.read_text().splitlines()]
            return [said for line in lines if (said := json.loads(line))["event"] == "claim"]

        [said] = until(claim, "an announcement")
        address = said["url"].partition("/#")[0]
        if window:
            until(lambda: any(said["code"] in line for line in seen(run.text)), "the code in the window")
            assert any(address.removeprefix("https://") in line for line in seen(run.text)), seen(run.text)
        else:
            run.says(said["code"], address)
        run.ctrl_c()
        assert (run.ends(), run.errors) == (0, "")
        assert "The shop is closed." in run.text
        assert run.left == NOTHING

"""A dozen strangers on the shop's network against the terminal at once: the shop goes on charging.

`TILL_CROWD_SECONDS=600` plays each for ten minutes; without it each takes some twenty seconds. The terminal has 256 MB of memory, as
config/systemd/till.service gives it: by a cgroup where the tests may make one, else its largest size is looked at."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse
import uuid

import pytest

from sandbox import ROOT, Gateway
from terminal import Terminal
from till_client import Till

SECONDS = int(os.environ.get("TILL_CROWD_SECONDS", "20"))
CONTRACT = json.loads((ROOT / "Public/api/v1/openapi.json").read_text(encoding="utf-8"))
MEMORY = 256 * 1024 * 1024


class Cage:
    """A limit of memory for one program; nothing where the tests may not set one."""

    def __init__(self):
        self.command = []
        # The second version of cgroups, and the first.
        for place, limit in (("", "memory.max"), ("memory", "memory.limit_in_bytes")):
            self.folder = pathlib.Path("/sys/fs/cgroup", place, f"till-crowds-{os.getpid()}")
            try:
                self.folder.mkdir()
            except OSError:
                continue
            # In a cgroup the files are there by themselves.
            if not (self.folder / limit).exists():
                self.remove()
                continue
            (self.folder / limit).write_text(str(MEMORY))
            self.command = ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh"]
            return

    @property
    def is_set(self) -> bool:
        return bool(self.command)

    def kills(self) -> int:
        for name in ("memory.events", "memory.oom_control"):
            if (self.folder / name).exists():
                return int(dict(line.split() for line in (self.folder / name).read_text().splitlines())["oom_kill"])
        raise AssertionError("the cgroup says nothing of kills")

    def remove(self):
        with contextlib.suppress(OSError):
            self.folder.rmdir()


@pytest.fixture(scope="module")
def cage():
    cage = Cage()
    yield cage
    cage.remove()


@pytest.fixture(scope="module")
def gateway():
    running = Gateway("--settle-after", "0")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def terminal(gateway, cage):
    running = Terminal(gateway, cage.command)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def till(terminal):
    return Till(terminal.url, terminal.token("Counter 1", "charges", "state", "screen"), terminal.fingerprint, CONTRACT)


@contextlib.contextmanager
def strangers(what: str, terminal: Terminal):
    """What they were answered stands in the dictionary afterwards."""
    program = pathlib.Path(__file__).with_name("strangers.py")
    attack = subprocess.Popen(
        [sys.executable, program, what, terminal.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    said: dict = {}
    try:
        yield said
    finally:
        out, _ = attack.communicate(timeout=60)
        said.update(json.loads(out or "{}"))


def largest_bytes(terminal: Terminal) -> int:
    lines = pathlib.Path(f"/proc/{terminal.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def timed(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def a_sale(till: Till) -> float:
    """How long until the charge was there; then it is taken back, so that the next one can come."""
    start = time.monotonic()
    key = {"Idempotency-Key": uuid.uuid4().hex}
    charge = till.call("openCharge", body={"amountMinor": 150}, headers=key)
    took = time.monotonic() - start
    till.cancel(charge)
    return took


def of_hundred(times: list[float], share: int) -> float:
    times = sorted(times)
    return times[min(len(times) - 1, len(times) * share // 100)]


def test_unfinished_bodies_and_wrong_sign_ins_of_a_dozen_addresses_stop_no_charge(terminal, till, cage):
    a_sale(till)
    times = []
    with strangers("bodies", terminal) as said:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            began = time.monotonic()
            times.append(a_sale(till))
            time.sleep(max(0, began + 1 - time.monotonic()))
    largest = largest_bytes(terminal) // 1_000_000
    print(f"{len(times)} charges, slowest {max(times):.3f} s, at most {largest} MB, limited: {cage.is_set}; strangers: {said}")
    assert terminal.process.poll() is None, "the terminal lives"
    if cage.is_set:
        assert cage.kills() == 0
    else:
        assert largest_bytes(terminal) < MEMORY
    assert max(times) < 1, f"each charge is opened within a second: {sorted(times)[-5:]}"
    assert said.get("bodies 401", 0) > 100, "they were told that they are nobody"
    assert said.get("bodies 200", 0) == 0 and said.get("sign-ins 200", 0) == 0


def test_a_thousand_slow_sockets_of_a_dozen_addresses_keep_nobody_out(terminal, till):
    times: dict[str, list[float]] = {"health": [], "page": [], "charge": []}
    with strangers("slow", terminal) as said:
        time.sleep(3)  # They come first: all of them have asked for a connection.
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            times["health"].append(timed(lambda: fetch(till, "/healthz")))
            times["page"].append(timed(lambda: fetch(till, "/")))
            times["charge"].append(a_sale(till))
            time.sleep(0.1)
    for what, list_ in times.items():
        print(f"{what}: {len(list_)} answers, median {of_hundred(list_, 50):.3f} s, 99 of 100 in {of_hundred(list_, 99):.3f} s")
    print(f"strangers: {said}")
    assert said.get("slow held", 0) >= 1000
    for what, list_ in times.items():
        assert of_hundred(list_, 99) < 1, what


def fetch(till: Till, path: str) -> None:
    """A new connection, as a browser has it that comes for the first time."""
    connection = till.connect(timeout=30)
    connection.request("GET", path, headers={"Host": urllib.parse.urlsplit(f"https://{till.host}:{till.port}").netloc})
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    answer.read()
    connection.close()

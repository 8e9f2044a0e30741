"""Builds what the chosen parts need and nothing else."""

import os
import subprocess
import threading

from .changes import PROGRAMS
from .parts import ROOT, Part
from .play import LOGS, Stage


def build(chosen: list[Part]) -> bool:
    """False where something does not compile, after the compiler's own words."""
    if os.environ.get("TILL_BUILT"):
        return True
    print("Build …", flush=True)
    tests = [part.name for part in chosen if part.kind == "swift"]
    products = ["tillPackageTests"] if tests else []
    products += sorted({program for part in chosen for program in programs(part)})
    environment = os.environ | {"TILL_TESTS": ",".join(sorted(tests))}
    return not products or subprocess.run(["scripts/compile", "debug", *products], cwd=ROOT, env=environment).returncode == 0


def programs(part: Part) -> tuple[str, ...]:
    """The programs that a part starts and that its bundle does not bring along."""
    match part.kind:
        case "browser":
            return PROGRAMS
        case "rig":
            return *PROGRAMS, "till-radio-check"
        case "pytest" if part.needs_programs:
            return tuple(target for target in part.targets if target.startswith("till"))
    return ()


def python_beside(chosen: list[Part]) -> subprocess.Popen | None:
    """Installs Python's packages while Swift compiles: it waits for the network more than it computes."""
    if all(part.kind == "swift" for part in chosen):
        return None
    return subprocess.Popen(["scripts/setup-python"], cwd=ROOT)


def guest_beside(stage: Stage, chosen: list[Part]) -> threading.Thread | None:
    """Builds the rig's guest while Swift compiles: it waits for packages more than it computes."""
    if not any(part.kind == "rig" for part in chosen):
        return None
    thread = threading.Thread(target=stage.run, args=(["scripts/rig", "guest"], LOGS / "guest.log", {}))
    thread.start()
    return thread

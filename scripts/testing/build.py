"""Builds what the chosen parts need and nothing else."""

import os
import subprocess
import threading

from .parts import ROOT, Part
from .play import LOGS, Stage


def build(chosen: list[Part]) -> bool:
    """False where something does not compile, after the compiler's own words."""
    if os.environ.get("TILL_BUILT"):
        return True
    print("Build …", flush=True)
    tests = [part.name for part in chosen if part.kind == "swift"]
    products = ["tillPackageTests"] if tests else []
    if any(part.kind != "swift" and part.needs_programs for part in chosen):
        products += ["till", "till-sandbox", "till-example-wallet", "till-radio-check"]
    environment = os.environ | {"TILL_TESTS": ",".join(sorted(tests))}
    return not products or subprocess.run(["scripts/compile", "debug", *products], cwd=ROOT, env=environment).returncode == 0


def guest_beside(stage: Stage, chosen: list[Part]) -> threading.Thread | None:
    """Builds the rig's guest while Swift compiles: it waits for packages more than it computes."""
    if not any(part.kind == "rig" for part in chosen):
        return None
    thread = threading.Thread(target=stage.run, args=(["scripts/rig", "guest"], LOGS / "guest.log", {}))
    thread.start()
    return thread

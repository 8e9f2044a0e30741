"""The parts that can see a change: by the package's own graph, and by what a suite says that it reads."""

import json
import os
import subprocess

from .parts import ROOT, Part

#: Programs that every browser suite and the rig start.
PROGRAMS = ("till", "till-sandbox")
#: A change here can be seen by everything.
EVERYTHING = ("Package.swift", "Tests/parts.toml", "scripts/testing/", "scripts/test", "scripts/compile", "scripts/debian-packages")
#: Read by people alone.
NOTHING = ("docs/", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", ".gitignore", ".swift-format")


def changed_files(root=ROOT) -> list[str]:
    """Files that differ from main's last commit, new ones that git does not ignore included."""
    def git(*words):
        return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True).stdout.split("\0")

    return sorted({*git("diff", "--name-only", "-z", "main", "--"), *git("ls-files", "-z", "--others", "--exclude-standard")} - {""})


def read_graph(root=ROOT) -> dict[str, tuple[str, set[str]]]:
    """Each target's folder and the targets it depends on, as the package itself says."""
    environment = {key: value for key, value in os.environ.items() if key != "TILL_TESTS"}
    text = subprocess.run(["swift", "package", "dump-package"], cwd=root, env=environment, capture_output=True, text=True, check=True).stdout
    graph = {}
    for target in json.loads(text)["targets"]:
        folder = target.get("path") or f"{'Tests' if target['type'] == 'test' else 'Sources'}/{target['name']}"
        names = (next(iter(item.values()))[0] for item in target["dependencies"])
        graph[target["name"]] = (folder.rstrip("/") + "/", set(names))
    return graph


def reached(graph, targets) -> set[str]:
    """These targets and all that they depend on."""
    seen, waiting = set(), list(targets)
    while waiting:
        target = waiting.pop()
        if target in graph and target not in seen:
            seen.add(target)
            waiting += graph[target][1]
    return seen


def own_files(part: Part) -> tuple[str, ...]:
    """Where a part's own tests lie, and what its folder's tests share."""
    if part.kind == "swift":
        return ()
    shared = ROOT / "Tests/Rig" if part.kind == "rig" else (ROOT / part.file).parent
    beside = [str(path.relative_to(ROOT)) for path in shared.iterdir() if not path.name.startswith("test_") and path.name not in ("scenarios", "bench")]
    return (str(part.file), *beside, *(["scripts/rig"] if part.kind == "rig" else []))


def sees(part: Part, files: list[str], graph) -> bool:
    """True where the part can see a change of one of these files."""
    match part.kind:
        case "swift":
            targets = reached(graph, [part.target])
        case "browser" | "rig":
            targets = reached(graph, PROGRAMS)
        case _:
            targets = reached(graph, part.targets)
    places = tuple(graph[target][0] for target in targets)
    reads = own_files(part) + part.reads
    known = tuple(folder for folder, _ in graph.values())
    for file in files:
        if file.startswith(NOTHING) and not file.startswith(reads):
            continue
        if file.startswith(EVERYTHING) or file.startswith(places) or file.startswith(reads):
            return True
        # A page's file that no suite claims can be seen by every browser suite.
        if file.startswith("Public/") and part.kind == "browser":
            return True
        # A file that nobody knows can be seen by everybody.
        if not file.startswith((*known, "Sources/", "Tests/", "Public/", "scripts/", "image/", "config/", ".ci/", "Benchmarks/")):
            return True
    return False


def seeing(parts: list[Part], files: list[str], graph) -> list[Part]:
    claimed = {read for part in parts if part.kind == "browser" for read in part.reads if read.startswith("Public/")}
    chosen = []
    for part in parts:
        seen = files
        if part.kind == "browser" and part.reads:
            # What other suites claim for themselves is none of this one's business.
            others = tuple(claimed - set(part.reads))
            seen = [file for file in files if not (others and file.startswith(others)) or file.startswith(part.reads)]
        if sees(part, seen, graph):
            chosen.append(part)
    return chosen

"""The parts of the tests: read from Tests/parts.toml, completed by what lies in Tests, and chosen by name."""

import dataclasses
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


#: Where the Python files of a group of parts lie.
FOLDERS = {"api": "API", "browser": "Browser", "page": "Page", "scripts": "Scripts", "image": "Image"}


class Mistake(Exception):
    """One sentence for whoever typed the command."""


@dataclasses.dataclass(frozen=True)
class Part:
    #: As ONLY= names it: a Swift target without `Tests`, or kind and file, for example `browser-shop`.
    name: str
    #: swift, pytest, browser or rig.
    kind: str
    #: One sentence.
    proves: str
    #: Played by `make test`.
    quick: bool = False
    #: Seconds by itself on two cores: the longest begin first.
    seconds: int = 10
    #: Shares a resource with every other part, so nothing else plays beside it.
    alone: bool = False
    #: Swift Testing's tests at once in one process. A test's time limit runs while it waits for a core: with all 362 of Console at
    #: once beside other work, one of a second took 148.
    width: int = 8
    #: Draws samples of a space that is too large for every run.
    samples: bool = False
    #: Starts programs of .build.
    needs_programs: bool = True
    #: Plays with an acquirer of payments by phone beside the shop.
    needs_acquirer: bool = False
    #: Files and folders that it reads beside its own and those of the programs that it starts.
    reads: tuple[str, ...] = ()
    #: Targets of Sources and Tests whose change it can see.
    targets: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        return f"{self.name}Tests"

    @property
    def file(self) -> pathlib.Path:
        """What is played: a folder of Swift tests, a Python file or a scenario, from the project's folder."""
        folder, _, name = self.name.partition("-")
        if self.kind == "swift":
            return pathlib.Path("Tests", self.target)
        if self.kind == "rig":
            return pathlib.Path("Tests/Rig/scenarios", f"{name}.sh")
        return pathlib.Path("Tests", FOLDERS[folder], f"test_{name.replace('-', '_')}.py")


def on_disk(root=ROOT) -> dict[str, str]:
    """Every part that lies in Tests: its name and kind."""
    found = {path.name.removesuffix("Tests"): "swift" for path in root.glob("Tests/*Tests") if path.is_dir()}
    for group, folder in FOLDERS.items():
        for path in root.glob(f"Tests/{folder}/test_*.py"):
            # What another suite plays, or the image's own test, is no part.
            if group == "browser" and "__main__" not in path.read_text() or group == "image" and path.stem != "test_scripts":
                continue
            found[f"{group}-{path.stem.removeprefix('test_').replace('_', '-')}"] = "browser" if group == "browser" else "pytest"
    for path in root.glob("Tests/Rig/scenarios/*.sh"):
        if not re.search("^# Only: when named", path.read_text(), re.MULTILINE):
            found[f"rig-{path.stem}"] = "rig"
    return found


def load(root=ROOT) -> list[Part]:
    """All parts, in the order of the file.

    Raises a Mistake where the file and the folders differ: a part that nobody plays would be none.
    """
    rows = tomllib.loads((root / "Tests/parts.toml").read_text())["part"]
    parts = [Part(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
                     if key != "before"}) for row in rows]
    found = on_disk(root)
    names = [part.name for part in parts]
    for name in found.keys() - set(names):
        raise Mistake(f"{name} lies in Tests and not in Tests/parts.toml: add it there.")
    for part in parts:
        if names.count(part.name) > 1 or part.name not in found:
            raise Mistake(f"Tests/parts.toml names {part.name}, and there is no such part, or it stands there twice.")
        if found[part.name] != part.kind:
            raise Mistake(f"{part.name} is a part of the kind {found[part.name]}, and Tests/parts.toml says {part.kind}.")
    return parts


def named(parts: list[Part], names: str) -> list[Part]:
    """The parts that ONLY= names, by their names or by a group: browser, rig, api, page, swift."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    chosen = []
    for name in wanted:
        found = [part for part in parts if part.name == name] or [part for part in parts if part.name.startswith(f"{name}-")]
        if name == "swift":
            found = [part for part in parts if part.kind == "swift"]
        if not found:
            raise Mistake(f"There is no part ‘{name}’. There are: {', '.join(part.name for part in parts)}.")
        chosen += [part for part in found if part not in chosen]
    if not chosen:
        raise Mistake("ONLY= names no part, for example ONLY=Payments,Journal.")
    return chosen

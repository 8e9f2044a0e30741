"""The faults that `make mutants` plants: read from Tests/Mutants/faults.toml, held against the sources, and put into their text."""

import dataclasses
import pathlib
import re

from .parts import ROOT, Mistake, Part, tomllib

LIST = "Tests/Mutants/faults.toml"


@dataclasses.dataclass(frozen=True)
class Fault:
    #: In plain words with hyphens, as ONLY= and TILL_FAULT name it.
    name: str
    #: Where it is planted, from the project's folder.
    file: str
    #: What stands there exactly once.
    original: str
    #: What is put in its place.
    planted: str
    #: One sentence: what it would cost.
    costs: str
    #: The part of the tests that has to see it.
    part: str
    #: The part's suites that are played; none: all of them.
    suites: tuple[str, ...] = ()
    #: Samples of the fault matrix are measured with it.
    is_for_samples: bool = False

    @property
    def is_swift(self) -> bool:
        """It is compiled in and switched on by TILL_FAULT. Any other fault is put into the file while its part is played."""
        return self.file.endswith(".swift")

    @property
    def module(self) -> str:
        """The folder of Sources, which is the target's."""
        return pathlib.PurePath(self.file).parts[1]

    @property
    def replacement(self) -> str:
        """What stands in the file instead of the original: in Swift both, the planted one where the fault is active."""
        if not self.is_swift:
            return self.planted
        asked = f'isPlanted("{self.name}")'
        if re.search(r"\bisPlanted\b", self.planted):
            return re.sub(r"\bisPlanted\b", asked, self.planted)
        return f"({asked} ? ({self.planted}) : ({self.original}))"


#: Added to each module with a fault. Reads the variable once.
SWIFT = """\
import Glibc

private let planted = unsafe getenv("TILL_FAULT").map { unsafe String(cString: $0) } ?? ""

/// Whether the fault of this name is active.
func isPlanted(_ name: String) -> Bool { planted == name }
"""


def load(root=ROOT) -> list[Fault]:
    """All faults, in the order of the file. Raises a Mistake where an entry is not complete or a name stands twice."""
    rows = tomllib.loads((root / LIST).read_text())["fault"]
    faults = []
    for row in rows:
        try:
            fault = Fault(**row | {"suites": tuple(row.get("suites", ()))})
        except TypeError as error:
            raise Mistake(f"{LIST}: the fault ‘{row.get('name')}’ has a field too many or too few ({error}).") from None
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", fault.name):
            raise Mistake(f"{LIST}: ‘{fault.name}’ is no name: use small letters and hyphens.")
        if any(fault.name == other.name for other in faults):
            raise Mistake(f"{LIST}: ‘{fault.name}’ stands there twice.")
        faults.append(fault)
    return faults


def named(faults: list[Fault], names: str) -> list[Fault]:
    """The faults whose names contain one of the words of ONLY=; all of them where it is empty."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if not any(name in fault.name for fault in faults):
            raise Mistake(f"There is no fault ‘{name}’. There are: {', '.join(fault.name for fault in faults)}.")
    return [fault for fault in faults if not wanted or any(name in fault.name for name in wanted)]


def check(faults: list[Fault], parts: list[Part], root=ROOT):
    """Raises a Mistake where the sources or the tests have gone on without the list."""
    by_name = {part.name: part for part in parts}
    for fault in faults:
        if not (part := by_name.get(fault.part)):
            raise Mistake(f"{LIST}: ‘{fault.name}’ is for the part {fault.part}, which does not exist.")
        for suite in fault.suites:
            if not has_suite(part, suite, root):
                raise Mistake(f"{LIST}: ‘{fault.name}’ is for the suite {suite}, which {fault.part} does not have.")
    for file in sorted({fault.file for fault in faults}):
        own = [fault for fault in faults if fault.file == file]
        if not (root / file).is_file():
            raise Mistake(f"{LIST}: ‘{own[0].name}’ is planted in {file}, which does not exist.")
        planted((root / file).read_text(), own)


def has_suite(part: Part, suite: str, root) -> bool:
    """Whether a part has a suite of this name: a type of a Swift target, or a module's tests of the page."""
    if part.kind != "swift":
        return (root / part.file).with_name(f"{suite}.test.js").exists()
    declared = re.compile(rf"^(?:final )?(?:struct|class|actor|enum) {re.escape(suite)}\b", re.MULTILINE)
    return any(declared.search(path.read_text()) for path in (root / part.file).rglob("*.swift"))


def planted(text: str, faults: list[Fault]) -> str:
    """A file's text with all of its faults. Raises a Mistake where an original is not there once, or two overlap."""
    places = []
    for fault in faults:
        if fault.original == fault.planted or not fault.original.strip():
            raise Mistake(f"{LIST}: ‘{fault.name}’ changes nothing.")
        if (count := text.count(fault.original)) != 1:
            raise Mistake(
                f"{LIST}: the original of ‘{fault.name}’ stands {count} times in {fault.file}, and not once: "
                "change it along with the code, or give it more of the lines around it."
            )
        places.append((text.index(fault.original), fault))
    places.sort(key=lambda place: place[0])
    result, end = "", 0
    for start, fault in places:
        if start < end:
            raise Mistake(f"{LIST}: ‘{fault.name}’ overlaps another fault in {fault.file}.")
        result += text[end:start] + fault.replacement
        end = start + len(fault.original)
    return result + text[end:]

"""What the runner says: first what it plays, then a line for each part, and the counts at the end."""

import json
import textwrap

from .parts import ROOT, Part, tomllib
from .play import LOGS, Result

#: What `make test` counted, for the run of what `make test-all` has beyond it.
QUICK = LOGS / "quick.json"


def opening(why: str, chosen: list[Part], parts: list[Part], is_narrow: bool):
    """What is played, what is left out, and how to play that."""
    print(f"{why}: plays {len(chosen)} of {len(parts)} parts.")
    print(wrapped("Plays", chosen, parts))
    left = [part for part in parts if part not in chosen]
    if left and not is_narrow:
        print(wrapped("Leaves out", left, parts))
    if left:
        print("make test-all plays everything, make test ONLY=browser-shop,Screen these parts, CHANGED=1 what can see your change.")


def wrapped(verb: str, some: list[Part], parts: list[Part]) -> str:
    """A sentence with the parts' names, and with one word for a group that is whole."""
    words, groups = [], {}
    for part in parts:
        groups.setdefault("" if part.kind == "swift" else part.name.partition("-")[0], []).append(part)
    for name, group in groups.items():
        if name and all(part in some for part in group) and len(group) > 1:
            words.append(f"{name} ({len(group)})")
        else:
            words += [part.name for part in group if part in some]
    return textwrap.fill(f"{verb} {', '.join(words) or 'nothing'}.", 110, subsequent_indent="    ", break_on_hyphens=False)


def line(result: Result):
    failed = f", {result.failed} failed" if result.failed else ""
    print(f"{'✔' if result.is_green else '✘'} {result.part.name:<24} {result.passed:>6} passed{failed}  {result.seconds:6.1f} s", flush=True)
    for words in result.failures:
        print(f"    {words}", flush=True)


def keep(results: list[Result]):
    QUICK.write_text(json.dumps([[result.part.name, result.passed, result.failed, result.seconds] for result in results]))


def kept(parts: list[Part]) -> list[Result]:
    """The results of the `make test` before; it has said itself what failed."""
    if not QUICK.exists():
        return []
    by_name = {part.name: part for part in parts}
    return [Result(by_name[name], *counts) for name, *counts in json.loads(QUICK.read_text()) if name in by_name]


def closing(results: list[Result], once: list[str], seconds: float) -> int:
    skipped = [words for result in results for words in result.skipped]
    if skipped:
        print("Skipped:")
        print("\n".join(f"    {words}" for words in skipped))
    if red := [result for result in results if not result.is_green]:
        print("What failed:")
        for result in red:
            for words in result.failures:
                print(f"    {result.part.name}: {words}")
            print(f"    All that it said: .build/tests/{result.part.name}.log")
    for words in once:
        print(words)
    slowest = sorted(results, key=lambda result: -result.seconds)[:10]
    print("The slowest: " + ", ".join(f"{result.part.name} {result.seconds:.0f} s" for result in slowest) + ".")
    print(f"All of it took {seconds:.0f} s.")
    passed, failed = sum(result.passed for result in results), sum(result.failed for result in results)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if red or not passed else 0


def table(parts: list[Part]) -> str:
    """The table of docs/testing.md."""
    rows = tomllib.loads((ROOT / "Tests/parts.toml").read_text())["part"]
    lines = ["| part | played by | proves | seconds before | now |", "|---|---|---|---|---|"]
    for part, row in zip(parts, rows):
        lines.append(f"| {part.name} | {'`make test`' if part.quick else '`make test-all`'} | {part.proves} | {row.get('before', '')} | {part.seconds} |")
    return "\n".join(lines)

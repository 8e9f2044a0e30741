"""Holds a checklist in docs to what it promises: every name has a row, every row a test that exists."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def is_test(file: pathlib.Path, name: str) -> bool:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        return name.startswith("test_") and re.search(rf"^def {re.escape(name)}\(", text, re.MULTILINE) is not None
    # `@Test` stands between the function's name and whatever function came before it.
    # A name that is a sentence stands in backticks there.
    found = re.search(rf"\bfunc (?:{re.escape(name)}|`{re.escape(name)}`)\(", text)
    return found is not None and "@Test" in text[: found.start()].rpartition(" func ")[2]


def count_tests(row: str, cell: str, faults: list[str]) -> int:
    count = 0
    file = None
    for token in re.findall(r"`([^`]+)`", cell):
        if "/" in token:
            file = root / token
            if not token.startswith("Tests/") or not file.is_file():
                faults.append(f"{row}: no test file {token}")
                file = None
        elif file is None:
            faults.append(f"{row}: no file for the test {token}")
        elif is_test(file, token):
            count += 1
        else:
            faults.append(f"{row}: no test {token} in {file.relative_to(root)}")
    return count


def words_of(cell: str, pattern: str) -> set[str]:
    """Every word of the code in a cell, with its dots and without: `configure(apiKey:)` names both."""
    codes = re.findall(r"`([^`]+)`", cell)
    dotted = {word for code in codes for word in re.findall(rf"{pattern}(?:\.{pattern})*", code)}
    return dotted | {part for word in dotted for part in word.split(".")}


def check(document: str, subject: str, names: list[str], pattern: str = r"\w+") -> None:
    """Prints what is wrong with `document`, or what it holds, and ends the program."""
    faults: list[str] = []
    named: set[str] = set()
    rows = 0
    words = {"same": 0, "differs": 0}
    is_list = True
    before = ""
    for line in (root / document).read_text(encoding="utf-8").splitlines():
        # A table of figures has another first word.
        if line.startswith("|") and not before.startswith("|"):
            is_list = line.startswith("| name |")
        before = line
        if not is_list or not line.startswith("|") or line.startswith(("| name |", "|---")):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        row = cells[0]
        rows += 1
        if len(cells) != 4:
            faults.append(f"{row}: {len(cells)} cells instead of 4")
            continue
        named |= words_of(cells[0], pattern) | words_of(cells[1], pattern)
        tests = count_tests(row, cells[2], faults)
        word = re.match(r"\w*", cells[3]).group()
        if word not in words:
            faults.append(f"{row}: “{cells[3]}” is no status")
            continue
        words[word] += 1
        if tests == 0:
            faults.append(f"{row}: no test shows it")
        if word != "same" and not re.match(rf"{word}: \S", cells[3]):
            faults.append(f"{row}: {word}, but not why")
        if word == "same" and cells[3] != "same":
            faults.append(f"{row}: the same, with a reservation")
    if rows == 0:
        faults.append("no rows")
    faults += [f"{name}: the documents have it, and no row" for name in names if name not in named]
    for fault in faults:
        print(f"{document}: {fault}")
    if not faults:
        counts = ", ".join(f"{count} {word}" for word, count in words.items())
        print(f"All {rows} rows on {subject} name tests that exist: {counts}. {len(names)} names have a row.")
    sys.exit(1 if faults else 0)

"""Write the tables of docs/trust.md from the marks of tests: python tools/trust.py [--write].

Tests name what they prove with `@pytest.mark.promise("...")` and `@pytest.mark.fault("...")`. The table of promises has
what each means, written by hand; its column of tests, and the table of faults, are written here. Without --write the
program ends with exit code 1 where the page differs, a promise has no test that `make test` runs, or a mark names a
promise that the page does not have.
"""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "trust.md"
#: What `make test` selects.
BY_DAY = "not (night or release)"


class Test(NamedTuple):
    """A test with the marks that its decorators, and the `pytestmark` of its file, give it."""

    path: str
    name: str
    marks: tuple[tuple[str, str], ...]  # pairs of name and first argument, the text "" where it has none

    @property
    def by_day(self) -> bool:
        """Whether `make test` runs it, or one of its cases."""
        return f"{self.path}::{self.name}" in collected(BY_DAY)


@cache
def collected(selected: str) -> set[str]:
    """The tests with these marks, as pytest collects them: file::name, without the parameters of cases."""
    line = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", selected]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    return {each.partition("[")[0] for each in done.stdout.splitlines() if "::" in each}


def marks_of(nodes) -> list[tuple[str, str]]:
    """The marks among some expressions, such as `pytest.mark.fault("a full disk")`."""
    found = []
    for node in nodes:
        call, node = (node, node.func) if isinstance(node, ast.Call) else (None, node)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark":
            argument = call.args[0].value if call and call.args and isinstance(call.args[0], ast.Constant) else ""
            found.append((node.attr, argument))
    return found


def tests() -> list[Test]:
    """All tests with their marks, by file and place."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module, shared = ast.parse(path.read_text(encoding="utf-8")), []
        for node in module.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                shared = marks_of(node.value.elts if isinstance(node.value, ast.List) else [node.value])
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                own = marks_of(node.decorator_list)
                found.append(Test(str(path.relative_to(ROOT)), node.name, (*shared, *own)))
    return found


def of_kind(kind: str) -> dict[str, list[Test]]:
    """{what a mark of this kind names: its tests}."""
    found = defaultdict(list)
    for test in tests():
        for name, argument in test.marks:
            if name == kind:
                found[argument].append(test)
    return found


def linked(found: list[Test]) -> str:
    """The tests of a row, those of a file together."""
    files = defaultdict(list)
    for test in found:
        files[test.path].append(f"`{test.name}`")
    return "; ".join(f"{path.removeprefix('tests/')}: {', '.join(names)}" for path, names in files.items())


def rows_of_promises(rows: list[str]) -> list[str]:
    """The rows with their last column anew."""
    found = of_kind("promise")
    cells = [[cell.strip() for cell in row.strip("|\n ").split(" | ")] for row in rows]
    return [f"| {promise} | {meaning} | {linked(found[promise])} |" for promise, meaning, *_ in cells]


def rows_of_faults() -> list[str]:
    """A row for each fault that some test causes."""
    return [f"| {fault} | {linked(found)} |" for fault, found in of_kind("fault").items()]


def table(text: str, title: str) -> tuple[int, int, list[str]]:
    """The first and the last line of the rows of the table below a title, and the rows."""
    lines = text.splitlines()
    first = next(i for i in range(lines.index(f"## {title}"), len(lines)) if lines[i].startswith("| ---")) + 1
    last = next((i for i in range(first, len(lines)) if not lines[i].startswith("|")), len(lines))
    return first, last, lines[first:last]


def rewritten(text: str) -> str:
    """The page with both tables anew."""
    for title, rows in (("Promises", rows_of_promises), ("Faults", lambda _: rows_of_faults())):
        first, last, old = table(text, title)
        lines = text.splitlines()
        text = "\n".join([*lines[:first], *rows(old), *lines[last:]]) + "\n"
    return text


def absent(text: str) -> list[str]:
    """The tests in the table of deliberate faults that do not exist."""
    there = {test.name for test in tests()}
    rows = table(text, "Deliberate faults")[2]
    return [name for row in rows for name in re.findall(r"`(test_\w+)", row) if name not in there]


def problems(text: str) -> list[str]:
    """What is wrong with the marks or the page."""
    named = [row.strip("| ").split(" | ")[0].strip() for row in table(text, "Promises")[2]]
    found = of_kind("promise")
    return [
        *(f'no test that `make test` runs proves "{p}"' for p in named if not any(t.by_day for t in found.get(p, ()))),
        *(f'{found[p][0].path} names the promise "{p}", which docs/trust.md lacks' for p in found if p not in named),
        *(f"{name} of the table of deliberate faults is no test: run tools/mutate.py" for name in absent(text)),
        *(["docs/trust.md is not that of the marks: python tools/trust.py --write"] if rewritten(text) != text else []),
    ]


def main(words: list[str]) -> int:
    if "--write" in words:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    found = problems(PAGE.read_text(encoding="utf-8"))
    print("\n".join(found), end="\n" * bool(found), file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

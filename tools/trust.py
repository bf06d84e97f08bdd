"""Check the promises of docs/trust.md against the marks of tests: python tools/trust.py.

Tests name what they prove with `@pytest.mark.promise("...")` and `@pytest.mark.fault("...")`. The exit code is 1 if a
promise of docs/trust.md has no test that `make test` runs, if a mark names a promise that the page does not have, or if
tools/mutate.py has found a deliberate fault by no test that exists. `page` is docs/reference/tests.md, which the site
gets when it is built.
"""

import ast
import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "trust.md"
#: What tools/mutate.py makes, and which tests have found it.
MUTATIONS, FOUND = ROOT / "tools" / "mutations.toml", ROOT / "tools" / "mutations_found.json"
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


def promises() -> list[str]:
    """The promises of docs/trust.md, the first column of its table."""
    lines = PAGE.read_text(encoding="utf-8").partition("## Promises\n")[2].partition("\n## ")[0].splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    return [row.strip("| ").split(" | ")[0].strip() for row in rows]


def mutations() -> dict[str, str]:
    """{deliberate fault: the test that found it, as file::name; empty if none has}."""
    known = json.loads(FOUND.read_text(encoding="utf-8"))
    return {fault["name"]: known.get(fault["name"], "") for fault in tomllib.loads(MUTATIONS.read_text())["fault"]}


def linked(found: list[Test]) -> str:
    """The tests of a row, those of a file together."""
    files = defaultdict(list)
    for test in found:
        files[test.path].append(f"`{test.name}`")
    return "; ".join(f"{path.removeprefix('tests/')}: {', '.join(names)}" for path, names in files.items())


def page() -> str:
    """The page of tests, in Markdown."""
    by_promise, by_fault = of_kind("promise"), of_kind("fault")
    found = {name.replace("-", " "): f"`{test.removeprefix('tests/')}`" for name, test in mutations().items()}
    tables = {
        "Promises": {promise: linked(by_promise[promise]) for promise in promises()},
        "Faults": {fault: linked(tests) for fault, tests in by_fault.items()},
        "Deliberate faults": found,
    }
    text = "# Tests of promises and faults\n\nThe marks of the tests, for [Promises and their tests](../trust.md).\n"
    for title, rows in tables.items():
        lines = [f"| {what} | {tests} |" for what, tests in rows.items()]
        text += "\n".join([f"\n## {title}\n", "| what | tests |", "| --- | --- |", *lines]) + "\n"
    return text


def problems() -> list[str]:
    """What is wrong with the promises, the marks or the deliberate faults."""
    named, marks = promises(), of_kind("promise")
    existing = {f"{test.path}::{test.name}" for test in tests()}
    return [
        *(f'no test that `make test` runs proves "{p}"' for p in named if not any(t.by_day for t in marks.get(p, ()))),
        *(f'{marks[p][0].path} names the promise "{p}", which docs/trust.md lacks' for p in marks if p not in named),
        *(f"no existing test finds {name}: tools/mutate.py" for name, t in mutations().items() if t not in existing),
    ]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found), end="\n" * bool(found), file=sys.stderr)
    sys.exit(bool(found))

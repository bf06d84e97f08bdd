"""Check the promises of docs/trust.md against the marks of tests: python tools/trust.py.

Tests name what they prove with `@pytest.mark.promise("...")` and `@pytest.mark.fault("...")`. The exit code is 1 if a
promise of docs/trust.md has no test that `make test` runs, if a mark names a promise that is not on the page, or if no
existing test finds a deliberate fault of tools/mutate.py. The build of the site calls `make_page` for its page
docs/reference/tests.md.
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
PROMISES_PAGE = ROOT / "docs" / "trust.md"
#: The files of the faults that tools/mutate.py makes, and of the tests that find them.
MUTATIONS, MUTATION_RESULTS = ROOT / "tools" / "mutations.toml", ROOT / "tools" / "mutations_found.json"
#: What `make test` selects.
MARK_EXPRESSION = "not (night or release)"


class MarkedTest(NamedTuple):
    """A test with the marks from its decorators and from the `pytestmark` of its file."""

    path: str
    name: str
    marks: tuple[tuple[str, str], ...]  # pairs of name and first argument, "" if there is none

    @property
    def runs_in_make_test(self) -> bool:
        """Whether `make test` runs the test, or one of its cases."""
        return f"{self.path}::{self.name}" in collect_tests(MARK_EXPRESSION)


@cache
def collect_tests(mark_expression: str) -> set[str]:
    """The tests that pytest collects with these marks, as file::name without the parameters of cases."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", mark_expression]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {each.partition("[")[0] for each in process.stdout.splitlines() if "::" in each}


def marks_of(nodes) -> list[tuple[str, str]]:
    """(name, first argument) of the marks among some expressions, such as `pytest.mark.fault("a full disk")`."""
    marks = []
    for node in nodes:
        call, node = (node, node.func) if isinstance(node, ast.Call) else (None, node)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark":
            argument = call.args[0].value if call and call.args and isinstance(call.args[0], ast.Constant) else ""
            marks.append((node.attr, argument))
    return marks


def read_tests() -> list[MarkedTest]:
    """All tests with their marks, from the files of tests/."""
    result = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module, shared = ast.parse(path.read_text(encoding="utf-8")), []
        for node in module.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                shared = marks_of(node.value.elts if isinstance(node.value, ast.List) else [node.value])
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                own_marks = marks_of(node.decorator_list)
                result.append(MarkedTest(str(path.relative_to(ROOT)), node.name, (*shared, *own_marks)))
    return result


def tests_by_argument(kind: str) -> dict[str, list[MarkedTest]]:
    """{first argument of marks of this kind: the tests with such a mark}."""
    tests = defaultdict(list)
    for test in read_tests():
        for name, argument in test.marks:
            if name == kind:
                tests[argument].append(test)
    return tests


def read_promises() -> list[str]:
    """The promises of docs/trust.md, the first column of its table."""
    lines = PROMISES_PAGE.read_text(encoding="utf-8").partition("## Promises\n")[2].partition("\n## ")[0].splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    return [row.strip("| ").split(" | ")[0].strip() for row in rows]


def read_mutations() -> dict[str, str]:
    """{deliberate fault: the test that finds it, as file::name; empty if none does}."""
    results = json.loads(MUTATION_RESULTS.read_text(encoding="utf-8"))
    return {fault["name"]: results.get(fault["name"], "") for fault in tomllib.loads(MUTATIONS.read_text())["fault"]}


def format_tests(tests: list[MarkedTest]) -> str:
    files = defaultdict(list)
    for test in tests:
        files[test.path].append(f"`{test.name}`")
    return "; ".join(f"{path.removeprefix('tests/')}: {', '.join(names)}" for path, names in files.items())


def make_page() -> str:
    by_promise, by_fault = tests_by_argument("promise"), tests_by_argument("fault")
    mutation_rows = {
        name.replace("-", " "): f"`{test.removeprefix('tests/')}`" for name, test in read_mutations().items()
    }
    tables = {
        "Promises": {promise: format_tests(by_promise[promise]) for promise in read_promises()},
        "Faults": {fault: format_tests(tests) for fault, tests in by_fault.items()},
        "Deliberate faults": mutation_rows,
    }
    text = "# Tests of promises and faults\n\nThe marks of the tests, for [Promises and their tests](../trust.md).\n"
    for title, rows in tables.items():
        lines = [f"| {name} | {tests} |" for name, tests in rows.items()]
        text += "\n".join([f"\n## {title}\n", "| name | tests |", "| --- | --- |", *lines]) + "\n"
    return text


def find_problems() -> list[str]:
    """Messages about promises without a test, unknown promises and deliberate faults that no test finds."""
    listed_promises, tests_of_promise = read_promises(), tests_by_argument("promise")
    existing_tests = {f"{test.path}::{test.name}" for test in read_tests()}
    return [
        *(
            f'no test that `make test` runs proves "{promise}"'
            for promise in listed_promises
            if not any(test.runs_in_make_test for test in tests_of_promise.get(promise, ()))
        ),
        *(
            f'{tests_of_promise[promise][0].path} names the promise "{promise}", which is not in docs/trust.md'
            for promise in tests_of_promise
            if promise not in listed_promises
        ),
        *(
            f"no existing test finds the deliberate fault {name}: run tools/mutate.py {name} --write"
            for name, test in read_mutations().items()
            if test not in existing_tests
        ),
    ]


if __name__ == "__main__":
    problems = find_problems()
    print("\n".join(problems), end="\n" * bool(problems), file=sys.stderr)
    sys.exit(bool(problems))

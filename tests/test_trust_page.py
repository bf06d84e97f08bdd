"""docs/trust.md names tests that exist, for every promise and for each of the 31 faults."""

import ast
import re
from functools import cache

import pytest
from conftest import ROOT
from support.tiers import DAY, NIGHT, among, tier

TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS = [line for line in (ROOT / "docs" / "trust.md").read_text().splitlines() if line.startswith("| ")]
#: First cell of each row below the head of a table.
PROOFS = {row.split("|")[1].strip(): TEST.findall(row) for row in ROWS if "| tests |" not in row and "---" not in row}


@cache
def functions(path):
    """Names of the functions of a file."""
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_each_line_names_tests_that_exist():
    assert all(PROOFS.values())
    tests = {test for row in PROOFS.values() for test in row}
    assert [f"{path}::{name}" for path, name in tests if name not in functions(path)] == []


@pytest.fixture(scope="module")
def by_day(request):
    """{file: names of its tests that `make test` runs}, of the files that were collected with this one."""
    found = {}
    for item in request.session.items:
        file, _, name = item.nodeid.partition("[")[0].partition("::")
        found.setdefault(file, set()).update([] if item.get_closest_marker("night") else [name])
    return found


def may_run_by_day(path, name):
    """Whether `make test` runs a test, or may run one of its kinds."""
    return tier(f"{path}::{name}") != "night" or any(
        among(f"{path}::{name}[".removeprefix("tests/"), {path.removeprefix("tests/"): (day.partition("[")[0] + "[",)})
        for day in DAY.get(path.removeprefix("tests/"), ())
    )


@pytest.mark.parametrize("promise", [row for row in PROOFS if not row.isdigit()])
def test_make_test_proves_each_promise(promise, by_day):
    """By at least one of its tests, or by some of the parameters of one."""
    assert any(name in by_day[path] if path in by_day else may_run_by_day(path, name) for path, name in PROOFS[promise])


def test_each_name_in_the_tables_of_tiers_is_that_of_a_test():
    for file, beginnings in [*NIGHT.items(), *DAY.items()]:
        for name in beginnings:
            start = f"test_{name.partition('[')[0]}"
            assert any(each.startswith(start) for each in functions(f"tests/{file}")), (file, name)


def test_no_fault_is_left_out():
    numbers = [int(row) for row in PROOFS if row.isdigit()]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 63
    assert len(PROOFS) - len(numbers) >= 12


def test_every_name_in_a_table_is_read():
    """None is written in a way that the check above passes over."""
    text = "\n".join(ROWS)
    assert text.count("test_") == text.count("tests/") * 2 == 2 * sum(map(len, PROOFS.values()))

"""docs/trust.md names tests that exist, for every promise and for each of the 31 faults."""

import ast
import re

import pytest
from conftest import ROOT
from support.tiers import DAY, tier

TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS = [line for line in (ROOT / "docs" / "trust.md").read_text().splitlines() if line.startswith("| ")]
#: First cell of each row below the head of a table.
PROOFS = {row.split("|")[1].strip(): TEST.findall(row) for row in ROWS if "| tests |" not in row and "---" not in row}


def functions(path):
    """Names of the functions of a file."""
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", PROOFS)
def test_each_line_names_tests_that_exist(row):
    assert PROOFS[row]
    for path, name in PROOFS[row]:
        assert (ROOT / path).is_file(), path
        assert name in functions(path), f"{path}::{name}"


@pytest.mark.parametrize("promise", [row for row in PROOFS if not row.isdigit()])
def test_make_test_proves_each_promise(promise):
    """By at least one of its tests, or by some of the parameters of one."""
    names = [f"{path}::{name}" for path, name in PROOFS[promise]]
    assert any(tier(name) != "night" or any(f"tests/{day}".startswith(name) for day in DAY) for name in names)


def test_no_fault_is_left_out():
    numbers = [int(row) for row in PROOFS if row.isdigit()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 63
    assert len(PROOFS) - len(numbers) >= 12


def test_every_name_in_a_table_is_read():
    """None is written in a way that the check above passes over."""
    text = "\n".join(ROWS)
    assert text.count("test_") == text.count("tests/") * 2 == 2 * sum(map(len, PROOFS.values()))

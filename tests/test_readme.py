"""The links of the README lead to files, and the table of docs/gradients.md is that of its program."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

from swmodel.gradients.check import failures

pytestmark = pytest.mark.slow

README, GRADIENTS = ((ROOT / name).read_text() for name in ("README.md", "docs/gradients.md"))


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)]+)\)", README))
def test_links_lead_to_files(path):
    assert (ROOT / path).is_file()


def table(text):
    """Head and rows of the table of derivatives in a text, each a list of cells."""
    lines = re.search(r"^\| processes \|.*\n(?:\|.*\n)+", text, re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


@pytest.mark.night
@pytest.mark.usefixtures("quickly_compiled")
def test_the_table_of_derivatives_is_that_of_its_program_and_exact(tmp_path):
    program = [sys.executable, "tools/exactness.py", "--layouts", "1x1", "--steps", "5", "--folder", tmp_path]
    made = table(subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=200).stdout)
    told = table(GRADIENTS)
    assert made[0] == told[0]
    assert [row[:2] for row in made[1:]] == [told[1][:2]]
    assert [row[0] for row in told[1:]] == ["1", "2", "3", "4"]
    for _, _, slope, dot, symmetry, off in (*made[1:], *told[1:]):
        numbers = {"taylor_slope": slope, "dot_product_error": dot, "hessian_symmetry": symmetry}
        results = {name: float(number) for name, number in numbers.items()}
        assert failures(results | {"dtype": "float64", "smooth": True}) == []
        assert float(off) < 1e-12

"""The program for the table of derivatives in docs/gradients.md runs, and finds that they are exact."""

import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.release
def test_program_of_table_of_derivatives_finds_them_exact(tmp_path):
    program = [sys.executable, "tools/exactness.py", "--layouts", "1x1", "--steps", "5", "--folder", tmp_path]
    made = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=400).stdout
    slope, *errors = map(float, made.splitlines()[-1].split("|")[3:-1])
    assert slope == pytest.approx(2, abs=0.02)
    assert max(errors) < 1e-10

"""Python programs in processes of their own, which import the model and what tests share."""

import os
import subprocess
import sys

from conftest import ROOT


def run_python(program, *arguments, timeout=200, **environment):
    """The words that a program, given as text, prints; the test fails with its output if it fails."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/tests"} | environment
    line = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()

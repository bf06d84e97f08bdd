"""Run Python programs in new processes that can import the model and tests/support."""

import os
import subprocess
import sys

from conftest import ROOT


def run_python(program, *arguments, timeout=200, **environment):
    """Run a program, given as text; returns the words that it prints. If it fails, the test fails with its stderr."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/tests"} | environment
    line = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()

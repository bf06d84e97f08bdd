"""Run Python programs in new processes that can import the model and tests/support."""

import os
import subprocess
import sys

from conftest import ROOT


def run_python(program, *arguments, timeout=200, **environment):
    """Run the text of a program; returns the words that it prints. If it fails, the test fails with its stderr."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/tests"} | environment
    command = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    assert process.returncode == 0, process.stderr
    return process.stdout.split()

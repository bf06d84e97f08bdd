"""The most memory that a process held, and its place in the status of a run."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from support.small_run import make_run

from swmodel.model import run
from swmodel.parallel.environment import peak_memory

STATUS = Path("/proc/self/status")


system_tells = pytest.mark.skipif(not STATUS.exists(), reason="the system does not say what memory a process held")


@system_tells
def test_the_peak_is_what_the_system_says():
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    assert peak_memory() == pytest.approx(1024 * int(lines["VmHWM"].split()[0]), rel=0.02)


@system_tells
def test_the_peak_is_not_that_of_the_program_that_started_the_process():
    held = np.ones(40_000_000)
    program = "from swmodel.parallel.environment import peak_memory; print(peak_memory())"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < held.nbytes / 2 < peak_memory()


def test_status_has_the_peak_of_the_largest_rank(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "peak_memory", lambda: 12345678901)
    make_run(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "status.json").read_text())["peak_memory_bytes"] == 12345678901

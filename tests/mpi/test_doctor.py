"""The doctor on the installation that the tests run in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.mpi, pytest.mark.night]

ROOT = Path(__file__).parents[2]


def test_doctor_finds_this_installation_well():
    done = subprocess.run(
        [sys.executable, "cli.py", "doctor"], cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "two processes exchanged a halo" in done.stdout
    assert "halos went round 2 processes of 2 devices" in done.stdout
    assert done.stdout.endswith("Ready.\n")

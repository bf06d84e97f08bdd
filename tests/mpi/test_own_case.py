"""A user's own case on several processes: each loads the file that the run holds."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT
from support.own_case import write_bump
from support.restarts import assert_same_data

pytestmark = [pytest.mark.mpi, pytest.mark.night, pytest.mark.usefixtures("quickly_compiled")]

SHORT = ["-s", "grid.nx=24", "-s", "grid.ny=17", "--executor", "native", "--quiet", "--steps", "6"]


def swmodel(folder, *arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "100"}
    line = [sys.executable, "-m", "swmodel", *map(str, arguments)]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


def test_two_processes_compute_the_bits_of_one_and_go_on_without_the_original(tmp_path):
    path = write_bump(tmp_path)
    assert swmodel(tmp_path, "run", "bump.py", *SHORT, "-o", "one") == (0, "")
    assert swmodel(tmp_path, "run", "bump.py", *SHORT[:-1], 3, "--nproc", 2, "-o", "two")[0] == 0
    path.unlink()
    assert swmodel(tmp_path, "resume", "two", "--steps", 6, "--quiet")[0] == 0
    for name in ("output.nc", "restart/step-0000000006.nc"):
        assert_same_data(tmp_path / "two" / name, tmp_path / "one" / name)

"""A user's own case on several processes: each loads the file that the run holds."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT
from support.own_case import write_bump
from support.restarts import assert_same_data

from swmodel.model.launch import find_mpiexec

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SHORT = ["-s", "grid.nx=24", "-s", "grid.ny=17", "--executor", "native", "--quiet", "--steps", "6"]


def swmodel(folder, *arguments, under=()):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "100"}
    line = [*under, sys.executable, "-m", "swmodel", *map(str, arguments)]
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


def test_what_is_wrong_with_it_under_mpiexec_is_said_once(tmp_path):
    write_bump(tmp_path, "x = 1 / 0\n")
    code, told = swmodel(tmp_path, "run", "bump.py", *SHORT, under=[find_mpiexec(), "-n", "2"])
    assert code == 2
    assert told.count("Error: bump.py:1: ZeroDivisionError: division by zero, in: x = 1 / 0\n") == 1

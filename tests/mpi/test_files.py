"""The same run on one process and on several leaves files that agree, from Python too."""

import os
import subprocess
import sys

import netCDF4
import numpy as np
import pytest
from conftest import ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.night]

ARGUMENTS = [
    *("jet", "-s", "grid.nx=45", "-s", "grid.ny=21", "--steps", "40", "-s", "output.every_steps=15"),
    *("-s", "output.means=eta,zeta", "-s", "output.fields=h,u,v,eta,zeta,q,speed"),
]


def run(directory, nproc, *options):
    line = [sys.executable, "-m", "swmodel", "run", *ARGUMENTS, "--nproc", str(nproc), "--output", str(directory)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "100"}
    done = subprocess.run([*line, *options], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return directory


def contents(directory, name):
    with netCDF4.Dataset(directory / name) as file:
        file.set_auto_mask(False)
        return {key: np.array(variable[...]) for key, variable in file.variables.items() if variable.dtype != str}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return run(tmp_path_factory.mktemp("runs") / "alone", 1, "--reproducible", "--dtype", "float64")


@pytest.mark.promise("the number of ranks and their layout change nothing")
@pytest.mark.parametrize("nproc", [2, 3])
def test_reproducible_files_are_the_same_on_any_number_of_processes(alone, tmp_path, nproc):
    several = run(tmp_path / "several", nproc, "--reproducible", "--dtype", "float64")
    for name in ("output.nc", "diagnostics.nc"):
        ours, truth = contents(several, name), contents(alone, name)
        assert ours.keys() == truth.keys()
        for key, value in truth.items():
            np.testing.assert_array_equal(ours[key], value, err_msg=key)

"""The same run on one process and on several leaves files that agree, from Python too."""

import json
import os
import subprocess
import sys

import netCDF4
import numpy as np
import pytest
from conftest import ROOT

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


@pytest.mark.parametrize("nproc", [2, 3])
def test_reproducible_files_are_the_same_on_any_number_of_processes(alone, tmp_path, nproc):
    several = run(tmp_path / "several", nproc, "--reproducible", "--dtype", "float64")
    for name in ("output.nc", "diagnostics.nc"):
        ours, truth = contents(several, name), contents(alone, name)
        assert ours.keys() == truth.keys()
        for key, value in truth.items():
            np.testing.assert_array_equal(ours[key], value, err_msg=key)


def test_from_python_all_processes_are_told_the_same_and_a_run_is_gone_on_with_but_not_overwritten(mpiexec, tmp_path):
    told = json.loads(mpiexec("python_run.py", 2, tmp_path).stdout.splitlines()[-1])
    assert all(mine == others for mine, others in told)
    done, overwriting, arrived, longer, unstable, negative = ((words, code) for (words, code), _ in told)
    assert done == arrived == longer == ("done", 0)
    assert overwriting[1] == 2
    assert "run holds a run (completed); give force=True" in overwriting[0]
    assert unstable[1] == 4
    assert "the solution blew up by step 60 " in unstable[0]
    assert negative[1] == 2
    assert contents(tmp_path / "run", "output.nc")["step"].tolist() == [0, 3, 6, 9]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert not (tmp_path / "run/run.lock").exists()

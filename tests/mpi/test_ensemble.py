"""`swmodel ensemble` on several processes: the bits of one, also when another number of them goes on."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import netCDF4
import numpy as np
from support.small_ensemble import words

ROOT = Path(__file__).parents[2]


def ensemble(folder, *options, code=0):
    line = [sys.executable, "-m", "swmodel", "ensemble", "double_gyre", *words(), "--output", str(folder), *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPIEXEC_TIMEOUT": "120"}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def contents(folder):
    with netCDF4.Dataset(folder / "ensemble.nc") as data, h5py.File(folder / "ensemble.h5") as file:
        found = {name: np.ma.filled(variable[...], 0) for name, variable in data.variables.items()}
        return found | {f"restart {name}": values[()] for name, values in file.items() if name != "text"}


def test_five_members_on_two_processes_stopped_and_gone_on_with_by_three_are_those_of_one(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    ensemble(one)
    assert "2 processes" in ensemble(two, "--nproc", "2", "--steps", "7")
    ensemble(two, "--nproc", "3", "--resume")
    ours, theirs = contents(one), contents(two)
    assert ours.keys() == theirs.keys()
    assert not [name for name in ours if not np.array_equal(ours[name], theirs[name])]


def test_what_only_one_process_meets_ends_all_with_one_error(tmp_path):
    options = "-s", "ensemble.initial_eta=250", "-s", "ensemble.seed=2"
    text = ensemble(tmp_path / "folder", "--nproc", "2", *options, code=2)
    assert text.count("Error") == 1
    assert "the thickness of member" in text
